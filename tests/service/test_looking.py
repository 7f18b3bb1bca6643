"""What the dashboard asks for: what-if, warnings, changes, wide buckets."""

from __future__ import annotations

import time

import numpy as np
import pytest
from serving import decide, learn, observe, served, write_problem

from onepull import Interval, Problem
from onepull.service.views.assumptions import correlation, dependences
from onepull.service.views.newest import SeenOutcome

TEXT = """
policy = "AdaptiveKL"
[problem]
arms = ["alpha", "beta"]
reward = "-first - tokens * each"
failure = -9
context = {tokens = [10, 1000]}
state = {first = {low = 0, high = 10}, each = {low = 0, high = 0.1}}
"""
PATH = "/v1/problems/llm"


@pytest.fixture
def client(tmp_path):
    with served(write_problem(tmp_path, TEXT, "llm.toml")) as client:
        yield client


def what_if(client, reward, status=200):
    answer = client.post(f"{PATH}/what-if", json={"reward": reward})
    assert answer.status_code == status, answer.text
    return answer.json()


def test_outcomes_without_a_context_are_valued_too(client):
    learn(client, 2)
    told = [{"id": str(i), "arm": "beta", "state": {"first": 0, "each": 0}} for i in range(400)]
    observe(client, told)
    found = what_if(client, "-first - each")
    assert found["arms"]["beta"]["outcomes"] == 400
    assert found["best"] == found["was_best"] == ["beta", "beta"]
    curves = client.get(f"{PATH}/curves").json()["curves"]
    assert curves[1]["states"] == 400
    assert client.get(f"{PATH}/warnings").json()["dependent"] == []  # they do not tell


def test_another_formula_moves_shares_and_payoff(client):
    learn(client)
    told = what_if(client, "-first")
    assert told["requests"] == 20
    assert {arm: row["share"] for arm, row in told["arms"].items()} == {"alpha": 1, "beta": 0}
    assert {arm: row["was_share"] for arm, row in told["arms"].items()} == {
        "alpha": 0.5,
        "beta": 0.5,
    }
    assert told["earned"] == pytest.approx(-0.1)
    assert told["was_earned"] == pytest.approx((-0.1 - 2.0) / 2)
    assert told["points"] == [10, 1000]
    assert told["best"] == ["alpha", "alpha"]
    assert told["was_best"] == ["alpha", "beta"]


def test_the_present_formula_changes_nothing(client):
    learn(client)
    told = what_if(client, "-first - tokens * each")
    assert told["earned"] == told["was_earned"] == pytest.approx((-0.2 - 3.0) / 2)
    assert all(row["share"] == row["was_share"] for row in told["arms"].values())


def test_failures_count_and_paused_arms_do_not(client):
    learn(client)
    client.patch(f"{PATH}/arms/beta", json={"status": "paused"})
    told = what_if(client, "-tokens * each")
    assert told["arms"]["beta"]["share"] == 0
    failing = decide(client, context={"tokens": 10}, eligible=["alpha"])
    before = told["arms"]["alpha"]["outcomes"]
    observe(client, {"id": failing["id"], "failed": True})
    told = what_if(client, "0")
    assert told["arms"]["alpha"]["outcomes"] == before + 1
    assert told["earned"] == pytest.approx(-9 / (before + 1))


def test_nothing_is_known_of_an_empty_log(client):
    told = what_if(client, "-first")
    assert told["requests"] == 0
    assert told["earned"] is None
    assert told["best"] == [None, None]


@pytest.mark.parametrize("reward", ["-last", "(", "", "x" * 10_001], ids=len)
def test_a_formula_that_does_not_fit_is_refused(client, reward):
    assert what_if(client, reward, 422)["detail"]


def test_a_problem_without_context(tmp_path):
    text = 'problem = {arms = ["a", "b"], reward = "x", state = {x = {low = 0, high = 1}}}'
    with served(write_problem(tmp_path, text)) as client:
        for arm, x in (("a", 0.2), ("b", 0.6)) * 6:
            decision = decide(client, context={}, eligible=[arm])
            observe(client, {"id": decision["id"], "state": {"x": x}})
        told = what_if(client, "1 - x")
        assert told["arms"]["a"]["share"] == 0.5  # only b was eligible for the other half
        told = client.get(f"{PATH}/curves").json()
        assert [curve["error"] for curve in told["curves"]] == [[pytest.approx(0)]] * 2


def test_changes_are_those_of_operators(client):
    learn(client, 1)
    client.patch(f"{PATH}/arms/beta", json={"status": "paused"})
    client.patch(f"{PATH}/controls", json={"pin": "alpha"})
    told = client.get(f"{PATH}/changes").json()["changes"]
    assert [change["event"] for change in told] == ["defined", "paused", "pinned"]


def test_wide_buckets_hold_what_narrow_ones_do(client):
    learn(client, 6)
    wide = client.get(f"{PATH}/timeline", params={"seconds": 600, "buckets": 10}).json()
    fine = client.get(f"{PATH}/timeline", params={"seconds": 600}).json()
    assert wide["width"] >= 60 > fine["width"] == 1
    assert wide["start"] % wide["width"] == 0
    for arm, row in fine["arms"].items():
        assert len(wide["arms"][arm]["decisions"]) <= 12
        assert sum(row["decisions"]) == sum(wide["arms"][arm]["decisions"])
    assert wide["start"] <= fine["start"] <= time.time()


def test_warnings_say_what_the_policy_believes(client, tmp_path):
    learn(client)
    told = client.get(f"{PATH}/warnings").json()
    assert told["knows_drift"] is True
    assert told["dependent"] == []
    text = TEXT.replace("AdaptiveKL", "DCB")
    (tmp_path / "other").mkdir()
    with served(write_problem(tmp_path / "other", text)) as other:
        told = other.get(f"{PATH}/warnings").json()
    assert told == {"knows_drift": False, "half_life": None, "dependent": []}


def test_the_role_is_told(client):
    assert client.get("/v1/problems").json()["role"] == "admin"


def test_correlation_of_neighbours_is_blind_to_slow_drift():
    random = np.random.default_rng(3)
    slope = np.linspace(0, 5, 400)
    x, y = slope + random.normal(size=400), slope + random.normal(size=400)
    assert np.corrcoef(x, y)[0, 1] > 0.5
    found = correlation(list(x), list(y))
    assert found is not None
    assert abs(found[0]) < 0.2  # 2.8 standard deviations
    assert correlation(list(x[:20]), list(y[:20])) is None


@pytest.mark.parametrize("slope", [0.0, 2.0])
def test_dependence_is_found_where_it_is(slope):
    problem = Problem(
        arms=["a", "b"], context={"size": Interval(0, 9)}, reward="-wait * size",
        state={"wait": Interval(0, 99)},
    )  # fmt: skip
    random = np.random.default_rng(5)
    seen = {
        arm: [SeenOutcome((x,), (max(slope * x * (arm == "a") + random.normal(20, 3), 0.0),))
              for x in random.uniform(0, 9, 300)]
        for arm in "ab"
    }  # fmt: skip
    assert [one.arm for one in dependences(problem, seen)] == ["a"] * (slope > 0)


def test_failures_that_depend_on_the_request_are_found():
    problem = Problem(
        arms=["a"], context={"size": Interval(0, 9)}, reward="-wait * size", failure=-99,
        state={"wait": Interval(0, 99)},
    )  # fmt: skip
    random = np.random.default_rng(7)
    sizes = random.uniform(0, 9, 400)
    expired = [SeenOutcome((x,), None if x > 7 else (1.0,)) for x in sizes]
    assert [one.state for one in dependences(problem, {"a": expired})] == ["failed"]
    unlucky = [SeenOutcome((x,), None if random.uniform() < 0.2 else (1.0,)) for x in sizes]
    assert dependences(problem, {"a": unlucky}) == []
