"""All questions about one request read one value, and work out each part of it once."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pytest
from policy_cases import Maker, one_each
from problems import channels

from onepull import (
    DCB,
    KLUCB,
    AdaptiveKL,
    Greedy,
    MeanPolicy,
    MeanRule,
    Random,
    UpperConfidence,
    shared,
)
from onepull.errors import ContextError
from onepull.policies.rule_policy import RulePolicy
from onepull.testing.policies.taught import contexts, taught

ALL = one_each()


class Calls:
    """Counts the calls of methods, without those that a method makes of its parent's."""

    def __init__(self, monkeypatch):
        self.patch, self.counted = monkeypatch, {}

    def watch(self, kind, name):
        method, running = getattr(kind, name), [0]
        self.counted[name] = 0

        def counting(*told):
            self.counted[name] += running[0] == 0
            running[0] += 1
            try:
                return method(*told)
            finally:
                running[0] -= 1

        self.patch.setattr(kind, name, counting)


@pytest.mark.parametrize("asked", ["explain", "estimates", "indices", "choose"])
@pytest.mark.parametrize(("build", "problem"), ALL.values(), ids=ALL)
def test_each_part_of_a_decision_is_worked_out_at_most_once(build, problem, asked, monkeypatch):
    policy, calls = taught(build, problem()), Calls(monkeypatch)
    context = contexts(problem())[0]
    calls.watch(type(policy), "_look")
    calls.watch(type(policy), "_indices")
    calls.watch(type(policy), "_estimates")
    if isinstance(policy, RulePolicy):
        calls.watch(type(policy.sharing), "view")
    some = {"eligible": list(problem().arms)[:2]} if asked == "choose" else {}
    getattr(policy, asked)(**some, **context)
    assert calls.counted["_look"] == 1
    assert set(calls.counted.values()) <= {0, 1}, calls.counted


@pytest.mark.parametrize(("build", "problem"), ALL.values(), ids=ALL)
def test_what_is_decided_is_what_is_chosen_and_explained(build, problem):
    policy, twin = taught(build, problem()), taught(build, problem())
    arms = list(problem().arms)
    for i, context in enumerate(contexts(problem())):
        eligible = [None, arms[:1], arms[1:] or arms][i % 3]
        told = policy.explain(eligible=eligible, **context)
        choice = policy.decide(context, eligible=eligible)
        assert choice.arm == twin.choose(eligible=eligible, **context)
        (row,) = [row for row in told.arms if row.arm == choice.arm]
        assert (choice.chance, choice.estimate) == (row.chance, row.estimate)
        assert told.arm in (None, choice.arm)


def test_a_decision_with_a_generator_of_its_own_leaves_that_of_the_policy_alone():
    policy, twin = (Random(channels(4), seed=1) for _ in range(2))
    ours = [policy.decide({"bits": 1}, generator=np.random.default_rng(7)).arm for _ in range(5)]
    assert len(set(ours)) == 1
    drawn = [policy.choose(bits=1) for _ in range(20)]
    assert drawn == [twin.choose(bits=1) for _ in range(20)]
    assert len(set(drawn)) > 1


CHOSEN: Mapping[str, Maker] = {
    "DCB": DCB,
    "Greedy, which ties often": Greedy,
    "KLUCB": lambda problem: KLUCB(problem, sharing="per-context"),
    "UpperConfidence": lambda problem: UpperConfidence(problem, sharing="sketch(9)"),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_among_some_arms_the_choice_is_the_one_that_is_explained(name):
    problem, rng = channels(4), np.random.default_rng(0)
    policy = CHOSEN[name](problem)
    for _ in range(60):
        bits = int(rng.choice([1, 2, 3]))
        for size in (1, 2, 3, 4):
            for eligible in combinations(problem.arms, size):
                told = policy.explain(eligible=eligible, bits=bits)
                assert policy.choose(eligible=eligible, bits=bits) == told.arm
        arm = policy.choose(bits=bits)
        policy.observe(arm, bits=bits, capacity=int(rng.integers(0, 4)))
        policy.pulled(str(rng.choice(problem.arms)), bits=bits)


def test_among_some_arms_the_index_of_the_others_is_not_worked_out():
    asked = []

    def exploration(trial):
        return trial

    def index(mean, root, aim):
        asked.append(mean)
        return mean + root * aim

    class Counting(MeanPolicy):
        def __init__(self, problem, *, seed=None):
            rule = MeanRule(exploration=exploration, aim=min, index=index)
            super().__init__(shared(problem, "blind", None), rule, seed=seed)

    policy = Counting(channels(4))
    for j, arm in enumerate(policy.problem.arms):
        policy.observe(arm, bits=3, capacity=j)
    assert policy.choose(bits=3, eligible=policy.problem.arms[1:3]) == policy.problem.arms[2]
    assert asked == [1.0, 2.0]


@pytest.mark.parametrize("eligible", [None, ["channel-1", "channel-3"]])
def test_a_subclass_may_look_at_something_of_its_own(eligible):
    """`explain` counted pulls in what is looked at, and a log asked it for an estimate."""

    class Own(DCB):
        def _look(self, context):
            return {"scores": [0.1, 0.9, 0.2, 0.3], "bits": context["bits"]}

        def _indices(self, request):
            return request.view["scores"]

        _estimates = _indices

        def _leader(self, request):
            return max(request.allowed, key=request.view["scores"].__getitem__)

    policy = Own(channels(4))
    policy.observe("channel-2", capacity=3)
    policy.pulled("channel-3", bits=1)
    choice = policy.decide({"bits": 1}, eligible=eligible)
    told = policy.explain(bits=1, eligible=eligible)
    assert choice.arm == policy.choose(bits=1, eligible=eligible) == told.arm
    assert [row.pulls for row in told.arms] == [0, 1, 0, 0]
    assert [row.in_flight for row in told.arms] == [0, 0, 1, 0]
    (row,) = [row for row in told.arms if row.arm == choice.arm]
    assert choice.estimate == row.estimate
    assert policy.decide({"bits": 1}).estimate == 0.9


def test_a_subclass_of_the_default_chooses_by_indices_of_its_own():
    """Both are explained and chosen by."""

    class Own(AdaptiveKL):
        def _indices(self, request):
            return [-(estimate or 0.0) for estimate in super()._estimates(request)]

        def _estimates(self, request):
            return [2.0 * (estimate or 0.0) for estimate in super()._estimates(request)]

    policy = Own(channels(4))
    policy.observe_many(policy.problem.arms, capacity=[2, 3, 4, 1])
    for told in ({}, {"eligible": ["channel-1", "channel-3"]}):
        choice, explained = policy.decide({"bits": 4}, **told), policy.explain(bits=4, **told)
        assert choice.arm == policy.choose(bits=4, **told) == explained.arm
        (row,) = [row for row in explained.arms if row.arm == choice.arm]
        assert choice.estimate == row.estimate


@pytest.mark.parametrize("context", [3, None, [1], "bits"])
def test_a_decision_is_made_in_a_context_by_name(context):
    with pytest.raises(ContextError, match="takes a context as a dictionary"):
        DCB(channels(4)).decide(context)
