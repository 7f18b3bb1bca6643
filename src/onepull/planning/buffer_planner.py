"""Which controller to put around a policy at a battery or a queue, and with which weight."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np

from onepull.arrays import Array
from onepull.checks import number
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
from onepull.policies import Genie, Policy, UpperConfidence
from onepull.policies.recommended import recommended
from onepull.report import Table
from onepull.report.buffer_tables import buffer_summary
from onepull.report.table_cells import Span, shown
from onepull.simulation.buffered import BufferResult, simulate_buffer
from onepull.simulation.simulation import whole

SIMULATED = 10_000  # slots at most; they run in the interpreter
SIMULATED_UNKNOWN = 3_000  # and where no horizon is known
RUNGS = 8  # of the ladder of weights, at most
FACTOR = math.sqrt(2)  # from one to the next, at least
MOST_LEVELS = 500  # of a plan that is made again and again on the way
MOST_LEVELS_ONCE = 1_000  # of one that is made once
LOST = 0.001  # of the bits: what may be lost if nothing else is said
EXCUSED = 0.02  # of the best: what noise excuses
A_BIT = "cost a bit"  # that got through
PLANNED = BatteryPlan.__name__


@dataclass(frozen=True, slots=True)
class BufferPlan:
    """What every controller did, and which of them to build.

    Attributes
    ----------
    calls
        How to build each controller, in Python, by its name; from what asks for least to what
        asks for most.
    judged
        What they are compared by: `reward`, or `cost a bit`.
    proposed
        The name of what to build; None where nothing keeps to what was asked.
    reason
        Why, in one sentence, or what comes nearest.
    best
        The reward of who knows everything; None where that is not known.
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
        """Return what to build and why, or what comes nearest."""
        sentence = f"{self.reason[0].upper()}{self.reason[1:]}."
        return sentence if self.proposed is None else f"Proposed: {self.call}\n{sentence}"

    def __str__(self) -> str:
        """Lay out all controllers and the proposal."""
        return f"{self.table()}\n\n{self.proposal()}"

    @property
    def call(self) -> str | None:
        """How to build what is proposed, in Python."""
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
    """Return what each controller would do around `recommended`, and which to build.

    All meet the same draws.  At a battery it is the highest reward, at a backlog the lowest
    cost for a bit that gets through among those that keep to `lost` and `level` with 95 %
    confidence.  Of those that differ from that by mere noise, and by no more than 2 %, it is
    the one that asks for least: ignoring the buffer, then the smaller weight, then the plan,
    which needs the law of the arrivals.

    Parameters
    ----------
    horizon
        The number of slots, of which at most 10,000 are simulated; 3,000 if it is unknown.
    level
        How many bits of a backlog may wait on average.
    lost
        Which share of the bits may find no room; 0.1 % if nothing is said.
    replications
        Simulated runs, at least two.

    Examples
    --------
    >>> from onepull.control import metered_backlog
    >>> made = plan_buffer(metered_backlog(), horizon=60, replications=2, seed=1)
    >>> made.judged, made.call.startswith("DriftPlusPenalty(recommended(problem), buffer, weight=")
    ('cost a bit', True)
    """
    runs = whole("replications", replications, least=2)
    slots = SIMULATED_UNKNOWN if horizon is None else min(whole("horizon", horizon), SIMULATED)
    limits = _limits(environment, level, lost)
    found, calls, notes = _candidates(environment)
    stated = {"horizon": slots, "replications": runs, "seed": seed}
    result = simulate_buffer(environment, found, executor=executor, progress=progress, **stated)
    judged: str = environment.buffer.counted
    if judged == "cost":
        judged = A_BIT
        result.measured[A_BIT] = _ratio(
            result.measured["cost"], result.measured["drained"], math.nan
        )
    chosen, reason = _propose(result, judged, limits)
    if chosen == PLANNED:
        drift = _propose(_without(result, PLANNED), judged, limits)[0]
        reason += f"; without the law of the arrivals it would be {calls[str(drift)]}"
    best, told = attainable(environment)
    if horizon is None:
        notes.append(f"No horizon is given; simulated up to slot {slots:,}.")
    elif horizon > slots:
        notes.append(f"Simulated up to slot {slots:,} only.")
    notes += [*told, "The weights were compared on these same runs."]
    return BufferPlan(environment, result, calls, judged, chosen, reason, best, notes)


def weights(environment: BufferEnvironment) -> list[float]:
    """Return a ladder of weights V that suits a buffer, from small to large.

    Of all pairs of an amount and an arm only those on the upper hull of (mean drain, mean gain)
    are worth using, and along it the gain of one more unit falls: s_1 > s_2 > ….  Drift plus
    penalty counts the level from V·s_1, and takes the step of slope s_i where the level is above
    V(s_1 - s_i).  In the long run what arrives has to be drained, so the level settles near
    V(s_1 - s), where s is the slope of the step on which the mean arrivals lie, or of the second
    if that is the first.  The ladder has the V at which this level goes from half the largest
    amount, or an eighth of the capacity if that is less, up to the capacity, each √2 times the
    one before, or more if that would take more than eight.

    >>> from onepull.control import harvesting_battery
    >>> weights(harvesting_battery())
    [1.4, 1.98, 2.8, 3.97, 5.61, 7.93, 11.2]
    """
    buffer = environment.buffer
    slopes = _slopes(environment)
    apart = abs(slopes[0]) if len(slopes) == 1 else slopes[0] - slopes[1]
    apart = apart or 1.0  # where nothing costs anything any weight is as good
    low, high = min(buffer.amounts[-1] / 2, buffer.capacity / 8), buffer.capacity
    rungs = min(RUNGS, 1 + math.ceil(math.log(high / low, FACTOR) - 1e-9))
    return [float(f"{level / apart:.3g}") for level in np.geomspace(low, high, rungs).tolist()]


def attainable(environment: BufferEnvironment) -> tuple[float | None, list[str]]:
    """Return the reward of who knows everything, and what is to be said about it.

    A backlog has none: how little it costs depends on how much may wait.

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
    return None, [f"What is the best there is was not computed: {reason}."]


def _limits(
    environment: BufferEnvironment, level: float | None, lost: float | None
) -> dict[str, float]:
    """Return what may be lost, as a share, and wait, after a look at what was asked for."""
    if isinstance(environment.buffer, Battery):
        if level is not None or lost is not None:
            raise ParameterError(
                "level and lost are what a backlog may hold and lose; a battery is judged by its "
                "reward alone"
            )
        return {}
    share = LOST if lost is None else number("lost", lost, above=0.0, at_least=True)
    if share > 1.0:
        raise ParameterError(f"lost is a share from 0 to 1, given {lost!r}")
    if level is None:
        return {"lost": share}
    return {"lost": share, "level": number("level", level, above=0.0)}


def _candidates(
    environment: BufferEnvironment,
) -> tuple[dict[str, Controller], dict[str, str], list[str]]:
    """Return every controller with how to build it, and what is to be said about them."""
    buffer = environment.buffer
    learner, told, notes = _learner(environment)
    found: dict[str, Controller] = {"Myopic": Myopic(learner(), buffer)}
    calls = {"Myopic": f"Myopic({told}, buffer)"}
    notes.append("drift: DriftPlusPenalty with the weight V.")
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
    """Return what makes the policy inside, how to build it, and what is to be said about it."""
    problem, buffer = environment.problem, environment.buffer

    def plain() -> Policy:
        return UpperConfidence(problem, alpha=0.51)

    try:
        Myopic(recommended(problem), buffer)
    except OnepullError as error:
        note = f"The arms are learned by UpperConfidence, since recommended does not do: {error}."
        return plain, "UpperConfidence(problem, alpha=0.51)", [note]
    note = f"The arms are learned by recommended(problem), {type(recommended(problem)).__name__}."
    return lambda: recommended(problem), "recommended(problem)", [note]


def _unplanned(environment: BufferEnvironment, most: int) -> str | None:
    """Return why no plan is made for a battery, if none is."""
    buffer = environment.buffer
    try:
        step = level_step(buffer, environment.arrivals, buffer.amounts)
    except ParameterError as error:
        return str(error)
    levels = round(buffer.capacity / step) + 1
    return None if levels <= most else f"{levels:,} levels would take long"


def _slopes(environment: BufferEnvironment) -> tuple[float, ...]:
    """Return what the first unit drained gains at most, and a unit at the mean arrivals.

    It is the first alone if there is no other step.
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
        raise ParameterError("nothing ever drains the buffer, whatever is pulled")
    arriving = environment.arrivals.expectation(lambda amount: amount)
    hull = _hull(uses)
    if len(hull) == 1:
        return (hull[0][1],)
    beyond = [slope for drain, slope in hull[1:] if drain >= arriving]
    return hull[0][1], beyond[0] if beyond else hull[-1][1]


def _hull(uses: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return where each step of the upper hull from nothing ends, and its slope."""
    drain, gain = 0.0, 0.0
    steps: list[tuple[float, float]] = []
    while further := [use for use in uses if use[0] > drain]:
        slope, end, worth = max(((g - gain) / (d - drain), d, g) for d, g in further)
        if steps and math.isclose(slope, steps[-1][1], rel_tol=1e-9):
            steps.pop()  # the same step, but for rounding
        steps.append((end, slope))
        drain, gain = end, worth
    return steps


def _propose(
    result: BufferResult, judged: str, limits: Mapping[str, float]
) -> tuple[str | None, str]:
    """Return the controller to build and why, or None and what comes nearest."""
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
            f"none was found to {asked} with 95 % confidence; {nearest} comes nearest: it loses "
            f"{shown(100 * float(_share_lost(result, nearest).mean()))} % and holds "
            f"{shown(float(result.of(nearest, 'level').mean()))} on average"
        )
    runs = {name: sign * result.of(name, judged) for name in kept}
    best = max(kept, key=lambda name: float(runs[name].mean()))
    chosen = next(name for name in kept if _is_noise(runs[name], runs[best]))
    which = f"of those that {asked} with 95 % confidence, " if asked else ""
    most = "highest" if judged == "reward" else "lowest"
    own = result.of(chosen, judged)
    told = f"{shown(float(own.mean()))} ({shown(Span(*confidence(own)))})"
    held = f"; {shown(float(result.of(chosen, 'level').mean()))} wait on average" if limits else ""
    if chosen == best:
        return chosen, f"{which}its {judged} is the {most}, {told}{held}"
    top = shown(float(result.of(best, judged).mean()))
    return chosen, (
        f"{which}its {judged}, {told}, is the {most} but for noise, and it asks for less than "
        f"{best} ({top}){held}"
    )


def _without(result: BufferResult, name: str) -> BufferResult:
    rest = [c for c in result.controllers if c != name]
    rows = [result.controllers.index(c) for c in rest]
    measured = {measure: values[rows] for measure, values in result.measured.items()}
    return BufferResult(rest, result.horizon, measured)


def _asked(limits: Mapping[str, float]) -> str:
    """Return what was asked for in words."""
    if not limits:
        return ""
    share = f"lose at most {100 * limits['lost']:g} % of what arrives"
    return f"{share} and hold at most {limits['level']:g}" if "level" in limits else share


def _keeps(result: BufferResult, name: str, limits: Mapping[str, float]) -> bool:
    """Whether a controller keeps to the limits with 95 % confidence."""
    held = {"lost": _share_lost(result, name), "level": result.of(name, "level")}
    return all(confidence(held[what])[1] <= most for what, most in limits.items())


def _beyond(result: BufferResult, name: str, limits: Mapping[str, float]) -> float:
    """Return how far a controller is beyond the limit that it misses most, as a multiple of it."""
    held = {"lost": _share_lost(result, name), "level": result.of(name, "level")}
    return max(confidence(held[what])[1] / max(most, 1e-12) for what, most in limits.items())


def _share_lost(result: BufferResult, name: str) -> Array:
    return _ratio(result.of(name, "lost"), result.of(name, "arrived"), 0.0)


def _ratio(above: Array, below: Array, otherwise: float) -> Array:
    """Return a quotient where there is one."""
    found: Array = np.where(below > 0, above / np.where(below > 0, below, 1.0), otherwise)
    return found


def _is_noise(runs: Array, best: Array) -> bool:
    """Whether runs may be as good as the best ones, pair by pair, and are not far from them."""
    near = float(runs.mean()) >= float(best.mean()) - EXCUSED * abs(float(best.mean()))
    return near and (runs is best or confidence(best - runs)[0] <= 0.0)
