"""Processes: starting, draining, several workers on one log, and kills under load."""

from __future__ import annotations

import concurrent.futures
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from service_kills import children_of, killed_service
from serving import Process, decide, observe, wait_for, write_problem

from onepull.router import Router
from onepull.store import Observed


def stored(path):
    """Return the ids of all observations in a log."""
    with sqlite3.connect(path) as database:
        assert database.execute("pragma integrity_check").fetchone() == ("ok",)
    with Router.open(path.parent / "llm.toml", store=path) as router:
        return [event.id for event in router.log() if isinstance(event, Observed)]


def test_sigterm_drains_and_nothing_is_lost(tmp_path):
    file = write_problem(tmp_path)
    with Process(file) as server:
        decision = decide(server.client)
        observe(server.client, {"id": decision["id"], "state": {"seconds": 1}})
        with httpx.stream("GET", f"{server.url}/events", timeout=20) as stream:
            lines = stream.iter_lines()
            next(lines)
            begin = time.monotonic()
            server.process.send_signal(signal.SIGTERM)
            assert len(list(lines)) < 50  # the stream ends
        assert server.process.wait(20) == 0
        assert time.monotonic() - begin < 15
    assert server.messages[-1]["message"] == "stopped"
    with Process(file) as server:
        stats = server.client.get("/v1/problems/llm/stats").json()
        assert stats["outcomes"] == {decision["arm"]: {"observed": 1}}
        assert server.end(signal.SIGINT) == 0


@pytest.mark.parametrize("in_batches", [False, True])
def test_a_decision_of_another_worker_is_known_at_once(tmp_path, in_batches):
    """Each request is a connection of its own, so about half of them get to the other worker."""
    with Process(write_problem(tmp_path), "--workers", 2) as server:
        problem = f"{server.url}/v1/problems/llm"
        for _ in range(12):
            decision = httpx.post(f"{problem}/decisions", json={"context": {"tokens": 9}}).json()
            told = {"id": decision["id"], "state": {"seconds": 1}}
            body = [told, {**told, "id": "unknown"}] if in_batches else told
            answer = httpx.post(f"{problem}/observations", json=body)
            assert answer.status_code == 200, answer.text
            assert answer.json()["learned"] == 1
            assert [each["index"] for each in answer.json()["rejected"]] == [1] * in_batches
        unknown = httpx.post(f"{problem}/observations", json={**told, "id": "unknown"})
        assert unknown.status_code == 404


def test_workers_share_what_they_learn(tmp_path):
    file = write_problem(tmp_path)
    with Process(file, "--workers", 2) as server:

        def one(number):
            with httpx.Client(base_url=server.url, timeout=20) as client:
                decision = decide(client)
                observe(client, {"id": decision["id"], "state": {"seconds": number % 7}})
                return decision["id"]

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            ids = list(pool.map(one, range(60)))

        def told():
            """What several connections, and so both workers, say."""
            answers = []
            for _ in range(8):
                with httpx.Client(base_url=server.url, timeout=20) as client:
                    stats = client.get("/v1/problems/llm/stats").json()
                    answers.append((stats["policy"]["trials"], stats["in_flight"]))
            return set(answers) == {(60, 0)}

        wait_for(told)
        made = server.client.put(
            "/v1/problems/new", json={"problem": {"arms": ["a"], "reward": "x",
                                                  "state": {"x": {"low": 0, "high": 1}}}},
        )  # fmt: skip
        assert made.status_code == 201

        def is_known():
            with httpx.Client(base_url=server.url, timeout=20) as client:
                return client.get("/v1/problems/new").status_code == 200

        for _ in range(6):
            wait_for(is_known)
        counted = server.client.get("/metrics").text
        assert "onepull_decide_duration_seconds_count 60" in counted  # of both workers
        assert server.end() == 0
    assert sorted(stored(tmp_path / "router.db")) == sorted(ids)


def test_a_worker_that_is_killed_is_started_again(tmp_path):
    with Process(write_problem(tmp_path), "--workers", 2) as server:
        children = children_of(server.process.pid)
        assert len(children) == 2
        os.kill(children[0], signal.SIGKILL)
        wait_for(lambda: any(m["message"] == "a worker ended" for m in server.messages))
        wait_for(lambda: len(children_of(server.process.pid)) == 2)
        server.wait_until_ready()
        assert server.end() == 0


def test_workers_end_with_their_parent(tmp_path):
    with Process(write_problem(tmp_path), "--workers", 2) as server:
        children = children_of(server.process.pid)
        server.end(signal.SIGKILL)
        wait_for(lambda: not any(is_running(child) for child in children))


def is_running(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("workers", [1, 3])
def test_what_was_acknowledged_survives_kills(tmp_path, workers):
    killing = killed_service(tmp_path, seed=workers, workers=workers, starts=2)
    assert killing.kills == (2 if workers == 1 else 14)
    assert len(killing.acknowledged) > 100


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["missing.toml"], "missing.toml"),
        (["--host", "192.0.2.1"], "needs keys"),
        (["--port", "70000"], "--port"),
        (["--workers", "2"], "--store"),
        (["--keys", "damaged.json"], "not a file of keys"),
        (["bad.toml"], "bad.toml"),
        (["."], "two files describe the problem"),
    ],
)
def test_what_is_wrong_is_told_before_anything_starts(tmp_path, arguments, said):
    (tmp_path / "damaged.json").write_text("{")
    (tmp_path / "bad.toml").write_text("[problem]\narms = []\n")
    (tmp_path / "one").mkdir()
    if arguments == ["."]:
        (tmp_path / "bad.toml").unlink()
        text = write_problem(tmp_path, name="a.toml").read_text()
        for name in "ab":
            named = text.replace("[router]", '[router]\nname = "x"')
            (tmp_path / f"{name}.toml").write_text(named)
    command = [sys.executable, "-m", "onepull", "serve", *arguments]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "router.db").exists()


@pytest.mark.parametrize("workers", [1, 2])
def test_decisions_are_compiled_if_that_is_wanted(tmp_path, workers):
    pytest.importorskip("numba")
    file = write_problem(tmp_path)
    with Process(file, "--compile", "--workers", workers) as server:
        for number in range(20):
            decision = decide(server.client)
            observe(server.client, {"id": decision["id"], "state": {"seconds": number % 7}})

        def compiled():
            told = [message["message"] for message in server.messages]
            return told.count("decisions are compiled") == workers

        wait_for(compiled)  # the second worker may still be starting


def test_nothing_is_compiled_unless_that_is_wanted():
    code = "import sys, onepull.cli.serve; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_an_address_that_is_taken(tmp_path):
    with Process() as server:
        port = httpx.URL(server.url).port
        command = [sys.executable, "-m", "onepull", "serve", "--port", str(port)]
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 2
        assert "cannot listen on 127.0.0.1" in done.stderr
        names = [row["name"] for row in server.client.get("/v1/problems").json()["problems"]]
        assert names == ["demo"]
        wait_for(lambda: server.client.get("/v1/problems/demo/stats").json()["policy"]["trials"])


def test_settings_of_the_environment_and_a_folder(tmp_path):
    folder = tmp_path / "problems"
    folder.mkdir()
    write_problem(folder, name="a.toml")
    write_problem(folder, name="b.toml")
    (folder / "service.toml").write_text("log_requests = true\n")
    store = tmp_path / "elsewhere.db"
    with Process(folder, env={"ONEPULL_STORE": str(store)}) as server:
        assert [row["name"] for row in server.client.get("/v1/problems").json()["problems"]] == [
            "a",
            "b",
        ]
        for name in "ab":
            decision = decide(server.client, name)
            observe(server.client, {"id": decision["id"], "state": {"seconds": 1}}, name)
        server.end()
    assert store.exists()
    requests = [m for m in server.messages if m["message"] == "request"]
    assert {m["status"] for m in requests} >= {200}
    assert all(m["time"].endswith("Z") for m in server.messages)
