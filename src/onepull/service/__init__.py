"""A router over HTTP: API, keys, metrics, live events and a dashboard."""

from onepull.service.keys import Keys, Role
from onepull.service.service import Service
from onepull.service.settings import ServiceSettings

__all__ = ["Keys", "Role", "Service", "ServiceSettings"]
