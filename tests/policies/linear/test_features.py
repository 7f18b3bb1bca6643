"""The features of linear policies: which there are, how they travel, what is refused."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from policies.linear.two_fields import KINDS, OWN, own, taught, two_fields

from onepull import (
    Experiment,
    FormulaError,
    InputError,
    Interval,
    LinUCB,
    ParameterError,
    Policy,
    Problem,
)
from onepull.policies.linear.features import feature_map


@pytest.mark.parametrize("features", [None, ["1", "y * z"], OWN, own])
def test_a_table_of_contexts_has_the_rows_of_each(features):
    mapped = feature_map(two_fields(), features)
    contexts = np.array([[0.5, 1.0], [2.0, 4.0], [1.25, 3.0]])
    rows = [mapped.rows(tuple(context)) for context in contexts.tolist()]
    assert np.array_equal(mapped.table(contexts), rows)
    assert mapped.table(contexts).shape == (3, 3 if mapped.is_shared else 1, mapped.size)


def test_default_features_are_never_longer_than_one():
    mapped = feature_map(two_fields(), None)
    corners = np.array([[0.0, 1.0], [2.0, 4.0], [0.0, 4.0]])
    lengths = np.linalg.norm(mapped.table(corners), axis=-1).ravel()
    assert lengths == pytest.approx([math.sqrt(1 / 3), 1.0, math.sqrt(2 / 3)])


def test_a_shared_model_keeps_what_a_removed_arm_taught():
    policy = taught(LinUCB, features=OWN)
    before = {row.arm: row.index for row in policy.explain(y=1.0, z=3.0).arms}
    policy.remove_arm("b")
    assert {row.arm: row.index for row in policy.explain(y=1.0, z=3.0).arms} == {
        arm: before[arm] for arm in ("a", "c")
    }
    with pytest.raises(InputError, match="no features are given for arm 'd'"):
        policy.add_arm("d")
    policy.add_arm("b")
    assert policy.explain(y=1.0, z=3.0).arm == "b"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("features", [["1", "y"], OWN], ids=["written", "by-arm"])
def test_formulas_are_saved_as_text(kind, features):
    policy = taught(kind, features=features)
    twin = Policy.from_bytes(policy.to_bytes())
    assert twin.parameters == policy.parameters
    assert twin.parameters["features"] == features
    assert twin.explain(y=1.0, z=4.0) == policy.explain(y=1.0, z=4.0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_policy_with_coded_features_is_in_no_file_but_travels(kind):
    policy = taught(kind, features=own)
    with pytest.raises(ParameterError, match="callable cannot be written to a file"):
        policy.to_bytes()
    twin = pickle.loads(pickle.dumps(policy))  # noqa: S301 - our own
    assert twin.explain(y=1.0, z=4.0) == policy.explain(y=1.0, z=4.0)
    twin.observe("a", y=1.0, z=4.0, x=1.0)
    assert twin.trials == policy.trials + 1


@pytest.mark.parametrize(
    ("features", "error", "message"),
    [
        ("y", ParameterError, "features must be a list of formulas"),
        (3, ParameterError, "features must be a list of formulas"),
        ([], ParameterError, "features must be a list of formulas, given"),
        (["1", 2], ParameterError, "features must be a list of formulas, given"),
        (["1", "x"], FormulaError, "x"),
        (["log(y)"], FormulaError, "log"),
        ({"a": ["1"], "b": ["1"]}, ParameterError, "no features are given for arm 'c'"),
        ({}, ParameterError, "no features are given for arm 'a'"),
        ({"a": ["1"], "b": ["1"], "c": ["1", "y"]}, ParameterError, "as many features"),
        ({"a": ["1"], "b": ["1"], "c": "1"}, ParameterError, "features of arm 'c' must be"),
        (lambda *_: 1.0, ParameterError, "must be a list of numbers, given 1.0"),
        (lambda *_: [], ParameterError, "must be a list of numbers"),
        (lambda *_: ["one"], ParameterError, "must be a list of numbers"),
        (lambda *_: [math.nan], ParameterError, "must be finite"),
        (
            lambda size: [size],
            ParameterError,
            r"features\(context, arm\) with \{.*\} and 'a' raised TypeError: .*takes 1 positional",
        ),
        (lambda context, _: [context["size"]], ParameterError, "'a' raised KeyError: 'size'"),
        (
            lambda _, arm: [1.0] if arm < "c" else 1.0,
            ParameterError,
            "and 'c' must be a list of 1 numbers",
        ),
    ],
)
def test_features_that_cannot_be_are_refused(features, error, message):
    with pytest.raises(error, match=message):
        LinUCB(two_fields(), features=features)


def test_coded_features_are_as_many_each_time():
    policy = LinUCB(two_fields(), features=lambda context, _: [1.0] * (1 + (context["y"] > 1)))
    with pytest.raises(ParameterError, match=r"must be a list of 1 numbers, given \[1.0, 1.0\]"):
        policy.choose(y=1.5, z=1)


def test_an_unbounded_context_needs_features():
    problem = Problem(
        arms=["a"],
        context={"y": Interval(0, math.inf)},
        state={"x": Interval(0, 1)},
        reward="x * min(y, 1)",
    )
    with pytest.raises(ParameterError, match="'y' is unbounded"):
        LinUCB(problem)
    with pytest.raises(ParameterError, match="'y' is not known to be bounded"):
        LinUCB(problem, features=["y"])
    assert LinUCB(problem, features=["1", "exp(-y)"]).choose(y=1e6) == "a"


def test_a_list_of_formulas_is_one_value_in_an_experiment_file():
    experiment = Experiment.from_toml("""
        application = "energy-harvesting"
        horizon = 100
        replications = 2
        [[policies]]
        policy = "LinUCB"
        features = ["1", "power"]
        [[policies]]
        policy = "LinearThompson"
        name = "TS"
        features = [["1"], ["1", "power"]]
    """)
    policies = experiment.simulation.policies
    assert list(policies) == [
        "LinUCB(features=['1', 'power'])",
        "TS(features=['1'])",
        "TS(features=['1', 'power'])",
    ]
    assert policies["TS(features=['1'])"].parameters["features"] == ["1"]


def test_an_arm_that_a_callable_does_not_know_cannot_come():
    price = {"a": 1.0, "b": 2.0}
    problem = Problem(
        arms=["a", "b"], context={"y": Interval(0, 1)}, state={"x": Interval(0, 1)}, reward="x * y"
    )
    policy = LinUCB(problem, features=lambda context, arm: [context["y"], price[arm]])
    with pytest.raises(ParameterError, match="and 'c' raised KeyError"):
        policy.add_arm("c")
    assert policy.problem.arms == ("a", "b")
    price["c"] = 3.0
    policy.add_arm("c")
    assert policy.choose(y=0.5) == "a"
