"""The verbs of a router over HTTP, for programs that use a service."""

from onepull.client.async_client import AsyncClient
from onepull.client.async_pull import AsyncPull
from onepull.client.calls import QueuedReceipt
from onepull.client.client import Client
from onepull.client.queue import FileQueue, MemoryQueue, ObservationQueue

__all__ = [
    "AsyncClient",
    "AsyncPull",
    "Client",
    "FileQueue",
    "MemoryQueue",
    "ObservationQueue",
    "QueuedReceipt",
]
