"""Choose the controller of a battery or a queue, and its weight, by simulating the candidates."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np

from onepull.arrays import Array
from onepull.checks import number, whole_number
from onepull.control import (
    Battery,
    BatteryPlan,
    BufferEnvironment,
    Controller,
    DriftPlusPenalty,
    Myopic,
)
from onepull.control.dynamic_programming import level_step
from onepull.errors import OnepullError, ParameterError
from onepull.planning.option import confidence
from onepull.planning.plan_tables import plan_html
from onepull.policies import Genie, Policy, UpperConfidence
from onepull.policies.recommendation import recommended
from onepull.report import Table
from onepull.report.buffer_tables import buffer_summary
from onepull.report.table_cells import Span, shown
from onepull.simulation.buffered import BufferResult, simulate_buffer

SIMULATED = 10_000  # slots at most, if the horizon is known; they run in the interpreter
SIMULATED_UNKNOWN = 3_000  # slots, if it is not
RUNGS = 8  # weights that are tried, at most
FACTOR = math.sqrt(2)  # between one weight and the next, at least
MOST_LEVELS = 500  # of a battery plan that is computed again and again during a run
MOST_LEVELS_ONCE = 1_000  # of one that is computed once
LOST = 0.001  # the default limit of the share of bits lost
EXCUSED = 0.02  # a difference larger than this, relative to the best, is never taken for noise
PER_BIT = "cost per bit"  # delivered
PLANNED = BatteryPlan.__name__


@dataclass(frozen=True, slots=True)
class BufferPlan:
    """The controllers that were tried, and the one that is proposed.

    Attributes
    ----------
    environment
        What they were tried on.
    result
        What was measured.
    calls
        The Python call that builds each controller, by name, the simplest first.
    judged
        What they are compared by: `reward`, or `cost per bit`.
    proposed
        The name of the controller to use; None if none is within the limits.
    reason
        Why, in one sentence; or which controller comes closest.
    best
        The highest reward that is possible if everything is known; None if that is not known.
    notes
        How to read the numbers.
    """

    environment: BufferEnvironment
    result: BufferResult
    calls: dict[str, str]
    judged: str
    proposed: str | None
    reason: str
    best: float | None
    notes: list[str]

    def table(self) -> Table:
        """Return the table of all controllers."""
        counted = self.environment.buffer.counted
        extra = [] if self.judged == counted else [self.judged]
        return buffer_summary(
            self.result,
            counted,
            best=self.best,
            beside=[*extra, "level", "lost"],
            notes=self.notes,
        )

    def proposal(self) -> str:
        """Return the proposed call and the reason; or which controller comes closest."""
        sentence = f"{self.reason[0].upper()}{self.reason[1:]}."
        return sentence if self.proposed is None else f"Proposed: {self.call}\n{sentence}"

    def __str__(self) -> str:
        """Return all controllers and the proposal as text."""
        return f"{self.table()}\n\n{self.proposal()}"

    def _repr_html_(self) -> str:
        """Return the table and the proposal for a notebook; the proposed row is highlighted."""
        return plan_html([self.table()], self.proposed, self.proposal())

    @property
    def call(self) -> str | None:
        """The Python call that builds the proposed controller."""
        return None if self.proposed is None else self.calls[self.proposed]

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain values."""
        return {
            "slots": self.result.horizon,
            "replications": self.result.replications,
            "proposed": self.proposed and {"name": self.proposed, "call": self.call},
            "reason": self.reason,
            "best": self.best,
            "options": [
                {"name": row.pop("controller"), "call": call, **row}
                for row, call in zip(self.result.rows(), self.calls.values(), strict=True)
            ],
            "notes": self.notes,
        }


def plan_buffer(  # noqa: PLR0913 - a full statement
    environment: BufferEnvironment,
    *,
    horizon: int | None = None,
    level: float | None = None,
    lost: float | None = None,
    replications: int = 8,
    seed: int = 0,
    executor: Executor | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> BufferPlan:
    """Return what each controller achieves with the recommended policy, and which one to use.

    All controllers meet the same draws.  For a battery the best controller is the one with the
    highest reward.  For a backlog it is the one with the lowest cost per bit delivered, among
    those that are within `lost` and `level` with 95 % confidence.  If simpler controllers differ
    from the best by no more than noise and 2 %, the simplest of them is proposed: first `Myopic`,
    then `DriftPlusPenalty` with a small weight, then `BatteryPlan`, which needs the distribution
    of the arrivals.  Needs the `simulate` extra.

    Parameters
    ----------
    horizon
        The number of slots, of which at most 10,000 are simulated; 3,000 if it is not given.
    level
        For a backlog, the limit of the bits that wait, on average.
    lost
        For a backlog, the limit of the share of bits that are lost; 0.1 % by default.
    replications
        The number of simulated runs, at least 2.
    seed
        Where the draws come from.
    executor
        Where to run; this thread by default.
    progress
        A function that is called with the number of replications done and in total.

    Examples
    --------
    >>> from onepull.control import metered_backlog
    >>> made = plan_buffer(metered_backlog(), horizon=60, replications=2, seed=1)
    >>> made.judged, made.call.startswith("DriftPlusPenalty(recommended(problem), buffer, weight=")
    ('cost per bit', True)
    """
    runs = whole_number("replications", replications, least=2)
    slots = (
        SIMULATED_UNKNOWN if horizon is None else min(whole_number("horizon", horizon), SIMULATED)
    )
    limits = _limits(environment, level, lost)
    found, calls, notes = _candidates(environment)
    stated = {"horizon": slots, "replications": runs, "seed": seed}
    result = simulate_buffer(environment, found, executor=executor, progress=progress, **stated)
    judged: str = environment.buffer.counted
    if judged == "cost":
        judged = PER_BIT
        result.measured[PER_BIT] = _ratio(
            result.measured["cost"], result.measured["drained"], math.nan
        )
    chosen, reason = _propose(result, judged, limits)
    if chosen == PLANNED:
        drift = _propose(_without(result, PLANNED), judged, limits)[0]
        reason += f"; if you do not know the distribution of the arrivals, use {calls[str(drift)]}"
    best, told = attainable(environment)
    if horizon is None:
        notes.append(f"No horizon was given; the simulations end at slot {slots:,}.")
    elif horizon > slots:
        notes.append(f"The simulations end at slot {slots:,}.")
    notes += [*told, "The weights were chosen on these runs, so the best looks slightly too good."]
    return BufferPlan(environment, result, calls, judged, chosen, reason, best, notes)


def weights(environment: BufferEnvironment) -> list[float]:
    """Return the weights V to try for a buffer, from small to large.

    Of all pairs of an amount and an arm, only those on the upper hull of (mean drain, mean gain)
    are worth using.  Along the hull the gain per unit falls: s_1 > s_2 > ….  Drift plus penalty
    counts the level from V·s_1 and takes the step with slope s_i when the level is above
    V(s_1 - s_i).  In the long run all arrivals are drained, so the level settles near
    V(s_1 - s), where s is the slope of the step that contains the mean arrivals, or of the second
    step if that is the first.  The weights returned make this level go from half the largest
    amount, or an eighth of the capacity if that is less, up to the capacity.  Each is √2 times the
    one before, or more if that would need more than eight.

    >>> from onepull.control import harvesting_battery
    >>> weights(harvesting_battery())
    [1.4, 1.98, 2.8, 3.97, 5.61, 7.93, 11.2]
    """
    buffer = environment.buffer
    slopes = _slopes(environment)
    apart = abs(slopes[0]) if len(slopes) == 1 else slopes[0] - slopes[1]
    apart = apart or 1.0  # if nothing costs anything, all weights are the same
    low, high = min(buffer.amounts[-1] / 2, buffer.capacity / 8), buffer.capacity
    rungs = min(RUNGS, 1 + math.ceil(math.log(high / low, FACTOR) - 1e-9))
    return [float(f"{level / apart:.3g}") for level in np.geomspace(low, high, rungs).tolist()]


def attainable(environment: BufferEnvironment) -> tuple[float | None, list[str]]:
    """Return the highest reward that is possible if everything is known, and notes on it.

    None for a backlog: its lowest cost depends on how many bits may wait.

    >>> from onepull.control import harvesting_battery
    >>> value, notes = attainable(harvesting_battery())
    >>> round(value, 4), notes
    (0.2266, [])
    """
    if not isinstance(environment.buffer, Battery):
        return None, []
    if (reason := _unplanned(environment, MOST_LEVELS_ONCE)) is None:
        try:
            return environment.best_plan().value, []
        except ParameterError as error:
            reason = str(error)
    return None, [f"The best possible reward was not computed: {reason}."]


def _limits(
    environment: BufferEnvironment, level: float | None, lost: float | None
) -> dict[str, float]:
    """Return the limits of a backlog after checking them; a battery has none."""
    if isinstance(environment.buffer, Battery):
        if level is not None or lost is not None:
            raise ParameterError(
                "level and lost are limits of a backlog; a battery is judged by its reward only"
            )
        return {}
    share = LOST if lost is None else number("lost", lost, above=0.0, at_least=True)
    if share > 1.0:
        raise ParameterError(f"lost must be a share from 0 to 1, given {lost!r}")
    if level is None:
        return {"lost": share}
    return {"lost": share, "level": number("level", level, above=0.0)}


def _candidates(
    environment: BufferEnvironment,
) -> tuple[dict[str, Controller], dict[str, str], list[str]]:
    """Return the controllers, the Python calls that build them, and notes on them."""
    buffer = environment.buffer
    learner, told, notes = _learner(environment)
    found: dict[str, Controller] = {"Myopic": Myopic(learner(), buffer)}
    calls = {"Myopic": f"Myopic({told}, buffer)"}
    notes.append("drift V=…: DriftPlusPenalty with weight V.")
    for weight in weights(environment):
        name = f"drift V={weight:g}"
        found[name] = DriftPlusPenalty(learner(), buffer, weight=weight)
        calls[name] = f"DriftPlusPenalty({told}, buffer, weight={weight!r})"
    if isinstance(buffer, Battery):
        if (reason := _unplanned(environment, MOST_LEVELS)) is None:
            found[PLANNED] = BatteryPlan(learner(), buffer, arrivals=environment.arrivals)
            calls[PLANNED] = f"BatteryPlan({told}, buffer, arrivals=arrivals)"
        else:
            notes.append(f"BatteryPlan was left out: {reason}.")
    return found, calls, notes


def _learner(environment: BufferEnvironment) -> tuple[Callable[[], Policy], str, list[str]]:
    """Return a function that makes the policy, the Python call that does, and notes on it."""
    problem, buffer = environment.problem, environment.buffer

    def plain() -> Policy:
        return UpperConfidence(problem, alpha=0.51)

    try:
        Myopic(recommended(problem), buffer)
    except OnepullError as error:
        note = f"The policy is UpperConfidence; the recommended one cannot be used: {error}."
        return plain, "UpperConfidence(problem, alpha=0.51)", [note]
    note = f"The policy is the recommended one, {type(recommended(problem)).__name__}."
    return lambda: recommended(problem), "recommended(problem)", [note]


def _unplanned(environment: BufferEnvironment, most: int) -> str | None:
    """Return why no plan can be computed for a battery; None if it can."""
    buffer = environment.buffer
    try:
        step = level_step(buffer, environment.arrivals, buffer.amounts)
    except ParameterError as error:
        return str(error)
    levels = round(buffer.capacity / step) + 1
    return None if levels <= most else f"{levels:,} levels would take too long"


def _slopes(environment: BufferEnvironment) -> tuple[float, ...]:
    """Return the slope of the hull's first step and of the step at the mean arrivals.

    Only the first if the hull has one step.
    """
    buffer = environment.buffer
    known = Myopic(Genie(environment.problem, states=environment.states), buffer)
    uses = [
        (drain, gain)
        for amount in buffer.offers(buffer.capacity)
        for _, gain, drain in known.uses(amount)
        if drain > 0.0
    ]
    if not uses:
        raise ParameterError("no arm ever drains the buffer")
    arriving = environment.arrivals.expectation(lambda amount: amount)
    hull = _hull(uses)
    if len(hull) == 1:
        return (hull[0][1],)
    beyond = [slope for drain, slope in hull[1:] if drain >= arriving]
    return hull[0][1], beyond[0] if beyond else hull[-1][1]


def _hull(uses: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the end and the slope of each step of the upper hull, which starts at (0, 0)."""
    drain, gain = 0.0, 0.0
    steps: list[tuple[float, float]] = []
    while further := [use for use in uses if use[0] > drain]:
        slope, end, worth = max(((g - gain) / (d - drain), d, g) for d, g in further)
        if steps and math.isclose(slope, steps[-1][1], rel_tol=1e-9):
            steps.pop()  # the same slope up to rounding
        steps.append((end, slope))
        drain, gain = end, worth
    return steps


def _propose(
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
            f"{shown(100 * float(_share_lost(result, nearest).mean()))} % and holds "
            f"{shown(float(result.of(nearest, 'level').mean()))} on average"
        )
    runs = {name: sign * result.of(name, judged) for name in kept}
    best = max(kept, key=lambda name: float(runs[name].mean()))
    chosen = next(name for name in kept if _is_noise(runs[name], runs[best]))
    among = f" among those that {_asked(limits, plural=True)} with 95 % confidence" if asked else ""
    most = "highest" if judged == "reward" else "lowest"
    own = result.of(chosen, judged)
    told = f"{shown(float(own.mean()))} ({shown(Span(*confidence(own)))})"
    held = f"; {shown(float(result.of(chosen, 'level').mean()))} wait on average" if limits else ""
    if chosen == best:
        return chosen, f"it has the {most} {judged}{among}, {told}{held}"
    top = shown(float(result.of(best, judged).mean()))
    return chosen, (
        f"its {judged}, {told}, is within noise of the {most}{among}, {top} ({best}), and it is "
        f"simpler{held}"
    )


def _without(result: BufferResult, name: str) -> BufferResult:
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
    return all(confidence(held[what])[1] <= most for what, most in limits.items())


def _beyond(result: BufferResult, name: str, limits: Mapping[str, float]) -> float:
    """Return the largest ratio of what a controller loses or holds to its limit."""
    held = {"lost": _share_lost(result, name), "level": result.of(name, "level")}
    return max(confidence(held[what])[1] / max(most, 1e-12) for what, most in limits.items())


def _share_lost(result: BufferResult, name: str) -> Array:
    return _ratio(result.of(name, "lost"), result.of(name, "arrived"), 0.0)


def _ratio(above: Array, below: Array, otherwise: float) -> Array:
    """Return `above / below`, or `otherwise` where `below` is 0."""
    found: Array = np.where(below > 0, above / np.where(below > 0, below, 1.0), otherwise)
    return found


def _is_noise(runs: Array, best: Array) -> bool:
    """Whether the difference to the best, paired run by run, is small and may be noise."""
    near = float(runs.mean()) >= float(best.mean()) - EXCUSED * abs(float(best.mean()))
    return near and (runs is best or confidence(best - runs)[0] <= 0.0)
