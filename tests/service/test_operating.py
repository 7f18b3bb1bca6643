"""Live messages, metrics, health, the dashboard's files, curves and timelines."""

from __future__ import annotations

import json
import logging
import re
import time
from typing import Any

import pytest
from serving import ENDPOINTS, decide, observe, served, wait_for, write_problem

from onepull import StoreError
from onepull.service.http.static_files import FOLDER, StaticFiles


def messages(stream):
    """Yield the live messages of a stream."""
    event: dict[str, str] = {}
    for line in stream.iter_lines():
        if not line and "data" in event:
            yield event["event"], int(event["id"]), json.loads(event["data"])
            event = {}
        elif ": " in line:
            name, _, value = line.partition(": ")
            event[name] = value


def test_decisions_and_changes_are_told_live(client):
    with client.stream("GET", "/events", params={"problem": "llm"}) as stream:
        assert stream.headers["content-type"] == "text/event-stream"
        decision = decide(client)
        observe(client, {"id": decision["id"], "state": {"seconds": 1.5}})
        client.patch("/v1/problems/llm/controls", json={"pin": "beta"})
        seen: dict[str, list[dict[str, Any]]] = {}
        last = 0
        for event, number, data in messages(stream):
            assert (event, data["problem"]) == ("tick", "llm")
            assert number > last
            last = number
            for kind in ("decisions", "observations", "changes"):
                seen.setdefault(kind, []).extend(data[kind])
            if seen["changes"]:
                break
    assert [row["id"] for row in seen["decisions"]] == [decision["id"]]
    assert seen["observations"][0]["state"] == {"seconds": 1.5}
    assert seen["changes"][0]["event"] == "pinned"


def test_streams_are_limited_and_end_with_the_service(tmp_path):
    file = write_problem(tmp_path)
    file.write_text(file.read_text() + "[service]\nstreams = 1\n")
    with served(file) as client, client.stream("GET", "/events") as stream:
        lines = stream.iter_lines()
        next(lines)
        assert client.get("/events").status_code == 503
        assert client.get("/events?problem=none").status_code == 404
        assert client.head("/events").status_code == 503
        client.service.subscribers.close()
        assert len(list(lines)) < 5
    # The service has stopped although a stream was open.


def test_a_stream_that_is_left_is_forgotten(client):
    for _ in range(3):
        with client.stream("GET", "/events") as stream:
            lines = stream.iter_lines()
            next(lines)
    wait_for(lambda: "onepull_event_streams 0" in client.get("/metrics").text)


def test_metrics_are_from_the_log(tmp_path):
    file = write_problem(tmp_path)
    with served(file) as client:
        for seconds in (1.0, 2.0, 3.0):
            decision = decide(client)
            observe(client, {"id": decision["id"], "state": {"seconds": seconds}})
        observe(client, {"id": decide(client)["id"], "failed": True})
        decide(client, status=422, context={})
        before = client.get("/metrics")
    assert before.headers["content-type"].startswith("text/plain; version=0.0.4")
    numbers = samples(before.text)
    assert sum(v for k, v in numbers.items() if k.startswith("onepull_decisions_total")) == 4
    assert sum(v for k, v in numbers.items() if 'outcome="failed"' in k) == 1
    assert numbers["onepull_decide_duration_seconds_count"] == 4
    assert numbers["onepull_commit_duration_seconds_count"] == 4
    assert numbers['onepull_requests_total{status="4xx"}'] == 1
    assert numbers["onepull_store_healthy"] == 1
    newest = numbers['onepull_last_observation_timestamp_seconds{problem="llm"}']
    assert abs(newest - time.time()) < 60
    with served(file) as client:
        after = samples(client.get("/metrics").text)
    for name, value in numbers.items():
        if name.startswith(("onepull_decisions_total", "onepull_observations_total")):
            assert after[name] == value


def samples(text):
    """Return the samples of a page of metrics, after checking its form."""
    found, kinds = {}, {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            assert name not in kinds
            kinds[name] = kind
        elif not line.startswith("#"):
            match = re.fullmatch(r'([a-z_]+)(\{(?:[a-z]+="(?:[^"\\\n]|\\.)*",?)+\})? (\S+)', line)
            assert match, line
            base = re.sub("_(bucket|sum|count)$", "", match.group(1))
            assert match.group(1) in kinds or kinds[base] == "histogram"
            assert match.group(1) + (match.group(2) or "") not in found
            found[match.group(1) + (match.group(2) or "")] = float(match.group(3))
    return found


def test_odd_names_are_quoted_in_metrics(tmp_path):
    text = """
    [problem]
    arms = ['say "x"', 'back\\slash', 'new line']
    reward = "x"
    state = {x = {low = 0, high = 1}}
    """
    with served(write_problem(tmp_path, text, "odd.toml")) as client:
        for _ in range(3):
            decision = decide(client, "odd", context={})
            observe(client, {"id": decision["id"], "state": {"x": 0.5}}, "odd")
        found = samples(client.get("/metrics").text)
        assert len([name for name in found if "decisions" in name]) == 3


def test_readiness_follows_the_store(client):
    assert client.get("/health/ready").status_code == 200
    client.service.drain()
    answer = client.get("/health/ready")
    assert (answer.status_code, answer.json()) == (503, {"status": "draining"})
    assert client.get("/health/live").status_code == 200


def test_a_log_that_cannot_be_written_is_told_once_with_the_reason(tmp_path, client, caplog):
    decision = decide(client)
    body = {"id": decision["id"], "state": {"seconds": 1}}
    path, aside = tmp_path / "router.db", tmp_path / "aside.db"

    def told(message):
        return [record for record in caplog.records if record.message == message]

    with caplog.at_level(logging.INFO, "onepull.service"):
        path.rename(aside)
        for _ in range(3):
            observe(client, body, status=503)
        assert client.get("/health/ready").status_code == 503
        wait_for(lambda: told("the log cannot be written"))
        aside.rename(path)
        assert observe(client, body)["learned"] == 1
        wait_for(lambda: told("the log can be written again"))
        assert client.get("/health/ready").status_code == 200
    (record,) = told("the log cannot be written")
    assert "removed or replaced" in record.fields["reason"]


def test_an_outage_of_the_log_is_told_once(client, monkeypatch, caplog):
    hosted = client.service.problems["llm"]
    works, calls = hosted.tick, []

    def fails():
        calls.append(1)
        raise StoreError("the log in Postgres cannot be reached")

    with caplog.at_level(logging.WARNING, "onepull.service"):
        monkeypatch.setattr(hosted, "tick", fails)
        wait_for(lambda: len(calls) >= 3)
    assert [record.message for record in caplog.records] == ["the log cannot be read"]
    assert caplog.records[0].exc_info is None  # no traceback either
    with caplog.at_level(logging.INFO, "onepull.service"):
        monkeypatch.setattr(hosted, "tick", works)
        wait_for(lambda: caplog.records[-1].message == "the log can be read again")


def test_curves_have_estimates_and_intervals(client):
    empty = client.get("/v1/problems/llm/curves").json()
    assert empty["curves"][0]["estimate"] == [None] * 40
    assert empty["best"] == [None] * 40
    seconds = [float(s) for s in range(1, 31)]
    batch = [
        {"id": f"{arm}{s}", "arm": arm, "context": {"tokens": 1}, "state": {"seconds": s}}
        for arm in ("alpha", "beta") for s in seconds
    ]  # fmt: skip
    observe(client, batch)
    found = client.get("/v1/problems/llm/curves", params={"points": 3, "field": "tokens"}).json()
    assert found["points"] == [1.0, 2000.5, 4000.0]
    assert found["best"] == ["alpha"] * 3  # the cheaper one
    curve = found["curves"][1]
    for tokens, estimate in zip(found["points"], curve["estimate"], strict=True):
        told = client.get("/v1/problems/llm/explain", params={"tokens": tokens}).json()
        assert estimate == told["arms"][1]["estimate"]
    # The states rise, so the policy believes in a change, and older ones count for less.
    half_life = client.get("/v1/problems/llm/warnings").json()["half_life"]
    weights = [0.5 ** (age / half_life) for age in reversed(range(len(seconds)))]
    total = sum(weights)
    mean = sum(w * s for w, s in zip(weights, seconds, strict=True)) / total
    square = sum(w * (s - mean) ** 2 for w, s in zip(weights, seconds, strict=True)) / total
    error = 1.96 * (square * total / (total - 1) / total) ** 0.5
    assert curve["error"] == pytest.approx([error] * 3, rel=1e-9)
    assert curve["states"] == len(seconds)
    for query in ("field=colour", "points=1", "points=x", "points=201"):
        assert client.get(f"/v1/problems/llm/curves?{query}").status_code == 422


def test_the_log_that_a_file_names_is_the_only_one(tmp_path):
    text = ENDPOINTS.replace("[router]\n", '[router]\nstore = "mine.db"\n')
    with served(write_problem(tmp_path, text)) as client:
        observe(client, {"id": "one", "arm": "alpha", "state": {"seconds": 2.0}})
        definition = {"problem": client.get("/v1/problems/llm").json()["problem"]}
        assert client.put("/v1/problems/other", json=definition).status_code == 201
    assert {path.name for path in tmp_path.glob("*.db")} == {"mine.db"}


def test_the_timeline_counts_what_happened(tmp_path):
    file = write_problem(tmp_path)
    with served(file) as client:
        decision = decide(client)
        observe(client, {"id": decision["id"], "state": {"seconds": 2.0}})
        other = decide(client)
        observe(client, {"id": other["id"], "failed": True})

        def spans(client):
            told = client.get("/v1/problems/llm/timeline", params={"seconds": 60}).json()
            return told if sum(map(sum, (a["decisions"] for a in told["arms"].values()))) else None

        found = wait_for(lambda: spans(client))
    with served(file) as client:  # the same after a restart
        again = spans(client)
    for told in (found, again):
        assert told["width"] == 1.0
        arms = told["arms"]
        assert sum(arms[decision["arm"]]["observations"]) == 1
        rewards = [value for value in arms[decision["arm"]]["reward"] if value is not None]
        assert rewards == [pytest.approx(-2.1)]
        assert sum(arms[other["arm"]]["failures"]) == 1
        assert [v for v in arms[other["arm"]]["reward"] if v is not None] == [-30.0]


def test_files_have_a_strict_policy_and_etags(tmp_path, client):
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "index.html").write_text("<!doctype html><title>x</title>")
    (tmp_path / "web" / "app.js").write_text("1")
    (tmp_path / "web" / "secret.py").write_text("x")
    (tmp_path / "outside.js").write_text("x")
    client.service.files = StaticFiles(tmp_path / "web")
    page = client.get("/")
    assert page.status_code == 200
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert page.headers["x-content-type-options"] == "nosniff"
    for _ in range(20):  # on one connection
        again = client.get("/", headers={"if-none-match": page.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
    assert client.get("/app.js").headers["content-type"].startswith("text/javascript")
    head = client.head("/app.js")
    assert (head.status_code, head.headers["content-length"], head.content) == (200, "1", b"")
    for path in ("/secret.py", "/../outside.js", "/%2e%2e/outside.js", "/web/app.js"):
        assert client.get(path).status_code == 404
    (tmp_path / "web" / "app.js").write_text("22")
    assert client.get("/app.js").text == "22"


def test_no_page_has_inline_code_or_another_host():
    for file in FOLDER.rglob("*.html"):
        text = file.read_text()
        assert not re.search(r"<script(?![^>]*\bsrc=)", text), file
        assert not re.search(r"\son[a-z]+\s*=|\sstyle\s*=|<style", text), file
        assert not re.search(r"(?:src|href)=[\"']?(?:https?:)?//", text), file
