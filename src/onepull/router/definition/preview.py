"""What opening a log would change in it."""

from __future__ import annotations

import msgspec

from onepull.router.definition.defining import Wanted
from onepull.router.definition.overrides import controlled, overridden
from onepull.router.router import Router


class Preview(Router):
    """A router that opens a log to see whether it fits, and changes nothing.

    It takes the arguments of `Router`.  `redefinition` says what a router would change.

    >>> from onepull import Interval, MemoryStore, Problem
    >>> problem = Problem(arms=["a", "b"], state={"x": Interval(0, 1)}, reward="x")
    >>> store = MemoryStore()
    >>> Router(problem, store=store).close()
    >>> with Preview(problem.with_reward("2 * x"), store=store) as preview:
    ...     print(preview.redefinition)
    changed: the reward; nothing was learned before
    >>> store.last_sequence
    1
    """

    def _start(self, wanted: Wanted) -> None:
        self._continue()
        if self._fold.is_defined and self._fold.asked != wanted.asked:
            event, self.redefinition = self._planned(wanted)
            self._fold = self._twin()  # which has no decisions in flight
            self._fold.apply(msgspec.structs.replace(event, seq=self._fold.sequence + 1))

    @property
    def changes(self) -> list[str]:
        """What was changed at run time and stays, whatever the file says."""
        return list(overridden(self._fold.asked, self._fold)) if self._fold.is_defined else []

    @property
    def controls(self) -> list[str]:
        """The controls that are set; files do not contain them."""
        return list(controlled(self._fold)) if self._fold.is_defined else []

    @property
    def is_new(self) -> bool:
        """Whether the log does not have this problem yet."""
        return not self._fold.is_defined
