"""What merged states cannot tell is refused over HTTP with the error that a request may accept."""

import asyncio
import re

import numpy as np
import pytest
from serving import observe, patch, served, write_problem

from onepull import Client, ParameterError, Router
from onepull.service.service import Service
from onepull.service.sources import read_source

FILE = """
[problem]
reward = "fine * (floor(50 * delay) % 2)"
failure = -1
[problem.arms.a]
fine = 0
[problem.state]
delay = {low = 0, high = 1}
"""
DELAYS = np.random.default_rng(3).random(3000).tolist()


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with served(write_problem(tmp_path_factory.mktemp("revalued"), FILE)) as client:
        told = [
            {"id": str(i), "arm": "a", "state": {"delay": delay}} for i, delay in enumerate(DELAYS)
        ]
        for start in range(0, len(told), 500):
            observe(client, told[start : start + 500])
        yield client


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("arms/a", {"attributes": {"fine": 1}}),
        ("controls", {"reward": "floor(20 * delay) % 2"}),
    ],
)
def test_an_error_is_said_and_can_be_accepted(client, path, body):
    before = client.get("/v1/problems/llm").json()["problem"]
    told = patch(client, path, 422, **body)
    assert "estimates may be off by" in told["detail"]
    assert 'Pass "error": ' in told["detail"]  # as JSON has it
    assert ('"relearn": true' in told["detail"]) == (path == "controls")
    assert client.get("/v1/problems/llm").json()["problem"] == before
    patch(client, path, 200, **body, error=1)


def test_outcomes_are_learned_again_if_asked(client):
    patch(client, "controls", 422, reward="floor(30 * delay) % 2")
    told = patch(client, "controls", 200, reward="floor(30 * delay) % 2", relearn=True)
    assert told["policy"]["arms"][0]["pulls"] == len(DELAYS)
    change = client.get("/v1/problems/llm/changes").json()["changes"][-1]
    assert (change["event"], change["reward"]) == ("defined", "floor(30 * delay) % 2")
    estimate = client.get("/v1/problems/llm/explain").json()["arms"][0]["estimate"]
    assert estimate == pytest.approx(np.mean([int(30 * delay) % 2 for delay in DELAYS]))
    with Client(str(client.base_url), problem="llm", budget=20) as other:
        with pytest.raises(ParameterError, match=r"Pass error=.*pass relearn=True"):
            other.set_reward("floor(50 * delay) % 2")
        other.set_reward("floor(50 * delay) % 2", relearn=True)


def test_the_reward_of_a_failure_changes_with_the_reward(client):
    patch(client, "controls", 200, reward="-delay", failure="-9 - fine", error=1)
    assert client.get("/v1/problems/llm").json()["problem"]["failure"] == "-9 - fine"


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("controls", {"failure": -3}, "failure goes with reward"),
        ("controls", {"mode": "live", "error": 1}, "error goes with reward"),
        ("controls", {"relearn": True}, "relearn goes with reward"),
        ("controls", {"reward": "delay", "relearn": True, "error": 1}, "not both"),
        ("arms/a", {"error": 1}, "error goes with attributes"),
        ("arms/a", {"attributes": {"error": 1}}, "no attribute can be called 'error'"),
        ("arms/a", {"attributes": {"fine": 1}, "error": -1}, "`>= 0`|at least 0|0"),
    ],
)
def test_wrong_requests(client, path, body, said):
    told = patch(client, path, 422, **body)
    assert re.search(said, str(told))


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("controls", {"fallback": "a", "mode": "shadow", "error": 1}),
        ("controls", {"fallback": "a", "mode": "shadow", "reward": "delay +"}),
        ("controls", {"pin": "a", "reward": "floor(70 * delay) % 2"}),
        ("controls", {"reward": "delay / 2", "error": 1, "pin": "b"}),
        ("controls", {"reward": "delay / 2", "relearn": True, "pin": "a"}),
        ("arms/a", {"attributes": {"fine": 5}, "error": 1, "min_share": 2}),
        ("arms/a", {"attributes": {"fine": 5}, "error": 1, "min_share": 0.9, "max_share": 0.1}),
    ],
)
def test_a_refused_request_changes_nothing(client, path, body):
    def told():
        stats = client.get("/v1/problems/llm/stats").json()
        return client.get("/v1/problems/llm").json()["problem"], stats["controls"], stats["mode"]

    before = told()
    patch(client, path, 422, **body)
    assert told() == before


def test_a_changed_file_and_a_changed_problem_accept_an_error_too(tmp_path):
    file = write_problem(tmp_path, FILE)
    with served(file) as client:
        told = [{"id": str(i), "arm": "a", "state": {"delay": d}} for i, d in enumerate(DELAYS)]
        for start in range(0, len(told), 500):
            observe(client, told[start : start + 500])
        known = client.get("/v1/problems/llm").json()
        tag, other = {"If-Match": known["version"]}, {**known["problem"], "reward": "delay > 0.5"}
        refused = client.put("/v1/problems/llm", json={"problem": other}, headers=tag)
        assert refused.status_code == 422
        assert 'Pass "error": ' in refused.json()["detail"]
        body = {"problem": other, "error": 0.5}
        assert client.put("/v1/problems/llm", json=body, headers=tag).status_code == 200
    file.write_text(FILE.replace("fine * (", "1 * ("))
    with pytest.raises(ParameterError, match="Pass error="):
        Router.open(file)
    with pytest.raises(ParameterError, match=r"^llm: estimates may .* serve: --error [\d.]+\)"):
        asyncio.run(Service(read_source(file, {}, {})).start())
    with served(file, error=1) as client:
        found = client.get("/v1/problems/llm").json()
        assert found["problem"]["reward"] == "1 * (floor(50 * delay) % 2)"
        assert client.get("/v1/problems/llm/stats").json()["policy"]["arms"][0]["pulls"] == 3000
