"""Problems, arms and controls that are changed while the service runs."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest
from serving import (
    ENDPOINTS,
    LINKS,
    add_keys,
    decide,
    observe,
    patch,
    served,
    wait_for,
    write_problem,
)

from onepull import Problem
from onepull.problem import toml_values
from onepull.service import Role

LINK = toml_values(LINKS, "links")["problem"]


def put(client, status, problem=LINK, name="links", headers=None, **more):
    body = {"problem": problem, "policy": "DCB", **more}
    answer = client.put(f"/v1/problems/{name}", json=body, headers=headers or {})
    assert answer.status_code == status, answer.text
    return answer


def test_a_problem_is_made_and_survives_a_restart(tmp_path):
    file = write_problem(tmp_path)
    with served(file) as client:
        made = put(client, 201, expires=7.5, on_expiry={"capacity": 0}).json()
        assert made["problem"] == Problem.from_dict(LINK).to_dict()
        assert (made["policy"], made["expires"]) == ("DCB", 7.5)
        decision = decide(client, "links", context={"bits": 4})
        observe(client, {"id": decision["id"], "state": {"capacity": 3}}, "links")
        before = client.get("/v1/problems/links").json()
    with served(file) as client:
        assert client.get("/v1/problems/links").json() == before
        names = [row["name"] for row in client.get("/v1/problems").json()["problems"]]
        assert names == ["links", "llm"]
        told = client.get("/v1/problems/links/explain", params={"bits": 4}).json()
        assert told["arms"][0]["estimate"] == 3.0


def test_a_problem_survives_its_events(tmp_path):
    """The events that define a problem are deleted like all others; a snapshot says the same."""
    file = write_problem(tmp_path)
    with served(file) as client:
        version = put(client, 201, keep=0, snapshot_every=1).headers["etag"]
        arms = {**LINK, "arms": ["wifi", "lte", "5g"]}
        put(client, 200, arms, headers={"if-match": version}, fallback="lte")
        router = client.service.problems["links"].router
        for _ in range(2):
            decision = decide(client, "links", context={"bits": 4})
            observe(client, {"id": decision["id"], "state": {"capacity": 3}}, "links")
            router.snapshot()
        assert router.store.first_sequence("links") > 2
        before = client.get("/v1/problems/links").json()
    with served(file) as client:
        assert client.get("/v1/problems/links").json() == before


def test_a_change_needs_the_present_version(client):
    version = put(client, 201).headers["etag"]
    put(client, 428)
    put(client, 412, headers={"if-match": '"other"'})
    put(client, 412, headers={"if-none-match": "*"})
    same = put(client, 200, headers={"if-match": version})
    assert same.headers["etag"] == version
    changed = put(
        client, 200, {**LINK, "arms": ["wifi", "lte", "5g"]}, headers={"if-match": version}
    )
    assert changed.json()["problem"]["arms"] == ["wifi", "lte", "5g"]
    assert changed.headers["etag"] != version
    put(client, 412, headers={"if-match": version})
    assert client.get("/v1/problems/links").headers["etag"] == changed.headers["etag"]
    put(client, 412, name="other", headers={"if-match": "*"})


def test_what_a_change_leaves_out_stays(client):
    settings = {
        "policy": {"name": "DCB", "epsilon": 0.5},
        "expires": 7.5,
        "on_expiry": {"capacity": 0},
        "fallback": "lte",
        "mode": "shadow",
        "sticky": 9,
        "keep": 1000,
    }
    made = put(client, 201, **settings)
    # A change at run time stays, too.
    patched = client.patch("/v1/problems/links/controls", json={"mode": "off"})
    assert patched.status_code == 200
    version = client.get("/v1/problems/links").headers["etag"]
    problem = {**LINK, "arms": ["wifi", "lte", "5g"]}
    changed = client.put(
        "/v1/problems/links", json={"problem": problem}, headers={"if-match": version}
    )
    assert changed.status_code == 200, changed.text
    told = {**made.json(), "mode": "off", "problem": Problem.from_dict(problem).to_dict()}
    assert {**changed.json(), "version": ""} == {**told, "version": ""}
    # A fallback that is no arm any more is not dropped silently.
    version, arms = changed.headers["etag"], {**LINK, "arms": ["wifi", "5g"]}
    refused = client.put(
        "/v1/problems/links", json={"problem": arms}, headers={"if-match": version}
    )
    assert "the fallback 'lte' is not an arm" in refused.json()["detail"]
    put(client, 200, arms, headers={"if-match": version}, fallback=None, mode="live")


def test_another_policy_learns_the_log_again(client):
    version = put(client, 201).headers["etag"]
    for capacity in (3, 1, 2):
        decision = decide(client, "links", context={"bits": 4})
        observe(client, {"id": decision["id"], "state": {"capacity": capacity}}, "links")
    before = client.get("/v1/problems/links/stats").json()["policy"]["arms"]
    after = put(client, 200, policy="UCB1", headers={"if-match": version}).json()
    assert after["policy"] == "UCB1"
    stats = client.get("/v1/problems/links/stats").json()["policy"]
    assert [row["pulls"] for row in stats["arms"]] == [row["pulls"] for row in before]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"problem": {}},
        {"problem": {**LINK, "reward": "min(bits, speed)"}},
        {"problem": {**LINK, "arms": []}},
        {"problem": LINK, "policy": "Nonsense"},
        {"problem": LINK, "policy": {"name": "DCB", "epsilon": -1}},
        {"problem": LINK, "policy": {"name": "DCB", "colour": 1}},
        {"problem": LINK, "policy": "os:system"},
        {"problem": LINK, "expires": 0},
        {"problem": LINK, "on_expiry": "explode"},
        {"problem": LINK, "on_expiry": "fail"},
        {"problem": LINK, "mode": "shadow"},
        {"problem": LINK, "fallback": "5g"},
        {"problem": LINK, "colour": "red"},
    ],
)
def test_a_bad_problem_is_refused_and_leaves_nothing(untouched, body):
    answer = untouched.put("/v1/problems/bad", json=body)
    assert answer.status_code == 422, answer.text
    assert untouched.get("/v1/problems/bad").status_code == 404


@pytest.mark.parametrize("name", ["a%20b", "-x", "x" * 65, "%2e%2e", "ä"])
def test_names_of_problems(untouched, name):
    assert untouched.put(f"/v1/problems/{name}", json={"problem": LINK}).status_code == 422


@pytest.mark.parametrize("arm", ["", "a" * 201, "a\0", "a\nb", "\x1b[2J"])
def test_names_of_arms(untouched, arm):
    put(untouched, 422, problem={**LINK, "arms": ["wifi", arm]})
    path = f"/v1/problems/llm/arms/{quote(arm, safe='')}"
    refused = untouched.put(path, json={"attributes": {"price": 1}})
    assert refused.status_code == 422
    assert "printable" in refused.json()["detail"]


def test_a_problem_with_more_arms_than_can_be_changed_in_time(untouched):
    arms = [f"arm{i}" for i in range(10_001)]
    told = put(untouched, 422, problem={**LINK, "arms": arms}).json()
    assert told["detail"].startswith(
        "a problem has at most 10,000 arms over HTTP, and would have 10,001"
    )


def test_pin_pause_drain_and_shares(client):
    patch(client, "controls", pin="beta")
    assert {decide(client)["arm"] for _ in range(5)} == {"beta"}
    stats = patch(client, "controls", pin=None)
    assert stats["controls"]["pinned"] is None
    patch(client, "arms/alpha", status="paused")
    assert {decide(client)["arm"] for _ in range(5)} == {"beta"}
    stats = patch(client, "arms/alpha", status="draining")
    assert stats["drained"] == ["alpha"]
    patch(client, "arms/alpha", status="active")
    stats = patch(client, "arms/beta", min_share=0.25)
    stats = patch(client, "arms/beta", max_share=0.5)
    assert stats["controls"]["shares"] == {"beta": {"least": 0.25, "most": 0.5}}
    assert patch(client, "arms/alpha", 422, min_share=0.9)["detail"]
    assert patch(client, "arms/gamma", 404, status="paused")["detail"]
    assert patch(client, "arms/alpha", 422, status="asleep")["field"] == "status"


def test_modes_and_the_fallback(client):
    stats = patch(client, "controls", mode="shadow", fallback="beta")
    assert (stats["mode"], stats["fallback"]) == ("shadow", "beta")
    decision = decide(client)
    assert (decision["arm"], decision["mode"]) == ("beta", "shadow")
    patch(client, "controls", mode="off")
    assert decide(client)["mode"] == "off"
    assert patch(client, "controls", 422, fallback="gamma")["detail"]
    assert patch(client, "controls", 422, fallback=None)["detail"]
    stats = patch(client, "controls", mode="live", fallback=None)
    assert (stats["mode"], stats["fallback"]) == ("live", None)


def test_the_reward_changes_without_forgetting(client):
    decision = decide(client)
    observe(client, {"id": decision["id"], "state": {"seconds": 4.0}})
    patch(client, "controls", reward="-2 * seconds")
    told = client.get("/v1/problems/llm/explain", params={"tokens": 5}).json()
    row = next(row for row in told["arms"] if row["arm"] == decision["arm"])
    assert row["estimate"] == -8.0
    refused = patch(client, "controls", 422, reward="-2 * minutes")
    assert "minutes" in refused["detail"]


def test_attributes_arms_that_come_and_go(client):
    patch(client, "arms/beta", attributes={"price": 0})
    found = client.get("/v1/problems/llm").json()["problem"]["arms"]
    assert found["beta"] == {"price": 0}
    path = "/v1/problems/llm/arms/gamma"
    assert client.put(path, json={"attributes": {"price": 2}}).status_code == 200
    assert client.put(path, json={"attributes": {"price": 2}}).status_code == 200  # again
    assert client.put(path, json={"attributes": {"price": 9}}).status_code == 409
    assert client.put("/v1/problems/llm/arms/delta", json={}).status_code == 422
    assert "gamma" in client.get("/v1/problems/llm").json()["problem"]["arms"]
    assert client.delete(path).status_code == 200
    assert client.delete(path).status_code == 404
    assert client.delete("/v1/problems/llm/arms/alpha").status_code == 422  # the fallback
    decision = decide(client, eligible=["beta"])
    client.delete("/v1/problems/llm/arms/beta")
    gone = observe(client, {"id": decision["id"], "state": {"seconds": 1}}, status=422)
    assert gone["type"].endswith("UnknownArm")


def test_the_log_says_who_changed_what(tmp_path):
    path, keys = add_keys(tmp_path)
    with served(write_problem(tmp_path), keys=str(path)) as client:
        headers = {"authorization": f"Bearer {keys[Role.ADMIN]}"}
        answer = client.patch(
            "/v1/problems/llm/arms/beta", json={"status": "paused"}, headers=headers
        )
        assert answer.status_code == 200
        lines = client.get("/v1/problems/llm/log", headers=headers).text.splitlines()
        events = [json.loads(line) for line in lines]
        assert [(event["event"], event.get("by")) for event in events] == [
            ("defined", None),
            ("paused", "admin"),
        ]


def test_the_log_is_read_from_anywhere(client):
    for _ in range(5):
        decision = decide(client)
        observe(client, {"id": decision["id"], "state": {"seconds": 1}})

    def events(**query):
        text = client.get("/v1/problems/llm/log", params=query).text
        return [json.loads(line) for line in text.splitlines()]

    everything = wait_for(lambda: len(found := events()) == 11 and found)
    assert [event["seq"] for event in everything] == list(range(1, 12))
    assert events(after=4, limit=3) == everything[4:7]
    assert events(after=11) == []


def test_settings_that_a_change_leaves_out_stay(tmp_path):
    more = {"sticky": 7.0, "snapshot_every": 123, "keep": 456}
    with served(write_problem(tmp_path)) as client:
        made = put(client, 201, **more).json()
        assert {name: made[name] for name in more} == more
        tag = {"If-Match": made["version"]}
        kept = put(client, 200, headers=tag, expires=9.0).json()
        assert {name: kept[name] for name in more} == more
        tag = {"If-Match": kept["version"]}
        changed = put(client, 200, headers=tag, keep=None, sticky=8.0).json()
        assert [changed[name] for name in more] == [8.0, 123, None]
        put(client, 422, headers={"If-Match": changed["version"]}, snapshot_every=0)
    with served(write_problem(tmp_path)) as client:
        again = client.get("/v1/problems/links").json()
        assert [again[name] for name in more] == [8.0, 123, None]


def test_a_change_keeps_the_settings_of_a_file(tmp_path):
    text = ENDPOINTS + "keep = 1000\nsticky = 5\nsnapshot_every = 77\n"
    with served(write_problem(tmp_path, text)) as client:
        before = client.get("/v1/problems/llm").json()
        body = {"problem": before["problem"], "expires": 11.0, "fallback": "alpha"}
        tag = {"If-Match": before["version"]}
        after = client.put("/v1/problems/llm", json=body, headers=tag).json()
        assert after["expires"] == 11.0
        for name in ("keep", "sticky", "snapshot_every"):
            assert after[name] == before[name] != 0
        assert (before["keep"], before["sticky"], before["snapshot_every"]) == (1000, 5.0, 77)


def test_a_kept_setting_that_does_not_fit_any_more_is_told(client):
    made = put(client, 201, on_expiry={"capacity": 0}, fallback=LINK["arms"][0]).json()
    tag = {"If-Match": made["version"]}
    renamed = {
        **LINK,
        "state": {"rate": LINK["state"]["capacity"]},
        "reward": LINK["reward"].replace("capacity", "rate"),
    }
    refused = put(client, 422, renamed, headers=tag, redefine=True).json()["detail"]
    assert "leaves out on_expiry, so {'capacity': 0} was kept: send on_expiry" in refused
    sent = {"redefine": True, "on_expiry": {"capacity": 0}}
    assert "kept" not in put(client, 422, renamed, headers=tag, **sent).json()["detail"]
    fewer = {**LINK, "arms": LINK["arms"][1:]}
    refused = put(client, 422, fewer, headers=tag).json()["detail"]
    assert "leaves out fallback, so it was kept: send fallback" in refused
    sent = {"fallback": LINK["arms"][0]}
    assert "kept" not in put(client, 422, fewer, headers=tag, **sent).json()["detail"]
    assert client.get("/v1/problems/links").json()["version"] == made["version"]
    put(client, 200, fewer, headers=tag, fallback=None)


def test_a_problem_does_not_become_another_one_by_mistake(tmp_path):
    with served(write_problem(tmp_path)) as client:
        made = put(client, 201).json()
        decision = decide(client, "links", context={"bits": 4})
        observe(client, {"id": decision["id"], "state": {"capacity": 3}}, "links")
        tag = {"If-Match": made["version"]}
        other = {**LINK, "arms": ["x", "y"]}
        refused = put(client, 422, problem=other, headers=tag).json()
        assert "none of its 1 outcomes could be kept" in refused["detail"]
        assert client.get("/v1/problems/links").json()["version"] == made["version"]
        put(client, 200, problem=other, headers=tag, redefine=True)
