"""Choose the controller of a battery or a queue, and its weight, by simulating the candidates."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import Executor

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
from onepull.planning.buffer_plan import BufferPlan
from onepull.planning.buffer_proposal import propose_controller, ratio, without
from onepull.planning.buffer_weights import weights
from onepull.policies import Policy, UpperConfidence
from onepull.policies.recommendation import recommended
from onepull.simulation.buffered import simulate_buffer

SIMULATED_SLOTS = 10_000  # slots at most, if the horizon is known; they run in the interpreter
SIMULATED_SLOTS_UNKNOWN = 3_000  # slots, if it is not
MOST_LEVELS_REPEATED = 500  # of a battery plan that is computed again and again during a run
MOST_LEVELS_ONCE = 1_000  # of one that is computed once
MOST_LOST = 0.001  # the default limit of the share of bits lost
PER_BIT = "cost per bit"  # delivered
PLANNED = BatteryPlan.__name__


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
        The seed of the random draws.
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
        SIMULATED_SLOTS_UNKNOWN
        if horizon is None
        else min(whole_number("horizon", horizon), SIMULATED_SLOTS)
    )
    limits = _limits(environment, level, lost)
    found, calls, notes = _candidates(environment)
    stated = {"horizon": slots, "replications": runs, "seed": seed}
    result = simulate_buffer(environment, found, executor=executor, progress=progress, **stated)
    judged: str = environment.buffer.counted
    if judged == "cost":
        judged = PER_BIT
        result.measured[PER_BIT] = ratio(
            result.measured["cost"], result.measured["drained"], math.nan
        )
    chosen, reason = propose_controller(result, judged, limits)
    if chosen == PLANNED:
        drift = propose_controller(without(result, PLANNED), judged, limits)[0]
        reason += f"; if you do not know the distribution of the arrivals, use {calls[str(drift)]}"
    best, told = attainable(environment)
    if horizon is None:
        notes.append(f"No horizon was given; the simulations end at slot {slots:,}.")
    elif horizon > slots:
        notes.append(f"The simulations end at slot {slots:,}.")
    notes += [*told, "The weights were chosen on these runs, so the best looks slightly too good."]
    return BufferPlan(environment, result, calls, judged, chosen, reason, best, notes)


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
    share = MOST_LOST if lost is None else number("lost", lost, above=0.0, at_least=True)
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
        if (reason := _unplanned(environment, MOST_LEVELS_REPEATED)) is None:
            found[PLANNED] = BatteryPlan(learner(), buffer, arrivals=environment.arrivals)
            calls[PLANNED] = f"BatteryPlan({told}, buffer, arrivals=arrivals)"
        else:
            notes.append(f"BatteryPlan was left out: {reason}.")
    return found, calls, notes


def _learner(environment: BufferEnvironment) -> tuple[Callable[[], Policy], str, list[str]]:
    """Return a function that builds the policy, its Python call, and notes."""
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
