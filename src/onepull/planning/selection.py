"""The rule by which one option is proposed.

It looks at simulated regret only: the bounds hold, but their constants are so large that
the order they put policies in says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from onepull.planning.option import Option, confidence
from onepull.report.table_cells import Span, shown

CLOSE = 0.05  # of the best regret: nobody sizes a system by less
# Noise excuses no more than this: beyond it the runs are too few to tell, and to keep more is safe.
EXCUSED = 0.25


def propose(
    options: Sequence[Option], *, storage: int | None = None, regret: float | None = None
) -> tuple[Option | None, str]:
    """Return the option to build and why, or None and what comes nearest.

    Within a storage budget it is the least regret, and less storage among those that differ
    from it by mere noise, and by no more than a quarter.  For a regret budget it is the
    least storage of those that keep to it with 95 % confidence.  With neither it is the
    least storage of those within noise or 5 % of the best.

    Parameters
    ----------
    options
        All by the same trial, and simulated.
    storage
        The bytes that may be kept.
    regret
        The regret that may be lost.

    Examples
    --------
    >>> import numpy as np
    >>> small = Option("CCB", "4 cells", {}, 1000, 20, 900.0, np.array([51.0, 52.0, 53.0]))
    >>> large = Option("CCB", "T^-1/3", {}, 1000, 200, 800.0, np.array([49.0, 50.0, 52.0]))
    >>> chosen, why = propose([small, large])
    >>> chosen.name, why
    ('CCB 4 cells', 'it keeps the least, 160 bytes, of those whose regret is within noise \
or 5 % of the best, 50.33 (CCB T^-1/3)')
    """
    fitting = [o for o in options if storage is None or o.bytes <= storage]
    if not fitting:
        smallest = min(options, key=_size)
        return None, (
            f"nothing fits into {storage:,} bytes: "
            f"the smallest, {smallest.name}, keeps {smallest.bytes:,}"
        )
    if regret is not None:
        return _within_regret(fitting, storage, regret)
    best = min(fitting, key=_loss)
    if storage is not None:
        chosen = min((o for o in fitting if _is_noise(o, best)), key=_size)
        return chosen, _why_least_regret(chosen, best, storage)
    limit = (1 + CLOSE) * _loss(best)
    chosen = min((o for o in fitting if _is_noise(o, best) or _loss(o) <= limit), key=_size)
    if chosen is best:
        smaller = any(o.bytes < chosen.bytes for o in fitting)
        more = f"what keeps less loses over {100 * CLOSE:g} % more"
        return chosen, (
            f"its regret is the least, {_told(chosen)}, and "
            f"{more if smaller else 'nothing keeps less'}"
        )
    return chosen, (
        f"it keeps the least, {chosen.bytes:,} bytes, of those whose regret is within noise "
        f"or {100 * CLOSE:g} % of the best, {shown(best.regret)} ({best.name})"
    )


def _within_regret(
    options: Sequence[Option], storage: int | None, regret: float
) -> tuple[Option | None, str]:
    room = "" if storage is None else f" within {storage:,} bytes"
    kept = [o for o in options if o.interval is not None and o.interval[1] <= regret]
    if not kept:
        best = min(options, key=_loss)
        return None, (
            f"nothing keeps to a regret of {shown(regret)} with 95 % confidence{room}: "
            f"the least is {_told(best)}, by {best.name}"
        )
    chosen = min(kept, key=_size)
    return chosen, (
        f"it keeps the least, {chosen.bytes:,} bytes, of those whose regret is at most "
        f"{shown(regret)} with 95 % confidence{room}"
    )


def _why_least_regret(chosen: Option, best: Option, storage: int) -> str:
    if chosen is best:
        return f"its regret is the least within {storage:,} bytes, {_told(best)}"
    return (
        f"of those within {storage:,} bytes whose regret is the least but for noise, "
        f"{shown(best.regret)} ({best.name}), it keeps the least, {chosen.bytes:,}"
    )


def _is_noise(option: Option, best: Option) -> bool:
    """Whether an option may be as good as the best, run by run on the same draws."""
    if option is best:
        return True
    if option.regrets is None or best.regrets is None:
        return False
    is_far = _loss(option) > (1 + EXCUSED) * _loss(best)
    return not is_far and confidence(option.regrets - best.regrets)[0] <= 0


def _loss(option: Option) -> float:
    return float("inf") if option.regret is None else option.regret


def _size(option: Option) -> tuple[int, float]:
    return option.bytes, _loss(option)


def _told(option: Option) -> str:
    return f"{shown(option.regret)} ({shown(Span(*option.interval or (0.0, 0.0)))})"
