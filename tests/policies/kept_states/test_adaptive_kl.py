"""Kept states: estimates, memory that adapts, merging, and decisions."""

from __future__ import annotations

import json
import math
import re
import zlib

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from problems import FINITE, UNUSUAL, channels, endless, failing, harvesting, mixed

from onepull import (
    DCB,
    AdaptiveKL,
    Finite,
    Interval,
    ParameterError,
    Policy,
    Problem,
    Reward,
    RewardError,
)
from onepull.errors import SaveFileError
from onepull.index.empirical_likelihood import likely_mean
from onepull.index.highest_bound import KeptBounds, likely_means
from onepull.index.kept_likelihood import (
    AT_FIRST,
    FEW_ARMS,
    HEAD_STARTS,
    MOST_RATIO,
    explored,
    head_start,
    relative_cost,
    share_exploring,
    shrunk,
)
from onepull.policies.kept_states.drift import DECAYS, STEADY, Drift
from onepull.policies.kept_states.merging import NEVER_MERGED
from onepull.policies.kept_states.tops import Tops
from onepull.testing.random_data import observations, random_points


def taught(problem, count=300, seed=1, **stated):
    policy = AdaptiveKL(problem, **stated)
    for record in observations(problem, count, np.random.default_rng(seed)):
        policy.observe(**record)
    return policy


@pytest.mark.parametrize("name", [*FINITE, "failing"])
def test_while_nothing_is_dropped_estimates_are_those_of_the_paper(name):
    problem = (FINITE | UNUSUAL)[name]()
    policy, table = AdaptiveKL(problem, adapts=False), DCB(problem)
    for record in observations(problem, 300, np.random.default_rng(3)):
        policy.observe(**record)
        table.observe(**record)
    for context in random_points(problem.context, 12, np.random.default_rng(4)):
        assert policy.estimates(**context) == pytest.approx(table.estimates(**context), rel=1e-12)


values = st.floats(-1e3, 1.0)


@given(
    rewards=arrays(float, (3, 7), elements=values),
    budgets=arrays(float, 3, elements=st.floats(1e-4, 12)),
    weights=arrays(float, (3, 7), elements=st.integers(1, 9).map(float)),
)
@settings(max_examples=300, deadline=None)
def test_bounds_are_those_of_the_plain_function(rewards, budgets, weights):
    shares = weights / weights.sum(axis=1, keepdims=True)
    found = likely_means(rewards, weights, weights.sum(axis=1), budgets.tolist(), 1.0)
    for row, share, budget, one in zip(rewards, shares, budgets, found, strict=True):
        expected = likely_mean(row.tolist(), share.tolist(), 7, 1.0, float(budget))
        near = 1e-7 * (1.0 - float(row @ share))  # of the way from the mean to the top
        assert 1.0 - one == pytest.approx(1.0 - expected, rel=1e-6, abs=near + 1e-9)


def leading(told, allowed):
    rewards, stands_for, pulls, budgets, tops = told
    return KeptBounds(rewards, stands_for, pulls, tops).explore(budgets).highest(allowed)


@given(
    rewards=arrays(float, (5, 9), elements=st.floats(-10, 1)),
    pulls=st.lists(st.integers(1, 400), min_size=5, max_size=5),
)
@settings(max_examples=300, deadline=None)
def test_leaving_out_hopeless_arms_changes_no_choice(rewards, pulls):
    told = rewards, np.ones((5, 9)), np.full(5, 9.0), [8.0 / count for count in pulls], 1.0
    exact = likely_means(*told)
    for allowed in (range(5), [1, 2, 4], [3]):
        leaders = leading(told, allowed)
        assert {*leaders} <= {*allowed}
        assert exact[leaders] == pytest.approx(exact[list(allowed)].max(), abs=1e-7)


@pytest.mark.parametrize("arms", [2, 3, 16, 17, 60])
@pytest.mark.parametrize("apart", [0.0, 0.01, 1.0])
def test_the_highest_bounds_are_found_among_many_rows(arms, apart):
    generator = np.random.default_rng(arms)
    for scale in (1.0, 1e-120, 1e120):
        rewards = scale * (apart * np.linspace(0, 1, arms)[:, None] - generator.random((arms, 40)))
        stands_for = generator.integers(0, 4, rewards.shape).astype(float)
        pulls = np.maximum(stands_for.sum(axis=1), 1.0)
        tops = scale * (1.0 + generator.random(arms))
        told = rewards, stands_for, pulls, (9.0 / pulls).tolist(), tops
        exact = likely_means(*told)
        for allowed in (range(arms), range(1, arms, 2)):
            leaders = leading(told, allowed)
            highest = exact[list(allowed)].max()
            assert exact[leaders] == pytest.approx(highest, abs=1e-9 * scale)


@pytest.mark.parametrize("problem", [channels(), failing(), endless(), harvesting(), mixed()])
def test_the_choice_is_the_arm_with_the_highest_index(problem):
    policy = taught(problem)
    for context in random_points(problem.context, 20, np.random.default_rng(5)):
        indices = policy.indices(**context)
        assert policy.choose(**context) == problem.arms[int(np.argmax(indices))]


def jumping(trials=400, seed=0):
    """Return an arm that is good, then bad, again and again, with a little noise."""
    generator = np.random.default_rng(seed)
    level = np.where(np.arange(trials) // 50 % 2, 0.3, 0.7)
    return np.clip(level + 0.05 * generator.standard_normal(trials), 0, 1).tolist()


def single(**stated):
    problem = Problem(
        arms=["a"], context={"y": Finite([1, 2, 3])}, state={"x": Interval(0, 1)}, reward="x * y"
    )
    return AdaptiveKL(problem, **stated)


def test_the_memory_settles_on_no_change_for_arms_that_do_not_change():
    generator = np.random.default_rng(1)
    settled = 0
    for _ in range(20):
        policy = single()
        for x in generator.random(300).tolist():
            policy.observe("a", x=x)
        settled += math.isinf(policy.half_life)
    # If each settles with probability 0.8, fewer than 12 of 20 do for 1 % of all seeds.
    assert settled >= 12


def test_the_memory_finds_changes_and_estimates_follow_them():
    policy, steady = single(), single(adapts=False)
    states = jumping(390)  # ends 40 trials after a change to 0.3
    for x in states:
        policy.observe("a", x=x)
        steady.observe("a", x=x)
    assert policy.half_life < 1000
    assert policy.estimates(y=1)[0] == pytest.approx(np.mean(states[-20:]), abs=0.05)
    assert steady.estimates(y=1)[0] == pytest.approx(np.mean(states))


def test_an_arm_that_was_not_pulled_for_long_becomes_uncertain_again():
    drift = Drift(arms=2, contexts=1)
    drift.chosen = 1
    for trial in range(50):
        drift.learn(trial % 2, trial, np.array([0.5]))
    drift.chosen = 1
    spreads = [drift.fading(trial)[1][0] for trial in (50, 55, 70, 1000, 10**6)]
    assert spreads == sorted(spreads)
    assert spreads[-1] < math.inf


def test_how_much_states_count_is_what_the_filter_does():
    policy = single()
    for x in jumping(NEVER_MERGED):
        policy.observe("a", x=x)
    memory = policy._knowledge
    assert memory.drift.chosen != STEADY
    q = memory.drift.chosen
    left, _ = memory.drift.fading(memory.clock)
    for counts in (memory._counts_for, memory._recount()):
        if counts is None:
            continue
        weights = counts[0] + left[:, None] * counts[1]
        assert weights.sum() == pytest.approx(1.0)
        for place, context in enumerate(memory.tracked):
            mean, deviation = memory.drift.levels[0, :, q, place]
            by_filter = mean + left[0] * deviation
            by_states = float((memory.rewards(context) * weights).sum()) * memory.unit
            assert by_states == pytest.approx(by_filter, rel=1e-9, abs=1e-12)


def test_keeping_up_the_counts_equals_counting_anew():
    policy = single()
    states = jumping(NEVER_MERGED)
    for place, x in enumerate(states):
        policy.observe("a", x=x)
        policy.choose(y=1)  # counts anew after a change of the candidate, then keeps them up
        memory = policy._knowledge
        if memory._counts_for is not None and place % 7 == 0:
            for kept, anew in zip(memory._counts_for, memory._recount(), strict=True):
                np.testing.assert_allclose(kept, anew, rtol=1e-9, atol=1e-12)


def test_merging_old_states_keeps_means_unbiased_and_numbers_exact():
    generator = np.random.default_rng(2)
    off = []
    for _ in range(30):
        policy = single(kept=32, adapts=False)
        states = generator.random(400)
        for x in states.tolist():
            policy.observe("a", x=x)
        memory = policy._knowledge
        assert memory.kept[0] <= 32
        assert memory.stands_for.sum() == pytest.approx(400)
        assert memory.pulls == [400]
        newest = memory.columns[0, 0, memory.kept[0] - 16 : memory.kept[0]]
        np.testing.assert_array_equal(newest, states[-16:])
        off.append(policy.estimates(y=1)[0] - states.mean())
    # Within four standard errors: fails for less than 1 seed in 10,000.
    assert abs(np.mean(off)) < 4 * np.std(off) / math.sqrt(30)
    # Far better than 32 states drawn at random, whose means are off by 0.289 / √32 = 0.051.
    assert np.std(off) < 0.02


@pytest.mark.parametrize("problem", [channels(), failing(), endless(), harvesting(), mixed()])
@pytest.mark.parametrize("adapts", [True, False])
def test_saving_keeps_everything_beyond_the_room_for_states(problem, adapts):
    policy = taught(problem, 400, kept=40, adapts=adapts)
    for context in random_points(problem.context, 3, np.random.default_rng(6)):
        policy.choose(**context)
    twin = Policy.from_bytes(policy.to_bytes())
    assert twin.to_bytes() == policy.to_bytes()
    for record in observations(problem, 100, np.random.default_rng(8)):
        context = problem.context.among(record)
        assert twin.choose(**context) == policy.choose(**context)
        policy.observe(**record)
        twin.observe(**record)
    assert twin.to_bytes() == policy.to_bytes()


@pytest.mark.parametrize("kept", [34, 270, 512])
def test_a_loaded_policy_has_the_same_indices_to_the_last_bit(kept):
    """Sums depend on the room for states, which may be wider than those that are kept now."""
    problem = Problem(arms=["a", "b", "c"], state={"x": Interval(0, 1)}, reward="x")
    policy = AdaptiveKL(problem, kept=kept)
    generator = np.random.default_rng(7)
    for i in range(3 * kept):
        policy.observe("abc"[min(i % 5, 2)], x=float(generator.random()))
        if i % 7 == 0:
            twin = Policy.from_bytes(policy.to_bytes())
            assert twin.indices() == policy.indices()
            assert twin.estimates() == policy.estimates()
    policy.remove_arm("c")  # the one with the most states
    assert Policy.from_bytes(policy.to_bytes()).indices() == policy.indices()


def test_a_file_cannot_ask_for_more_room_than_there_may_be():
    saved = taught(channels(), 30, kept=40).memory.state()
    saved.room = 10**9
    twin = AdaptiveKL(channels(), kept=40).memory
    twin.restore(msgspec.to_builtins(saved))
    assert twin.stands_for.shape[1] <= 40


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda s: s["states"][0].pop(), "differ in number"),
        (lambda s: s["states"][0].__setitem__(0, [99.0]), "a saved state is 99.0, and must be"),
        (lambda s: s["states"][0].__setitem__(0, [1.0, 2.0]), "wrong number of fields"),
        (lambda s: s["stands_for"][0].__setitem__(0, 5.0), "stand for"),
        (lambda s: s["seen_at"][0].reverse(), "not in order"),
        (lambda s: s["pulls"].append(1), "not of 7 arms"),
        (lambda s: s["drift"].__setitem__("chosen", 99), "candidates"),
        (lambda s: s["drift"]["pooled"].pop(), "wrong size"),
        (lambda s: s["drift"]["squares"][0][0].__setitem__(0, -1.0), "below 0"),
        (lambda s: s.__setitem__("drift", None), "whether memory adapts"),
        (lambda s: s.__setitem__("counts_for", [[[]] * 7]), "counts of states"),
    ],
)
def test_damaged_states_are_refused(change, words):
    policy = taught(channels())
    envelope = json.loads(policy.to_bytes())
    change(envelope["saved"]["learned"])
    body = json.dumps(envelope["saved"], separators=(",", ":"), ensure_ascii=False).encode()
    envelope["checksum"] = zlib.crc32(body)
    text = json.dumps({**envelope, "saved": "SAVED"}).encode().replace(b'"SAVED"', body)
    with pytest.raises(SaveFileError, match=words):
        Policy.from_bytes(text)


def test_another_reward_revalues_every_state():
    problem = endless()
    policy = taught(problem, 200, adapts=False)
    other = policy.with_reward("first + tokens * each <= 3")
    fresh = AdaptiveKL(problem.with_reward("first + tokens * each <= 3"), adapts=False)
    for record in observations(problem, 200, np.random.default_rng(1)):
        fresh.observe(**record)
    for tokens in (1, 100):
        assert other.estimates(tokens=tokens) == pytest.approx(fresh.estimates(tokens=tokens))


@pytest.mark.parametrize("problem", [channels(), failing(), endless(), harvesting(), mixed()])
def test_tops_are_above_every_reward(problem):
    tops, generator = Tops(problem), np.random.default_rng(9)
    for context in random_points(problem.context, 30, generator):
        values = problem.context.read(context)
        top = np.broadcast_to(tops.at(values), len(problem.arms))
        for j in range(len(problem.arms)):
            for state in random_points(problem.state, 30, generator):
                outcome = problem.outcome_of(j, problem.state.read(state))
                assert problem.payoff.scalar(*values, *outcome) <= top[j] + 1e-9


@pytest.mark.parametrize("problem", [channels(2), endless()], ids=["bounded", "endless"])
def test_an_arm_whose_answers_are_lost_is_tried_again_and_again(problem):
    policy = AdaptiveKL(problem)
    generator = np.random.default_rng(3)
    lost, tried, trials = problem.arms[1], 0, 600
    for _ in range(trials):
        (context,), (state,) = (
            random_points(box, 1, generator) for box in (problem.context, problem.state)
        )
        arm = policy.choose(**context)
        if arm == lost:
            policy.pulled(arm, **context)
            tried += 1
        else:
            policy.observe(arm, **context, **state)
    assert math.log(trials) - 1 <= tried <= math.log(trials) + 2


def test_pulls_in_flight_send_requests_elsewhere():
    problem = Problem(arms=["a", "b"], state={"x": Interval(0, 1)}, reward="x")
    policy = AdaptiveKL(problem, adapts=False)
    policy.observe_many(["a", "b"], x=[0.5, 0.5])
    for _ in range(5):
        policy.pulled("a")
    assert policy.choose() == "b"


@pytest.mark.parametrize(
    "stated", [{"kept": 3}, {"kept": 10**9}, {"kept": "many"}, {"adapts": 2}, {"seed": "x"}]
)
def test_bad_parameters_are_refused(stated):
    with pytest.raises(ParameterError):
        AdaptiveKL(channels(), **stated)


def test_candidates_begin_with_no_change():
    assert DECAYS[STEADY] == 0.0
    assert (DECAYS[1:] > 0.0).all()


def test_states_that_differ_in_some_context_are_not_merged_where_they_are_alike():
    """A burst above 0.2 is lost in both states; what smaller ones tell must not be forgotten."""
    problem = Problem(
        arms=["a"],
        context={"size": Interval(0, 1)},
        state={"capacity": Interval(0, 1)},
        reward="size * (capacity >= size)",
    )
    policy = AdaptiveKL(problem, kept=32, adapts=False)
    states = np.where(np.random.default_rng(1).random(4000) < 0.3, 0.2, 0.0)
    policy.observe_many(["a"] * 4000, capacity=states.tolist())
    assert sum(policy.memory.kept) <= 32
    assert policy.with_reward("capacity").estimates(size=0) == pytest.approx([states.mean()])


@pytest.mark.parametrize("seed", range(6))
def test_among_some_of_the_arms_the_highest_index_is_chosen(seed):
    generator = np.random.default_rng(seed)
    problem = Problem(
        arms=["a", "b", "c"],
        context={"y": Interval(0, 1)},
        state={"x": Interval(0, 1)},
        reward="x * y",
    )
    policy = AdaptiveKL(problem, adapts=False)
    for arm, most in (("a", 0.5), ("b", 0.5), ("c", 1.0)):
        policy.observe_many([arm] * 20, x=(most * generator.random(20)).tolist())
    for y in generator.random(25).tolist():
        best = max("ab", key=lambda arm: policy.indices(y=y)["abc".index(arm)])
        assert policy.choose(y=y, eligible=["a", "b"]) == best


@pytest.mark.parametrize("price", [1.0, 1000.0])
def test_another_range_of_rewards_is_no_change_of_the_arms(price):
    problem = Problem(
        arms={"a": {"price": 1.0}, "b": {"price": 1.0}},
        state={"x": Interval(0, 1)},
        reward="-x * price",
    )
    policy = AdaptiveKL(problem)
    for x in np.random.default_rng(1).random(300).tolist():
        policy.observe("a", x=x)
    assert math.isinf(policy.half_life)
    policy.add_arm("c", price=price)
    for x in np.random.default_rng(2).random(50).tolist():
        policy.observe("a", x=x)
    assert math.isinf(policy.half_life)


def test_many_fields_of_contexts_take_little_room():
    for count in (10, 16):
        context = {f"y{i}": Finite(range(count)) for i in range(16)}
        problem = Problem(arms=["a"], context=context, state={"x": Interval(0, 1)}, reward="x * y0")
        policy = AdaptiveKL(problem)
        assert len(policy.memory.tops.table) <= 4096


def test_attributes_that_cannot_be_valued_change_nothing():
    def reward(price, x):
        if price > 40:
            raise ArithmeticError
        return -price * x

    problem = Problem(
        arms={"a": {"price": 1.0}, "b": {"price": 2.0}},
        state={"x": Interval(0, 1)},
        reward=Reward(reward, low=-50, high=0),
    )
    policy = AdaptiveKL(problem)
    policy.observe("a", x=0.5)
    before = policy.estimates()
    with pytest.raises(RewardError):
        policy.set_attributes("a", price=50.0)
    assert policy.estimates() == before
    assert policy.problem == policy.memory.problem


def merged_policy(reward="min(bits, capacity)"):
    """Return a policy whose older states were merged, and all states of its arms."""
    problem = Problem(
        arms=["a", "b"],
        context={"bits": Interval(1, 2)},
        state={"capacity": Interval(0, 7)},
        reward=reward,
    )
    states = 7 * np.random.default_rng(0).random((2, 3000))
    policy = AdaptiveKL(problem)
    for pair in states.T.tolist():
        for arm, capacity in zip("ab", pair, strict=True):
            policy.observe(arm, capacity=capacity)
    return policy, states


@pytest.mark.parametrize("reward", ["capacity", "capacity >= 5", "-abs(capacity - 4)"])
def test_another_reward_is_computed_well_from_merged_states(reward):
    """Merging adds less than chance; a run like this is off by more with a probability of 1e-4."""
    policy, states = merged_policy()
    assert max(policy.memory.kept) < 600
    with pytest.raises(ParameterError, match="may be off by") as told:
        policy.with_reward(reward)
    enough = float(re.findall(r"error=([\d.]+)", str(told.value))[0])
    other = policy.with_reward(reward, error=enough)
    values = policy.problem.with_reward(reward).payoff.vector(1.5, states)
    errors = values.std(axis=1) / np.sqrt(states.shape[1])
    assert np.abs(other.estimates(bits=1.5) - values.mean(axis=1)).max() < 2 * errors.max()
    # Merging leaves more of the rare states; that is no change of the arms.
    assert other.half_life == math.inf


def test_a_reward_that_merged_states_do_not_tell_is_refused():
    policy, _ = merged_policy("0 * capacity")
    with pytest.raises(ParameterError, match=r"may be off by .*Pass error="):
        policy.with_reward("floor(50 * capacity) % 2")
    other = policy.with_reward("floor(50 * capacity) % 2", error=1)
    assert other.estimates(bits=1)[1] == pytest.approx(0.5, abs=0.2)


@pytest.mark.parametrize(
    ("first", "last"), [(1e300, 1.0), (1.0, 1e300), (1e-300, 1.0), (1.0, 1e-300)]
)
def test_the_size_of_rewards_may_change_as_much_as_numbers_can(first, last):
    problem = Problem(
        arms={"a": {"price": 1.0}, "b": {"price": first}},
        state={"x": Finite([0, 1, 2])},
        reward="-x * price",
    )
    policy = AdaptiveKL(problem)
    policy.observe_many(["a", "b"] * 3, x=[1, 2] * 3)
    policy.remove_arm("b" if last == 1.0 else "a")
    (arm,) = policy.problem.arms
    policy.set_attributes(arm, price=last)
    policy.observe(arm, x=1)
    seen = 1.0 if arm == "a" else 7 / 4
    assert policy.estimates() == pytest.approx([-seen * last])


@given(
    cost=st.floats(0, 1e3), others=st.lists(st.floats(0, 1e3), max_size=7), scale=st.floats(-9, 9)
)
def test_a_pull_is_dear_where_it_costs_several_times_as_much(cost, others, scale):
    costs = [cost, *others]
    found = relative_cost(cost, min(costs), max(costs))
    assert 1.0 <= found <= MOST_RATIO
    if min(costs) > 1e-3 * max(costs):
        assert found == pytest.approx(min(cost / min(costs), MOST_RATIO), rel=1e-5)
    if cost == min(costs):
        assert found == 1.0
    unit = 2.0 ** int(scale)  # the unit of rewards does not matter
    assert relative_cost(cost * unit, min(costs) * unit, max(costs) * unit) == pytest.approx(found)


def test_an_arm_is_explored_where_that_costs_least():
    """Two arms, of which one is worse everywhere, by four times as much where y is 4."""
    policy = AdaptiveKL(
        Problem(
            arms=["good", "bad"],
            context={"y": Finite([1, 4])},
            state={"x": Finite([0, 1])},
            reward="x * y",
        ),
        adapts=False,
    )
    policy.observe_many(["good"] * 20 + ["bad"] * 20, x=[1] * 18 + [0] * 2 + [1] * 5 + [0] * 15)
    cheap, dear = policy.indices(y=1), policy.indices(y=4)
    assert dear[0] == pytest.approx(4 * cheap[0])  # the best arm is explored everywhere
    most = max(HEAD_STARTS)  # one other arm says nothing
    budgets = [explored(40, 20, times, most) / 20 for times in (1.0, 4.0)]
    rewards, counts = np.array([[0.0, 1.0]]), np.array([[15.0, 5.0]])
    for index, budget, y in ((cheap[1], budgets[0], 1.0), (dear[1], budgets[1], 4.0)):
        expected = likely_means(rewards * y, counts, np.array([20.0]), [budget], y)[0]
        assert index == pytest.approx(expected, rel=1e-6)
    assert dear[1] < 4 * cheap[1]


@given(able=st.integers(0, 60), leading=st.integers(0, 60))
def test_a_head_start_grows_with_the_share_of_other_arms_that_lead(able, leading):
    least, most = HEAD_STARTS
    assert least <= head_start(leading, able) <= most * (1 + 1e-12)
    assert head_start(leading, able) <= head_start(leading + 1, able) * (1 + 1e-12)
    assert head_start(max(able, 1), able) == pytest.approx(most)
    if able > 1:
        assert head_start(1, able) == least


@given(arms=st.integers(1, 200), trial=st.integers(0, 10**6))
def test_with_many_arms_not_every_request_explores(arms, trial):
    every = arms <= FEW_ARMS or trial < AT_FIRST
    assert share_exploring(trial, arms) == (1.0 if every else 3 / arms)


def test_an_arm_is_explored_more_if_the_others_are_best_somewhere():
    """Four arms, the last of them poor; of the others one leads everywhere, or each somewhere."""
    contexts = (0, 1, 2)
    problem = Problem(
        arms=["a", "b", "c", "d"],
        context={"y": Finite(contexts)},
        state={"x": Finite([0, 1, 2, 3])},
        reward="x == y",
    )
    found = {}
    for name, shown in {"one": [0, 0, 0], "each": [0, 1, 2]}.items():
        policy = AdaptiveKL(problem, adapts=False)
        for arm, usual in zip("abc", shown, strict=True):
            # An arm that leads nowhere shows its state less often than the one that leads.
            often = 9 if arm == "a" or usual else 5
            states = [usual] * often + [3] * (20 - often)
            policy.observe_many([arm] * 20, x=states)
        for y in contexts if name == "one" else ():
            policy.observe_many(["a"] * 4, x=[y] * 4)
            assert policy.choose(y=y)
        policy.observe_many(["d"] * 20, x=[3] * 20)
        heads = policy._elsewhere(range(4)).heads
        leading = {int(np.nanargmax(np.array(policy.estimates(y=y), float))) for y in contexts}
        expected = [head_start(len(leading) - (j in leading), 3) for j in range(4)]
        assert heads == expected
        found[name] = heads[3], max(policy.indices(y=1)[3], 0.0)
    assert found["one"][0] == min(HEAD_STARTS)
    assert found["each"][0] == pytest.approx(max(HEAD_STARTS))
    assert found["one"][1] < found["each"][1]


@pytest.mark.parametrize("order", [(0.1, 0.2, 0.3, 0.7), (0.1, 0.2, 0.7, 0.3)])
def test_rounding_of_means_does_not_change_a_head_start(order):
    policy = AdaptiveKL(
        Problem(
            arms=["a", "b", "c"],
            context={"y": Finite([1, 2])},
            state={"x": Interval(0, 1)},
            reward="x / y",
        ),
        adapts=False,
    )
    policy.observe_many(["a"] * 4, x=[0.1, 0.2, 0.3, 0.7])
    policy.observe_many(["b"] * 4, x=order)
    policy.observe_many(["c"] * 4, x=[0.0, 0.0, 0.1, 0.1])
    assert policy._elsewhere(range(3)).heads == [
        head_start(1, 2),
        head_start(1, 2),
        head_start(2, 2),
    ]


def test_arms_that_may_not_be_chosen_do_not_count_for_what_a_pull_costs():
    policy = taught(channels())
    arms = list(policy.problem.arms)
    for context in random_points(policy.problem.context, 20, np.random.default_rng(6)):
        left = arms[1:]
        choice = policy.choose(**context, eligible=left)
        told = {row.arm: row.index for row in policy.explain(**context, eligible=left).arms}
        assert told[choice] == max(told[arm] for arm in left)


def test_a_file_without_means_gets_them_from_its_states():
    policy = taught(channels())
    state = policy.memory.state()
    state.means = None
    twin = AdaptiveKL(policy.problem)
    twin.memory.restore(msgspec.to_builtins(state))
    assert twin.memory.means == pytest.approx(policy.memory.means, rel=1e-12)


def test_a_change_of_unit_keeps_means_finite():
    policy = AdaptiveKL(
        Problem(
            arms={name: {"p": p} for name, p in (("a", 1e290), ("b", 1e-290), ("c", 1e-290))},
            context={"y": Finite([1, 2])},
            state={"x": Interval(0, 1)},
            reward="x * p * y",
        )
    )
    policy.observe_many(["a", "b", "c"] * 3, x=[0.1, 0.5, 0.9] * 3)
    policy.remove_arm("a")
    assert np.isfinite(policy.memory.means).all()
    assert AdaptiveKL.from_bytes(policy.to_bytes()).choose(y=1) == policy.choose(y=1)


def test_explain_agrees_with_choose_where_eligible_arms_differ_by_rounding():
    generator = np.random.default_rng(3)
    problem = Problem(arms=["a", "b", "c"], state={"x": Interval(0, 1)}, reward="x")
    for _ in range(200):
        policy, values = AdaptiveKL(problem, adapts=False), generator.random(7)
        for arm, some in (
            ("a", values),
            ("b", generator.permutation(values)),
            ("c", 0.9 + values / 10),
        ):
            policy.observe_many([arm] * 7, x=some.tolist())
        explained = policy.explain(eligible=["a", "b"])
        assert explained.arm == policy.choose(eligible=["a", "b"])


@given(mean=st.floats(-1e300, 1e300), middle=st.floats(-1e300, 1e300), pulls=st.integers(1, 10**9))
def test_all_pulls_count_as_one_observation_of_an_arm(mean, middle, pulls):
    found = shrunk(mean, pulls, middle)
    size = max(abs(mean), abs(middle))
    expected = mean * (pulls / (pulls + 1)) + middle / (pulls + 1)
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-12 * size)
    assert shrunk(mean, pulls, mean) == mean
    # However far apart they are, and whatever the unit.
    assert math.isfinite(shrunk(1.7e308, pulls, -1.7e308))
    assert shrunk(mean / 8, pulls, middle / 8) == pytest.approx(found / 8, abs=1e-300)


def with_many_arms(reward="x"):
    """Return a policy at a trial that does not explore; one arm was lucky once."""
    names = [f"a{j}" for j in range(FEW_ARMS + 2)]
    policy = AdaptiveKL(
        Problem(
            arms=names,
            context={"y": Finite([1, 2])},
            state={"x": Interval(0, 1)},
            reward=reward,
        ),
        adapts=False,
    )
    policy.observe_many(names[:2] * 20, x=[0.5, 0.75] * 20)
    policy.observe("a2", x=0.8)
    while policy._explores():
        policy.observe("a0", x=0.5)
    return policy


def test_with_many_arms_one_lucky_pull_is_not_enough_to_lead():
    policy = with_many_arms()
    means, pulls = policy.estimates(y=1), policy.memory.pulls
    assert sum(pulls) > AT_FIRST
    assert means[:3] == [0.5, 0.75, 0.8]
    middle = (0.5 * pulls[0] + 15.0 + 0.8) / (pulls[0] + 21)
    expected = [
        (0.5 * pulls[0] + middle) / (pulls[0] + 1), (15.0 + middle) / 21, (0.8 + middle) / 2
    ]  # fmt: skip
    assert policy.indices(y=1) == pytest.approx([*expected, *[-math.inf] * 9])
    assert policy.choose(y=1) == "a1" == policy.explain(y=1).arm
    assert policy.choose(y=1, eligible=["a0", "a2"]) == "a2"


def test_where_all_pulls_were_alike_the_arm_that_was_pulled_most_is_used():
    policy = with_many_arms("0.1 * y + 0 * x")
    assert set(policy.indices(y=2)[:3]) == {0.2}
    assert policy.choose(y=2) == f"a{int(np.argmax(policy.memory.pulls))}"
