"""The table: one feature for every finite context."""

from __future__ import annotations

import math

import numpy as np
import pytest
from problems import channels, harvesting, mixed, offloading

from onepull import ContextError, ContextTable, Finite, Interval, ParameterError, Problem


def test_psi_lists_the_reward_in_every_context():
    table = ContextTable(channels())
    assert (table.features, table.error, table.delta) == (4, 0.0, None)
    assert list(table.psi((2.5,))) == [1.0, 2.0, 2.5, 2.5]


def test_phi_picks_the_context():
    assert ContextTable(channels()).phi((3.0,)).tolist() == [0.0, 0.0, 1.0, 0.0]


def test_looking_gives_the_means_and_the_range_in_the_context():
    table = ContextTable(channels())
    estimates, low, high = table.look([["a"], ["b"], ["c"], ["d"]], {"bits": 3})
    assert (estimates, low, high) == (["c"], 0.0, 3.0)


def test_several_fields_make_a_product_with_the_last_fastest():
    table = ContextTable(offloading())
    assert table.features == 6
    assert table.centres[:3] == [(8.0, 1e3), (8.0, 1e5), (64.0, 1e3)]
    assert [table.locate({"megabytes": m, "work": w}) for m, w in table.centres] == list(range(6))
    for centre, reward in zip(table.centres, table.psi((100.0, 8000.0)), strict=True):
        assert reward == pytest.approx(-(centre[0] / 100 + centre[1] / 8000), rel=1e-14)


def test_ranges_are_those_of_the_declared_states():
    table = ContextTable(offloading())
    for m, w in table.centres:
        _, low, high = table.look(np.zeros((6, 1)), {"megabytes": m, "work": w})
        assert low == pytest.approx(-(m / 50 + w / 7000), rel=1e-12)
        assert high == pytest.approx(-(m / 200 + w / 9000), rel=1e-12)


def test_many_contexts_give_what_few_do():
    def table(values):
        return ContextTable(
            Problem(
                arms=["a"],
                context={"y": Finite(values)},
                state={"x": Interval(0, 9)},
                reward="log(1 + y * x)",
            )
        )

    many, few = table(range(1, 101)), table(range(1, 11))
    np.testing.assert_allclose(many.psi((2.25,))[:10], few.psi((2.25,)), rtol=1e-14)
    assert np.asarray(many.psi((2.25,))).shape == (100,)


@pytest.mark.parametrize("problem", [harvesting, mixed])
def test_an_interval_context_is_refused_with_what_to_do(problem):
    with pytest.raises(ParameterError, match=r"finitely many contexts.*delta.*CCB"):
        ContextTable(problem())


@pytest.mark.parametrize("bits", [0, 2.5, 5, math.nan, math.inf, "1", None, [1], {}])
def test_what_is_not_a_context_is_refused(bits):
    with pytest.raises(ContextError, match="must be one of 1, 2, 3, 4, given"):
        ContextTable(channels()).locate({"bits": bits})


def test_too_many_contexts_are_refused():
    problem = Problem(
        arms=["a"],
        context={"y": Finite(range(1, 1002)), "z": Finite(range(1000))},
        state={"x": Interval(0, 1)},
        reward="x * y + z",
    )
    with pytest.raises(
        ParameterError, match="1,001,000 context cells are more than the 1,000,000 allowed"
    ):
        ContextTable(problem)
