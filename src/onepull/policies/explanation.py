"""Why an arm is chosen: every arm's index and its parts."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec


class ArmExplanation(msgspec.Struct, frozen=True):
    """One arm at one decision; its chance of being chosen is None where it is not known."""

    arm: str
    pulls: float
    estimate: float | None
    bonus: float | None
    index: float
    eligible: bool
    chance: float | None = None


class Explanation(msgspec.Struct, frozen=True):
    """A decision taken apart; printed, it is a table.

    `arm` is None where a generator would draw among tied arms.  The index of an arm that was
    never pulled, or whose turn it is, is infinite, and so is its bonus.  JSON has no infinite
    numbers: there both are null, as in all of onepull's JSON.  A null index means nothing else;
    a null bonus beside an index that is a number means that there is no estimate.

    >>> row = ArmExplanation("wifi", 3, 1.5, 0.25, 1.75, eligible=True)
    >>> print(Explanation("DCB", {"bits": 2.0}, 4, [row], "wifi", "highest index"))
    DCB at trial 4 with bits=2
      arm   pulls  estimate   bonus   index
    → wifi      3    1.5000  0.2500  1.7500
    wifi: highest index
    >>> msgspec.to_builtins(ArmExplanation("lte", 0, None, None, math.inf, eligible=True))["index"]
    inf
    >>> msgspec.json.encode(ArmExplanation("lte", 0, None, None, math.inf, eligible=True))
    b'{"arm":"lte","pulls":0,"estimate":null,"bonus":null,"index":null,"eligible":true,"chance":null}'
    """

    policy: str
    context: dict[str, float]
    trial: int
    arms: list[ArmExplanation]
    arm: str | None
    reason: str

    def __str__(self) -> str:
        """Lay the decision out as a table."""
        context = ", ".join(f"{name}={value:g}" for name, value in self.context.items())
        drawn = any(row.chance not in (None, 0.0, 1.0) for row in self.arms)
        rows = [("", "arm", "pulls", "estimate", "bonus", "index", *["chance"] * drawn)]
        for row in self.arms:
            mark = "→" if row.arm == self.arm else " " if row.eligible else "×"
            numbers = [row.estimate, row.bonus, row.index, *[row.chance] * drawn]
            rows.append((mark, row.arm, _count(row.pulls), *map(_show, numbers)))
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = [
            f"{a:<{widths[0]}} {b:<{widths[1]}}  "
            + "  ".join(f"{cell:>{width}}" for cell, width in zip(rest, widths[2:], strict=True))
            for a, b, *rest in rows
        ]
        head = f"{self.policy} at trial {self.trial} with {context}"
        return "\n".join([head, *lines, f"{self.arm or 'a draw'}: {self.reason}"])


def bonus_of(index: float, estimate: float | None) -> float | None:
    """Return what an index has beyond the estimate, where there is one."""
    if estimate is None:
        return None
    return math.inf if math.isinf(index) else index - estimate


def tie_of(arms: Sequence[str], left: int, *, draws: bool) -> str:
    """Say how a tie of arms is settled, if so many are left of them once pulls are compared.

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


def _count(pulls: float) -> str:
    """Show pulls: discounted ones are not whole."""
    return str(pulls) if isinstance(pulls, int) else f"{pulls:.1f}"


def _show(number: float | None) -> str:
    if number is None:
        return "–"
    return "∞" if math.isinf(number) else f"{number:.4f}"
