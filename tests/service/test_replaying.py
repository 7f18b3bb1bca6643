"""Replays: what another reward or policy would have chosen and earned."""

from __future__ import annotations

import json
import time

import pytest
from serving import decide, observe, served, write_problem

# Alpha starts quickly and is slow for each token; beta is the opposite.
TEXT = """
policy = "AdaptiveKL"
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
    assert (told["decisions"], told["outcomes"]) == (60, 60)
    assert told["replayed"]["shares"]["alpha"] > 0.9  # it is always quicker to start
    logged, other = told["logged"], told["replayed"]
    for played in (logged, other):
        by_hand = sum(-STATES[arm]["first"] * share for arm, share in played["shares"].items())
        assert played["value"] == pytest.approx(by_hand)
    assert other["value"] > logged["value"]
    assert "shown the logged outcomes of the arms that it chose" in told["notes"][0]


def test_another_policy(client):
    told = replay(client, policy={"name": "FixedArm", "arm": "beta"})
    assert told["replayed"]["shares"] == {"beta": 1.0}
    assert told["policy"] == "FixedArm"
    by_hand = [-2.0 - tokens * 0.001 for tokens in (10, 1000)]
    assert told["replayed"]["value"] == pytest.approx(sum(by_hand) / 2)
    assert told["logged"]["value"] > told["replayed"]["value"]


def test_a_time_span(client):
    assert replay(client, to=1.0)["decisions"] == 0
    assert replay(client, **{"from": time.time() + 60})["decisions"] == 0
    whole = replay(client, **{"from": 0.0, "to": time.time() + 60})
    assert whole["decisions"] == 60
    lines = client.get("/v1/problems/llm/log").text.splitlines()
    events = [json.loads(line) for line in lines if "decided" in line]
    half = replay(client, **{"from": events[29]["time"]})
    assert half["decisions"] == 30


def test_limits_are_told(client, monkeypatch):
    monkeypatch.setattr("onepull.service.handlers.replaying.MOST_EVENTS", 50)
    monkeypatch.setattr("onepull.service.handlers.replaying.MOST_DECISIONS", 10)
    told = replay(client, reward="-first")
    assert told["decisions"] == 10
    assert told["notes"][:2] == [
        "only the newest 50 events are replayed",
        "only the newest 10 decisions are made again",
    ]
    assert told["notes"][-1] == "15 outcomes of none of these decisions were learned as they came"


def test_a_replay_ends_in_time(client, monkeypatch):
    monkeypatch.setattr("onepull.service.handlers.replaying.SECONDS", 0.0)
    told = replay(client)
    assert told["decisions"] < 60
    assert "stopped after 0 s; choose a shorter time span" in told["notes"]


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
