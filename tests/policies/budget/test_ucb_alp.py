"""UCB-ALP is what its definition says, and never spends more than there is."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from budgets import metered

from onepull import UCBALP, Finite, Interval, MixtureElimination, Problem
from onepull.budgets import best_mix
from onepull.errors import InputError, ParameterError, SaveFileError, UnknownArm

COSTS = {"lte": 1.0, "5g": 2.5}


def problem():
    return Problem(
        arms=["wifi", "lte", "5g"],
        context={"bits": Finite([1, 2, 4])},
        state={"capacity": Interval(0, 4)},
        reward="min(bits, capacity)",
    )


def built(**changed):
    stated: dict[str, Any] = {"costs": COSTS, "budget": 60.0, "horizon": 100}
    return UCBALP(problem(), **stated | changed)


def play(policy, count, seed=1):
    """Let a policy choose and observe, and return what it did."""
    generator = np.random.default_rng(seed)
    pulls = []
    for _ in range(count):
        bits = int(generator.choice([1, 2, 4], p=[0.5, 0.3, 0.2]))
        arm = policy.choose(bits=bits)
        capacity = float(generator.uniform(0, {"wifi": 2, "lte": 3, "5g": 4}[arm]))
        policy.observe(arm, bits=bits, capacity=capacity)
        pulls.append((bits, arm, capacity))
    return pulls


def transcribed(pulls, bits, *, joint, weights=None):
    """Return indices and chances after some pulls, by the definition."""
    sizes, arms = [1, 2, 4], ["wifi", "lte", "5g"]
    costs = [0.0, 1.0, 2.5]
    trial = len(pulls) + 1
    table = np.empty((3, 3))
    for i, size in enumerate(sizes):
        for j, name in enumerate(arms):
            rewards = [min(size, c) for b, a, c in pulls if a == name and (joint or b == size)]
            table[i, j] = math.inf
            if rewards:
                width = size * math.sqrt(math.log(trial) / (2 * len(rewards)))
                table[i, j] = min(sum(rewards) / len(rewards) + width, size)
    row = table[sizes.index(bits)]
    spent = sum(COSTS.get(arm, 0.0) for _, arm, _ in pulls)
    payable = [j for j in range(3) if costs[j] <= 60.0 - spent + 1e-7]
    if any(math.isinf(row[j]) for j in payable):
        chosen = next(j for j in payable if math.isinf(row[j]))
        return row, [float(j == chosen) for j in range(3)]
    counts = np.array([1 + sum(b == size for b, _, _ in pulls) for size in sizes])
    often = counts / counts.sum() if weights is None else weights
    optimism = np.minimum(table, np.array(sizes)[:, None])
    mix = best_mix(optimism, often, costs, (60.0 - spent) / (100 - len(pulls)))
    chances = [float(mix.shares[sizes.index(bits), j]) * (j in payable) for j in range(3)]
    return row, [chance / sum(chances) for chance in chances]


@pytest.mark.parametrize("weights", [None, [0.5, 0.3, 0.2]])
@pytest.mark.parametrize("sharing", ["joint", "per-context"])
def test_indices_and_chances_are_those_of_the_definition(sharing, weights):
    policy = built(sharing=sharing, contexts=weights, seed=4)
    pulls: list[Any] = []
    for step in range(90):
        for bits in (1, 2, 4):
            index, chances = transcribed(pulls, bits, joint=sharing == "joint", weights=weights)
            rows = policy.explain(bits=bits).arms
            assert [row.index for row in rows] == pytest.approx(list(index))
            assert [row.chance for row in rows] == pytest.approx(chances, abs=1e-9)
        pulls += play(policy, 1, seed=step)
    assert 0.0 < policy.spent <= 60.0


def test_by_hand_half_of_the_long_requests_are_paid():
    policy = built(sharing="joint", budget=65.0, horizon=70, contexts=[0.5, 0.25, 0.25])
    policy.observe_many(["wifi", "5g"] * 20, capacity=[0.0, 4.0] * 20)
    policy.observe_many(["lte"] * 10, capacity=[0.0] * 10)
    # 65 - 20·2.5 - 10 = 5 is left for 20 trials: 0.25 a trial, a tenth of the trials on 5g.
    assert policy.rate == pytest.approx(0.25)
    # It earns most, over the others at their bounds, with 4 bits, which are a quarter.
    chances = {row.arm: row.chance for row in policy.explain(bits=4).arms}
    spent = chances["lte"] + 2.5 * chances["5g"]
    assert spent == pytest.approx(1.0)  # all of the 0.25 goes to that quarter
    assert policy.explain(bits=1).arm == "wifi"


def test_histograms_choose_as_tables_do():
    finite = Problem(
        arms=["wifi", "lte"],
        context={"bits": Finite([1, 4])},
        state={"capacity": Finite([0, 2, 4])},
        reward="min(bits, capacity)",
    )
    policies = [
        UCBALP(finite, costs={"lte": 1}, budget=20, horizon=60, sharing=sharing, seed=3)
        for sharing in ("joint", "histogram")
    ]
    generator = np.random.default_rng(5)
    for _ in range(60):
        bits, capacity = int(generator.choice([1, 4])), int(generator.choice([0, 2, 4]))
        arm, other = (policy.choose(bits=bits) for policy in policies)
        assert arm == other
        for policy in policies:
            policy.observe(arm, bits=bits, capacity=capacity)


# The budget


@pytest.mark.parametrize("sharing", ["joint", "per-context"])
@pytest.mark.parametrize("budget", [0.4, 3.0, 17.3, 1000.0])
def test_no_more_is_spent_than_there_is(sharing, budget):
    policy = built(sharing=sharing, budget=budget)
    pulls = play(policy, 130)  # beyond the horizon as well
    spent = sum(COSTS.get(arm, 0.0) for _, arm, _ in pulls)
    assert policy.spent == pytest.approx(spent)
    assert spent <= budget + 1e-9
    if budget < 100:
        assert spent > budget - 2.5  # nor is much left over


def test_a_budget_of_tenths_is_spent_to_the_last():
    policy = built(costs={"lte": 0.1, "5g": 0.1}, budget=0.3, sharing="joint")
    play(policy, 100)
    assert policy.spent == pytest.approx(0.3)


def test_where_nothing_eligible_can_be_paid_the_cheapest_is_chosen():
    policy = built(budget=0.5)
    assert policy.choose(bits=1, eligible=["lte", "5g"]) == "lte"


def test_an_eligible_arm_outside_of_the_plan_is_chosen_at_the_plans_price():
    policy = built(sharing="joint", budget=1000.0, costs={"lte": 0.1, "5g": 0.2})
    policy.observe_many(["wifi", "lte", "5g"] * 30, capacity=[0.0, 1.0, 4.0] * 30)
    assert policy.explain(bits=4).arm == "5g"
    assert policy.explain(bits=4, eligible=["wifi", "lte"]).arm == "lte"


def test_late_feedback_is_paid_late():
    policy = built(budget=1.0)
    policy.observe("wifi", bits=1, capacity=1.0)
    assert [policy.choose(bits=1) for _ in range(3)] == ["lte"] * 3
    policy.observe("lte", bits=1, capacity=1.0)
    assert policy.choose(bits=1) == "wifi"


def test_contexts_count_where_they_are_told():
    policy = built(sharing="joint")
    policy.observe("wifi", capacity=1.0)
    assert policy._frequencies.tolist() == [1 / 3] * 3
    policy.observe("wifi", bits=2, capacity=1.0)
    assert policy._frequencies.tolist() == [0.25, 0.5, 0.25]


def test_storage_is_the_sharings_and_a_count_a_context_and_the_spending():
    assert built(sharing="joint").storage == 3 * (3 + 1) + 3 + 1
    assert built().storage == 3 * 3 * 2 + 3 + 1


# Arms, files, refusals


def test_an_arm_comes_with_its_cost_and_a_free_one_stays():
    policy = built()
    policy.add_arm("satellite", cost=4)
    assert policy.parameters["costs"] == {**COSTS, "satellite": 4.0}
    policy.remove_arm("5g")
    assert policy.costs == {"wifi": 0.0, "lte": 1.0, "satellite": 4.0}
    with pytest.raises(InputError, match="only one that costs 0"):
        policy.remove_arm("wifi")
    with pytest.raises(ParameterError, match="the cost of 'ship' must be a number >= 0"):
        policy.add_arm("ship", cost=-1)
    assert policy.problem.arms == ("wifi", "lte", "satellite")


def test_what_was_spent_is_saved_and_added_up(tmp_path):
    one, two = built(sharing="joint"), built(sharing="joint")
    play(one, 20)
    play(two, 20, seed=2)
    one.save(tmp_path / "policy.json")
    loaded = UCBALP.load(tmp_path / "policy.json")
    loaded.merge(two)
    assert loaded.parameters == one.parameters
    assert loaded._knowledge.spent == pytest.approx(one.spent + two.spent)
    assert loaded._knowledge.contexts.sum() == 40


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"spent": -1.0}, "costs and contexts are invalid: .*spent"),
        ({"contexts": [1, 2]}, "must be 3 numbers, given 2"),
        ({"contexts": [1, 2, -1]}, "Expected `int` >= 0 - at `..contexts"),
        ({"spent": "much"}, "costs and contexts are invalid: .*spent"),
        ({"lent": 1.0}, "costs and contexts are invalid: .*lent"),
        ({"contexts": [9, 9, 9]}, "of more than 0 trials"),
        ({"spent": 1e300}, "of more than 0 trials"),
    ],
)
def test_a_ledger_that_cannot_be_is_refused(changed, words):
    policy = built()
    with pytest.raises(SaveFileError, match=words):
        policy._knowledge.restore(policy._knowledge.state() | changed)


@pytest.mark.parametrize(
    ("changed", "error", "words"),
    [
        ({"costs": {"lte": -1}}, ParameterError, "the cost of 'lte' must be a number >= 0"),
        ({"costs": {"lte": math.inf}}, ParameterError, "the cost of 'lte' must be"),
        ({"costs": {"umts": 1}}, UnknownArm, "unknown arm 'umts' among the costs"),
        ({"costs": [1, 2]}, ParameterError, "costs are given by arm"),
        ({"costs": {"wifi": 1, "lte": 1, "5g": 1}}, ParameterError, "must cost 0"),
        ({"budget": 0}, ParameterError, "budget must be a number > 0"),
        ({"budget": None}, ParameterError, "UCBALP needs budget, as in"),
        ({"horizon": 0}, ParameterError, "horizon must be"),
        ({"horizon": 2.5}, ParameterError, "horizon must be a whole number"),
        ({"sharing": "blind"}, ParameterError, "cannot be 'blind'"),
        ({"contexts": [0.5, 0.5]}, ParameterError, "3 probabilities that sum to 1"),
        ({"contexts": [0.5, 0.7, -0.2]}, ParameterError, "3 probabilities"),
        ({"contexts": "even"}, ParameterError, "3 probabilities"),
        ({"seed": None}, ParameterError, "needs a seed"),
    ],
)
def test_what_is_wrong_is_named(changed, error, words):
    with pytest.raises(error, match=words):
        built(**changed)


def test_explained():
    environment = metered(60.0, contexts=2)
    policy = UCBALP(environment.problem, costs=environment.costs, budget=60, horizon=200)
    assert policy.explain(need=1).reason == "never pulled"
    policy.observe_many(["wifi", "lte"] * 2, need=[1, 1, 2, 2], rate=[0, 2, 1, 2])
    reason = policy.explain(need=1).reason
    assert reason == "the best mixture of arms, with 0.2959 to spend a trial"


@pytest.mark.parametrize("kind", [UCBALP, MixtureElimination])
def test_what_it_is_to_plan_with_must_be_told(kind):
    name = kind.__name__
    with pytest.raises(ParameterError, match=f"^{name} needs costs and budget and horizon, as in"):
        kind(problem())
    with pytest.raises(ParameterError, match=f"^{name} needs budget, as in costs={{'5g': 1.0}}"):
        kind(problem(), costs=COSTS, horizon=100)


@pytest.mark.parametrize("sharing", ["joint", "per-context"])
def test_every_arm_has_its_own_range(sharing):
    priced = Problem(
        arms={"free": {"scale": 1.0}, "paid": {"scale": 10.0}},
        context={"size": Finite([1, 2])},
        state={"rate": Finite([0, 1])},
        reward="scale * rate * size",
    )
    costs: dict[str, Any] = {"costs": {"paid": 1.0}, "budget": 40.0, "horizon": 100}
    policy = UCBALP(priced, **costs, sharing=sharing)
    policy.observe_many(["free", "paid"] * 20, size=[2] * 40, rate=[0, 0] * 19 + [1, 1])
    width = math.sqrt(0.5 * math.log(41) / 20)
    expected = [2 / 20 + 2 * width, 20 / 20 + 20 * width]
    assert policy.indices(size=2) == pytest.approx(expected)
    eliminating = MixtureElimination(priced, **costs, sharing=sharing, width=1.0)
    eliminating.observe_many(["free", "paid"] * 20, size=[2] * 40, rate=[0, 0] * 19 + [1, 1])
    alpha, trial = eliminating._confidence()
    width = math.sqrt(alpha * math.log(trial) / 20)
    expected = [min(2 / 20 + 2 * width, 2), min(20 / 20 + 20 * width, 20)]
    assert eliminating.indices(size=2) == pytest.approx(expected)
    lower, upper = eliminating._bounds(-1)[1], eliminating._bounds(1)[1]
    assert lower == pytest.approx([0, 0])
    assert upper == pytest.approx(expected)
