"""Two services on one Postgres learn together, as they would on two machines."""

from __future__ import annotations

import pytest
from postgres_server import server, why_not
from serving import decide, observe, served, wait_for, write_problem

LINK = {"arms": ["a", "b"], "reward": "x", "state": {"x": {"low": 0, "high": 1}}}


def trials(client):
    return client.get("/v1/problems/llm/stats").json()["policy"]["trials"]


@pytest.mark.skipif(bool(why_not()), reason=why_not() or "there is one")
def test_two_services_share_one_log(tmp_path):
    file = write_problem(tmp_path)
    with (
        server() as address,
        served(file, store=address) as one,
        served(file, store=address) as two,
    ):
        made = one.put("/v1/problems/links", json={"problem": LINK})
        assert made.status_code == 201, made.text
        wait_for(lambda: two.get("/v1/problems/links").status_code == 200)
        for number in range(10):
            here, there = (one, two) if number % 2 else (two, one)
            decision = decide(here, id=f"order-{number}")
            assert decide(here, id=f"order-{number}")["replayed"]
            body = {"id": decision["id"], "arm": decision["arm"], "state": {"seconds": 1}}
            told = observe(there, {**body, "context": {"tokens": 100}})
            assert told["learned"] == 1
        one.patch("/v1/problems/llm/arms/beta", json={"status": "paused"})
        for client in (one, two):
            wait_for(lambda client=client: trials(client) == 10)
            wait_for(lambda client=client: decide(client)["arm"] == "alpha")
            assert client.get("/health/ready").status_code == 200
    assert not (tmp_path / "router.db").exists()
