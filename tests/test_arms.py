"""Known attributes of arms, and pulls that fail."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from beside import assert_identical, blocks
from hypothesis import given
from hypothesis import strategies as st

from onepull import (
    CCB,
    DCB,
    IMED,
    KLUCB,
    UCB1,
    CoarseKL,
    ContextError,
    Discrete,
    EmpiricalBernstein,
    EmpiricalKL,
    Environment,
    EpsilonGreedy,
    Finite,
    Genie,
    InputError,
    Interval,
    LinUCB,
    MultiUCB,
    ParameterError,
    Policy,
    Problem,
    ProblemError,
    RewardError,
    SlidingWindowKL,
    SlidingWindowUCB,
    StateError,
    recommended,
)
from onepull.distributions import Exponential, Failing, Switching, Uniform
from onepull.factor.arm_ranges import whole_ranges
from onepull.simulation.prepare import Interpreted

PRICES: dict[str, dict[str, Any]] = {
    "a": {"price": 0.5, "tier": "gold"},
    "b": {"price": 0.25, "tier": "plain"},
}


def priced(arms=PRICES, state=None, **changes):
    told = {
        "arms": arms,
        "context": {"size": Finite([1, 2])},
        "state": state or {"rate": Finite([0, 1, 2])},
        "reward": "min(size, rate) * (2 if tier == 'gold' else 1) - price",
        "failure": "-1 - price * size",
    }
    return Problem(**{**told, **changes})


def reward(arm, size, rate):
    tier = 2 if PRICES[arm]["tier"] == "gold" else 1
    return min(size, rate) * tier - PRICES[arm]["price"]


@pytest.mark.parametrize("kind", [DCB, IMED, EmpiricalKL, KLUCB, MultiUCB, CCB])
def test_estimates_are_mean_rewards_of_each_arm_with_its_own_price(kind):
    problem = priced(context={"size": Interval(1, 2)}) if kind is CCB else priced()
    policy = kind(problem, **({"delta": 0.001} if kind is CCB else {}))
    generator = np.random.default_rng(1)
    sums, counts = dict.fromkeys(PRICES, 0.0), dict.fromkeys(PRICES, 0)
    for _ in range(100):
        arm = str(generator.choice(list(PRICES)))
        counts[arm] += 1
        if generator.random() < 0.3:
            policy.observe(arm, failed=True, size=2)
            sums[arm] += -1 - PRICES[arm]["price"] * 2
        else:
            rate = float(generator.integers(3))
            policy.observe(arm, rate=rate, size=2)
            sums[arm] += reward(arm, 2, rate)
    expected = [sums[arm] / counts[arm] for arm in PRICES]
    assert policy.estimates(size=2) == pytest.approx(expected, abs=0.001 if kind is CCB else 1e-9)


def test_a_reward_in_python_gets_attributes_by_name():
    def earned(size, rate, price, tier):
        return min(size, rate) * (2 if tier == "gold" else 1) - price

    written, coded = priced(), priced(reward=earned)
    for problem in (written, coded):
        policy = DCB(problem)
        policy.observe("a", rate=2)
        policy.observe("b", failed=True)
        assert policy.estimates(size=1) == [2 - 0.5, -1.25]
    assert coded.payoff.whole_range == written.payoff.whole_range


def test_the_reward_of_one_arm_has_its_own_range_and_inverse():
    problem = priced(state={"rate": Interval(0, 2)}, failure=None, reward="rate * size - price")
    assert problem.payoff_of("a").whole_range == (-0.5, 3.5)
    assert problem.payoff_of("b").whole_range == (-0.25, 3.75)
    policy = DCB(problem)
    policy.observe("a", reward=1.5, size=1)
    assert policy.estimates(size=2)[0] == pytest.approx(3.5)


def test_problems_with_attributes_are_written_and_read():
    problem = priced()
    assert Problem.from_toml(problem.to_toml()) == problem
    assert Problem.from_json(problem.to_json()) == problem
    assert '[arms."a"]' in problem.to_toml()
    written = """
        reward = "rate - price"
        failure = -3
        [arms.alpha]
        price = 1
        [arms.beta]
        price = 2
        [state]
        rate = [0, 1]
    """
    read = Problem.from_toml(written)
    assert read.arms == ("alpha", "beta")
    assert read.attributes["beta"] == {"price": 2.0}
    assert read.failure == -3.0


@pytest.mark.parametrize("kind", [DCB, EmpiricalKL, LinUCB])
def test_policies_with_attributes_are_saved_and_loaded(kind):
    policy = kind(priced())
    policy.observe("a", rate=2, size=1)
    policy.observe("b", failed=True, size=2)
    twin = Policy.from_bytes(policy.to_bytes())
    assert twin.problem == policy.problem
    assert twin.to_bytes() == policy.to_bytes()


@pytest.mark.parametrize("kind", [IMED, EmpiricalKL])
def test_a_changed_price_revalues_what_was_seen(kind):
    policy = kind(priced())
    policy.observe_many(["a", "a", "b"], rate=[2, 0, None], failed=[False, False, True])
    policy.set_attributes("b", price=4, tier="gold")
    policy.set_attributes("a", price=0)
    assert policy.estimates(size=2) == [2.0, -9.0]
    assert policy.problem.attributes["b"] == {"price": 4.0, "tier": "gold"}


@pytest.mark.parametrize("kind", [DCB, KLUCB, MultiUCB, LinUCB])
def test_means_cannot_be_revalued(kind):
    policy = kind(priced())
    policy.observe("a", rate=2, size=1)
    before = policy.to_bytes()
    with pytest.raises((ParameterError, InputError)):
        policy.set_attributes("a", price=4)
    assert policy.to_bytes() == before


@pytest.mark.parametrize("kind", [DCB, IMED, EmpiricalKL, KLUCB, MultiUCB])
def test_an_arm_is_added_with_its_price(kind):
    policy = kind(priced())
    policy.observe("a", rate=2, size=2)
    policy.add_arm("c", price=9, tier="plain")
    policy.observe("c", rate=1, size=2)
    assert policy.estimates(size=2) == [3.5, math.inf, -8.0]
    assert Policy.from_bytes(policy.to_bytes()).estimates(size=2) == policy.estimates(size=2)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda p: p.add_arm("c"), "needs the same attributes|same attributes"),
        (lambda p: p.add_arm("c", price=1), "same attributes"),
        (lambda p: p.add_arm("c", price=[], tier="gold"), "must be a number or a word"),
        (lambda p: p.add_arm("c", price="high", tier="gold"), "numbers or words, not both"),
        (lambda p: p.set_attributes("a", cost=1), "unknown attribute cost"),
        (lambda p: p.set_attributes("z", price=1), "unknown arm 'z'"),
        (lambda p: p.observe("a", failed=True, rate=1), "shows no state, given rate"),
        (lambda p: p.observe("a", failed=True, reward=1.0), "not both"),
        (lambda p: p.observe("a", failed="yes"), "failed must be True or False"),
        (lambda p: p.observe("a", failed=True, size=7), "must be one of 1, 2"),
        (lambda p: p.observe("a", failed=True, colour=7), "unknown field 'colour'"),
    ],
)
def test_bad_calls_say_what_is_wrong_and_change_nothing(call, words):
    policy = IMED(priced())
    policy.observe("a", rate=2)
    before = policy.to_bytes()
    with pytest.raises((InputError, ProblemError), match=words):
        call(policy)
    assert policy.to_bytes() == before


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"arms": {"a": {"price": 1}, "b": {}}}, "all arms need the same attributes"),
        ({"arms": {"a": {"price": math.inf, "tier": "x"}}}, "finite"),
        ({"arms": {"a": {"size": 1}}}, "both a context and an attribute"),
        ({"arms": {"a": {"rate": 1}}}, "both a state and an attribute"),
        ({"arms": {"a": {"min": 1}}}, "reserved"),
        ({"arms": {"a": {"2": 1}}}, "a name is a letter"),
        ({"arms": {"a": 1}}, "takes its attributes by name"),
        ({"failure": "rate"}, r"failure \(a failed pull shows no state\): unknown name 'rate'"),
        ({"failure": "failed"}, "failure: unknown name 'failed'"),
        ({"failure": "1 / (size - 1)"}, "failure: "),
        ({"failure": math.nan}, "failure takes a finite number or a formula"),
        ({"failure": [1]}, "failure takes a finite number or a formula"),
        ({"reward": "failed * rate"}, "unknown name 'failed'"),
        ({"state": {"failed": Interval(0, 1)}, "reward": "price"}, "reserved"),
    ],
)
def test_bad_attributes_and_failures_are_refused(changes, words):
    with pytest.raises(ProblemError, match=words):
        priced(**changes)


def test_a_failure_needs_its_reward():
    policy = DCB(priced(failure=None))
    with pytest.raises(InputError, match="give failure=… to the problem"):
        policy.observe("a", failed=True)
    with pytest.raises(ParameterError, match="does not tell the reward of a failure"):
        Environment(
            policy.problem,
            states={"a": Failing(Discrete([1], [1.0]), 0.1), "b": Discrete([1], [1.0])},
            contexts=Discrete([1, 2], [0.5, 0.5]),
        )


def world(state, laws, **changes):
    return Environment(
        priced(state=state, **changes), states=laws, contexts=Discrete([1, 2], [0.5, 0.5])
    )


LISTED = {"a": Failing(Discrete([1, 2], [0.5, 0.5]), 0.25), "b": Discrete([2], [1.0])}
SMOOTH = {"a": Failing(Uniform(0, 2), 0.25), "b": Uniform(1, 2)}


def test_expected_rewards_take_prices_and_failures_into_account():
    listed = world({"rate": Finite([0, 1, 2])}, LISTED)
    found = listed.expected_rewards(np.array([[1.0], [2.0]]))
    assert found == pytest.approx(
        np.array([[0.75 * 1.5 - 0.25 * 1.5, 0.75], [0.75 * 2.5 - 0.25 * 2.0, 1.75]])
    )
    smooth = world({"rate": Interval(0, 2)}, SMOOTH)
    found = smooth.expected_rewards(np.array([[2.0]]))
    assert found == pytest.approx(np.array([[0.75 * 1.5 - 0.25 * 2.0, 1.25]]))
    genie = Genie(smooth.problem, states=smooth.states)
    assert genie.estimates(size=2) == pytest.approx(found[0].tolist())


CHANGING = {
    "a": Switching({0: Failing(Uniform(0, 2), 0.1), 40: Failing(Uniform(0, 1), 0.9)}),
    "b": Uniform(1, 2),
}


# A few kinds each, since every kernel takes seconds to compile.
@pytest.mark.parametrize(
    ("kind", "laws"),
    [
        *((kind, LISTED) for kind in (DCB, KLUCB, UCB1, IMED, EmpiricalBernstein)),
        *((kind, SMOOTH) for kind in (MultiUCB, EmpiricalKL)),
        *((kind, CHANGING) for kind in (DCB, SlidingWindowKL)),
    ],
)
def test_the_simulator_agrees_with_the_library(kind, laws):
    state = {"rate": Finite([0, 1, 2]) if laws is LISTED else Interval(0, 2)}
    environment = world(state, laws)
    options = {"window": 30} if kind is SlidingWindowKL else {}
    policy = kind(environment.problem, **options)
    assert_identical(*blocks(environment, policy, horizon=120))


def test_every_arm_is_explored_by_its_own_range():
    problem = Problem(
        arms={"narrow": {"scale": 1.0}, "wide": {"scale": 100.0}},
        context={"size": Finite([1, 2])},
        state={"rate": Finite([0, 1])},
        reward="scale * rate * size",
        failure="-scale",
    )
    policy = DCB(problem, epsilon=0.5)
    policy.observe_many(["narrow", "wide"] * 2, rate=[1, 0, 0, 1])
    bonus = math.sqrt(2.5 * math.log(5) / 2)
    expected = [0.5 * 2 + 3 * bonus, 50.0 * 2 + 300 * bonus]
    assert policy.indices(size=2) == pytest.approx(expected)
    kept = IMED(problem)
    kept.observe_many(["narrow", "wide"] * 2, rate=[1, 0, 0, 1])
    assert kept.indices(size=2)[0] == -math.inf or kept.choose(size=2) == "wide"
    blind = UCB1(problem)
    blind.observe_many(["narrow", "wide"] * 2, size=[2] * 4, rate=[1, 0, 0, 1])
    width = math.sqrt(2 * math.log(5) / 2)
    assert blind.indices(size=1) == pytest.approx([1 + 3 * width, 100 + 300 * width])
    per_context = MultiUCB(problem)
    per_context.observe_many(["narrow", "wide"], size=[1, 1], rate=[1, 0])
    width = math.sqrt(2 * math.log(3))
    assert per_context.indices(size=1) == pytest.approx([1 + 2 * width, 200 * width])


@given(
    price=st.floats(-1e3, 1e3),
    rate=st.floats(0, 5),
    size=st.sampled_from([1.0, 2.0]),
    failed=st.booleans(),
)
def test_the_payoff_is_the_formula_of_its_arm(price, rate, size, failed):
    problem = Problem(
        arms={"a": {"price": price}, "b": {"price": 0.0}},
        context={"size": Finite([1, 2])},
        state={"rate": Interval(0, 5)},
        reward="rate * size - price",
        failure="price * size",
    )
    told = {"size": size, "rate": rate, "price": price, "failed": failed}
    expected = price * size if failed else rate * size - price
    assert problem.payoff(**told) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    outcome = problem.failed_outcome_of(0) if failed else problem.outcome_of(0, (rate,))
    assert problem.payoff.scalar(size, *outcome) == problem.payoff(**told)
    assert float(problem.payoff.vector(size, *outcome)) == problem.payoff(**told)
    low, high = problem.payoff.whole_range
    assert low <= problem.payoff(**told) <= high


def test_a_law_without_an_upper_end_is_no_dead_end():
    problem = Problem(
        arms=["a", "b"],
        context={"tokens": Finite([1, 10])},
        state={"seconds": Interval(0, math.inf)},
        reward="-seconds * tokens",
        failure=-100,
    )
    environment = Environment(
        problem,
        states={"a": Failing(Exponential(1.0), 0.01), "b": Exponential(0.5)},
        contexts=Discrete([1, 10], [0.5, 0.5]),
    )
    found = environment.expected_rewards(np.array([[1.0], [10.0]]))
    assert found[:, 1] * 2 == pytest.approx(
        [2 * -environment.states["b"].expectation(lambda x: x) * t for t in (1, 10)]
    )
    assert np.isfinite(environment.gaps(np.array([[1.0], [10.0]]))).all()
    assert (environment.gaps(np.array([[10.0]])) > 0).any()


def test_a_state_whose_reward_would_overflow_is_refused():
    problem = Problem(
        arms=["a", "b"],
        context={"tokens": Finite([1, 1000])},
        state={"seconds": Interval(0, math.inf)},
        reward="-seconds * seconds * tokens",
    )
    for policy in (recommended(problem), EpsilonGreedy(problem, sharing="blind", seed=1)):
        with pytest.raises(StateError, match="rewards are too large to compute with; expected at"):
            policy.observe("a", tokens=1, seconds=1e160)
        assert policy.is_fresh
        policy.observe("a", tokens=1, seconds=1e140)


def test_contexts_need_no_bounds_either():
    problem = Problem(
        arms=["a", "b"],
        context={"tokens": Interval(1, math.inf)},
        state={"seconds": Interval(0, math.inf)},
        reward="-seconds * tokens",
    )
    for policy in (recommended(problem), EpsilonGreedy(problem, sharing="blind", seed=1)):
        policy.observe("a", tokens=1e100, seconds=0.1)
        before = policy.to_bytes()
        with pytest.raises(ContextError, match=r"rewards are too large .* at most 3\.\d+e\+150"):
            policy.choose(tokens=1e160)
        with pytest.raises(StateError, match="rewards are too large"):
            policy.observe("a", tokens=1, seconds=1e160)
        assert policy.to_bytes() == before
        assert policy.choose(tokens=1e100) == "b"
    with pytest.raises(ContextError, match="rewards are too large"):
        problem.payoff(tokens=1e160, seconds=1)


def test_a_reward_that_overflows_everywhere_is_refused():
    with pytest.raises(ProblemError, match="too large to compute with"):
        Problem(
            arms=["a"], state={"x": Interval(0, 1), "y": Interval(0, math.inf)},
            reward="-1e305 * x - y",
        )  # fmt: skip


def test_a_reward_that_overflows_between_bounds_is_refused():
    with pytest.raises(ProblemError, match="too large to compute with"):
        Problem(arms=["a"], state={"x": Interval(0, 1e200)}, reward="-x * x")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"reward": "(tier == 'glod') * rate"}, "did you mean 'gold'.*no arm has yet is declared"),
        ({"failure": "-1 if tier == 'plian' else -2"}, "failure: .*did you mean 'plain'"),
        ({"reward": "(tier == 1) * rate"}, "expected one of the words 'gold', 'plain'"),
        ({"reward": "(price == 'gold') * rate"}, "words can only be compared"),
        ({"reward": "(tier < 'gold') * rate"}, "words can only be compared"),
        ({"words": {"tear": ["gold"]}}, "words takes attributes of words, given 'tear'"),
        ({"words": {"price": ["gold"]}}, "words takes attributes of words, given 'price'"),
        ({"words": {"tier": [1]}}, "must be words"),
        ({"words": {"tier": "gold"}}, "words of attribute 'tier': .* a list"),
        ({"words": ["tier"]}, "words takes the words of attributes by name"),
    ],
)
def test_words_that_no_arm_has_are_refused(changes, said):
    with pytest.raises(ProblemError, match=said):
        priced(**changes)


def test_words_may_be_declared_for_arms_to_come():
    problem = priced(
        reward="rate * (3 if tier == 'silver' else 1)", words={"tier": ["silver", "gold"]}
    )
    assert problem.words == {"tier": ("silver", "gold")}
    assert Problem.from_toml(problem.to_toml()).words == problem.words
    assert Problem.from_json(problem.to_json()).words == problem.words
    assert problem.payoff.whole_range == (-2.0, 2.0)  # no arm is silver
    more = problem.with_arms({"c": {"price": 0, "tier": "silver"}, **PRICES})
    assert more.payoff_of("c")(size=1, rate=2) == 6.0
    assert set(more.words["tier"]) == {"silver", "gold"}


@pytest.mark.parametrize("kind", [DCB, EmpiricalKL, IMED, recommended])
def test_the_word_of_an_arm_that_left_stays_known(kind):
    policy = kind(priced())
    policy.observe_many(["a", "b", "b"], size=[1, 2, 1], rate=[2, 1, 2])
    policy.remove_arm("a")
    assert policy.problem.words == {"tier": ("gold",)}
    twin = Policy.from_bytes(policy.to_bytes())
    for one in (policy, twin):
        one.add_arm("c", price=0, tier="gold")
        one.observe("c", size=2, rate=2)
        assert one.problem.words == {"tier": ("gold",)}
    assert policy.estimates(size=2) == twin.estimates(size=2)
    assert policy.estimates(size=2) == pytest.approx([1.5 - 0.25, 4.0])


@pytest.mark.parametrize("kind", [EmpiricalKL, recommended, CoarseKL])
def test_another_reward_may_declare_words(kind):
    policy = kind(priced(words={"tier": ["iron"]}))
    policy.observe("a", rate=2, size=1)
    told = "rate * (3 if tier == 'silver' else 1)"
    with pytest.raises(ProblemError, match="'gold', 'plain', 'iron'"):
        policy.with_reward(told)
    other = policy.with_reward(told, words={"tier": ["silver"]})
    assert other.problem.words == {"tier": ("iron", "silver")}
    assert other.estimates(size=1)[0] == 2.0
    for wrong in (["tier"], 3, np.zeros(2)):
        with pytest.raises(ProblemError, match="words takes the words of attributes by name"):
            policy.with_reward(told, words=wrong)


def test_words_that_nothing_mentions_are_forgotten():
    problem = priced(reward="rate - price", failure=None)
    for version in range(3):
        problem = problem.with_arms({"a": {"price": 1, "tier": f"v{version}"}})
    assert problem.words == {}


def test_an_attribute_is_compared_with_a_field_by_the_word():
    problem = Problem(
        arms={"north": {"home": "us"}, "south": {"home": "asia"}, "west": {"home": "eu"}},
        context={"region": Finite(["eu", "us"])},
        state={"rate": Interval(0, 1)},
        reward="rate if home == region else rate - 5",
    )
    found = [
        [problem.payoff_of(arm)(region=region, rate=1) for arm in problem.arms]
        for region in ("eu", "us")
    ]
    assert found == [[-4.0, -4.0, 1.0], [1.0, -4.0, -4.0]]
    policy = DCB(Problem.from_toml(problem.with_spaces(state={"rate": Finite([1])}).to_toml()))
    policy.observe_many(list(problem.arms), rate=[1, 1, 1])
    assert policy.estimates(region="us") == [1.0, -4.0, -4.0]
    alone = problem.with_arms({"south": {"home": "asia"}})  # which is home in no region
    assert alone.payoff_of("south")(region="us", rate=1) == -4.0


@pytest.mark.parametrize(
    ("home", "listed"),
    [("uss", "us"), ("EU", "eu"), ("us-wets", "us-west"), ("us_west", "us-west")],
)
def test_a_word_of_an_arm_that_is_a_slip_of_a_listed_one_is_refused(home, listed):
    regions = ["eu", "us", "us-west"]

    def made(**arms):
        return Problem(
            arms={name: {"home": word} for name, word in arms.items()},
            context={"region": Finite(regions)},
            state={"rate": Interval(0, 1)},
            reward="rate",
            failure="-1 if home == region else -2",
        )

    with pytest.raises(ProblemError, match=f"arm 'b' has home='{home}'.*mean '{listed}'"):
        made(a="eu", b=home)
    policy = recommended(made(a="eu", b="us"))
    before = policy.to_bytes()
    for change in (
        lambda: policy.add_arm("b2", home=home),
        lambda: policy.set_attributes("b", home=home),
    ):
        with pytest.raises(ProblemError, match=f"mean '{listed}'"):
            change()
    assert policy.to_bytes() == before
    policy.add_arm("c", home="us-east")  # which is home in no region, as is
    policy.add_arm("d", home="uk")
    regions.append(home)
    assert made(a="eu", b=home).arms == ("a", "b")


@pytest.mark.parametrize("where", ["reward", "failure"])
def test_a_word_of_an_arm_that_is_a_slip_of_one_in_the_formula_is_refused(where):
    formulas: dict[str, Any] = {"reward": "rate", "failure": -1}
    formulas[where] = "-1 if 'gold' == tier else -2"

    def made(words=None, **arms):
        return Problem(
            arms={name: {"tier": word} for name, word in arms.items()},
            state={"rate": Interval(0, 1)},
            words=words,
            **formulas,
        )

    said = r"arm 'b' has tier='glod', which is compared with 'gold'; did you mean 'gold'\?  Else "
    with pytest.raises(ProblemError, match=said + r"declare it: words={'tier': \['glod'\]}"):
        made(a="gold", b="glod")
    policy = recommended(made(a="gold", b="plain", c="v1"))  # others are honest
    before = policy.to_bytes()
    for change in (
        lambda: policy.add_arm("d", tier="Gold"),
        lambda: policy.set_attributes("b", tier="golld"),
    ):
        with pytest.raises(ProblemError, match="did you mean 'gold'"):
            change()
    assert policy.to_bytes() == before
    declared = made({"tier": ["glod"]}, a="gold", b="glod")
    again = Problem.from_toml(declared.to_toml())
    assert again == declared
    again = again.with_arms({"c": {"tier": "plain"}, **again.attributes})
    assert again.payoff_of("b")(rate=1) == (1 if where == "failure" else -2)


def test_each_arm_is_explored_by_the_range_of_its_word():
    problem = priced(reward="rate * (10 if tier == 'gold' else 1)", failure=None)
    low, high = whole_ranges(problem)
    assert (low, high) == ([0.0, 0.0], [20.0, 2.0])


def test_rewards_tell_something_else_of_each_arm():
    problem = Problem(
        arms={"a": {"price": 0}, "b": {"price": 1}},
        context={"deadline": Finite([1, 2])},
        state={"delay": Finite([0, 1, 2, 3])},
        reward="(delay <= deadline) - price",
        failure="-2 - price",
    )
    policy = CoarseKL(problem)
    policy.observe("a", deadline=1, reward=1)
    policy.observe("b", deadline=1, reward=-1)
    policy.observe("b", failed=True)
    assert policy.sightings.sets == [{(0, 1): 1}, {(2, 3): 1, (4,): 1}]
    # Delays 2 and 3 are alike: half of the one state is in time for the longer deadline.
    assert policy.estimates(deadline=2) == pytest.approx([1.0, (-0.5 + -3) / 2])
    policy.set_attributes("b", price=0.5)
    assert policy.estimates(deadline=2) == pytest.approx([1.0, (0.0 + -2.5) / 2])
    policy.add_arm("c", price=0)
    assert policy.choose(deadline=1) == "c"
    with pytest.raises(RewardError, match=r"impossible for deadline=1; expected -0\.5, 0\.5"):
        policy.observe("b", deadline=1, reward=1)


def test_hidden_states_of_arms_with_prices_are_simulated_as_in_the_library():
    environment = world({"rate": Finite([0, 1, 2])}, LISTED)
    policy = CoarseKL(environment.problem)
    beside = partial(Interpreted, sees_states=False)
    assert_identical(*blocks(environment, policy, beside, horizon=40, feedback="reward"))


@pytest.mark.parametrize("kind", [SlidingWindowUCB, SlidingWindowKL])
def test_a_window_that_saw_a_removed_arm_is_loaded(kind):
    problem = Problem(
        arms={"dear": {"price": 1e9}, "cheap": {"price": 1}},
        state={"x": Interval(0, 1)},
        reward="x - price",
    )
    policy = kind(problem, window=9)
    policy.observe_many(["dear", "cheap"] * 3, x=[0.5, 0.25] * 3)
    policy.remove_arm("dear")
    again = Policy.from_bytes(policy.to_bytes())
    assert again.to_bytes() == policy.to_bytes()
    assert again.estimates() == pytest.approx([-0.75])
