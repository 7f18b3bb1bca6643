"""Problems are validated on construction, and survive a round trip through a file."""

from __future__ import annotations

import enum
import math
import pickle

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from problems import coded, mixed, offloading

from onepull import DCB, AdaptiveKL, Finite, Interval, Problem, Reward, errors
from onepull.errors import FormulaError, ProblemError

PARTS = {
    "arms": ["a", "b"],
    "context": {"y": Finite([1, 2])},
    "state": {"x": Interval(0, 1)},
    "reward": "x * y",
}


def problem(**changes):
    return Problem(**{**PARTS, **changes})


names = st.text(min_size=1) | st.text(alphabet="\"'\\\n\t\0\x1f\x7f\x85\u2028é😀[]=#", min_size=1)
numbers = st.floats(-1e300, 1e300) | st.integers(-(2**60), 2**60)
spaces = st.lists(numbers, min_size=1, max_size=4, unique_by=float).map(Finite) | (
    st.tuples(numbers, numbers).filter(lambda p: float(min(p)) < float(max(p)))
).map(lambda p: Interval(min(p), max(p)))
rewards = st.sampled_from(
    [
        "clip(x + y, 0, 1)",
        Reward("clip(x + y, 0, 1)", low=-0.5, high=1.0),
        Reward("clip(x, 0, 1)", high="1 + 0 * min(y, 1)", monotone={"x": "nondecreasing"}),
        Reward("clip(x, 0, 1)", lipschitz={"y": 0.25}),
    ]
)


@given(st.lists(names, min_size=1, max_size=4, unique=True), spaces, spaces, rewards)
@example(['😀\x7f\\"'], Finite([0.1]), Interval(-math.inf, math.inf), "clip(x, y, 1)")
@settings(derandomize=True, deadline=None)
def test_json_and_toml_bring_back_the_same_problem(arms, context, state, reward):
    given_ = Problem(arms=arms, context={"y": context}, state={"x": state}, reward=reward)
    assert Problem.from_json(given_.to_json()) == given_
    assert Problem.from_json(given_.to_json().encode()) == given_
    assert Problem.from_toml(given_.to_toml()) == given_


@pytest.mark.parametrize("build", [mixed, offloading])
def test_field_order_is_kept(build):
    for again in (Problem.from_json(build().to_json()), Problem.from_toml(build().to_toml())):
        assert again == build()
        assert again.payoff.names == build().payoff.names


@pytest.mark.parametrize(
    ("path", "key"), [((), "arm"), (("reward",), "hi"), (("state", "x"), "lower")]
)
def test_unknown_keys_are_refused_by_name(path, key):
    written = problem(reward=Reward("x * y", high=2)).to_dict()
    inner = written
    for step in path:
        inner = inner[step]
    inner[key] = 1
    with pytest.raises(ProblemError, match=f"unknown field '{key}'"):
        Problem.from_dict(written)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", b"\xff", '"\ud800"', "[" * 10**5, '{"arms": 1e999}']
)
def test_what_is_no_problem_is_refused(text):
    with pytest.raises(ProblemError, match="not a problem"):
        Problem.from_json(text)
    with pytest.raises(ProblemError, match="not a problem"):
        Problem.from_toml(text)


@pytest.mark.parametrize("end", ["nan", "infinity", "1"])
def test_an_end_in_words_is_infinity_only(end):
    written = {**problem().to_dict(), "state": {"x": {"low": 0, "high": end}}}
    with pytest.raises(ProblemError, match="an end of an interval"):
        Problem.from_dict(written)


@pytest.mark.parametrize("name", ["arm", "arms", "eligible", "reward", "self", "min", "log"])
def test_reserved_names_are_refused(name):
    with pytest.raises(ProblemError, match=f"'{name}': this name is reserved"):
        problem(state={name: Interval(0, 1), "x": Interval(0, 1)})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"state": {"x": Interval(0, 1), "y": Interval(0, 1)}}, "both a context and a state field"),
        ({"state": {}}, "the state needs at least one field"),
        (
            {"state": {f"x{i}": Interval(0, 1) for i in range(17)}},
            "the state may have at most 16 fields, given 17",
        ),
        (
            {"context": {f"y{i}": Finite([1]) for i in range(17)}},
            "the context may have at most 16 fields, given 17",
        ),
        ({"arms": []}, "at least one arm"),
        ({"arms": "ab"}, "given the text 'ab'"),
        ({"arms": ["a", "b", "a"]}, "'a' twice"),
        ({"arms": ["a", ""]}, "given ''"),
        ({"arms": [1]}, "given 1"),
        ({"arms": ["\ud800"]}, "Unicode"),
        ({"reward": 3}, "a formula or a callable"),
        ({"reward": "x * q"}, "unknown name 'q'"),
        ({"reward": "1 / x"}, "divide by zero"),
    ],
)
def test_a_problem_that_cannot_be_is_refused(changes, words):
    with pytest.raises(ProblemError, match=words):
        problem(**changes)


def test_a_callable_reward_cannot_be_written_down():
    for write in (coded().to_dict, coded().to_json, coded().to_toml):
        with pytest.raises(ProblemError, match="callable cannot be written"):
            write()
    assert coded().outline()["arms"] == ["a", "b", "c"]


def test_with_arms_changes_the_arms_only():
    other = problem().with_arms(["c"])
    assert other == problem(arms=["c"])
    assert other.payoff(x=1, y=2) == 2.0
    with pytest.raises(ProblemError, match="twice"):
        problem().with_arms(["c", "c"])


def area(y, x):
    return x * y


@pytest.mark.parametrize(
    "reward",
    [
        Reward("x * y"),
        Reward("x * y", low=0, high="y", monotone={"x": "increasing"}, lipschitz={"y": 1}),
        Reward(area, low=0, high="y"),
    ],
)
def test_rewards_and_problems_survive_pickling(reward):
    assert pickle.loads(pickle.dumps(reward)) == reward  # noqa: S301
    again = pickle.loads(pickle.dumps(problem(reward=reward)))  # noqa: S301
    assert again == problem(reward=reward)
    assert again.payoff(x=1, y=2) == 2.0


PLAIN_ERRORS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.OnepullError) and kind is not FormulaError
]


@pytest.mark.parametrize(
    "error",
    [
        *(kind("what, and where") for kind in PLAIN_ERRORS),
        FormulaError("unknown name", text="1 + x", start=4, stop=5),
    ],
)
def test_errors_survive_pickling(error):
    error.add_note("seen by a worker")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


ODD = [None, 3, 2.5, True, b"abc", object(), len, 1j, np.array(3), np.int64(1), float("nan")]


@pytest.mark.parametrize("role", ["arms", "context", "state"])
@pytest.mark.parametrize("value", [*ODD, "abc", [1], [[]], {1: 2}, [None], range(2), [["a"]]])
def test_what_is_no_part_of_a_problem_is_refused(role, value):
    with pytest.raises(ProblemError):
        problem(**{role: value})


@pytest.mark.parametrize("value", [value for value in ODD if not callable(value)])
def test_what_is_no_reward_is_refused(value):
    with pytest.raises(ProblemError, match="reward takes a formula or a callable"):
        problem(reward=value)


@pytest.mark.parametrize("value", [{"a", "b"}, frozenset("ab"), [], {}, ["a", ["b"]], ["a", ""]])
def test_what_is_no_list_of_arms_is_refused(value):
    with pytest.raises(ProblemError, match="arm"):
        problem(arms=value)


@pytest.mark.parametrize(
    "value",
    [("a", "b"), iter("ab"), {"a": {}, "b": {}}, dict.fromkeys("ab").keys(), np.array(["a", "b"])],
)
def test_any_ordered_names_are_arms(value):
    made = problem(arms=value)
    assert made.arms == ("a", "b")
    assert all(type(arm) is str for arm in made.arms)
    assert Problem.from_json(made.to_json()) == made


def test_members_of_an_enumeration_are_names():
    class Network(str, enum.Enum):  # noqa: UP042 - its `str` is not the name
        WIFI = "wifi"
        LTE = "lte"

    made = problem(arms=Network)
    assert made.arms == ("wifi", "lte")
    assert DCB(made).choose(y=1, eligible=[Network.LTE]) == "lte"


@pytest.mark.parametrize("value", [0, 2.5, True, None, object(), np.array(0)])
def test_arms_can_be_replaced_by_arms_only(value):
    with pytest.raises(ProblemError, match="arms takes a list of names"):
        problem().with_arms(value)


def test_thirty_thousand_names_are_checked_once_each():
    names = [f"arm-{i}" for i in range(30_000)]
    assert problem(arms=names).arms == tuple(names)
    with pytest.raises(ProblemError, match="given 'arm-29999' twice"):
        problem(arms=[*names, "arm-29999"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a" + ".a" * 20_000 + "=1", "a key of more than 64 parts"),
        ("x = {a" + '."a"' * 20_000 + " = 1}", "a key of more than 64 parts"),
        ("x = 1" + "0" * 5000, "thousands of digits"),
        ("x = " + "[" * 5000, "nested too deeply"),
        (b"\xff", "not UTF-8"),
        ("a\0", "null characters"),
        (None, "not text"),
        (3, "not text"),
    ],
)
def test_texts_that_are_no_toml_are_refused_at_once(text, said):
    with pytest.raises(ProblemError, match=said):
        Problem.from_toml(text)


def test_many_numbers_are_no_key_of_many_parts():
    reward = " + ".join(["0.25 * x"] * 60)
    text = f'arms = ["a"]\nreward = "{reward}"\n[context]\ny = [0.5]\n'
    assert Problem.from_toml(f"\ufeff{text}[state]\nx = {{low = 0.0, high = 1.5}}").arms == ("a",)


@pytest.mark.parametrize("text", [None, 5, [], b"\xff", "{", '{"arms": 1, "\x1b": 2}'])
def test_texts_that_are_no_json_are_refused(text):
    with pytest.raises(ProblemError) as caught:
        Problem.from_json(text)
    assert "\x1b" not in str(caught.value)


def test_a_range_wider_than_any_number_is_refused_without_a_warning():
    wide = {"a": Interval(0, 1e308), "b": Interval(0, 1e308)}
    with pytest.raises(ProblemError, match="too large to compute with"):
        problem(state=wide, reward="a - b + y")


@pytest.mark.parametrize("name", ["error", "by"])
def test_attributes_do_not_take_the_names_of_other_arguments(name):
    with pytest.raises(ProblemError, match=name):
        problem(arms={"a": {name: 1.0}, "b": {name: 2.0}})


@pytest.mark.parametrize("name", ["arm", "self"])
def test_an_unknown_attribute_is_refused_whatever_its_name(name):
    policy = AdaptiveKL(problem(arms={"a": {"price": 1.0}, "b": {"price": 2.0}}))
    for change in (policy.set_attributes, policy.add_arm):
        with pytest.raises(errors.OnepullError, match=name):
            change("a" if change == policy.set_attributes else "c", **{name: 3.0})
