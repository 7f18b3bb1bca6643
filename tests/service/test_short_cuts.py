"""Decisions and observations that take a short cut are answered as all others are."""

from __future__ import annotations

import json
import re
import socket
import threading
import time

import httpx
import pytest
from raw_requests import BODIES, CONTEXT, DECIDE, OBSERVE, connect, request
from serving import add_keys, client_of, decide, served, wait_for, write_problem

from onepull.service.keys import Role

HEADERS = {b"date", b"connection"}  # that may differ


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with served(write_problem(tmp_path_factory.mktemp("service"))) as client:
        yield client


LAST = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def answers(client, *parts):
    """Send requests on one connection; return the status, headers and body of each answer."""
    with connect(client) as connection:
        for part in (*parts, LAST):
            connection.sendall(part)
        *found, last = read(connection)
        assert last[0] == 200
        return found


def read(connection):
    text, found = b"", []
    while piece := connection.recv(1 << 16):
        text += piece
    while text:
        head, _, text = text.partition(b"\r\n\r\n")
        status, *lines = head.split(b"\r\n")
        headers = dict(line.lower().split(b": ", 1) for line in lines)
        length = int(headers[b"content-length"])
        found.append((int(status.split()[1]), headers, text[:length]))
        text = text[length:]
    return found


@pytest.mark.parametrize(("path", "body"), BODIES, ids=range(len(BODIES)))
def test_both_ways_give_the_same_answer(client, path, body):
    decide(client, id="known")
    client.post(OBSERVE, json={"id": "known", "state": {"seconds": 2}})
    # A chunked body, and a path with a query, take the way of all other requests.
    short, chunked, asked = answers(
        client,
        request(path, body),
        request(path, body, chunked=True),
        request(f"{path}?", body),
    )
    assert short[0] == chunked[0] == asked[0] < 500
    assert short[2] == chunked[2] == asked[2]
    for other in (chunked, asked):
        told = {name: value for name, value in other[1].items() if name not in HEADERS}
        assert {n: v for n, v in short[1].items() if n not in HEADERS} == told


def test_pipelined_requests_are_answered_in_order(client):
    """An observation waits for the disk; what comes after it on the same connection waits, too."""
    parts = []
    for i in range(30):
        parts += [
            request(DECIDE, {**CONTEXT, "id": f"line {i}"}),
            request(OBSERVE, {"id": f"line {i}", "state": {"seconds": i}}),
            b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n",
        ]
    found = answers(client, b"".join(parts))
    assert [status for status, _, _ in found] == [200] * 90
    told = [json.loads(body) for _, _, body in found]
    assert [one["id"] for one in told[::3]] == [f"line {i}" for i in range(30)]
    assert [one["learned"] for one in told[1::3]] == [1] * 30
    assert {one["status"] for one in told[2::3]} == {"live"}


def test_a_connection_ends_if_the_client_asks_for_it(client):
    for lines, version in ((("Connection: close",), "1.1"), ((), "1.0")):
        with connect(client) as connection:
            connection.sendall(request(DECIDE, CONTEXT, *lines, version=version))
            ((status, headers, _),) = read(connection)  # to the end of the connection
            assert status == 200
            assert headers[b"connection"] == b"close"


def test_a_body_that_is_waited_for(client):
    with connect(client) as connection:
        connection.sendall(request(DECIDE, b"", "Expect: 100-continue"))
        assert connection.recv(1000).startswith(b"HTTP/1.1 100")
    whole = request(DECIDE, CONTEXT)
    with connect(client) as connection:
        for i in range(0, len(whole), 7):
            connection.sendall(whole[i : i + 7])
            time.sleep(0.001)
        connection.sendall(LAST)
        assert [status for status, _, _ in read(connection)] == [200, 200]


def test_a_client_that_does_not_read_is_not_served_without_end(client):
    """Answers that nobody reads must not pile up in memory."""
    with connect(client, seconds=2.0) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        with pytest.raises(TimeoutError):
            connection.sendall(request(DECIDE, CONTEXT) * 200_000)
        assert client.get("/health/ready").status_code == 200


def test_a_client_that_leaves_before_the_answer(client):
    for i in range(20):
        with connect(client) as connection:
            connection.sendall(
                request(
                    OBSERVE, {"id": f"gone {i}", "arm": "beta", "state": {"seconds": 1}, **CONTEXT}
                )
            )
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    again = [{"id": f"gone {i}", "arm": "beta", "state": {"seconds": 1}} for i in range(20)]

    def are_stored():
        router = client.service.problems["llm"].router
        return all(router.store.answer("llm", one["id"]) for one in again)

    wait_for(are_stored)
    assert client.post(OBSERVE, json=again).json()["duplicates"] == 20


def test_keys_are_checked(tmp_path):
    path, keys = add_keys(tmp_path)
    with served(write_problem(tmp_path), keys=str(path)) as client:
        assert client.post(DECIDE, json=CONTEXT).status_code == 401
        for key, status in (
            ("wrong", 401), (keys[Role.READER], 403), (keys[Role.WRITER], 200),
            (keys[Role.ADMIN], 200),
        ):  # fmt: skip
            headers = {"authorization": f"Bearer {key}"}
            assert client.post(DECIDE, json=CONTEXT, headers=headers).status_code == status


def test_hosts_and_kinds_are_checked(tmp_path):
    with served(write_problem(tmp_path)) as client:
        wrong = request(DECIDE, CONTEXT).replace(b"Host: localhost", b"Host: elsewhere.example")
        assert [status for status, _, _ in answers(client, wrong)] == [421]
        other = request(DECIDE, CONTEXT).replace(b"application/json", b"text/plain")
        assert [status for status, _, _ in answers(client, other)] == [415]


def test_requests_are_counted_and_measured(tmp_path):
    with served(write_problem(tmp_path)) as client:
        for _ in range(3):
            decision = decide(client)
            client.post(OBSERVE, json={"id": decision["id"], "state": {"seconds": 1}})
        decide(client, status=422, context={})
        text = client.get("/metrics").text
        counts = dict(
            re.findall(r"^onepull_(\w+_duration_seconds_count) (\d+)$", text, re.MULTILINE)
        )
        assert counts == {
            "decide_duration_seconds_count": "3", "commit_duration_seconds_count": "3",
        }  # fmt: skip
        assert 'status="4xx"} 1' in text


def test_a_stop_waits_for_observations_on_their_way(tmp_path):
    with served(write_problem(tmp_path)) as client:
        done = []

        def load(name):
            with client_of(client.base_url) as own:
                for i in range(10_000):
                    body = {"id": f"{name}-{i}", "arm": "beta", "state": {"seconds": 1}, **CONTEXT}
                    try:
                        if own.post(OBSERVE, json=body).status_code == 200:
                            done.append(body["id"])
                    except httpx.TransportError:
                        return

        threads = [threading.Thread(target=load, args=(name,)) for name in range(4)]
        for thread in threads:
            thread.start()
        wait_for(lambda: len(done) > 50)
        store = client.service.problems["llm"].router.store.path
    for thread in threads:
        thread.join()
    with served(tmp_path / "llm.toml") as client:
        assert client.service.problems["llm"].router.store.path == store
        again = [{"id": id_, "arm": "beta", "state": {"seconds": 1}} for id_ in done]
        for start in range(0, len(again), 500):
            told = client.post(OBSERVE, json=again[start : start + 500]).json()
            assert told["duplicates"] == len(again[start : start + 500])
