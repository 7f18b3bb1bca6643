"""What became of the pulls of each arm, whatever the policy learns from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from onepull.checks import Count, restored
from onepull.errors import SaveFileError
from onepull.statistics import is_tried


class CountsState(msgspec.Struct, forbid_unknown_fields=True):
    """The saved form; one number per arm, and the number of all observations."""

    trials: Count
    observed: list[Count]
    newest: list[Count]
    failed: list[Count]
    clipped: list[Count]
    shared: list[Count] | None = None
    given_up: list[Count] | None = None  # None if no pull was


class PullCounts:
    """Counts of each arm's pulls: observed, in flight, given up, failed and clipped.

    Pulls in flight and times are of this process: they are neither saved nor merged.

    Attributes
    ----------
    trials
        The number of all observations, including those of removed arms.
    start
        The number of observations that were handed over, and are not in the counts below.
    observed
        The observations of each arm.
    newest
        The trial of each arm's newest observation, 0 if there is none.
    failed, clipped
        The observed pulls of each arm that failed, and those with a state outside its bounds.
    in_flight
        The pulls of each arm whose feedback has not arrived.
    given_up
        The pulls of each arm that were given up.
    shared
        The observations of each arm since the controls last changed; None without shares.
    clock
        Tells the time of an observation in seconds; None if times are not kept.
    times
        The time of each arm's newest observation, None if it is not known.

    Examples
    --------
    >>> counts = PullCounts(2)
    >>> counts.expect(1, 2)
    >>> counts.observe(1)
    >>> counts.observed, counts.in_flight, counts.newest
    ([0, 1], [0, 1], [0, 1])
    """

    __slots__ = (
        "_is_busy",
        "clipped",
        "clock",
        "failed",
        "given_up",
        "in_flight",
        "newest",
        "observed",
        "shared",
        "start",
        "times",
        "trials",
    )

    def __init__(self, arms: int) -> None:
        self.trials = self.start = 0
        self.observed = [0] * arms
        self.newest = [0] * arms
        self.failed = [0] * arms
        self.clipped = [0] * arms
        self.in_flight = [0] * arms
        self.given_up = [0] * arms
        self.times: list[float | None] = [None] * arms
        self.shared: list[int] | None = None
        self.clock: Callable[[], float] | None = None
        self._is_busy = False  # whether an observation changes more than three numbers

    def observe(self, arm: int) -> None:
        """Count an observation; it answers one of the arm's pulls in flight, if any."""
        self.observed[arm] += 1
        self.trials = self.newest[arm] = self.trials + 1
        if self._is_busy:
            self.in_flight[arm] = max(self.in_flight[arm] - 1, 0)
            if self.shared is not None:
                self.shared[arm] += 1
            if self.clock is not None:
                self.times[arm] = self.clock()
            self._see()

    def fail(self, arm: int) -> None:
        """Count that an observed pull failed."""
        self.failed[arm] += 1

    def clip(self, arm: int) -> None:
        """Count that the state of an observed pull was outside its bounds."""
        self.clipped[arm] += 1

    def expect(self, arm: int, pulls: int) -> None:
        """Add pulls in flight; a negative number removes them, down to none."""
        self.in_flight[arm] = max(self.in_flight[arm] + pulls, 0)
        self._see()

    def give_up(self, arm: int) -> None:
        """Count that a pull was given up."""
        self.given_up[arm] += 1

    def silent(self) -> list[int]:
        """Return the arms that were given up and have never answered.

        >>> counts = PullCounts(2)
        >>> counts.give_up(0), counts.give_up(1), counts.observe(1)
        (None, None, None)
        >>> counts.silent()
        [0]
        """
        return [
            arm
            for arm, (lost, observed) in enumerate(zip(self.given_up, self.observed, strict=True))
            if lost and not observed
        ]

    def is_tried(self, arm: int) -> bool:
        """Whether an arm that has never answered is tried now: ever more rarely.

        >>> counts = PullCounts(2)
        >>> counts.give_up(0)
        >>> counts.is_tried(0), counts.observe(1), counts.observe(1), counts.is_tried(0)
        (False, None, None, True)
        """
        return is_tried(self.given_up[arm], self.trials + sum(self.in_flight) + sum(self.given_up))

    def share(self, *, anew: bool) -> None:
        """Count for shares from now on, or no longer.

        >>> counts = PullCounts(1)
        >>> counts.share(anew=True)
        >>> counts.observe(0)
        >>> counts.shared
        [1]
        """
        self.shared = [0] * len(self.observed) if anew else None
        self._see()

    def keep_times(self, clock: Callable[[], float] | None) -> None:
        """Note the time of every observation from now on, or no longer."""
        self.clock = clock
        self.times = [None] * len(self.observed)
        self._see()

    def _see(self) -> None:
        self._is_busy = self.shared is not None or self.clock is not None or any(self.in_flight)

    def add_arm(self) -> None:
        """Add an arm without pulls at the end."""
        for numbers in (
            self.observed, self.newest, self.failed, self.clipped, self.in_flight, self.given_up,
        ):  # fmt: skip
            numbers.append(0)
        self.times.append(None)
        if self.shared is not None:
            self.shared.append(0)

    def remove_arm(self, arm: int) -> None:
        """Remove one arm; its observations stay in `trials`."""
        lists: list[list[Any]] = [self.observed, self.newest, self.failed, self.clipped]
        lists += [
            self.in_flight,
            self.given_up,
            self.times,
            *([] if self.shared is None else [self.shared]),
        ]
        for numbers in lists:
            del numbers[arm]
        self._see()

    def merge(self, other: PullCounts, arms: Sequence[int]) -> None:
        """Add what `other` counted; its arm `arms[j]` is arm j here.

        The age of an arm's newest observation is the lower one of the two.
        """
        trials = self.trials + other.trials
        for mine, theirs in enumerate(arms):
            ages = [
                counts.trials - counts.newest[arm]
                for counts, arm in ((self, mine), (other, theirs))
                if counts.newest[arm]
            ]
            self.newest[mine] = trials - min(ages) if ages else 0
            self.observed[mine] += other.observed[theirs]
            self.failed[mine] += other.failed[theirs]
            self.clipped[mine] += other.clipped[theirs]
            self.given_up[mine] += other.given_up[theirs]
        self.trials = trials

    def hand_over(self) -> PullCounts:
        """Return the counts so far, and begin to count anew; ages go on.

        >>> counts = PullCounts(1)
        >>> counts.observe(0)
        >>> before = counts.hand_over()
        >>> counts.observe(0)
        >>> before.observed, counts.observed, counts.newest
        ([1], [1], [2])
        """
        before = PullCounts(len(self.observed))
        before.restore(self.since_start())
        for numbers in (self.observed, self.failed, self.clipped, self.given_up):
            numbers[:] = [0] * len(numbers)
        self.start = self.trials
        return before

    def since_start(self) -> CountsState:
        """Return the counts without what was handed over, as plain values."""
        state = self.state()
        state.trials -= self.start
        state.newest = [
            max(newest - self.start, 1) if observed else 0
            for newest, observed in zip(self.newest, self.observed, strict=True)
        ]
        state.shared = None
        return state

    def copy(self) -> PullCounts:
        """Return an independent copy."""
        twin = PullCounts(len(self.observed))
        twin.restore(self.state())
        twin.in_flight, twin.times = list(self.in_flight), list(self.times)
        twin.clock, twin.start = self.clock, self.start
        twin._see()
        return twin

    def state(self) -> CountsState:
        """Return the counts as plain values."""
        return CountsState(
            trials=self.trials,
            observed=list(self.observed),
            newest=list(self.newest),
            failed=list(self.failed),
            clipped=list(self.clipped),
            shared=None if self.shared is None else list(self.shared),
            given_up=list(self.given_up) if any(self.given_up) else None,
        )

    def restore(self, state: Any) -> None:
        """Restore saved counts; raises SaveFileError if they are invalid.

        >>> counts = PullCounts(1)
        >>> counts.restore(CountsState(3, [4], [3], [0], [0]))
        Traceback (most recent call last):
        onepull.errors.SaveFileError: the saved counts of pulls contradict each other
        """
        saved = restored(CountsState, msgspec.to_builtins(state), "counts of pulls")
        columns = [saved.observed, saved.newest, saved.failed, saved.clipped]
        columns += [each for each in (saved.shared, saved.given_up) if each is not None]
        arms = len(self.observed)
        if any(len(column) != arms for column in columns):
            raise SaveFileError(f"the saved counts of pulls are not those of {arms} arms")
        rows = zip(*columns[:4], saved.shared or [0] * arms, strict=True)
        if sum(saved.observed) > saved.trials or any(
            max(failed, clipped) > observed
            or max(newest, shared) > saved.trials
            or (newest == 0 and observed > 0)
            for observed, newest, failed, clipped, shared in rows
        ):
            raise SaveFileError("the saved counts of pulls contradict each other")
        self.trials = saved.trials
        self.observed, self.newest, self.failed, self.clipped = columns[:4]
        self.shared, self.given_up = saved.shared, saved.given_up or [0] * arms
        self._see()
