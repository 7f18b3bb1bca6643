"""What a policy has counted and learned of each arm, for operators."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from onepull.html import block, printable, table
from onepull.policies.pull_counts import PullCounts

TABLE_WIDTH = 80  # of the table in plain text
SHORTEST_ARM, LONGEST_ARM = 10, 28  # characters of an arm's name in it, at most


class ArmStats(msgspec.Struct, frozen=True):
    """The counts of one arm.

    Attributes
    ----------
    arm
        Its name.
    pulls
        How many of its pulls were observed, including what the policy has forgotten.
    in_flight
        Its pulls whose feedback has not arrived.
    failures
        The observed pulls that failed.
    clipped
        The observed pulls with a state outside its bounds.
    given_up
        The pulls that were given up: nothing is known about them.
    age
        How many observations of other arms came after its newest one; None if it has none.
    seconds
        The age of its newest observation in seconds; None if `policy.clock` was not set then.
    state
        Its mean state by field; None if the policy learns rewards or has no observation.  Fields
        of words are left out.
    approximate
        The fields whose mean is approximate, since the policy has merged states that differ in
        them.  It is right on average.
    """

    arm: str
    pulls: int
    in_flight: int
    failures: int
    clipped: int
    given_up: int
    age: int | None
    seconds: float | None
    state: dict[str, float] | None
    approximate: list[str] = []


class Stats(msgspec.Struct, frozen=True):
    """The counts of all arms.  They print as a table, and show as one in a notebook.

    Attributes
    ----------
    policy
        The name of the policy's class.
    trials
        The number of all observations, including those of removed arms.
    arms
        The counts of each arm.

    Examples
    --------
    >>> from onepull import EmpiricalKL, Finite, Problem
    >>> policy = EmpiricalKL(Problem(
    ...     arms=["wifi", "lte"], context={"bits": Finite([1, 4])},
    ...     state={"capacity": Finite([0, 2, 4])}, reward="min(bits, capacity)",
    ... ))
    >>> policy.observe_many(["wifi", "wifi", "lte"], capacity=[2, 4, 0])
    >>> policy.pulled("wifi", bits=1)
    >>> print(policy.stats())
    EmpiricalKL after 3 observations
    arm   pulls  in flight  failures  clipped  age  mean state
    wifi      2          1         0        0    1  capacity 3
    lte       1          0         0        0    0  capacity 0
    """

    policy: str
    trials: int
    arms: list[ArmStats]

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as plain values.

        >>> Stats("DCB", 0, [ArmStats("a", 0, 0, 0, 0, 0, None, None, None)]).to_dict()["trials"]
        0
        """
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain

    def __str__(self) -> str:
        """Return the counts as a table of at most 80 columns in plain text."""
        columns, rows = self._columns(), self._rows()
        numbers = len(columns) - self._has_states
        others = [max(map(len, each)) for each in zip(columns, *rows, strict=True)][1:numbers]
        before = sum(others) + 2 * numbers  # columns before the states, without the arms
        fields = [len(part) for row in rows for part in row[-1].split(", ") if self._has_states]
        room = TABLE_WIDTH - before - max(fields, default=0) - 1
        longest = max(min(LONGEST_ARM, room), SHORTEST_ARM)
        rows = [(_cut(row[0], longest), *row[1:]) for row in rows]
        widths = [max(len(row[0]) for row in (columns, *rows)), *others]
        lines = []
        for row in (columns, *rows):
            first, *counts = zip(row[:numbers], widths, strict=True)
            head = "  ".join([f"{first[0]:<{first[1]}}", *(f"{c:>{w}}" for c, w in counts)])
            parts = _wrapped(row[-1], TABLE_WIDTH - len(head) - 2) if self._has_states else [""]
            # A long mean state goes on below, in the same column.
            lines += [f"{head}  {parts[0]}", *(" " * (len(head) + 2) + part for part in parts[1:])]
        return "\n".join(_cut(line.rstrip(), TABLE_WIDTH) for line in (self._title(), *lines))

    def _repr_html_(self) -> str:
        """Return the same table for a notebook.

        >>> "<table" in Stats("DCB", 0, [])._repr_html_()
        True
        """
        return block(table(self._title(), self._columns(), self._rows()))

    def _title(self) -> str:
        return f"{self.policy} after {self.trials:,} observation{'s' * (self.trials != 1)}"

    @property
    def _has_states(self) -> bool:
        return any(row.state for row in self.arms)

    @property
    def _has_given_up(self) -> bool:
        return any(row.given_up for row in self.arms)

    @property
    def _has_seconds(self) -> bool:
        return any(row.seconds is not None for row in self.arms)

    def _columns(self) -> tuple[str, ...]:
        return (
            *("arm", "pulls", "in flight", "failures", "clipped"),
            *["given up"] * self._has_given_up,
            "age",
            *["seconds"] * self._has_seconds,
            *["mean state"] * self._has_states,
        )

    def _rows(self) -> list[tuple[str, ...]]:
        rows = []
        for row in self.arms:
            counts = [row.pulls, row.in_flight, row.failures, row.clipped]
            counts += [row.given_up] * self._has_given_up
            age = "–" if row.age is None else f"{row.age:,}"
            seconds = "–" if row.seconds is None else f"{row.seconds:,.1f}"
            means = (row.state or {}).items()
            about = dict.fromkeys(row.approximate, "≈ ")
            parts = [f"{name} {about.get(name, '')}{mean:.4g}" for name, mean in means]
            state = ", ".join(parts) or "–"
            rows.append((
                printable(row.arm),
                *(f"{count:,}" for count in counts),
                age,
                *[seconds] * self._has_seconds,
                *[state] * self._has_states,
            ))  # fmt: skip
        return rows


def stats_of(
    policy: str,
    arms: Sequence[str],
    counts: PullCounts,
    states: Sequence[dict[str, float] | None],
    blurred: Sequence[Collection[str]],
) -> Stats:
    """Return counts, and mean states with those fields that are approximate, for readers.

    >>> stats_of("DCB", ["a"], PullCounts(1), [None], [()]).arms[0].pulls
    0
    """
    now = 0.0 if counts.clock is None else counts.clock()
    rows = [
        ArmStats(
            arm=arm,
            pulls=counts.observed[j],
            in_flight=counts.in_flight[j],
            failures=counts.failed[j],
            clipped=counts.clipped[j],
            given_up=counts.given_up[j],
            age=counts.trials - counts.newest[j] if counts.newest[j] else None,
            seconds=None if (then := counts.times[j]) is None else max(now - then, 0.0),
            state=states[j],
            approximate=[name for name in states[j] or () if name in blurred[j]],
        )
        for j, arm in enumerate(arms)
    ]
    return Stats(policy, counts.trials, rows)


def _wrapped(state: str, width: int) -> list[str]:
    """Return a mean state in lines that fit, broken between fields.

    >>> _wrapped("first 0.3044, each 0.0151, price 2", 27)
    ['first 0.3044, each 0.0151,', 'price 2']
    """
    first, *rest = state.split(", ")
    lines = [first]
    for part in rest:
        if len(lines[-1]) + len(part) + 3 <= width:
            lines[-1] += f", {part}"
        else:
            lines[-1] += ","
            lines.append(part)
    return lines


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"
