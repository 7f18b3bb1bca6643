"""Linear policies beside direct transcriptions on the raw data, and on linear rewards."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from policies.linear.two_fields import ARMS, KINDS, OWN, own, taught, two_fields

from onepull import (
    Finite,
    Interval,
    LinearThompson,
    LinRel,
    LinUCB,
    MergeError,
    ParameterError,
    Problem,
    Random,
    SaveFileError,
    simulate,
)
from onepull.distributions import Beta, Independent, Uniform
from onepull.environment import Environment
from onepull.policies.linear.ridge import FEW_FEATURES, ridge


def scaled(y, z):
    """The default features."""
    return np.array([1.0, y / 2, (z - 1) / 3]) / math.sqrt(3)


class RawData:
    """Every observation as it was: features and rewards in [0, 1], model by model."""

    def __init__(self, feature, *, shared):
        self.feature = feature
        self.shared = shared
        self.features: dict[str, list[Any]] = {arm: [] for arm in ARMS}
        self.rewards: dict[str, list[float]] = {arm: [] for arm in ARMS}

    def take_in(self, arm, y, z, reward):
        self.features[arm].append(self.feature(y, z, arm))
        self.rewards[arm].append((reward + 4) / 13)

    def of(self, arm):
        arms = ARMS if self.shared else [arm]
        rows = [row for one in arms for row in self.features[one]]
        return np.array(rows), np.array([r for one in arms for r in self.rewards[one]])

    def index(self, rule, arm, y, z, trial):
        if not self.rewards[arm]:
            return math.inf
        return -4 + 13 * rule(*self.of(arm), np.array(self.feature(y, z, arm)), trial)


def paper_lin_ucb(alpha, regulariser):
    """Ridge regression as least squares on rows of √λI added to the data."""

    def rule(rows, rewards, x, trial):
        del trial
        size = len(x)
        padded = np.vstack([rows, math.sqrt(regulariser) * np.eye(size)])
        theta = np.linalg.lstsq(padded, np.append(rewards, np.zeros(size)), rcond=None)[0]
        spread = np.linalg.solve(rows.T @ rows + regulariser * np.eye(size), x)
        return theta @ x + alpha * math.sqrt(x @ spread)

    return rule


def paper_lin_rel(rows, rewards, x, trial, *, failure):
    """Auer's steps: the eigenvectors are singular vectors of Z, whose columns are the data."""
    enough = np.vstack([rows, np.zeros((len(x), len(x)))])  # for as many singular values
    turn, singular, _ = np.linalg.svd(enough.T, full_matrices=False)
    values = singular**2
    z = turn.T @ x
    known = values >= 1 - 1e-9
    u, v = np.where(known, z, 0.0), np.where(known, 0.0, z)
    a = (u * np.where(known, 1 / np.where(known, values, 1.0), 0.0)) @ turn.T @ rows.T
    width = np.linalg.norm(a) * math.sqrt(math.log(2 * trial / failure)) + np.linalg.norm(v)
    return rewards @ a + width


RULES = {
    "LinUCB": (
        lambda problem, features: LinUCB(problem, features=features),
        paper_lin_ucb(alpha=1 + math.sqrt(math.log(2 / 0.1) / 2), regulariser=1.0),
    ),
    "LinUCB-bold": (
        lambda problem, features: LinUCB(problem, features=features, alpha=0.1, regulariser=0.01),
        paper_lin_ucb(alpha=0.1, regulariser=0.01),
    ),
    "LinRel": (
        lambda problem, features: LinRel(problem, features=features, failure=0.05),
        lambda *data: paper_lin_rel(*data, failure=0.05),
    ),
    "LinearThompson": (  # whose index is the mean
        lambda problem, features: LinearThompson(problem, features=features, regulariser=2),
        paper_lin_ucb(alpha=0.0, regulariser=2.0),
    ),
}
FEATURES = {
    "default": (None, lambda y, z, _: scaled(y, z), False),
    "written": (["1", "y**2 / 4"], lambda y, *_: [1.0, y**2 / 4], False),
    "by-arm": (OWN, lambda y, z, arm: own({"y": y, "z": z}, arm), True),
    "coded": (own, lambda y, z, arm: own({"y": y, "z": z}, arm), True),
}


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("rule", RULES)
def test_indices_are_those_of_the_raw_data(rule, features):
    build, paper = RULES[rule]
    given, feature, shared = FEATURES[features]
    policy, data = build(two_fields(), given), RawData(feature, shared=shared)
    generator = np.random.default_rng(1)
    for trial in range(1, 121):
        y, z = float(generator.uniform(0, 2)), float(generator.choice([1, 3, 4]))
        explained = policy.explain(y=y, z=z)
        for row in explained.arms:
            expected = data.index(paper, row.arm, y, z, trial)
            assert row.index == pytest.approx(expected, rel=1e-9, abs=1e-9)
        arm, x = policy.choose(y=y, z=z), float(generator.beta(1, 2))
        assert policy.traits.randomised or arm == explained.arm
        policy.observe(arm, y=y, z=z, x=x)
        data.take_in(arm, y, z, 5 * x * y - z)


@pytest.mark.parametrize("size", [1, 2, FEW_FEATURES, FEW_FEATURES + 1, 9])
def test_ridge_regression_is_its_definition_by_loops_and_by_lapack(size):
    generator = np.random.default_rng(size)
    data, moment = generator.normal(size=(2 * size, size)), generator.normal(size=size)
    gram = data.T @ data
    theta, root = ridge(gram, moment, regulariser=0.3)
    inverse = np.linalg.inv(gram + 0.3 * np.eye(size))
    assert np.array_equal(root, np.tril(root))
    assert root.T @ root == pytest.approx(inverse, rel=1e-9, abs=1e-12)
    assert theta == pytest.approx(inverse @ moment, rel=1e-9, abs=1e-12)


def test_a_step_of_lin_ucb_by_hand():
    """A = 1 + 1/4, b = 3/4·1 + 1/4·1/2 = 7/8: θ̂ = (7/8) / (9/4) = 7/18, width 1/1.5."""
    problem = Problem(
        arms=["a"], context={"y": Interval(0, 1)}, state={"x": Interval(0, 1)}, reward="x"
    )
    policy = LinUCB(problem, features=["y"], alpha=3.0)
    policy.observe_many(["a", "a"], y=[1.0, 0.5], x=[0.75, 0.25])
    (row,) = policy.explain(y=0.5).arms
    assert row.estimate == pytest.approx(7 / 36)
    assert row.bonus == pytest.approx(3 * 0.5 / 1.5)


def test_lin_rel_doubts_a_direction_until_its_eigenvalue_is_one():
    problem = Problem(
        arms=["a"], context={"y": Interval(0, 1)}, state={"x": Interval(0, 1)}, reward="x"
    )
    policy = LinRel(problem, features=["y"])
    for pulls in range(1, 6):
        policy.observe("a", y=0.5, x=0.25)
        (row,) = policy.explain(y=1.0).arms
        if pulls < 4:  # A = pulls/4
            assert (row.estimate, row.bonus) == (0.0, 1.0)
        else:
            width = math.sqrt(math.log(2 * (pulls + 1) / 0.1)) / math.sqrt(pulls / 4)
            assert row.estimate == pytest.approx(0.5)
            assert row.bonus == pytest.approx(width)


@pytest.mark.parametrize("features", [None, OWN], ids=["own models", "one model"])
def test_thompson_draws_from_the_normal_law_of_the_paper(features):
    """40,000 draws: mean and covariance within 5 standard errors.

    There are at most 3·(3 + 6) of them, so this fails by chance once in 60,000 seeds.
    """
    policy = taught(LinearThompson, features, spread=0.7, seed=4)
    model = policy._knowledge
    _, solution = model.look({"y": 1.0, "z": 3.0})
    draws = np.array([policy._drawn(solution) for _ in range(40_000)])
    for one, (gram, moment) in enumerate(zip(model.grams, model.moments, strict=True)):
        precision = gram + np.eye(3)
        covariance = 0.49 * np.linalg.inv(precision)
        deviations = draws[:, one] - np.linalg.solve(precision, moment)
        variances = np.diag(covariance)
        assert np.all(np.abs(deviations.mean(axis=0)) < 5 * np.sqrt(variances / len(draws)))
        # The variance of a product of normal numbers: Σ_ii Σ_jj + Σ_ij².
        errors = np.sqrt((np.outer(variances, variances) + covariance**2) / len(draws))
        assert np.all(np.abs(deviations.T @ deviations / len(draws) - covariance) < 5 * errors)


def test_thompson_chooses_as_often_as_its_law_says():
    """4,000 choices within 5 standard errors of Φ: fails by chance once in 1.7 million seeds."""
    policy = taught(LinearThompson, seed=5)
    x = scaled(1.5, 3.0)
    means, variances = [], []
    for gram, moment in zip(policy._knowledge.grams, policy._knowledge.moments, strict=True):
        covariance = np.linalg.inv(gram + np.eye(3))
        means.append(x @ covariance @ moment)
        variances.append(0.25 * x @ covariance @ x)
    gap = (means[0] - means[1]) / math.sqrt(variances[0] + variances[1])
    share = 0.5 * (1 + math.erf(gap / math.sqrt(2)))
    chosen = [policy.choose(eligible=["a", "b"], y=1.5, z=3.0) for _ in range(4000)]
    assert abs(chosen.count("a") / 4000 - share) < 5 * math.sqrt(share * (1 - share) / 4000)


def test_thompson_without_spread_plays_the_best_estimate():
    policy = taught(LinearThompson, spread=0)
    rows = policy.explain(y=1.5, z=3.0).arms
    best = max(rows, key=lambda row: row.index).arm
    assert {policy.choose(y=1.5, z=3.0) for _ in range(50)} == {best}


def linear_world():
    """Mean rewards y·E[u] + (1-y)·E[w] of each arm: linear in the default features."""
    problem = Problem(
        arms=["rising", "falling", "flat", "poor"],
        context={"y": Interval(0, 1)},
        state={"u": Interval(0, 1), "w": Interval(0, 1)},
        reward="y * u + (1 - y) * w",
    )
    ends = {"rising": (8, 2), "falling": (2, 8), "flat": (5.5, 5.5), "poor": (3, 3)}
    states = {arm: Independent(Beta(u, 10 - u), Beta(w, 10 - w)) for arm, (u, w) in ends.items()}
    return Environment(problem, states=states, contexts=Uniform(0, 1))


def test_regret_on_linear_rewards_is_far_below_random_and_grows_slower_than_time():
    """In 90 other replications, three by three, LinRel came nearest: 6 and 12 deviations."""
    world = linear_world()
    problem = world.problem
    policies = {
        "LinUCB": LinUCB(problem, alpha=1.0),
        "LinRel": LinRel(problem),
        "LinearThompson": LinearThompson(problem),
        "Random": Random(problem),
    }
    result = simulate(
        world, policies, horizon=2000, replications=3, seed=1, checkpoints=[500, 2000]
    )
    *regrets, (_, random) = result.regrets.mean(axis=1)
    for early, late in regrets:
        assert late < 0.3 * random
        assert late < 2.8 * early  # where linear growth means 4 and a root 2


def test_learning_of_arms_in_another_order_is_merged_arm_by_arm():
    one, two = taught(LinUCB), LinUCB(two_fields(["c", "a", "b"]))
    before = {row.arm: row for row in one.explain(y=1.0, z=3.0).arms}
    two.observe("c", y=2.0, z=1.0, x=1.0)
    one.merge(two)
    after = {row.arm: row for row in one.explain(y=1.0, z=3.0).arms}
    assert after["a"].index == before["a"].index
    assert after["c"].pulls == before["c"].pulls + 1
    assert after["c"].bonus < before["c"].bonus


def test_policies_with_other_features_are_not_merged():
    with pytest.raises(MergeError, match="parameters differ"):
        taught(LinUCB).merge(taught(LinUCB, features=["1"]))


@pytest.mark.parametrize("kind", KINDS)
def test_long_features_seen_in_one_direction_only_do_not_break_the_arithmetic(kind):
    problem = Problem(
        arms=["a"], context={"y": Finite([1, 3e7])}, state={"x": Interval(0, 1)}, reward="x"
    )
    policy = kind(problem, features=["y", "y / 3", "y / 7"])
    for _ in range(50):
        policy.observe("a", y=3e7, x=0.5)
        (row,) = policy.explain(y=3e7).arms
        assert math.isfinite(row.index)
    assert row.estimate == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("kind", KINDS)
def test_storage_is_what_the_docstring_says(kind):
    assert kind(two_fields()).storage == 3 * (9 + 3 + 1)
    assert kind(two_fields(), features=OWN).storage == 9 + 3 + 3


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        (LinUCB, {"alpha": -1}),
        (LinUCB, {"regulariser": 0}),
        (LinRel, {"failure": 0}),
        (LinRel, {"failure": 1}),
        (LinearThompson, {"spread": -0.1}),
        (LinearThompson, {"seed": None}),
    ],
)
def test_parameters_that_are_not_allowed_are_refused(kind, parameters):
    with pytest.raises(ParameterError, match=next(iter(parameters))):
        kind(two_fields(), **parameters)


@pytest.mark.parametrize(
    "damage",
    [
        lambda sums: sums["grams"].pop(),
        lambda sums: sums["moments"][0].pop(),
        lambda sums: sums.pop("counts"),
        lambda sums: sums["grams"][0][0].__setitem__(1, 99.0),
        lambda sums: sums["grams"][0][0].__setitem__(0, -5.0),
        lambda sums: sums["counts"]["pulls"].pop(),
    ],
)
def test_sums_that_cannot_be_are_refused(damage):
    policy = taught(LinUCB)
    before = policy.to_bytes()
    sums = {
        "counts": {"trials": 40, "pulls": [14, 13, 13], "means": [[], [], []]},
        "grams": policy._knowledge.grams.tolist(),
        "moments": policy._knowledge.moments.tolist(),
    }
    damage(sums)
    with pytest.raises(SaveFileError):
        policy._knowledge.restore(sums)
    assert policy.to_bytes() == before
