"""Decisions and observations over HTTP."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from serving import LINKS, decide, observe, served, wait_for, write_problem

NOTHING = {"learned": 0, "duplicates": 0, "late": 0, "rejected": [], "seq": None}


def test_a_decision_and_its_observation(client):
    decision = decide(client)
    assert decision["arm"] == "alpha"
    assert (decision["mode"], decision["chance"], decision["replayed"]) == ("live", 1.0, False)
    told = observe(client, {"id": decision["id"], "state": {"seconds": 2.0}})
    assert told | {"seq": None} == NOTHING | {"learned": 1}
    row = client.get("/v1/problems/llm/stats").json()["policy"]["arms"][0]
    assert (row["arm"], row["pulls"], row["in_flight"]) == ("alpha", 1, 0)
    explained = client.get("/v1/problems/llm/explain", params={"tokens": 100}).json()
    assert explained["arms"][0]["estimate"] == -2.1
    assert explained["arms"][1]["index"] is None  # infinite
    assert explained["arm"] == "beta"


def test_the_same_id_and_body_get_the_stored_answer(client):
    first = decide(client, id="order-1")
    again = decide(client, id="order-1")
    assert again == first | {"replayed": True}
    assert client.get("/v1/problems/llm/stats").json()["in_flight"] == 1
    refused = decide(client, id="order-1", context={"tokens": 7}, status=422)
    assert refused["type"] == "urn:onepull:error:ConflictError"


def test_an_id_counts_once(client):
    decision = decide(client)
    body = {"id": decision["id"], "state": {"seconds": 2.0}}
    assert observe(client, body)["learned"] == 1
    assert observe(client, body) | {"seq": None} == NOTHING | {"duplicates": 1}
    refused = observe(client, {**body, "state": {"seconds": 3.0}}, status=409)
    assert refused["title"] == "Conflict"
    explained = client.get("/v1/problems/llm/explain", params={"tokens": 1000}).json()
    assert explained["arms"][0]["estimate"] == -3.0  # the first stands


def test_a_batch_tells_what_became_of_each(client):
    ids = [decide(client)["id"] for _ in range(3)]
    batch = [
        {"id": ids[0], "state": {"seconds": 1.0}},
        {"id": ids[1], "failed": True},
        {"id": ids[0], "state": {"seconds": 1.0}},
        {"id": ids[2], "state": {"minutes": 1.0}},
        {"id": "unknown"},
        {"id": "lost", "arm": "beta", "context": {"tokens": 5}, "state": {"seconds": 9}},
        {"id": ids[2], "gave_up": True},
        {"id": "stranger", "state": {"seconds": 1.0}},
    ]
    told = observe(client, batch)
    assert (told["learned"], told["duplicates"], told["late"]) == (3, 1, 0)
    errors = {entry["index"]: entry["error"] for entry in told["rejected"]}
    assert {index: error["status"] for index, error in errors.items()} == {3: 422, 4: 422, 7: 404}
    assert "minutes" in errors[3]["detail"]
    assert errors[3]["field"] == "minutes"
    stats = client.get("/v1/problems/llm/stats").json()
    assert stats["outcomes"] == {"alpha": {"observed": 1}, "beta": {"failed": 1, "observed": 1}}
    assert (stats["gave_up"], stats["in_flight"]) == (1, 0)


def test_an_observation_that_names_its_arm_needs_no_decision(client):
    body = {"id": "x", "arm": "beta", "context": {"tokens": 1}, "state": {"seconds": 5}}
    assert observe(client, body)["learned"] == 1
    unnamed = observe(client, {"id": "y", "state": {"seconds": 5}}, status=404)
    assert "arm" in unnamed["detail"]


def test_a_late_observation_undoes_the_expiry(tmp_path):
    text = LINKS + "[router]\nexpires = 0.2\npoll = 0.02\n"
    with served(write_problem(tmp_path, text, "links.toml")) as client:
        decision = decide(client, "links", context={"bits": 2})
        wait_for(lambda: client.get("/v1/problems/links/stats").json()["expired"])
        told = observe(client, {"id": decision["id"], "state": {"capacity": 3}}, "links")
        assert (told["learned"], told["late"]) == (1, 1)


def test_eligible_arms_and_keys(client):
    assert decide(client, eligible=["beta"])["arm"] == "beta"
    arms = {decide(client, key="session-1")["arm"] for _ in range(5)}
    assert len(arms) == 1
    for eligible in ([], ["gamma"]):
        assert decide(client, eligible=eligible, status=422)["status"] == 422


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        (b"", 400, ""),
        (b"{", 400, ""),
        (b"[]", 422, ""),
        (b"[" * 100_000, 422, ""),
        (b'{"context": ' + b'{"a": ' * 50_000 + b"1" + b"}" * 50_001, 422, "context[...]"),
        (b"\xff\xfe", 400, ""),
        (b'{"context": {"tokens": "x"}}', 422, "tokens"),
        (b'{"context": {"tokens": NaN}}', 400, ""),
        (b'{"context": {"tokens": Infinity}}', 400, ""),
        (b'{"context": {"tokens": 1e999}}', 422, "context[...]"),
        (b'{"context": {"tokens": -5}}', 422, "tokens"),
        (b'{"context": {"tokens": ' + b"9" * 30 + b"}}", 422, "context.tokens"),
        (b'{"context": {"tokens": ' + b"9" * 5000 + b"}}", 422, "context[...]"),
        (b'{"context": {"tokens": null}}', 422, "context.tokens"),
        (b'{"context": {}}', 422, "tokens"),
        (b'{"context": {"tokens": 5, "id": 3}}', 422, "id"),
        (b'{"context": {"tokens": 5, "self": 3}}', 422, "self"),
        (b'{"contxt": {"tokens": 5}}', 422, "contxt"),
        (b'{"context": {"tokens": 5}, "id": ""}', 422, "id"),
        (b'{"context": {"tokens": 5}, "id": "' + b"x" * 201 + b'"}', 422, "id"),
        (b'{"context": {"tokens": 5}, "id": "a\\u0000b"}', 422, ""),
        (b'{"context": {"tokens": 5}, "eligible": "alpha"}', 422, "eligible"),
    ],
)
def test_a_bad_body_is_refused_with_its_field(untouched, body, status, field):
    headers = {"content-type": "application/json"}
    answer = untouched.post("/v1/problems/llm/decisions", content=body, headers=headers)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    details = answer.json()
    assert details["status"] == status
    assert details.get("field", "") == field
    assert details["detail"]
    assert untouched.get("/v1/problems/llm/stats").json()["in_flight"] == 0


@pytest.mark.parametrize(
    "body",
    [
        {"id": "1"},
        {"id": "1", "gave_up": True, "failed": True},
        {"id": "1", "arm": "gamma", "state": {"seconds": 1}, "context": {"tokens": 1}},
        {"id": "1", "arm": "beta", "state": {"seconds": "x"}, "context": {"tokens": 1}},
        {"id": "1", "arm": "beta", "state": {"reward": 1}, "context": {"tokens": 1}},
        {"arm": "beta", "state": {"seconds": 1}},
        [],
        [{"id": "1"}] * 10_001,
    ],
)
def test_a_bad_observation_changes_nothing(untouched, body):
    assert observe(untouched, body, status=422)["detail"]
    assert untouched.get("/v1/problems/llm/stats").json()["outcomes"] == {}


def test_a_value_outside_its_interval_is_clipped_and_counted(client):
    decision = decide(client)
    observe(client, {"id": decision["id"], "state": {"seconds": 99.0}})
    text = client.get("/metrics").text
    assert 'onepull_clipped_total{problem="llm",field="seconds"} 1' in text


def test_no_answer_has_infinite_numbers(client):
    answer = client.get("/v1/problems/llm/explain", params={"tokens": 1})
    assert "Infinity" not in answer.text
    assert "NaN" not in answer.text
    for row in answer.json()["arms"]:
        assert row["index"] is None or math.isfinite(row["index"])


def test_other_bodies_than_json_are_refused(client):
    for headers in ({}, {"content-type": "text/plain"}):
        answer = httpx.post(
            f"{client.base_url}/v1/problems/llm/decisions",
            content=b'{"context": {"tokens": 5}}', headers=headers,
        )  # fmt: skip
        assert answer.status_code == 415
    headers = {"content-type": "Application/JSON; charset=utf-8"}
    body = b'{"context": {"tokens": 5}}'
    found = client.post("/v1/problems/llm/decisions", content=body, headers=headers)
    assert found.status_code == 200


def test_a_problem_that_is_not_there(client):
    for path in ("nothing", "a%2Fb", "%00", "%ff", "x" * 300):
        answer = client.post(f"/v1/problems/{path}/decisions", json={})
        assert answer.status_code == 404
        assert answer.json()["status"] == 404


def test_the_place_of_a_batch_is_that_of_the_last_one_accepted(tmp_path):
    with served(write_problem(tmp_path)) as client:
        path = "/v1/problems/llm/observations"
        good = {"id": "a", "arm": "alpha", "state": {"seconds": 1}, "context": {"tokens": 9}}
        bad = {"id": "b", "arm": "gamma", "state": {"seconds": 1}}
        single = client.post(path, json=good).json()
        assert single["seq"] > 0
        more = client.post(path, json=[{**good, "id": "c"}, bad]).json()
        assert (more["seq"], len(more["rejected"])) == (single["seq"] + 1, 1)
        assert client.post(path, json=[good, bad]).json()["seq"] == single["seq"]  # a duplicate
        assert client.post(path, json=[bad]).json()["seq"] is None
        schema = client.get("/openapi.json").json()["components"]["schemas"]["ObservationsAnswer"]
        assert {"type": "null"} in schema["properties"]["seq"]["anyOf"]


def test_an_unknown_problem_does_not_stop_others(tmp_path):
    """Looking for it may have to wait for a change that takes long."""
    with served(write_problem(tmp_path)) as client, ThreadPoolExecutor(1) as pool:
        hosting = client.service._hosting
        client.service._next_look = 0.0
        assert pool.submit(hosting.acquire).result()
        try:
            assert client.get("/v1/problems/nobody/stats", timeout=5).status_code == 404
            client.service._next_look = 0.0
            assert client.get("/v1/problems", timeout=5).status_code == 200
            assert client.get("/health/live", timeout=5).status_code == 200
        finally:
            pool.submit(hosting.release).result()
