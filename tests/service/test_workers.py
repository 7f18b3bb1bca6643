"""Processes: starting, draining, several workers on one log, and kills under load."""

from __future__ import annotations

import concurrent.futures
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from service_kills import children_of, killed_service
from serving import Process, add_keys, client_of, decide, observe, served, wait_for, write_problem

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

        def post(path, body):
            with client_of(f"{server.url}/v1/problems/llm") as client:
                return client.post(path, json=body)

        for _ in range(12):
            decision = post("/decisions", {"context": {"tokens": 9}}).json()
            told = {"id": decision["id"], "state": {"seconds": 1}}
            body = [told, {**told, "id": "unknown"}] if in_batches else told
            answer = post("/observations", body)
            assert answer.status_code == 200, answer.text
            assert answer.json()["learned"] == 1
            assert [each["index"] for each in answer.json()["rejected"]] == [1] * in_batches
        assert post("/observations", {**told, "id": "unknown"}).status_code == 404


def test_a_decision_of_another_service_with_the_same_log_is_known_at_once(tmp_path):
    file = write_problem(tmp_path)
    with served(file) as here, served(file) as there:
        for _ in range(4):
            told = {"id": decide(here)["id"], "state": {"seconds": 1}}
            assert observe(there, told)["learned"] == 1
            told = {"id": decide(there)["id"], "state": {"seconds": 1}}
            assert observe(here, [told])["learned"] == 1


def test_workers_share_what_they_learn(tmp_path):
    file = write_problem(tmp_path)
    with Process(file, "--workers", 2) as server:

        def one(number):
            with client_of(server.url) as client:
                decision = decide(client)
                observe(client, {"id": decision["id"], "state": {"seconds": number % 7}})
                return decision["id"]

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            ids = list(pool.map(one, range(60)))

        def told():
            """What several connections, and so both workers, say."""
            answers = []
            for _ in range(8):
                with client_of(server.url) as client:
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
            with client_of(server.url) as client:
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


IMPATIENT = """
from onepull.cli import main
from onepull.service.running import workers
workers.RETRIED_AFTER = 0.5
main()
"""


class Impatient(Process):
    """A service that starts a worker again soon whose file was wrong, not after 5 seconds."""

    program = "-c", IMPATIENT


def test_sighup_renews_workers_one_by_one_and_never_stops_what_is_served(tmp_path):
    """A service keeps answering while its workers are renewed, also if its file is wrong then."""
    file = write_problem(tmp_path)
    with Impatient(file, "--workers", 2) as server:

        def told(message):
            return [each["message"] for each in server.messages].count(message)

        server.process.send_signal(signal.SIGHUP)
        slowest = 0.0
        # Without a pause: some connections are then new when their worker is told to stop.
        while not told("renewed"):
            begin = time.monotonic()
            with client_of(server.url) as client:  # and a new connection
                decide(client)
            slowest = max(slowest, time.monotonic() - begin)
            assert told("stopped") <= 2
        assert told("stopped") == 2
        text = file.read_text()
        file.write_text(text.replace("failure", "failuer"))
        server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: told("the workers go on as they are"))
        # Even a worker that ends now takes nobody with it, and is started when the file is right.
        victim, survivor = children_of(server.process.pid)
        os.kill(victim, signal.SIGKILL)
        wait_for(lambda: told("a worker ended") == 2)
        decide(server.client)
        assert survivor in children_of(server.process.pid)
        file.write_text(text)
        wait_for(lambda: len(children_of(server.process.pid)) == 2)
        decide(server.client)


def test_workers_that_are_renewed_listen_where_they_did_and_need_the_same_keys(tmp_path):
    """A socket that others can reach must not lose its keys because the file names another host."""
    file = write_problem(tmp_path)
    text = file.read_text()
    file.write_text(f'{text}[service]\nhost = "0.0.0.0"\nworkers = 2\n')
    path, _ = add_keys(tmp_path)
    with Process(file) as server:

        def told(message):
            return [each["message"] for each in server.messages].count(message)

        path.unlink()  # a service that listens on loopback needs none
        file.write_text(f'{text}[service]\nhost = "127.0.0.1"\nworkers = 3\n')
        server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: told("the workers go on as they are") or told("renewed"))
        assert not told("renewed")


@pytest.fixture
def hanging_up():
    """Let a hang-up reach the service, which respects it if a shell ignores them, as nohup does."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("hanging_up")
def test_sighup_drains_a_single_worker(tmp_path):
    with Process(write_problem(tmp_path)) as server:
        decide(server.client)
        assert server.end(signal.SIGHUP) == 0
        assert server.messages[-1]["message"] == "stopped"


def test_a_second_interrupt_ends_the_wait_and_not_the_log(tmp_path):
    """Decisions are recorded in the background, so a service in a hurry still closes its log."""
    with Process(write_problem(tmp_path)) as server:
        with socket.create_connection(("127.0.0.1", httpx.URL(server.url).port)) as slow:
            slow.sendall(b"POST /v1/problems/llm/what-if HTTP/1.1\r\nHost: localhost\r\n")
            slow.sendall(b"Content-Type: application/json\r\nContent-Length: 20\r\n\r\n{")
            time.sleep(0.2)
            decision = decide(server.client)
            begin = time.monotonic()
            server.process.send_signal(signal.SIGINT)
            time.sleep(0.3)
            assert server.process.poll() is None
            assert server.end(signal.SIGINT) == 0
            assert b"503" in slow.recv(100)
        assert time.monotonic() - begin < 10  # of 20 s that it may wait
        assert [each for each in server.messages if each.get("traceback")] == []
    with Router.open(tmp_path / "llm.toml") as router:
        assert decision["id"] in [getattr(event, "id", "") for event in router.log()]


@pytest.mark.parametrize("workers", [1, 2])
def test_systemd_is_told_when_requests_are_answered(tmp_path, workers):
    path = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
        heard.bind(path)
        heard.settimeout(60)
        options = ("--workers", workers)
        with Process(write_problem(tmp_path), *options, env={"NOTIFY_SOCKET": path}) as server:
            assert heard.recv(100) == b"READY=1"
            decide(server.client)
            assert server.end() == 0
        heard.setblocking(False)
        with pytest.raises(BlockingIOError):
            heard.recv(100)


def test_nothing_is_compiled_unless_that_is_wanted():
    code = "import sys, onepull.cli.serve; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("arguments", [[], ["--check"]])
def test_the_password_of_a_database_is_not_told(tmp_path, arguments):
    """Nobody listens there, so the service tells what it would use, and ends."""
    store = "postgresql://ada:s3cret@127.0.0.1:1/routers?sslpassword=s3cret"
    command = [sys.executable, "-m", "onepull", "serve", str(write_problem(tmp_path))]
    done = subprocess.run(
        [*command, "--port", "0", "--store", store, *arguments],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode != 0
    told = done.stdout + done.stderr
    assert "s3cret" not in told
    assert "Postgres" in told
    if not arguments:
        assert "postgresql://ada:…@127.0.0.1:1/routers" in told


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
