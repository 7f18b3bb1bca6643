"""What a plan offers where arms change, rewards hide the state, or feedback is late."""

from __future__ import annotations

import math
from typing import Any

import pytest
from problems import channels, harvesting

from onepull import DCB, Finite, Interval, ParameterError, Problem, Traits, simulate
from onepull.distributions import Exponential, Failing, Switching, Uniform
from onepull.environment import Environment, channel_selection, energy_harvesting
from onepull.planning import plan
from onepull.planning.special_candidates import Circumstances, forgetting, offered

CHANNELS = channel_selection(4)
QUICK: dict[str, Any] = {"horizon": 1000, "replications": 4, "timing": False}


def changing(environment, *starts):
    """Return an environment in which the arms change places at these trials."""
    laws, arms = list(environment.states.values()), environment.problem.arms
    states = {
        arm: Switching({start: laws[(j + k) % len(laws)] for k, start in enumerate((0, *starts))})
        for j, arm in enumerate(arms)
    }
    return Environment(environment.problem, states=states, contexts=environment.contexts)


def met(environment, horizon=1000, runs=4, feedback="state"):
    return Circumstances([environment], horizon, horizon or 100_000, runs, feedback)


def names(environment, **told):
    return [c.name for c in offered(environment.problem, met(environment, **told))[0]]


FORGETFUL = {"DiscountedUCB", "SlidingWindowUCB", "DiscountedKL", "RestartingUCB"}


def kinds(environment, **told):
    return {c.kind for c in offered(environment.problem, met(environment, **told))[0]}


def test_arms_that_change_bring_in_what_forgets():
    assert kinds(changing(CHANNELS, 300, 600)) >= FORGETFUL
    assert not kinds(CHANNELS) & FORGETFUL
    assert not kinds(changing(CHANNELS, 5000)) & FORGETFUL  # after the horizon


def test_contexts_that_change_do_not():
    # Knowledge of the arms is as good in any mix of requests.
    contexts = Switching({0: CHANNELS.contexts, 500: channel_selection(7).contexts})
    environment = Environment(CHANNELS.problem, states=CHANNELS.states, contexts=contexts)
    assert not kinds(environment) & FORGETFUL


def test_what_waits_is_not_offered_where_its_past_is_of_no_use():
    assert "PatientKL" in kinds(CHANNELS)
    assert "PatientKL" not in kinds(changing(CHANNELS, 500))
    assert "PatientKL" not in kinds(CHANNELS.with_late_feedback(delays=20))


def test_whether_a_policy_waits_is_its_trait(monkeypatch):
    late = CHANNELS.with_late_feedback(delays=100)
    assert "DCB" in kinds(late)
    monkeypatch.setattr(DCB, "traits", Traits(waits_to_explore=True))
    assert "DCB" not in kinds(late)
    assert "DCB" in kinds(CHANNELS)


@pytest.mark.parametrize(("trials", "changes"), [(1000, 1), (40_000, 3), (10**6, 50)])
def test_memories_are_the_published_ones(trials, changes):
    found = {c.kind: c.build().parameters for c in forgetting(channels(), trials, changes)}
    memory = 1 / (1 - found["DiscountedUCB"]["discount"])
    assert memory == pytest.approx(4 * math.sqrt(trials / changes), abs=0.51)
    window = found["SlidingWindowUCB"]["window"]
    assert window == pytest.approx(2 * math.sqrt(trials * math.log(trials) / changes), abs=0.51)


def test_on_continuous_contexts_what_forgets_has_few_cells():
    for candidate in forgetting(harvesting(), 10**6, 2):
        policy = candidate.build()
        assert policy.problem == harvesting()
        if "delta" in policy.parameters:
            assert 1 / policy.parameters["delta"] <= 128


def test_unbounded_states_have_no_histogram_to_forget():
    problem = Problem(
        arms=["a", "b"],
        context={"y": Finite([1, 2])},
        state={"x": Interval(0, float("inf"))},
        reward="min(x, y)",
    )
    assert {c.kind for c in forgetting(problem, 1000, 1)} == FORGETFUL - {"DiscountedKL"}


def test_a_plan_for_arms_that_change():
    environment = changing(CHANNELS, 300, 600)
    made = plan(environment.problem, environment=environment, **QUICK)
    assert all(option.bound is None for option in made.options)
    assert "Arms change 2 times; regret is against the arm that is best at the time." in made.notes
    assert not any(note.startswith("bound:") for note in made.notes)
    forgets = [option for option in made.options if option.kind in FORGETFUL]
    assert forgets
    assert all(option.caution for option in forgets)


def test_what_takes_too_long_is_left_out_from_a_stated_trial_on(monkeypatch):
    monkeypatch.setattr("onepull.planning.special_candidates.INTERPRETED", 3000)
    monkeypatch.setattr("onepull.planning.special_candidates.LOOKS", 10**4)
    late = changing(CHANNELS, 200).with_late_feedback(delays=5)  # what forgets is not compiled
    _, notes = offered(late.problem, met(late))
    assert "RestartingUCB" not in names(late)
    left_out = [note for note in notes if note.startswith("Left out: RestartingUCB,")]
    assert "with 4 runs it is tried up to trial 750" in left_out[0]
    assert "RestartingUCB" in names(late, horizon=750)
    assert "PatientKL" not in names(CHANNELS)


def test_rewards_that_hide_the_state():
    made = plan(CHANNELS.problem, environment=CHANNELS, feedback="reward", **QUICK)
    assert [option.name for option in made.options] == [
        "CoarseKL recommended",
        "KLUCB per context",
        "MultiUCB",
        "UCB1",
    ]
    assert any("DCB" in note and "cannot learn" in note for note in made.notes)
    assert made.to_dict()["feedback"] == "reward"


def test_rewards_that_tell_the_state_leave_nothing_out():
    environment = energy_harvesting()
    told = {**QUICK, "horizon": 300, "seed": 3}
    kept = plan(environment.problem, environment=environment, feedback="reward", **told)
    full = plan(environment.problem, environment=environment, **told)
    assert [option.name for option in kept.options] == [option.name for option in full.options]
    for ours, theirs in zip(kept.options, full.options, strict=True):
        # Low rank and others take in the state that is told, to rounding, which may tip a tie.
        assert ours.regret == pytest.approx(theirs.regret, rel=0.2), ours.name
    assert any("which determines the state" in note for note in kept.notes)


def test_rewards_may_hide_the_state_at_both_ends():
    deadline = CHANNELS.problem.with_reward("capacity >= bits")
    environment = Environment(deadline, states=CHANNELS.states, contexts=CHANNELS.contexts)
    assert names(environment, feedback="reward")[0] == "CoarseKL recommended"
    assert "CoarseKL recommended" not in names(environment, feedback="reward", horizon=10**6)
    made = plan(deadline, environment=environment, feedback="reward", **{**QUICK, "horizon": 60})
    assert made.options[0].name == "CoarseKL recommended"
    assert made.options[0].regret is not None


def test_where_the_horizon_is_unknown_the_changes_to_come_are_too(monkeypatch):
    monkeypatch.setattr("onepull.planning.planner.SIMULATED_TRIALS_UNKNOWN", 1000)
    environment = changing(CHANNELS, 300)
    made = plan(environment.problem, environment=environment, replications=2, timing=False)
    assert any("depends on the changes to come" in note for note in made.notes)
    assert {option.kind for option in made.compared} >= FORGETFUL


def test_rewards_of_unknown_arms():
    made = plan(channels(), feedback="reward", **QUICK)
    assert {"MultiUCB", "UCB1"} < {option.name for option in made.options}
    assert "DCB" not in {option.name for option in made.options}


def test_decisions_are_timed_on_rewards(monkeypatch):
    monkeypatch.setattr("onepull.planning.decision_time.TIMED_DECISIONS", 20)
    quick = {**QUICK, "timing": True, "horizon": 100}
    made = plan(CHANNELS.problem, environment=CHANNELS, feedback="reward", **quick)
    assert all(option.microseconds for option in made.options)


def test_late_feedback_brings_in_what_counts_pulls_in_flight():
    late = CHANNELS.with_late_feedback(delays=50, losses=0.1)
    made = plan(late.problem, environment=late, seed=2, **{**QUICK, "timing": True})
    told = {option.name: option for option in made.options}
    assert {"DCB", "DCB told of pulls"} < set(told)
    assert "AdaptiveKL recommended, told of pulls" in told
    assert not any(name.startswith(("UCB1 ", "MultiUCB ")) for name in told)
    assert all(option.bound is None for option in made.options)
    result = simulate(
        late,
        {"DCB": DCB(late.problem), "told": DCB(late.problem)},
        horizon=1000, replications=4, seed=2, announced=["told"],
    )  # fmt: skip
    counted, received = told["DCB told of pulls"], told["DCB"]
    assert counted.regrets is not None
    assert received.regrets is not None
    assert counted.regrets.tolist() == result.regret("told").tolist()
    assert received.regrets.tolist() == result.regret("DCB").tolist()
    assert counted.to_dict()["announced"]
    assert not received.to_dict()["announced"]


def test_the_proposal_says_how_to_tell_it():
    late = CHANNELS.with_late_feedback(delays=200)
    made = plan(late.problem, environment=late, **QUICK)
    assert made.proposed is not None
    assert made.proposed.is_announced
    assert made.proposal().endswith("call policy.pulled(arm, bits=…) at every pull.")


def test_of_a_ladder_only_the_usual_cells_are_told():
    late = energy_harvesting().with_late_feedback(delays=20)
    told = [name for name in names(late) if name.endswith("told of pulls")]
    assert told == ["CCB T^-1/2, told of pulls", "AdaptiveKL recommended, told of pulls"]


def test_all_at_once_can_be_planned():
    environment = changing(CHANNELS, 60).with_late_feedback(delays=10)
    for feedback in ("state", "reward"):
        told = {**QUICK, "horizon": 120, "replications": 2}
        made = plan(CHANNELS.problem, environment=environment, feedback=feedback, **told)
        assert made.proposed is not None


def test_feedback_is_of_states_or_rewards():
    with pytest.raises(ParameterError, match="feedback must be state or reward, given 'both'"):
        plan(channels(), feedback="both", **QUICK)


def test_without_a_lowest_reward_there_is_a_plan_too():
    problem = Problem(
        arms={"a": {"price": 1e-4}, "b": {"price": 2e-4}},
        context={"tokens": Interval(1, 4000)},
        state={"seconds": Interval(0, math.inf)},
        reward="-seconds - price * tokens",
        failure="-3",
    )
    told: Any = {
        "states": {"a": Failing(Exponential(1.0), 0.1), "b": Exponential(0.5)},
        "contexts": Uniform(1, 4000),
    }
    world = Environment(problem, **told)
    made = plan(problem, environment=world, horizon=60, replications=2)
    assert all(option.microseconds for option in made.options)
    assert "No bounds: the reward has no lowest value." in made.notes
    assert {option.name for option in made.options} == {
        "AdaptiveKL recommended", "AdaptiveKL 64 states an arm", "DSEE blind",
    }  # fmt: skip
    assert any("no lowest value" in note for note in made.notes)
    hidden = problem.with_reward("-max(seconds, 1) - price * tokens")
    for stated, kinds in ((problem, {"AdaptiveKL", "DSEE"}), (hidden, {"RegressionUCB", "DSEE"})):
        rewards = Circumstances([Environment(stated, **told)], 60, 60, 2, "reward")
        assert {candidate.kind for candidate in offered(stated, rewards)[0]} == kinds
