"""How a plan chooses the option to propose.

It compares simulated regrets only.  The bounds hold, but their constants are too large to
compare policies by.
"""

from __future__ import annotations

from collections.abc import Sequence

from onepull.planning.option import Option, mean_interval
from onepull.report.table_cells import Span, cell_text

AS_GOOD = 0.05  # a regret this close to the best, relative to it, is as good
# A difference larger than this, relative to the best, is never taken for noise: the runs are too
# few to tell, and the safe choice is more storage.
MOST_NOISE = 0.25


def propose(
    options: Sequence[Option], *, storage: int | None = None, regret: float | None = None
) -> tuple[Option | None, str]:
    """Return the option to use and the reason; or None and which option comes closest.

    With a storage budget, it is the option with the lowest regret, or a smaller one whose regret
    differs from it by no more than noise and 25 %.  With a regret budget, it is the
    smallest option whose regret is within the budget with 95 % confidence.  Without a budget, it
    is the smallest option whose regret is within noise or 5 % of the lowest.

    Parameters
    ----------
    options
        Options that were simulated up to the same trial.
    storage
        The storage budget in bytes.
    regret
        The regret budget.

    Examples
    --------
    >>> import numpy as np
    >>> small = Option("CCB", "4 cells", {}, 1000, 20, 900.0, np.array([51.0, 52.0, 53.0]))
    >>> large = Option("CCB", "T^-1/3", {}, 1000, 200, 800.0, np.array([49.0, 50.0, 52.0]))
    >>> chosen, why = propose([small, large])
    >>> chosen.name, why
    ('CCB 4 cells', 'it is the smallest option, 160 bytes, whose regret is within noise or 5 % \
of the lowest, 50.33 (CCB T^-1/3)')
    """
    fitting = [o for o in options if storage is None or o.bytes <= storage]
    if not fitting:
        smallest = min(options, key=_size)
        return None, (
            f"no option fits in {storage:,} bytes; "
            f"the smallest, {smallest.name}, needs {smallest.bytes:,}"
        )
    if regret is not None:
        return _within_regret(fitting, storage, regret)
    best = min(fitting, key=_loss)
    if storage is not None:
        chosen = min((o for o in fitting if _is_noise(o, best)), key=_size)
        return chosen, _why_lowest_regret(chosen, best, storage)
    limit = (1 + AS_GOOD) * _loss(best)
    chosen = min((o for o in fitting if _is_noise(o, best) or _loss(o) <= limit), key=_size)
    if chosen is best:
        smaller = any(o.bytes < chosen.bytes for o in fitting)
        more = f"every smaller option has over {100 * AS_GOOD:g} % more"
        return chosen, (
            f"it has the lowest regret, {_told(chosen)}, and "
            f"{more if smaller else 'no option is smaller'}"
        )
    return chosen, (
        f"it is the smallest option, {chosen.bytes:,} bytes, whose regret is within noise or "
        f"{100 * AS_GOOD:g} % of the lowest, {cell_text(best.regret)} ({best.name})"
    )


def _within_regret(
    options: Sequence[Option], storage: int | None, regret: float
) -> tuple[Option | None, str]:
    room = "" if storage is None else f" within {storage:,} bytes"
    kept = [o for o in options if o.interval is not None and o.interval[1] <= regret]
    if not kept:
        best = min(options, key=_loss)
        return None, (
            f"no option{room} has a regret of at most {cell_text(regret)} with 95 % confidence; "
            f"the lowest is {_told(best)}, by {best.name}"
        )
    chosen = min(kept, key=_size)
    return chosen, (
        f"it is the smallest option, {chosen.bytes:,} bytes, whose regret is at most "
        f"{cell_text(regret)} with 95 % confidence"
    )


def _why_lowest_regret(chosen: Option, best: Option, storage: int) -> str:
    if chosen is best:
        return f"it has the lowest regret within {storage:,} bytes, {_told(best)}"
    return (
        f"it is the smallest option, {chosen.bytes:,} bytes, whose regret is within noise of the "
        f"lowest within {storage:,} bytes, {cell_text(best.regret)} ({best.name})"
    )


def _is_noise(option: Option, best: Option) -> bool:
    """Whether the difference to the best, paired run by run, may be noise."""
    if option is best:
        return True
    if option.regrets is None or best.regrets is None:
        return False
    is_far = _loss(option) > (1 + MOST_NOISE) * _loss(best)
    return not is_far and mean_interval(option.regrets - best.regrets)[0] <= 0


def _loss(option: Option) -> float:
    return float("inf") if option.regret is None else option.regret


def _size(option: Option) -> tuple[int, float]:
    return option.bytes, _loss(option)


def _told(option: Option) -> str:
    return f"{cell_text(option.regret)} ({cell_text(Span(*option.interval or (0.0, 0.0)))})"
