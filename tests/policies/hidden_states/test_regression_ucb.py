"""Rewards that do not tell the state, fitted with the shapes that the formula can give them."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np
import pytest

from onepull import (
    Finite,
    Interval,
    MergeError,
    ParameterError,
    Problem,
    RegressionUCB,
    SaveFileError,
)
from onepull.policies.hidden_states.regression_sums import FAINT, PRIOR
from onepull.policies.hidden_states.shapes import MOST_SHAPES, Shapes

ENDLESS = Interval(0, math.inf)


def served(**changed: Any) -> Problem:
    told: dict[str, Any] = {
        "arms": {"alpha": {"price": 2.0}, "beta": {"price": 0.5}},
        "context": {"tokens": Interval(1, 4000)},
        "state": {"ttft": ENDLESS, "per_token": ENDLESS},
        "reward": "-(ttft + tokens * per_token) - 0.001 * price * tokens",
        "failure": -60,
    }
    return Problem(**{**told, **changed})


def requests(policy: RegressionUCB, count: int, seed: int) -> list[str]:
    """Play README's problem with two endpoints that differ, and return the arms chosen."""
    generator, chosen = np.random.default_rng(seed), []
    typical = {"alpha": (0.4, 0.01), "beta": (1.2, 0.03)}
    for _ in range(count):
        tokens = float(generator.uniform(1, 4000))
        arm = policy.choose(tokens=tokens)
        first, each = np.array(typical[arm]) * generator.lognormal(0, 0.4, 2)
        price = 2.0 if arm == "alpha" else 0.5
        if generator.random() < 0.05:
            policy.observe(arm, failed=True, tokens=tokens)
        else:
            reward = -(first + tokens * each) - 0.001 * price * tokens
            policy.observe(arm, reward=reward, tokens=tokens)
        chosen.append(arm)
    return chosen


def test_the_best_arm_is_found_within_a_few_hundred_requests():
    """Each request has its own context, so a table of contexts would learn nothing."""
    for seed in range(5):
        chosen = requests(RegressionUCB(served()), 400, seed)
        assert chosen[200:].count("alpha") > 160


@pytest.mark.parametrize(
    ("problem", "size"),
    [
        (served(failure=None), 2),  # 1 and tokens, whatever the price
        (served(), 3),  # a failed request is not paid for, so the price of tokens is one more
        (served(reward="-ttft * tokens", state={"ttft": ENDLESS}, failure="-tokens"), 1),
        (served(reward="-ttft * tokens", state={"ttft": ENDLESS}, failure=-60), 2),
        (served(context={"tokens": Finite([1, 50, 900])}, reward="-max(ttft, tokens)"), 3),
        (served(reward="ttft * 0 - tokens", failure=None), 1),  # nothing to learn
        (served(reward="ttft > tokens", failure=None), MOST_SHAPES),
    ],
)
def test_there_are_as_many_features_as_the_formula_has_shapes(problem, size):
    assert Shapes(problem).size == size


def test_features_reproduce_the_mean_of_any_law():
    """Fitted to exact means in some contexts, they give those in all others."""
    problem = served(
        state={"rate": Interval(0, 10), "share": Interval(0, 1)},
        reward="share * tokens * exp(-rate) - rate",
        failure=None,
    )
    generator, shapes = np.random.default_rng(0), Shapes(problem)
    states = np.column_stack([generator.uniform(0, 10, 50), generator.uniform(0, 1, 50)])
    shares = generator.dirichlet(np.ones(50))
    contexts = generator.uniform(1, 4000, 40)
    rows, means = [], []
    for tokens in contexts.tolist():
        features, scales, offsets = shapes.at((tokens,))
        assert np.sum(features**2, axis=1) == pytest.approx(1.0)
        mean = float(shares @ problem.payoff.vector(tokens, 2.0, *states.T))
        rows.append(features[0])
        means.append((mean - offsets[0]) / scales[0])
    some = slice(0, 20)
    weights = np.linalg.lstsq(np.array(rows[some]), np.array(means[some]), rcond=None)[0]
    assert np.array(rows) @ weights == pytest.approx(np.array(means), abs=1e-6)


def test_estimates_are_those_of_ridge_regression_around_all_arms():
    problem = served(failure=None)
    policy, shapes = RegressionUCB(problem), Shapes(problem)
    generator = np.random.default_rng(3)
    grams, moments = np.zeros((2, 2, 2)), np.zeros((2, 2))
    for _ in range(30):
        arm, tokens = int(generator.integers(2)), float(generator.uniform(1, 4000))
        reward = -float(generator.exponential(tokens / 100)) - 2 * tokens / 1000
        policy.observe(problem.arms[arm], reward=reward, tokens=tokens)
        features, scales, offsets = shapes.at((tokens,))
        row = features[arm]
        grams[arm] += np.outer(row, row)
        moments[arm] += row * (reward - offsets[arm]) / scales[arm]
    common = np.linalg.solve(grams.sum(axis=0) + FAINT * np.eye(2), moments.sum(axis=0))
    features, scales, offsets = shapes.at((700.0,))
    for arm, told in enumerate(policy.explain(tokens=700).arms):
        prior = PRIOR * np.eye(2)
        weights = np.linalg.solve(grams[arm] + prior, moments[arm] + PRIOR * common)
        expected = offsets[arm] + scales[arm] * float(features[arm] @ weights)
        assert told.estimate == pytest.approx(expected, rel=1e-9)


def test_an_arm_that_was_tried_where_it_is_quiet_stays_uncertain_elsewhere():
    """Small requests are served in full by every link, and say little about large ones."""
    policy = RegressionUCB(
        Problem(
            arms=["a", "b"],
            context={"bits": Interval(0.1, 8)},
            state={"capacity": ENDLESS},
            reward="min(bits, capacity)",
        )
    )
    generator = np.random.default_rng(1)
    for _ in range(200):
        policy.observe("b", reward=0.2, bits=0.2)
        bits = float(generator.uniform(0.1, 8))
        policy.observe("a", reward=min(bits, float(generator.exponential(3))), bits=bits)
    known, tried = policy.explain(bits=8).arms
    assert tried.bonus is not None
    assert known.bonus is not None
    assert tried.bonus > 3 * known.bonus


def test_a_quiet_arm_does_not_hide_the_noise_of_another():
    """One bad pull of a noisy arm says little, however well the other arm is predicted."""
    problem = Problem(
        arms=["noisy", "quiet"],
        context={"tokens": Interval(1, 4000)},
        state={"first": Interval(1, 9), "each": Interval(1, 9)},
        reward="-first - tokens / each",
    )
    for seed in range(4):
        policy, generator = RegressionUCB(problem), np.random.default_rng(seed)
        small = []
        for _ in range(1500):
            tokens = float(np.exp(generator.uniform(0, math.log(4000))))
            arm = policy.choose(tokens=tokens)
            lows, highs = ((1, 1), (3, 5)) if arm == "noisy" else ((5, 4), (9, 9))
            first, each = generator.uniform(lows, highs)
            policy.observe(arm, reward=-first - tokens / each, tokens=tokens)
            if tokens < 10:  # the noisy arm starts earlier, and is best here
                small.append(arm)
        late = small[len(small) // 2 :]
        assert late.count("noisy") > len(late) / 2


def test_an_arms_own_noise_is_saved_merged_and_removed_with_it():
    def noise(policy: RegressionUCB) -> list[float]:
        found: list[float] = policy._knowledge.look((700.0,)).variances.tolist()
        return found

    policy = RegressionUCB(served(arms=["alpha", "beta"], reward="-ttft - tokens * per_token"))
    generator = np.random.default_rng(2)
    for tokens in generator.uniform(1, 4000, 40).tolist():
        policy.observe("alpha", reward=-1.0 - tokens * 0.01, tokens=tokens)
        policy.observe("beta", reward=-tokens * float(generator.exponential(0.02)), tokens=tokens)
    alpha, beta = noise(policy)
    assert beta > 1.5 * alpha
    merged = RegressionUCB(policy.problem)
    merged.merge(policy)
    assert noise(merged) == noise(RegressionUCB.from_bytes(policy.to_bytes())) == [alpha, beta]
    policy.add_arm("gamma")
    assert noise(policy) == [alpha, beta, pytest.approx(alpha)]  # as all together
    policy.remove_arm("alpha")
    assert noise(policy) == [beta, pytest.approx(alpha)]


def test_contexts_far_below_the_largest_are_learned():
    """Their shapes are tiny beside those of the largest contexts, and must not count as none."""
    policy = RegressionUCB(
        served(
            arms=["a", "b"],
            context={"tokens": Interval(0, 1e200)},
            reward="-ttft - tokens * per_token",
            failure=None,
        )
    )
    for tokens in np.random.default_rng(0).uniform(1, 4000, 50).tolist():
        policy.observe("a", reward=-2 * tokens, tokens=tokens)
        policy.observe("b", reward=-tokens, tokens=tokens)
    assert policy.choose(tokens=2000) == "b"
    assert policy.estimates(tokens=2000) == pytest.approx([-4000, -2000], rel=0.1)


def test_a_state_is_worth_its_reward():
    told, shown = RegressionUCB(served()), RegressionUCB(served())
    for tokens in (10.0, 300.0, 2000.0):
        told.observe("beta", reward=-(1.0 + tokens * 0.02) - 0.0005 * tokens, tokens=tokens)
        shown.observe("beta", ttft=1.0, per_token=0.02, tokens=tokens)
    left, right = (policy.explain(tokens=50).arms for policy in (told, shown))
    assert left[1].estimate == pytest.approx(right[1].estimate)


def test_policies_with_other_shapes_are_not_merged():
    def links(arms: Any) -> RegressionUCB:
        return RegressionUCB(
            Problem(
                arms=arms,
                context={"y": Interval(0.1, 8)},
                state={"x": Interval(0, 1)},
                reward="min(y, speed * x)",
            )
        )

    one, other = links({"a": {"speed": 1}}), links({"a": {"speed": 1}, "b": {"speed": 9}})
    other.remove_arm("b")
    one.observe("a", reward=0.5, y=2)
    before = one.to_bytes()
    with pytest.raises(MergeError, match="different shapes"):
        one.merge(other)
    assert one.to_bytes() == before


def near_and_far(*arms: str) -> RegressionUCB:
    """Return a policy for arms of which only some take longer for more tokens."""
    attributes = {"local": 0.0, "near": 1.0, "far": 2.0}
    return RegressionUCB(
        served(
            arms={arm: {"remote": attributes[arm]} for arm in arms},
            state={"first": Interval(0, 10), "each": Interval(0, 0.05)},
            reward="-first - remote * tokens * each",
            failure=None,
        )
    )


@pytest.mark.parametrize("many", [37, 38, 65, 100])
def test_one_kind_of_arms_among_many_is_not_left_out(many):
    """Only the last two kinds take longer for more tokens, or for more words."""
    arms = {f"arm {j}": {"price": float(j), "remote": 0.0, "slow": 0.0} for j in range(many)}
    arms["near"] = {"price": 0.5, "remote": 1.0, "slow": 0.0}
    arms["far"] = {"price": 1.5, "remote": 0.0, "slow": 1.0}
    problem = served(
        arms=arms,
        context={"tokens": Interval(1, 1000), "words": Interval(1, 1000)},
        state={"first": Interval(0, 10), "each": Interval(0, 0.05)},
        reward="-first - (remote * tokens + slow * words) * each - price",
        failure=None,
    )
    assert Shapes(problem).size == 2
    policy = RegressionUCB(problem)
    for tokens in np.random.default_rng(0).uniform(1, 1000, 100).tolist():
        policy.observe("near", reward=-1.5 - tokens * 0.02, tokens=tokens, words=500)
        policy.observe("far", reward=-6.5 - tokens * 0.01, tokens=500, words=tokens)
    near, far = policy.estimates(tokens=900, words=100)[-2:]
    assert near == pytest.approx(-19.5, rel=0.1)
    assert far == pytest.approx(-7.5, rel=0.15)


def test_an_arm_of_a_new_kind_is_learned_if_nothing_was_learned_before():
    policy = near_and_far("local")
    policy.add_arm("near", remote=1.0)
    policy.add_arm("far", remote=2.0)
    for tokens in np.random.default_rng(0).uniform(1, 4000, 200).tolist():
        policy.observe("near", reward=-1.0 - tokens * 0.02, tokens=tokens)
        policy.observe("far", reward=-8.0 - tokens * 0.01, tokens=tokens)
    for tokens in (500.0, 3000.0):
        _, near, far = policy.estimates(tokens=tokens)
        assert near == pytest.approx(-1.0 - tokens * 0.02, rel=0.1)
        assert far == pytest.approx(-8.0 - tokens * 0.01, rel=0.1)


def test_an_arm_of_a_new_kind_is_refused_once_something_was_learned():
    policy = near_and_far("local")
    policy.observe("local", reward=-3.0, tokens=50)
    before = policy.to_bytes()
    with pytest.raises(ParameterError, match="make a new policy"):
        policy.add_arm("near", remote=1.0)
    assert policy.to_bytes() == before
    policy.add_arm("another", remote=0.0)
    known = near_and_far("local", "near")
    known.observe("near", reward=-3.0, tokens=50)
    known.add_arm("far", remote=2.0)  # as near, but steeper
    assert known.estimates(tokens=50)[1] is not None


def widen(kept: dict[str, Any], size: int) -> None:
    """Change a save to more features, in parts that fit together."""
    arms = len(kept["grams"])
    kept["mix"] = np.ones((len(kept["mix"]), size)).tolist()
    kept["grams"] = kept["arm_errors"] = np.zeros((arms, size, size)).tolist()
    kept["moments"] = np.zeros((arms, size)).tolist()
    kept["gram"] = kept["errors"] = np.zeros((size, size)).tolist()
    kept["moment"] = [0.0] * size


def test_a_save_with_other_features_is_read_if_they_fit_together():
    policy = RegressionUCB(served())
    kept = msgspec.to_builtins(policy._knowledge.state())
    widen(kept, MOST_SHAPES)
    policy._knowledge.restore(kept)
    assert policy.estimates(tokens=50)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda kept: kept["grams"][0][0].__setitem__(0, -1.0),
        lambda kept: kept["grams"][0][0].__setitem__(0, 1e6),
        lambda kept: kept["errors"][0].append(0.0),
        lambda kept: kept["arm_errors"].pop(),
        lambda kept: kept["arm_errors"][1][0].__setitem__(0, -1.0),
        lambda kept: kept["states"].pop(),
        lambda kept: kept["moment"].pop(),
        lambda kept: kept["moment"].__setitem__(0, 1e300),
        lambda kept: kept["moments"][0].__setitem__(0, -1e300),
        lambda kept: kept.__setitem__("unit", 0.0),
        lambda kept: kept.__setitem__("unit", 1e-320),
        lambda kept: kept["states"][1].__setitem__(0, -5.0),
        lambda kept: kept["states"][0].__setitem__(2, 0.5),
        lambda kept: kept["mix"][0].__setitem__(0, 1e300),
        lambda kept: widen(kept, MOST_SHAPES + 1),
    ],
)
def test_an_impossible_save_is_refused(spoil):
    policy = RegressionUCB(served())
    requests(policy, 10, 0)
    before, kept = policy.to_bytes(), msgspec.to_builtins(policy._knowledge.state())
    spoil(kept)
    with pytest.raises(SaveFileError):
        policy._knowledge.restore(kept)
    assert policy.to_bytes() == before
