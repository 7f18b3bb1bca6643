"""Rewards, gaps and periods of an environment, and laws that do not fit the problem."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from problems import PAPER_ARMS, channels, harvesting, mixed, offloading

from onepull import Discrete, Finite, Interval, Problem
from onepull.distributions import Distribution, Exponential, Independent, Switching, Uniform
from onepull.environment import Environment
from onepull.errors import ParameterError, UnknownArm

BITS = np.array([[1.0], [2.0], [3.0], [4.0]])
EVENLY = Discrete([1, 2, 3, 4], [0.25] * 4)
PRINTED = [
    [0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1],
    [0.7, 1.2, 1.0, 0.8, 0.6, 0.4, 0.2],
    [0.7, 1.2, 1.5, 1.2, 0.9, 0.6, 0.3],
    [0.7, 1.2, 1.5, 1.6, 1.2, 0.8, 0.4],
]


def paper(**changed):
    states: dict[str, Distribution] = {**PAPER_ARMS}
    return Environment(channels(), states=states | changed, contexts=EVENLY)


def test_the_reward_matrix_is_the_papers():
    assert paper().expected_rewards(BITS) == pytest.approx(np.array(PRINTED), abs=1e-14)


def test_gaps_are_best_minus_each():
    printed = np.array(PRINTED)
    exact = printed.max(axis=1, keepdims=True) - printed
    gaps = paper().gaps(BITS)
    assert gaps == pytest.approx(exact, abs=1e-14)
    assert np.all(np.diag(gaps) == 0.0)


def test_ties_are_exactly_zero():
    # 0.1 + 0.2 differs from 0.3 by rounding; the two arms still tie.
    problem = Problem(
        arms=["one", "two"],
        context={"y": Finite([1])},
        state={"x": Interval(0, 1)},
        reward="y * x",
    )
    laws = {"one": Discrete([0.3], [1.0]), "two": Discrete([0.1, 0.5], [0.5, 0.5])}
    world = Environment(problem, states=laws, contexts=Discrete([1], [1]))
    rewards = world.expected_rewards(np.array([[1.0]]))
    assert world.gaps(np.array([[1.0]])).tolist() == [[0.0, 0.0]], rewards


def test_continuous_states_are_integrated():
    problem = mixed()
    laws = {"a": Exponential(2), "b": Uniform(0, 4), "c": Discrete([1], [1.0])}
    contexts = {"weight": Discrete([2], [1.0]), "size": Uniform(1, 3)}
    world = Environment(problem, states=laws, contexts=contexts)
    rewards = world.expected_rewards(np.array([[2.0, 2.0], [-1.0, 1.0]]))
    exact = [
        [4 * (1 - np.exp(-1.0)), 2 * 1.5, 2.0],
        [-2 * (1 - np.exp(-0.5)), -0.875, -1.0],
    ]
    assert rewards == pytest.approx(np.array(exact), rel=1e-8)


def test_contexts_may_be_given_field_by_field_in_any_order():
    laws = {arm: Independent(Uniform(50, 200), Uniform(7000, 9000)) for arm in offloading().arms}
    size, work = Discrete([8, 64], [0.5, 0.5]), Discrete([1e3], [1.0])
    one = Environment(
        offloading(), states=laws, contexts={"work": work, "megabytes": size}
    ).contexts
    assert one.atoms is not None
    assert one.atoms[0].tolist() == [[8, 1e3], [64, 1e3]]


def test_laws_are_kept_in_the_order_of_the_arms():
    backwards = dict(reversed(PAPER_ARMS.items()))
    world = Environment(channels(), states=backwards, contexts=EVENLY)
    assert list(world.states) == list(channels().arms)


OTHER = Discrete([2, 7], [0.5, 0.5])


def test_pieces_cut_time_wherever_any_law_changes():
    world = Environment(
        channels(2),
        states={
            "channel-1": Switching({0: PAPER_ARMS["channel-1"], 10: OTHER}),
            "channel-2": Switching({0: OTHER, 5: PAPER_ARMS["channel-2"], 10: OTHER}),
        },
        contexts=Switching({0: EVENLY, 7: Discrete([4], [1.0])}),
    )
    pieces = world.pieces()
    assert [piece.start for piece in pieces] == [0, 5, 7, 10]
    first, second = PAPER_ARMS["channel-1"], PAPER_ARMS["channel-2"]
    assert [piece.states for piece in pieces] == [
        (first, OTHER),
        (first, second),
        (first, second),
        (OTHER, OTHER),
    ]
    assert [piece.contexts is EVENLY for piece in pieces] == [True, True, False, False]
    four = np.array([[4.0]])
    assert world.gaps(four, pieces[0]).tolist() == [[pytest.approx(3 - 0.7), 0]]
    assert world.gaps(four, pieces[1]).tolist() == [[pytest.approx(1.2 - 0.7), 0]]
    assert world.gaps(four, pieces[3]).tolist() == [[0, 0]]
    assert np.array_equal(world.gaps(four), world.gaps(four, pieces[0]))


def test_one_piece_where_nothing_changes():
    (piece,) = paper().pieces()
    assert piece.start == 0
    assert piece.contexts is EVENLY


# Errors


@pytest.mark.parametrize(
    ("law", "said"),
    [
        (Discrete([8], [1.0]), r"states of arm 'channel-3' leave .* capacity goes from 8 to 8"),
        (Uniform(-1, 3), r"capacity goes from -1 to 3, and must be a finite number in \[0, 7\]"),
        (Exponential(1), "goes from 0 to inf"),
        (Independent(Uniform(0, 1), Uniform(0, 1)), r"need 1 field \(capacity\), given 2"),
        (Switching({0: Uniform(0, 1), 9: Uniform(0, 9)}), "goes from 0 to 9"),
        (3.0, "need a Distribution, given 3.0"),
    ],
)
def test_states_outside_their_space_are_refused(law, said):
    with pytest.raises(ParameterError, match=said):
        paper(**{"channel-3": law})


@pytest.mark.parametrize(
    ("contexts", "said"),
    [
        (Discrete([1, 5], [0.5, 0.5]), "bits goes from 1 to 5"),
        (Discrete([1, 2.5], [0.5, 0.5]), "the contexts can be bits=2.5"),
        (Uniform(1, 4), "the contexts are continuous, but bits must be one of"),
        ({"bytes": EVENLY}, "the context fields are bits, given laws for bytes"),
        ({}, "the context fields are bits"),
        (Discrete([[1, 1]], [1.0]), "need 1 field"),
    ],
)
def test_contexts_outside_their_space_are_refused(contexts, said):
    with pytest.raises(ParameterError, match=said):
        Environment(channels(), states={**PAPER_ARMS}, contexts=contexts)


def test_a_value_that_never_happens_may_be_outside_a_finite_space():
    problem = harvesting(1)
    law = Discrete([1, 2], [0.5, 0.5])
    Environment(problem, states={"channel-1": law}, contexts=Uniform(0, 1))
    finite = Problem(
        arms=["a"], context={"y": Finite([1, 3])}, state={"x": Finite([0, 2])}, reward="y * x"
    )
    law = Discrete([0, 1, 2], [0.5, 0.0, 0.5])
    Environment(finite, states={"a": law}, contexts=Discrete([1], [1]))


def test_arms_without_a_law_and_laws_without_an_arm_are_refused():
    with pytest.raises(UnknownArm, match="unknown arm 'channel-9'"):
        paper(**{"channel-9": OTHER})
    with pytest.raises(ParameterError, match="no law for the states of 'channel-7'"):
        Environment(
            channels(), states={arm: PAPER_ARMS[arm] for arm in channels(6).arms}, contexts=EVENLY
        )


def test_it_travels_to_other_processes():
    twin = pickle.loads(pickle.dumps(paper()))  # noqa: S301 - our own
    assert twin.problem == paper().problem
    assert np.array_equal(twin.gaps(BITS), paper().gaps(BITS))
