"""Which of the simulated controllers of a buffer to propose, and why."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from onepull.arrays import Array
from onepull.planning.option import mean_interval
from onepull.report.table_cells import Span, cell_text
from onepull.simulation.buffered import BufferResult

MOST_BUFFER_NOISE = (
    0.02  # a difference larger than this, relative to the best, is never taken for noise
)


def propose_controller(
    result: BufferResult, judged: str, limits: Mapping[str, float]
) -> tuple[str | None, str]:
    """Return the controller to use and the reason; or None and which one comes closest."""
    sign = 1.0 if judged == "reward" else -1.0
    kept = [
        name
        for name in result.controllers
        if _keeps(result, name, limits) and np.isfinite(result.of(name, judged)).all()
    ]
    asked = _asked(limits)
    if not kept:
        nearest = min(result.controllers, key=lambda name: _beyond(result, name, limits))
        return None, (
            f"no controller {asked} with 95 % confidence; {nearest} comes closest: it loses "
            f"{cell_text(100 * float(_share_lost(result, nearest).mean()))} % and holds "
            f"{cell_text(float(result.of(nearest, 'level').mean()))} on average"
        )
    runs = {name: sign * result.of(name, judged) for name in kept}
    best = max(kept, key=lambda name: float(runs[name].mean()))
    chosen = next(name for name in kept if _is_noise(runs[name], runs[best]))
    among = f" among those that {_asked(limits, plural=True)} with 95 % confidence" if asked else ""
    most = "highest" if judged == "reward" else "lowest"
    own = result.of(chosen, judged)
    told = f"{cell_text(float(own.mean()))} ({cell_text(Span(*mean_interval(own)))})"
    held = (
        f"; {cell_text(float(result.of(chosen, 'level').mean()))} wait on average" if limits else ""
    )
    if chosen == best:
        return chosen, f"it has the {most} {judged}{among}, {told}{held}"
    top = cell_text(float(result.of(best, judged).mean()))
    return chosen, (
        f"its {judged}, {told}, is within noise of the {most}{among}, {top} ({best}), and it is "
        f"simpler{held}"
    )


def without(result: BufferResult, name: str) -> BufferResult:
    """Return a result without one of its controllers."""
    rest = [c for c in result.controllers if c != name]
    rows = [result.controllers.index(c) for c in rest]
    measured = {measure: values[rows] for measure, values in result.measured.items()}
    return BufferResult(rest, result.horizon, measured)


def _asked(limits: Mapping[str, float], *, plural: bool = False) -> str:
    """Return the limits in words."""
    if not limits:
        return ""
    s = "" if plural else "s"
    share = f"lose{s} at most {100 * limits['lost']:g} % of the arrivals"
    return f"{share} and hold{s} at most {limits['level']:g}" if "level" in limits else share


def _keeps(result: BufferResult, name: str, limits: Mapping[str, float]) -> bool:
    """Whether a controller is within the limits with 95 % confidence."""
    held = {"lost": _share_lost(result, name), "level": result.of(name, "level")}
    return all(mean_interval(held[what])[1] <= most for what, most in limits.items())


def _beyond(result: BufferResult, name: str, limits: Mapping[str, float]) -> float:
    """Return the largest ratio of what a controller loses or holds to its limit."""
    held = {"lost": _share_lost(result, name), "level": result.of(name, "level")}
    return max(mean_interval(held[what])[1] / max(most, 1e-12) for what, most in limits.items())


def _share_lost(result: BufferResult, name: str) -> Array:
    return ratio(result.of(name, "lost"), result.of(name, "arrived"), 0.0)


def ratio(above: Array, below: Array, otherwise: float) -> Array:
    """Return `above / below`, or `otherwise` where `below` is 0."""
    found: Array = np.where(below > 0, above / np.where(below > 0, below, 1.0), otherwise)
    return found


def _is_noise(runs: Array, best: Array) -> bool:
    """Whether the difference to the best, paired run by run, is small and may be noise."""
    near = float(runs.mean()) >= float(best.mean()) - MOST_BUFFER_NOISE * abs(float(best.mean()))
    return near and (runs is best or mean_interval(best - runs)[0] <= 0.0)
