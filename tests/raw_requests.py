"""Decisions and observations as they are sent over a socket."""

from __future__ import annotations

import json
import socket

import httpx

DECIDE, OBSERVE = "/v1/problems/llm/decisions", "/v1/problems/llm/observations"
CONTEXT = {"context": {"tokens": 100}}

BODIES = [
    (DECIDE, {**CONTEXT, "id": "known"}),
    (DECIDE, {"context": {"tokens": 7}, "id": "known"}),  # of another request: 422
    (DECIDE, {"context": {"tokens": -1}}),
    (DECIDE, {"context": {}}),
    (DECIDE, {**CONTEXT, "eligible": ["gamma"]}),
    (DECIDE, {"context": {"tokens": 1, "key": 3}}),
    (DECIDE, b"{"),
    (DECIDE, b"[]"),
    (DECIDE, b"[" * 5000),
    (DECIDE, b"\xff"),
    (OBSERVE, {"id": "known", "state": {"seconds": 2}}),
    (OBSERVE, {"id": "known", "state": {"seconds": 3}}),  # another outcome: 409
    (OBSERVE, {"id": "unknown", "state": {"seconds": 2}}),
    (OBSERVE, {"id": "known"}),
    (OBSERVE, {"id": "known", "state": {"seconds": 2}, "gave_up": True}),
    (OBSERVE, [{"id": "known", "state": {"seconds": 2}}, {"id": "unknown", "failed": True}]),
    (OBSERVE, []),
]


def connect(client, seconds=20.0):
    url = httpx.URL(str(client.base_url))
    return socket.create_connection((url.host, url.port), timeout=seconds)


def request(path, body, *lines, version="1.1", chunked=False):
    """Return a request as it is sent."""
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = [f"POST {path} HTTP/{version}", "Host: localhost", "Content-Type: application/json"]
    if chunked:
        text = b"%x\r\n%s\r\n0\r\n\r\n" % (len(text), text)
        head.append("Transfer-Encoding: chunked")
    else:
        head.append(f"Content-Length: {len(text)}")
    return "\r\n".join([*head, *lines, "", ""]).encode() + text
