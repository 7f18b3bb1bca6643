"""Statistics that let go of the past, for arms that drift."""

from onepull.forgetting.base import Forgetting
from onepull.forgetting.detector import ChangeDetector
from onepull.forgetting.discounted import Discounted
from onepull.forgetting.restarting import Restarting
from onepull.forgetting.window import Window

__all__ = ["ChangeDetector", "Discounted", "Forgetting", "Restarting", "Window"]
