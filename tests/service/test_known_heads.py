"""A head that was read before is not read again, and its request is answered as the first was."""

from __future__ import annotations

import json
import time

import pytest
from raw_requests import BODIES, CONTEXT, DECIDE, OBSERVE, connect, request
from serving import add_keys, served, write_problem

from onepull.service.keys import Role, revoke_key


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with served(write_problem(tmp_path_factory.mktemp("service"))) as client:
        yield client


def ask(connection, data):
    """Send a request; return the status and the body of its answer."""
    connection.sendall(data)
    text = b""
    while b"\r\n\r\n" not in text:
        text += connection.recv(1 << 16)
    head, _, body = text.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
    while len(body) < length:
        body += connection.recv(1 << 16)
    return int(head.split()[1]), body


@pytest.mark.parametrize(("path", "body"), BODIES, ids=range(len(BODIES)))
def test_the_same_answer_again(client, path, body):
    with connect(client) as connection:
        ask(connection, request(DECIDE, {**CONTEXT, "id": "known"}))
        ask(connection, request(OBSERVE, {"id": "known", "state": {"seconds": 2}}))
        ask(connection, request(path, body))  # may be the first of its kind
        with connect(client) as other:
            first = ask(other, request(path, body, "X-New: yes"))  # a head that is not known
        assert [ask(connection, request(path, body)) for _ in range(3)] == [first] * 3


def test_every_decision_is_another(client):
    with connect(client) as connection:
        told = [json.loads(ask(connection, request(DECIDE, CONTEXT))[1]) for _ in range(20)]
    assert len({one["id"] for one in told}) == 20


def test_known_heads_in_pieces_and_in_rows(client):
    """Only a request that arrives alone and in one piece is recognised."""
    whole = request(DECIDE, CONTEXT)
    with connect(client) as connection:
        for _ in range(3):
            assert ask(connection, whole)[0] == 200
        connection.sendall(whole[:-3])
        time.sleep(0.05)
        assert ask(connection, whole[-3:])[0] == 200
        assert ask(connection, whole)[0] == 200
        connection.sendall(whole * 3 + whole[:40])
        count = 0
        while count < 3:
            count += connection.recv(1 << 16).count(b"HTTP/1.1 200")
        assert ask(connection, whole[40:])[0] == 200


def test_a_body_of_another_length_than_the_head_says(client):
    whole = request(DECIDE, CONTEXT)
    with connect(client) as connection:
        assert [ask(connection, whole)[0] for _ in range(3)] == [200] * 3
        assert ask(connection, whole + b"no HTTP\r\n\r\n")[0] == 200  # and what follows is refused
        text = b""
        while piece := connection.recv(1 << 16):
            text += piece
        assert b"400" in text or not text


def test_a_known_head_with_a_key_that_was_revoked(tmp_path):
    path, keys = add_keys(tmp_path)
    with (
        served(write_problem(tmp_path), keys=str(path)) as client,
        connect(client) as connection,
    ):
        asked = request(DECIDE, CONTEXT, f"Authorization: Bearer {keys[Role.WRITER]}")
        assert [ask(connection, asked)[0] for _ in range(3)] == [200] * 3
        revoke_key(path, "writer")
        until = time.monotonic() + 20
        while ask(connection, asked)[0] == 200:
            assert time.monotonic() < until
        assert ask(connection, asked)[0] == 401


def test_a_connection_is_closed_when_it_is_idle_and_not_before(tmp_path):
    with served(write_problem(tmp_path), idle=1) as client, connect(client) as connection:
        until = time.monotonic() + 2.5  # longer than it may be idle
        while time.monotonic() < until:
            assert ask(connection, request(DECIDE, CONTEXT))[0] == 200
            time.sleep(0.1)
        assert connection.recv(1000) == b""  # closed, before its own time limit
