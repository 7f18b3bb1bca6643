"""Why an arm is chosen: the index of every arm and its parts."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from onepull.html import block, paragraph, printable, table


class ArmExplanation(msgspec.Struct, frozen=True):
    """One arm in a decision.

    Attributes
    ----------
    arm
        Its name.
    pulls
        How many of its pulls were observed, as far as the policy remembers; `in_flight` is apart.
    estimate
        Its estimated reward; None if there is no estimate.
    bonus
        What the index adds to the estimate; None if the index is not in units of the reward.
    index
        The arm with the highest index is chosen.
    eligible
        Whether it may be chosen for this request.
    chance
        The probability of choosing it; None if that is not known.
    in_flight
        How many of its pulls have not been observed yet, as far as they count in the index.
    control
        The control that concerns it: "paused", "pinned", "least share" or "most share".
    """

    arm: str
    pulls: float
    estimate: float | None
    bonus: float | None
    index: float
    eligible: bool
    chance: float | None = None
    in_flight: int = 0
    control: str = ""


class Explanation(msgspec.Struct, frozen=True):
    """A decision and its parts.  It prints as a table, and shows as one in a notebook.

    The index of an arm that was never pulled, or whose turn it is, is infinite, and so is its
    bonus.  In JSON, which has no infinite numbers, both are null.  If only the bonus is null,
    there is no estimate, or the index is not in units of the reward.

    Attributes
    ----------
    policy
        The name of the policy's class.
    context
        The request.
    trial
        The number of the trial, from 1.
    arms
        The parts of each arm's index.
    arm
        The arm that is chosen; None if one of several arms will be drawn at random.
    reason
        Why it is chosen.
    note
        What the index means, where it is no bound on the reward; else empty.

    Examples
    --------
    >>> row = ArmExplanation("wifi", 3, 1.5, 0.25, 1.75, eligible=True)
    >>> print(Explanation("DCB", {"bits": 2.0}, 4, [row], "wifi", "highest index"))
    DCB at trial 4 with bits=2
      arm   pulls  estimate   bonus   index
    → wifi      3    1.5000  0.2500  1.7500
    wifi: highest index
    >>> msgspec.to_builtins(ArmExplanation("lte", 0, None, None, math.inf, eligible=True))["index"]
    inf
    >>> row = ArmExplanation("lte", 0, None, None, math.inf, eligible=True)
    >>> msgspec.json.decode(msgspec.json.encode(row))["index"] is None
    True
    """

    policy: str
    context: dict[str, float | str]
    trial: int
    arms: list[ArmExplanation]
    arm: str | None
    reason: str
    note: str = ""

    def __str__(self) -> str:
        """Return the decision as a table in plain text."""
        rows = [self._columns(), *self._rows()]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = [
            f"{a:<{widths[0]}} {b:<{widths[1]}}  "
            + "  ".join(f"{cell:>{width}}" for cell, width in zip(rest, widths[2:], strict=True))
            for a, b, *rest in rows
        ]
        notes = [self.note] * bool(self.note)
        return "\n".join([self._title(), *map(str.rstrip, lines), self._conclusion(), *notes])

    def _repr_html_(self) -> str:
        """Return the same table for a notebook.

        >>> row = ArmExplanation("wifi", 3, 1.5, 0.25, 1.75, eligible=True)
        >>> shown = Explanation("DCB", {"bits": 2.0}, 4, [row], "wifi", "highest index")
        >>> "wifi: highest index" in shown._repr_html_()
        True
        """
        chosen = [j for j, row in enumerate(self.arms) if row.arm == self.arm]
        columns, rows = self._columns(), self._rows()
        return block(
            table(self._title(), columns, rows, text_columns=2, marked=chosen),
            paragraph(self._conclusion()),
            *([paragraph(self.note)] if self.note else []),
        )

    def _title(self) -> str:
        context = ", ".join(f"{name}={_field(value)}" for name, value in self.context.items())
        return f"{self.policy} at trial {self.trial:,}{' with ' * bool(context)}{context}"

    def _conclusion(self) -> str:
        return printable(f"{self.arm or 'a draw'}: {self.reason}")

    def _columns(self) -> tuple[str, ...]:
        return (
            *("", "arm", "pulls", *["in flight"] * self._has_waiting),
            *("estimate", "bonus", "index", *["chance"] * self._is_drawn),
            *["control"] * self._has_controls,
        )

    def _rows(self) -> list[tuple[str, ...]]:
        rows = []
        for row in self.arms:
            mark = "→" if row.arm == self.arm else " " if row.eligible else "×"
            numbers = [row.estimate, row.bonus, row.index, *[row.chance] * self._is_drawn]
            waiting = [str(row.in_flight)] * self._has_waiting
            controls = [row.control] * self._has_controls
            counts = (_count(row.pulls), *waiting)
            rows.append((mark, printable(row.arm), *counts, *map(_show, numbers), *controls))
        return rows

    @property
    def _has_waiting(self) -> bool:
        return any(row.in_flight for row in self.arms)

    @property
    def _has_controls(self) -> bool:
        return any(row.control for row in self.arms)

    @property
    def _is_drawn(self) -> bool:
        return any(row.chance not in (None, 0.0, 1.0) for row in self.arms)


def bonus_of(index: float, estimate: float | None) -> float | None:
    """Return the index minus the estimate; None if there is no estimate.

    >>> bonus_of(1.75, 1.5), bonus_of(math.inf, math.inf), bonus_of(1.75, math.inf)
    (0.25, inf, None)
    """
    if estimate is None:
        return None
    if math.isinf(index):
        return math.inf if index > 0 else None
    return index - estimate if math.isfinite(estimate) else None


def tie_of(arms: Sequence[str], left: int, *, draws: bool) -> str:
    """Say how a tie of arms is broken; `left` of them remain after comparing pulls.

    >>> tie_of(["wifi", "lte", "5g"], 3, draws=False)
    'a tie of wifi, lte, 5g: the first arm is taken'
    >>> tie_of(["wifi", "lte", "5g"], 2, draws=True)
    'a tie of wifi, lte, 5g: one of the least pulled is drawn'
    >>> tie_of(["wifi", "lte", "5g"], 1, draws=True)
    'a tie of wifi, lte, 5g: the least pulled is taken'
    """
    of_all = left == len(arms)
    if left == 1:
        how = "the least pulled is taken"
    elif draws:
        how = "one is drawn" if of_all else "one of the least pulled is drawn"
    else:
        how = "the first arm is taken" if of_all else "the first of the least pulled is taken"
    return f"a tie of {', '.join(arms)}: {how}"


def _field(value: float | str) -> str:
    return printable(value) if isinstance(value, str) else f"{value:g}"


def _count(pulls: float) -> str:
    """Return pulls as text; discounted pulls are not whole."""
    return str(pulls) if isinstance(pulls, int) else f"{pulls:.1f}"


def _show(number: float | None) -> str:
    if number is None:
        return "–"
    if math.isinf(number):
        return "∞" if number > 0 else "-∞"
    return f"{number:.4f}"
