"""Parameters: what is refused, and that the error says why."""

from __future__ import annotations

import math

import numpy as np
import pytest
from problems import PAPER_ARMS, channels, harvesting, mixed

from onepull import (
    CCB,
    DCB,
    UCB1,
    Discrete,
    DoublingCCB,
    Finite,
    FixedArm,
    Genie,
    Greedy,
    Interval,
    MeanPolicy,
    MultiUCB,
    ParameterError,
    Problem,
    ProblemError,
    Random,
    UCB1Epsilon,
    UnknownArm,
    shared,
)
from onepull.index.hoeffding import hoeffding

KNOWN_REWARD = {
    "DCB": lambda **keywords: DCB(channels(), **keywords),
    "CCB": lambda **keywords: CCB(harvesting(), delta=0.1, **keywords),
    "DoublingCCB": lambda **keywords: DoublingCCB(harvesting(), **keywords),
}
NO_NUMBERS = [math.nan, math.inf, -math.inf, "0.1", True, None, [0.1], 1j]

known_reward = pytest.mark.parametrize("build", KNOWN_REWARD.values(), ids=KNOWN_REWARD)


@known_reward
@pytest.mark.parametrize("epsilon", [0, -0.1, -1.99])
def test_an_epsilon_beyond_the_theory_must_be_asked_for(build, epsilon):
    with pytest.raises(
        ParameterError, match=r"epsilon must be > 0, given .*theorem 2.*beyond_theory"
    ):
        build(epsilon=epsilon)
    policy = build(epsilon=epsilon, beyond_theory=True)
    assert policy.epsilon == epsilon
    assert policy.parameters["beyond_theory"] is True


@known_reward
def test_asking_beyond_the_theory_without_need_leaves_no_mark(build):
    assert "beyond_theory" not in build(epsilon=0.5, beyond_theory=True).parameters


@known_reward
@pytest.mark.parametrize("epsilon", [*NO_NUMBERS, -2, -3])
def test_an_epsilon_without_a_root_is_refused_always(build, epsilon):
    with pytest.raises(ParameterError, match="epsilon must be a number > -2, given"):
        build(epsilon=epsilon, beyond_theory=True)


@pytest.mark.parametrize("epsilon", [*NO_NUMBERS, -0.1])
def test_ucb1_takes_no_negative_epsilon(epsilon):
    with pytest.raises(ParameterError, match="epsilon must be a number >= 0, given"):
        UCB1Epsilon(channels(), epsilon=epsilon)


@pytest.mark.parametrize("epsilon", [1, 0.5, np.float64(0.25), np.int64(2)])
def test_any_kind_of_number_is_an_epsilon(epsilon):
    policy = DCB(channels(), epsilon=epsilon)
    assert policy.epsilon == epsilon
    assert type(policy.epsilon) is float


@pytest.mark.parametrize("build", [CCB, MultiUCB, Greedy])
@pytest.mark.parametrize("delta", [0, -1, *(bad for bad in NO_NUMBERS if bad is not None)])
def test_a_delta_that_is_no_width_is_refused(build, delta):
    with pytest.raises(ParameterError, match="delta must be a number above 0, given"):
        build(harvesting(), delta=delta)


@pytest.mark.parametrize("build", [CCB, MultiUCB, Greedy])
def test_a_delta_too_small_is_refused(build):
    with pytest.raises(ParameterError, match="more than 1,000,000 cells; take a larger delta"):
        build(harvesting(), delta=1e-8)


@pytest.mark.parametrize("build", [CCB, MultiUCB, Greedy])
def test_a_delta_for_finite_contexts_is_refused(build):
    with pytest.raises(ParameterError, match=r"all are finite; use a table or DCB"):
        build(channels(), delta=0.1)


@pytest.mark.parametrize("build", [DCB, MultiUCB, Greedy])
@pytest.mark.parametrize("problem", [harvesting, mixed])
def test_interval_contexts_need_a_delta(build, problem):
    with pytest.raises(ParameterError, match=r"'(power|size)' is Interval.* with a delta, as CCB"):
        build(problem())


def test_doubling_is_for_interval_contexts_with_an_end():
    with pytest.raises(ParameterError, match="all are finite"):
        DoublingCCB(channels())
    endless = Problem(
        arms=["a"],
        context={"y": Interval(0, math.inf)},
        state={"x": Interval(0, 1)},
        reward="min(x, y)",
    )
    with pytest.raises(ParameterError, match="only a bounded interval can be divided"):
        DoublingCCB(endless)


@pytest.mark.parametrize("growth", [*NO_NUMBERS, -0.01, 1.01])
def test_growth_is_between_none_and_linear(growth):
    with pytest.raises(ParameterError, match=r"growth must be .*given"):
        DoublingCCB(harvesting(), growth=growth)
    with pytest.raises(ParameterError, match=r"growth must be .*given"):
        CCB.for_horizon(harvesting(), horizon=100, growth=growth)


@pytest.mark.parametrize("horizon", [*NO_NUMBERS, 0, -5])
def test_a_horizon_is_at_least_one_trial(horizon):
    with pytest.raises(ParameterError, match="horizon must be a number >= 1, given"):
        CCB.for_horizon(harvesting(), horizon=horizon)


@pytest.mark.parametrize(("growth", "delta"), [(0.5, 1e-2), (0.75, 1e-1), (1, 1.0), (0, 1e-4)])
def test_delta_is_tuned_to_the_horizon(growth, delta):
    policy = CCB.for_horizon(harvesting(), horizon=10**4, growth=growth, epsilon=0.2)
    assert policy.delta == pytest.approx(delta, rel=1e-12)
    assert policy.epsilon == 0.2
    assert policy.storage == 4 * (round(1 / delta) + 1)


@pytest.mark.parametrize("seed", ["1", 1.5, -1, True, object(), math.nan])
@pytest.mark.parametrize("build", [DCB, UCB1, Random])
def test_what_is_no_seed_is_refused(build, seed):
    with pytest.raises(ParameterError, match="seed must be None, a whole number from 0"):
        build(channels(), seed=seed)


def test_a_random_policy_needs_a_seed():
    with pytest.raises(ParameterError, match="needs a seed or a generator"):
        Random(channels(), seed=None)  # type: ignore[arg-type]


def test_the_genie_must_know_every_arm():
    known = dict(list(PAPER_ARMS.items())[:3])
    with pytest.raises(ParameterError, match="the distribution of arm 'channel-4' is missing"):
        Genie(channels(4), states=known)
    assert Genie(channels(3), states={**known, "more": Discrete([1], [1])}).trials == 0


@pytest.mark.parametrize("arm", ["wifi", None, ["channel-1"]])
def test_a_fixed_arm_is_one_of_the_arms(arm):
    with pytest.raises(UnknownArm, match="the arms are channel-1"):
        FixedArm(channels(), arm=arm)


@pytest.mark.parametrize("build", [DCB, MultiUCB, Greedy])
def test_a_reward_without_bounds_is_refused(build):
    with pytest.raises(ProblemError, match="no highest value"):
        build(
            Problem(
                arms=["a"],
                context={"y": Finite([1, 2])},
                state={"x": Interval(0, math.inf)},
                reward="x * y",
            )
        )
    falling = Problem(
        arms=["a"],
        context={"y": Finite([1, 2])},
        state={"x": Interval(0, math.inf)},
        reward="-x * y",
    )
    with pytest.raises(ParameterError, match="needs a lowest reward, and this one has none"):
        build(falling)


@pytest.mark.parametrize(
    ("policy", "storage"),
    [
        (DCB(channels()), 7 * 5),
        (CCB(harvesting(), delta=0.01), 4 * 101),
        (UCB1(channels()), 7 * 2),
        (MultiUCB(channels()), 7 * 4 * 2),
        (DoublingCCB(harvesting(), growth=0), 4 * 3),
    ],
)
def test_storage_is_what_the_paper_says(policy, storage):
    assert policy.storage == storage


def test_a_policy_shows_its_parameters():
    assert repr(DCB(channels(), epsilon=0.5)) == "<DCB(7 arms, epsilon=0.5) after 0 trials>"
    assert repr(MultiUCB(channels(1))) == "<MultiUCB(1 arm) after 0 trials>"
    assert repr(Genie(channels(1), states=PAPER_ARMS)).startswith(
        "<Genie(1 arm, states={'channel-1'"
    )


class Labelled(DCB):
    def __init__(self, problem, *, label, seed=None, **keywords):
        self.label = label
        super().__init__(problem, seed=seed, **keywords)


class Careful(DCB):
    def __init__(self, problem):
        super().__init__(problem, epsilon=0.9)


class Silent(DCB):
    def __init__(self, problem, *, label=""):
        del label
        super().__init__(problem)


def test_the_parameters_of_ones_own_policy_are_those_of_its_constructor():
    labelled = Labelled(channels(), label="ours", epsilon=0.5, seed=3)
    assert labelled.parameters == {"label": "ours", "epsilon": 0.5}
    assert Labelled.from_bytes(labelled.to_bytes()).parameters == labelled.parameters
    assert Careful(channels()).parameters == {}
    assert Careful.from_bytes(Careful(channels()).to_bytes()).epsilon == 0.9


class Positional(DCB):
    def __init__(self, problem, /, *, epsilon=0.1, seed=None):
        super().__init__(problem, epsilon=epsilon, seed=seed)


class Gathered(DCB):
    def __init__(self, *problem, epsilon=0.1):
        super().__init__(*problem, epsilon=epsilon)


@pytest.mark.parametrize("kind", [Positional, Gathered])
def test_keywords_after_a_problem_without_a_name_are_saved(kind):
    policy = kind(channels(), epsilon=0.3)
    assert policy.parameters == {"epsilon": 0.3}
    assert kind.from_bytes(policy.to_bytes()).epsilon == 0.3


class Limited(DCB):
    def __init__(self, problem, *, label, limit=5, note=None):
        self.label, self.limit, self.note = label, limit, note
        super().__init__(problem)


def test_none_is_saved_where_it_is_not_the_default():
    policy = Limited(channels(), label=None, limit=None)
    assert policy.parameters == {"label": None, "limit": None}
    again = Limited.from_bytes(policy.to_bytes())
    assert (again.label, again.limit, again.note) == (None, None, None)


def test_a_parameter_that_a_policy_does_not_keep_is_named():
    with pytest.raises(ParameterError, match=r"Silent does not say .* 'label' is: set self.label"):
        _ = Silent(channels()).parameters


def test_the_name_of_a_sharing_is_a_parameter_of_ones_own_policy():
    class Own(MeanPolicy):
        def __init__(self, problem, *, sharing="joint", boldly=True):
            self.boldly = boldly
            super().__init__(shared(problem, sharing, None), hoeffding(1.0))

    own = Own(channels(), sharing="per-context", boldly=False)
    assert own.parameters == {"sharing": "per-context", "boldly": False}
    assert Own.from_bytes(own.to_bytes()).parameters == own.parameters
