"""Replays: what another reward or policy would have chosen and earned."""

from __future__ import annotations

import time

import pytest
from serving import decide, observe, served, write_problem

# Alpha starts quickly and is slow for each token; beta is the opposite.
TEXT = """
policy = "AdaptiveIMED"
[problem]
arms = ["alpha", "beta"]
reward = "-first - tokens * each"
context = {tokens = [10, 1000]}
state = {first = {low = 0, high = 10}, each = {low = 0, high = 0.1}}
"""
STATES = {"alpha": {"first": 0.1, "each": 0.01}, "beta": {"first": 2.0, "each": 0.001}}


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    file = write_problem(tmp_path_factory.mktemp("replay"), TEXT, "llm.toml")
    with served(file) as client:
        for number in range(60):
            tokens = (10, 1000)[number % 2]
            decision = decide(client, context={"tokens": tokens})
            observe(client, {"id": decision["id"], "state": STATES[decision["arm"]]})
        yield client


def replay(client, status=200, **body):
    answer = client.post("/v1/problems/llm/replay", json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


def test_another_formula_is_valued_exactly(client):
    told = replay(client, reward="-first")
    assert told["requests"] == 60
    assert told["arms"]["alpha"]["chosen"] > 55  # it is always quicker to start
    assert told["arms"]["beta"]["was_chosen"] >= 25
    for arm, row in told["arms"].items():
        assert row["was_reward"] == pytest.approx(-STATES[arm]["first"])
    assert told["earned"] > told["was_earned"]
    chosen = sum(row["chosen"] * -STATES[arm]["first"] for arm, row in told["arms"].items())
    assert told["earned"] == pytest.approx(chosen / 60)


def test_another_policy(client):
    told = replay(client, policy={"name": "FixedArm", "arm": "beta"})
    assert told["arms"]["beta"]["chosen"] == 60
    assert told["policy"] == "FixedArm"
    by_hand = [-2.0 - tokens * 0.001 for tokens in (10, 1000)]
    assert told["earned"] == pytest.approx(sum(by_hand) / 2)
    assert told["was_earned"] > told["earned"]


def test_a_time_span(client):
    assert replay(client, to=1.0)["requests"] == 0
    assert replay(client, **{"from": time.time() + 60})["requests"] == 0
    whole = replay(client, **{"from": 0.0, "to": time.time() + 60})
    assert whole["requests"] == 60
    half = [e for e in client.get("/v1/problems/llm/log").text.splitlines() if "decided" in e]
    assert len(half) == 60


@pytest.mark.parametrize(
    "body",
    [
        {"reward": "-last"},
        {"reward": "("},
        {"policy": "Nobody"},
        {"policy": {"name": "DCB", "x": 1}},
    ],
)
def test_what_does_not_fit_is_refused(client, body):
    assert replay(client, 422, **body)["detail"]
