"""Which policies suit which problem, and what theory says of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from problems import channels, coded, harvesting, mixed, offloading

from onepull import Finite, Interval, PatientKL, Problem, UpperConfidence, recommended
from onepull.environment import Environment, energy_harvesting
from onepull.planning.bounds import doubling_bound, joint_bound, per_context_bound
from onepull.planning.candidate import Candidate
from onepull.planning.candidates import candidates, factored, patient_kl, recommendations
from onepull.planning.decision_time import microseconds
from onepull.planning.grid_sizes import MOST_GRID_CELLS, ladder, left_out
from onepull.theory.bounds import gap_free


def names(problem, horizon):
    return [candidate.name for candidate in candidates(problem, horizon)]


@pytest.mark.parametrize("horizon", [None, 10_000])
def test_finite_contexts_need_no_grid(horizon):
    kept = ["AdaptiveKL recommended", "EmpiricalKL 65 knots"]
    assert names(channels(), horizon) == ["DCB", *kept, "MultiUCB", "UCB1"]


@pytest.mark.parametrize("horizon", [None, 10_000])
def test_with_finite_contexts_a_factorisation_must_keep_less_than_a_table(horizon):
    # Six contexts, but the reward has two terms; no sketch of two fields is as small.
    expected = ["DCB", "LowRank 1e-06", "AdaptiveKL recommended", "MultiUCB", "UCB1"]
    assert names(offloading(), horizon) == expected
    found = {c.name: c.build().storage for c in candidates(offloading(), horizon)}
    assert (found["DCB"], found["LowRank 1e-06"]) == (3 * 7, 3 * 3)


def test_to_explore_where_it_is_cheapest_takes_lists_of_contexts_and_states():
    listed_states = Problem(
        arms=["a", "b"],
        context={"y": Finite([1, 2])},
        state={"x": Finite([0, 1, 2])},
        reward="min(x, y)",
    )
    (found,) = patient_kl(listed_states, 1000)
    assert isinstance(found.build(), PatientKL)
    assert found.bound is None
    assert found.caution == "no bound on its regret is proved"
    assert "PatientKL" in names(listed_states, None)
    for problem in (channels(), harvesting(), mixed()):
        assert not list(patient_kl(problem, 1000))


def test_all_candidates_take_prices_and_failures():
    priced = Problem(
        arms={"a": {"price": 0.5}, "b": {"price": 0.25}},
        context={"y": Finite([1, 2])},
        state={"x": Finite([0, 1, 2])},
        reward="min(x, y) - price",
        failure="-price",
    )
    found = {candidate.name: candidate.build() for candidate in candidates(priced, 1000)}
    assert {"DCB", "PatientKL", "MultiUCB", "UCB1"} <= set(found)
    assert all(policy.problem == priced for policy in found.values())


def listed(states, reward="log(1 + y * x)"):
    return Problem(
        arms=["a", "b"],
        context={"y": Interval(0, 1)},
        state={"x": states},
        reward=reward,
    )


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (listed(Finite([0, 1, 4])), {"Histogram": 3, "LowRank 1e-06": 2}),
        (listed(Finite([0, 1, 4]), "x >= 4 * y"), {"Histogram": 3, "LowRank 1e-06": 3}),
        (
            listed(Interval(0, 4)),
            {"LowRank 1e-06": 6, "Sketch 17 knots": 17, "Sketch 65 knots": 65},
        ),
        (listed(Interval(0, 4), "min(y, x)"), {"Sketch 17 knots": 17, "Sketch 65 knots": 65}),
        (listed(Interval(0, float("inf")), "min(y, x)"), {}),
        (listed(Finite(range(2000)), "min(y, x / 2000)"), {}),
    ],
)
def test_a_factorisation_is_there_where_it_can_be_built(problem, expected):
    found = {c.name: c.build().storage for c in factored(problem, 1000)}
    assert found == {name: 2 * (features + 1) for name, features in expected.items()}


def test_the_bound_of_a_factorisation_counts_its_error():
    problem, horizon = listed(Interval(0, 4), "min(y, x)"), 10_000
    learned = gap_free(problem, alpha=2.01, delta=0.0, horizon=horizon)
    for candidate in factored(problem, None):
        policy = candidate.build()
        assert isinstance(policy, UpperConfidence)
        error = policy.sharing.error
        assert error == pytest.approx(0.125 / (1 if candidate.label == "17 knots" else 4))
        assert candidate.bound is not None
        expected = (1 + 2 * error) * learned + 2 * error * horizon
        assert candidate.bound(horizon) == pytest.approx(expected)
    alone = problem.with_arms(["only"])
    assert {c.bound(horizon) for c in factored(alone, None) if c.bound is not None} == {0.0}


def test_continuous_contexts_with_a_horizon():
    found = names(harvesting(), 10**6)
    assert [name for name in found if name.startswith("CCB T")] == [
        "CCB T^-1/3",
        "CCB T^-1/2",
        "CCB T^-2/3",
    ]
    assert not any("Doubling" in name for name in found)


def test_continuous_contexts_without_one():
    found = names(harvesting(), None)
    assert {"DoublingCCB T^-1/3", "DoublingCCB T^-1/2", "DoublingCCB T^-2/3"} < set(found)
    assert not any(name.startswith("CCB T") for name in found)


def test_the_powers_are_the_papers():
    deltas = ladder(harvesting(), 10**6)
    assert [deltas[f"T^-{power}"] for power in ("1/3", "1/2", "2/3")] == pytest.approx(
        [1e-2, 1e-3, 1e-4]
    )


def test_cells_that_stay_wide_are_left_out_where_trials_go_on_after_the_simulation():
    def cut(horizon):
        return {c.label for c in candidates(harvesting(), horizon) if c.kind == "CCB"}

    assert "4 cells" in cut(10**6)
    assert cut(10**9) == {"T^-1/3", "T^-1/2"}
    assert not cut(None)


def test_a_ladder_rises_without_repeating_itself():
    for horizon in (2, 10, 100, 10**4, 10**7, None):
        deltas = np.array(list(ladder(harvesting(), horizon).values()))
        assert np.all(np.diff(deltas) < 0)


def test_several_fields_are_cut_alike_and_not_too_finely():
    problem = Problem(
        arms=["a", "b"],
        context={"y": Interval(0, 1), "z": Interval(0, 10)},
        state={"x": Interval(0, 1)},
        reward="x * y * z / 10",
    )
    assert ladder(problem, 1000)["4 cells per field"] == {"y": 0.25, "z": 2.5}
    assert left_out(problem, 1000) == []
    assert left_out(problem, 10**6) == ["T^-1/2", "T^-2/3"]
    assert "T^-1/2" not in ladder(problem, 10**6)
    for horizon in (1000, 10**6, None):
        for candidate in candidates(problem, horizon):
            assert candidate.at(horizon or 10**6).storage <= 2 * 2 * MOST_GRID_CELLS


def test_each_is_fresh_and_of_the_problem():
    for problem in (channels(), harvesting(), mixed()):
        for horizon in (None, 1000):
            for candidate in candidates(problem, horizon):
                policy = candidate.build()
                assert policy.problem == problem
                assert policy.trials == 0
                if not isinstance(policy, UpperConfidence):  # which goes by its factorisation
                    assert type(policy).__name__ == candidate.kind


def test_what_is_recommended_is_a_candidate():
    for problem in (channels(), coded(), offloading()):
        (found,) = recommendations(problem, 1000)
        assert repr(found.build()) == repr(recommended(problem, horizon=1000))
        assert found.bound is None
        assert not found.is_linear  # what a sketch of it is off by may be overlooked


def test_doubling_is_as_large_as_the_phase_it_has_come_to():
    candidate = next(c for c in candidates(harvesting(), None) if c.name == "DoublingCCB T^-1/2")
    # 1000 trials lead to phase 9, of 512 trials: 22.6 cells, and 23 numbers and a count an arm.
    assert candidate.at(1000).storage == 4 * (23 + 1)


def test_another_factorisation_is_one_more_generator(monkeypatch):
    problem = channels()
    mine = Candidate("Mine", "", candidates(problem, None)[0].build, None)
    monkeypatch.setattr(
        "onepull.planning.candidates.GENERATORS",
        [lambda problem, horizon: iter([mine])],  # noqa: ARG005 - what a generator takes
    )
    assert candidates(problem, None) == [mine]


def test_bounds_are_what_they_say():
    problem, horizon, delta = harvesting(), 10_000, 0.1
    arms, high = len(problem.arms), math.log(8)
    lost = delta * problem.payoff.lipschitz["power"].value * horizon
    learned = 4 * high * math.sqrt(arms * horizon * math.log(horizon))
    assert joint_bound(problem, 2.01, delta)(horizon) == pytest.approx(
        lost + math.sqrt(2.01) * learned
    )
    deviations = (1 + math.pi**2 / 3) * 10 * arms * high
    assert per_context_bound(problem, delta)(horizon) == pytest.approx(
        lost + math.sqrt(2 * 10) * learned + deviations
    )


def test_the_bound_of_doubling_is_the_sum_of_its_phases():
    problem = harvesting()
    phases = [
        gap_free(problem, alpha=2.01, delta=trials**-0.5, horizon=trials) for trials in (2, 4, 8)
    ]
    assert doubling_bound(problem, 2.01, 0.5)(14) == pytest.approx(sum(phases))
    assert doubling_bound(problem, 2.01, 0.5)(7) == pytest.approx(sum(phases))
    assert doubling_bound(problem, 2.01, 0.5)(6) == pytest.approx(sum(phases[:2]))


@pytest.mark.parametrize("horizon", [None, 1000])
def test_every_candidate_can_be_timed(horizon):
    environment: Environment = energy_harvesting()
    for candidate in candidates(environment.problem, horizon):
        spent = microseconds(
            candidate.at(1000), environment, learns_rewards=candidate.learns_rewards
        )
        assert 0.1 < spent < 100_000
