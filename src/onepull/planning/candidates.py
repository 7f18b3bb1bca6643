"""Which policies suit a problem.

Each generator yields the candidates of one kind, or none if the kind does not suit the
problem.  To add a kind, add a generator to `GENERATORS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeAlias

from onepull.errors import ParameterError
from onepull.factor import Dense, Histogram, LowRank, Sketch
from onepull.payoff.box_points import is_finite, size
from onepull.planning import bounds
from onepull.planning.candidate import Candidate, is_coarse
from onepull.planning.grid_sizes import (
    CELL_POWERS,
    HORIZONS,
    MOST_GRID_CELLS,
    cell_count,
    intervals,
    ladder,
)
from onepull.policies import (
    CCB,
    DCB,
    UCB1,
    DoublingCCB,
    EmpiricalKL,
    MultiUCB,
    PatientKL,
    UpperConfidence,
    recommended,
)
from onepull.policies.recommendation import HEAD_START
from onepull.policies.rule_policy import RulePolicy
from onepull.policies.ucb.ccb import tuned_delta
from onepull.problem import Problem
from onepull.spaces import Interval

EPSILON = 0.01  # the paper's; a larger one explores more, with a smaller constant in theorem 2
USUAL = "T^-1/2"  # the δ that stands for CCB where only one is tried
RANK_TOLERANCE = 1e-6  # of low rank, as a share of the reward's range
MOST_FEATURES = 32  # of low rank; a reward that needs more is better served by a grid or sketch
MOST_CANDIDATE_ATOMS = 1024  # of a histogram or a sketch
KNOTS = (17, 65)  # of sketches, for each field
UNPROVED = "no bound on its regret is proved"


# From a problem and its horizon, None if unknown.
Generator: TypeAlias = Callable[[Problem, int | None], Iterator[Candidate]]


def dcb(problem: Problem, horizon: int | None) -> Iterator[Candidate]:
    """Yield DCB, if contexts are finite.

    >>> from onepull.environment import channel_selection
    >>> [candidate.name for candidate in dcb(channel_selection().problem, None)]
    ['DCB']
    """
    del horizon  # it needs none
    if not intervals(problem):
        bound = bounds.joint_bound(problem, 2 + EPSILON, None)
        yield Candidate("DCB", "", partial(DCB, problem, epsilon=EPSILON), bound, leads=True)


def ccb(problem: Problem, horizon: int | None) -> Iterator[Candidate]:
    """Yield CCB with several δ, if contexts are continuous and T is known.

    If T is larger than what is simulated, only those δ that are tuned to T.

    >>> from onepull.environment import energy_harvesting
    >>> [candidate.label for candidate in ccb(energy_harvesting().problem, 10**6)]
    ['1 cell', '4 cells', '16 cells', 'T^-1/3', 'T^-1/2', 'T^-2/3']
    """
    if horizon is None or not intervals(problem):
        return
    for label, delta in ladder(problem, horizon).items():
        if horizon > HORIZONS[-1] and label not in CELL_POWERS:
            continue
        yield Candidate(
            "CCB",
            label,
            partial(CCB, problem, epsilon=EPSILON, delta=delta),
            bounds.joint_bound(problem, 2 + EPSILON, delta),
            leads=label == USUAL,
        )


def doubling_ccb(problem: Problem, horizon: int | None) -> Iterator[Candidate]:
    """Yield CCB with the doubling trick, if contexts are continuous and T is unknown.

    A new phase starts fresh, or carries over what was learned.

    >>> from onepull.environment import energy_harvesting
    >>> [candidate.label for candidate in doubling_ccb(energy_harvesting().problem, None)]
    ['T^-1/3', 'T^-1/3 carried', 'T^-1/2', 'T^-1/2 carried', 'T^-2/3', 'T^-2/3 carried']
    """
    if horizon is not None or not intervals(problem):
        return
    for label, power in CELL_POWERS.items():
        growth = 1 - power
        if cell_count(problem, _last_delta(problem, HORIZONS[-1], growth)) > MOST_GRID_CELLS:
            continue
        for carry in (False, True):
            yield Candidate(
                "DoublingCCB",
                f"{label} carried" if carry else label,
                partial(DoublingCCB, problem, epsilon=EPSILON, growth=growth, carry_over=carry),
                # The theorem is about fresh starts.
                None if carry else bounds.doubling_bound(problem, 2 + EPSILON, growth),
                # The last phase is a CCB of its length; running up to it would take minutes.
                settled=lambda trials, growth=growth: CCB(  # type: ignore[misc]
                    problem, epsilon=EPSILON, delta=_last_delta(problem, trials, growth)
                ),
                caution="its storage grows with the horizon",
            )


def _last_delta(problem: Problem, trials: int, growth: float) -> float | dict[str, float]:
    """Return δ of the phase that runs at a trial."""
    phase = max(1, (trials + 2).bit_length() - 1)
    return tuned_delta(problem, 2**phase, growth)


def factored(problem: Problem, horizon: int | None) -> Iterator[Candidate]:
    """Yield histogram, low rank and sketches, each if it suits the problem.

    They need no grid and no horizon.  If contexts are finite, a table has no error either, so
    only factorisations with fewer features than a table are of use.

    >>> from onepull.environment import channel_selection, energy_harvesting
    >>> [candidate.name for candidate in factored(energy_harvesting().problem, None)]
    ['Histogram', 'LowRank 1e-06']
    >>> [candidate.name for candidate in factored(channel_selection().problem, None)]
    []
    """
    del horizon
    alpha = 2 + EPSILON
    table = math.inf if intervals(problem) else cell_count(problem, {})
    for kind, label, sharing, make in _FACTORISATIONS:
        try:
            factor = make(problem)
        except ParameterError:
            continue  # does not suit the problem
        if factor.features < table and factor.features <= MOST_CANDIDATE_ATOMS:
            build = partial(UpperConfidence, problem, sharing=sharing, alpha=alpha)
            bound = bounds.factored_bound(problem, alpha, factor.error)
            is_linear = is_coarse(problem, factor.error)
            yield Candidate(kind, label, build, bound, is_linear=is_linear)


def _sketch(problem: Problem, knots: int) -> Dense:
    if not any(isinstance(space, Interval) for space in problem.outcome.values()):
        raise ParameterError("states are finite; a histogram has no error")
    return Sketch(problem, knots=knots)


_FACTORISATIONS: list[tuple[str, str, str, Callable[[Problem], Dense]]] = [
    ("Histogram", "", "histogram", Histogram),
    (
        "LowRank",
        f"{RANK_TOLERANCE:g}",
        f"low-rank({RANK_TOLERANCE:g})",
        partial(LowRank, tolerance=RANK_TOLERANCE, most=MOST_FEATURES),
    ),
    *(("Sketch", f"{n} knots", f"sketch({n})", partial(_sketch, knots=n)) for n in KNOTS),
]


def recommendations(
    problem: Problem, horizon: int | None, feedback: str = "state"
) -> Iterator[Candidate]:
    """Yield what `recommended` returns for a problem, with feedback of states or rewards.

    >>> from onepull.environment import channel_selection
    >>> [candidate.name for candidate in recommendations(channel_selection().problem, None)]
    ['AdaptiveKL recommended']
    """
    build = partial(recommended, problem, horizon=horizon, feedback=feedback)
    try:
        policy = build()
    except ParameterError:
        return  # contexts are unbounded
    # No finite-time bound is known for its index.
    yield Candidate(
        type(policy).__name__,
        "recommended",
        build,
        None,
        learns_rewards=feedback == "reward",
        caution=UNPROVED if feedback == "reward" else "",
        is_linear=isinstance(policy, RulePolicy) and is_coarse(problem, policy.sharing.error),
        is_recommended=True,
        leads=True,
    )


def empirical_kl(problem: Problem, horizon: int | None) -> Iterator[Candidate]:
    """Yield EmpiricalKL, whose index is tight, on listed states or on a sketch of a few knots.

    >>> from onepull.environment import channel_selection
    >>> [candidate.name for candidate in empirical_kl(channel_selection().problem, None)]
    ['EmpiricalKL']
    """
    del horizon
    build = partial(EmpiricalKL, problem, head_start=HEAD_START)
    if is_finite(problem.outcome):
        if size(problem.outcome) <= MOST_CANDIDATE_ATOMS:
            yield Candidate("EmpiricalKL", "", build, None, caution=UNPROVED)
        return
    knots = KNOTS[-1]
    try:
        factor = _sketch(problem, knots)
    except ParameterError:
        return  # states are unbounded
    if factor.features <= MOST_CANDIDATE_ATOMS and not is_coarse(problem, factor.error):
        build = partial(build, knots=knots)
        yield Candidate("EmpiricalKL", f"{knots} knots", build, None, caution=UNPROVED)


def patient_kl(problem: Problem, horizon: int | None) -> Iterator[Candidate]:
    """Yield PatientKL, which explores where it is cheapest, if contexts and states are finite.

    >>> from onepull.environment import channel_selection, energy_harvesting
    >>> [candidate.name for candidate in patient_kl(channel_selection().problem, None)]
    ['PatientKL']
    >>> [candidate.name for candidate in patient_kl(energy_harvesting().problem, None)]
    []
    """
    del horizon
    if (
        is_finite(problem.context)
        and is_finite(problem.outcome)
        and size(problem.outcome) <= MOST_CANDIDATE_ATOMS
    ):
        yield Candidate("PatientKL", "", partial(PatientKL, problem), None, caution=UNPROVED)


def multi_ucb(problem: Problem, horizon: int | None) -> Iterator[Candidate]:
    """Yield Multi-UCB for comparison; if contexts are continuous, on two coarse grids.

    >>> from onepull.environment import energy_harvesting
    >>> [candidate.name for candidate in multi_ucb(energy_harvesting().problem, 10**6)]
    ['MultiUCB 4 cells', 'MultiUCB T^-1/3']
    """
    deltas: dict[str, bounds.Delta] = {"": None}
    if intervals(problem):
        rungs = ("4 cells", "16 cells" if horizon is None else "T^-1/3")
        deltas = {k: v for k, v in ladder(problem, horizon).items() if k.startswith(rungs)}
    for label, delta in deltas.items():
        yield Candidate(
            "MultiUCB",
            label,
            partial(MultiUCB, problem, delta=delta),
            bounds.per_context_bound(problem, delta),
            learns_rewards=True,
            is_linear=delta is not None and label not in CELL_POWERS,
        )


def ucb1(problem: Problem, horizon: int | None) -> Iterator[Candidate]:
    """Yield UCB1, which has the smallest storage.

    >>> from onepull.environment import energy_harvesting
    >>> next(ucb1(energy_harvesting().problem, None)).caution
    'it ignores the context, so its regret keeps growing linearly'
    """
    del horizon
    caution = "it ignores the context, so its regret keeps growing linearly"
    yield Candidate(
        "UCB1",
        "",
        partial(UCB1, problem),
        None,
        learns_rewards=True,
        caution=caution,
        is_linear=True,
    )


GENERATORS: list[Generator] = [
    dcb,
    ccb,
    doubling_ccb,
    factored,
    recommendations,
    empirical_kl,
    patient_kl,
    multi_ucb,
    ucb1,
]


def candidates(problem: Problem, horizon: int | None) -> list[Candidate]:
    """Return the candidates for a problem.

    >>> from onepull.environment import channel_selection
    >>> [candidate.name for candidate in candidates(channel_selection().problem, 10**5)]
    ['DCB', 'AdaptiveKL recommended', 'EmpiricalKL', 'PatientKL', 'MultiUCB', 'UCB1']
    """
    return [candidate for generator in GENERATORS for candidate in generator(problem, horizon)]
