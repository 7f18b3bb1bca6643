"""The fleet that a policy joins, by what it learns."""

from __future__ import annotations

from typing import Any

from onepull.policies.fleet.fleet import Fleet
from onepull.policies.fleet.logged import LoggedFleet
from onepull.policies.fleet.summed import SummedFleet
from onepull.policies.fleet.updates import checked_name
from onepull.policies.sharing.knowledge import Knowledge


def fleet_for(name: Any, blank: Knowledge) -> Fleet:
    """Return a fleet of one member that has learned nothing yet."""
    name = checked_name(name)
    if blank.adds_up:
        return SummedFleet(name, blank)
    remembers = getattr(getattr(blank, "statistics", None), "remembers", None)
    return LoggedFleet(name, blank, remembers)
