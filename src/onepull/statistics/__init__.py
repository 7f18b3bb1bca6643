"""What has been observed of each arm: counts and means, of everything or of the recent past."""

from onepull.statistics.arm_statistics import (
    UNPULLED,
    ArmStatistics,
    StatisticsState,
    inverse_root,
    is_tried,
    moved,
    unanswered,
    weighted,
)
from onepull.statistics.change_detector import ChangeDetector
from onepull.statistics.discounted import Discounted
from onepull.statistics.forgetting import Forgetting
from onepull.statistics.restarting import Restarting
from onepull.statistics.window import Window

__all__ = [
    "UNPULLED",
    "ArmStatistics",
    "ChangeDetector",
    "Discounted",
    "Forgetting",
    "Restarting",
    "StatisticsState",
    "Window",
    "inverse_root",
    "is_tried",
    "moved",
    "unanswered",
    "weighted",
]
