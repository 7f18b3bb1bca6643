"""What arrives from strangers: malformed HTTP, slow and long requests, too many of them."""

from __future__ import annotations

import gzip
import re
import socket
import time
from typing import Any

import httpx
import pytest
from serving import served, write_problem

from onepull.service.http.routes import ROUTES

HOST = b" HTTP/1.1\r\nHost: localhost\r\n"
HEAD, POST = b"GET /health/live" + HOST, b"POST /" + HOST
TYPE = b"Content-Type: application/json\r\n"
DECIDE = b"POST /v1/problems/llm/decisions" + HOST + TYPE
OBSERVE = b"POST /v1/problems/llm/observations" + HOST + TYPE


@pytest.fixture(scope="module")
def strict(tmp_path_factory):
    folder = tmp_path_factory.mktemp("strict")
    file = write_problem(folder)
    limits = "seconds = 0.5\nhead = 4096\nbody = 100000\nconnections = 20\nidle = 3\n"
    file.write_text(f"{file.read_text()}[service]\n{limits}")
    with served(file) as client:
        yield client


def talk(client, *parts, pause=0.0, seconds=10.0):
    """Send bytes, and return all that comes back until the connection is closed or quiet."""
    url = httpx.URL(str(client.base_url))
    with socket.create_connection((url.host, url.port), timeout=seconds) as connection:
        for part in parts:
            try:
                connection.sendall(part)
            except OSError:
                break
            time.sleep(pause)
        found = b""
        try:
            while piece := connection.recv(1 << 16):
                found += piece
        except TimeoutError:
            pytest.fail(f"the connection hangs after {found[:200]!r}")
        except ConnectionResetError:
            pass
        return found


def is_alive(client):
    return client.get("/health/ready").status_code == 200


@pytest.mark.parametrize(
    "text",
    [
        b"\x16\x03\x01\x02\x00\x01\x00",  # TLS
        b"\r\n" * 3 + b"HELO x\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"CONNECT a:1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost : localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nA\x00B: x\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        POST + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nXX\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
)
def test_malformed_http_is_refused(strict, text):
    found = talk(strict, text)
    assert found == b"" or found.startswith((b"HTTP/1.1 4", b"HTTP/1.0 4"))
    assert is_alive(strict)


@pytest.mark.parametrize(
    "parts",
    [
        [],
        [b"G"],
        [HEAD],
        [HEAD, b"X-A: 1\r\n", b"X-B: 1\r\n", b"X-C: 1\r\n", b"X-D: 1\r\n", b"X-E: 1\r\n"],
        [DECIDE + b"Content-Length: 50\r\n\r\n", b"{", b'"', b"a"],
        [OBSERVE + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n{\r\n"],
    ],
)
def test_slow_requests_are_cut_off(strict, parts):
    begin = time.monotonic()
    found = talk(strict, *parts, pause=0.15)
    assert found == b"" or found.startswith(b"HTTP/1.1 408")
    assert time.monotonic() - begin < 8
    assert is_alive(strict)


def test_a_second_request_on_a_connection_has_its_own_clock(strict):
    found = talk(strict, HEAD + b"\r\n", HEAD)
    assert found.count(b"HTTP/1.1 200") == 1
    assert b"HTTP/1.1 408" in found


def test_long_heads_are_refused(strict):
    found = talk(strict, HEAD, b"X: " + b"a" * 10_000)
    assert found.startswith(b"HTTP/1.1 431")
    found = talk(strict, b"GET /" + b"a" * 6000)
    assert found.startswith(b"HTTP/1.1 431")
    assert is_alive(strict)


@pytest.mark.parametrize(
    "head",
    [
        HEAD + b"X: " + b"a" * 5000 + b"\r\n\r\n",
        HEAD + b"X: a\r\n" * 1000 + b"\r\n",
        b"GET /" + b"a" * 5000 + HOST + b"\r\n",
        DECIDE + b"Content-Length: 2\r\nX: " + b"a" * 5000 + b"\r\n\r\n{}",
    ],
)
def test_long_heads_are_refused_also_if_they_arrive_at_once(strict, head):
    assert talk(strict, head).startswith(b"HTTP/1.1 431")
    assert talk(strict, HEAD + b"\r\n" + head).count(b"HTTP/1.1 431") == 1
    assert is_alive(strict)


CHUNK = DECIDE + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("head", "piece"),
    [
        (CHUNK + b"2\r\n{}\r\n0\r\n", b"X: a\r\n" * 1000),
        (CHUNK + b"2\r\n{}\r\n0\r\nX: ", b"a" * 3000),
        (CHUNK + b"2;", b"a" * 3000),
        (CHUNK, b"2;" + b"a" * 3000),
    ],
)
def test_what_is_around_a_body_is_limited_like_a_head(strict, head, piece):
    found = talk(strict, head, *[piece] * 20, pause=0.005)
    assert found == b"" or found.startswith(b"HTTP/1.1 431")
    assert is_alive(strict)


def test_fields_after_a_body_are_of_no_use(strict):
    body = b'1a\r\n{"context": {"tokens": 7}}\r\n0\r\nAuthorization: Bearer x\r\n\r\n'
    found = talk(strict, CHUNK + body, HEAD + b"Connection: close\r\n\r\n")
    assert re.findall(rb"HTTP/1.1 (\d+)", found) == [b"200", b"200"]


def test_long_bodies_are_refused(strict):
    headers = {"content-type": "application/json"}
    path = "/v1/problems/llm/observations"
    found = talk(strict, OBSERVE + b"Content-Length: 10000000\r\n\r\n" + b"x" * 200_000)
    assert found == b"" or found.startswith(b"HTTP/1.1 413")
    chunk = b"%x\r\n%s\r\n" % (50_000, b"x" * 50_000)
    found = talk(strict, OBSERVE + b"Transfer-Encoding: chunked\r\n\r\n", *[chunk] * 10)
    assert found == b"" or found.startswith(b"HTTP/1.1 413")
    exact = strict.post(path, content=b" " * 100_000, headers=headers)
    assert exact.status_code == 400
    try:
        over = strict.post(path, content=b" " * 100_001, headers=headers)
    except httpx.TransportError:
        pass  # the connection is closed while the body is still sent
    else:
        assert over.status_code == 413
    assert is_alive(strict)


def test_a_body_that_is_announced_too_long_is_not_waited_for(strict):
    head = DECIDE + b"Content-Length: 10000000\r\n\r\n"
    assert talk(strict, head).startswith(b"HTTP/1.1 413")


def test_too_many_connections_are_refused(strict):
    url = httpx.URL(str(strict.base_url))
    open_ = [socket.create_connection((url.host, url.port)) for _ in range(30)]
    try:
        refused = 0
        for connection in open_:
            connection.settimeout(5)
            try:
                refused += connection.recv(100).startswith(b"HTTP/1.1 503")
            except OSError:
                refused += 1
        assert refused >= 9
    finally:
        for connection in open_:
            connection.close()
    time.sleep(0.1)
    assert is_alive(strict)


def test_pipelined_requests_are_answered_in_order(strict):
    last = HEAD + b"Connection: close\r\n\r\n"
    text = HEAD + b"\r\n" + HEAD.replace(b"live", b"none") + b"\r\n" + last
    found = talk(strict, text)
    assert re.findall(rb"HTTP/1.1 (\d+)", found) == [b"200", b"404", b"200"]


def test_many_pipelined_requests_are_answered_and_too_many_refused(strict):
    last = HEAD + b"Connection: close\r\n\r\n"
    some = b"".join([HEAD + b"\r\n"] * 90)
    assert talk(strict, some + last).count(b"HTTP/1.1 200") == 91
    assert talk(strict, *[some] * 5, last, pause=0.05).count(b"HTTP/1.1 200") == 451
    found = talk(strict, some * 20)
    assert found.count(b"HTTP/1.1 429") == 1
    assert is_alive(strict)


@pytest.mark.parametrize("protocol", [b"h2c", b"websocket"])
def test_a_request_for_another_protocol_is_answered_in_this_one(strict, protocol):
    body = b'{"context": {"tokens": 7}}'
    lines = b"Connection: Upgrade, HTTP2-Settings\r\nUPGRADE: " + protocol + b"\r\n"
    length = b"Content-Length: %d\r\n\r\n" % len(body)
    last = HEAD + b"Connection: close\r\n\r\n"
    found = talk(strict, DECIDE + lines + length + body, last, pause=0.05)
    assert re.findall(rb"HTTP/1.1 (\d+)", found) == [b"200", b"200"]
    assert b'"arm"' in found


@pytest.mark.parametrize("size", [20, 64, 130])
def test_a_request_for_another_protocol_may_arrive_in_pieces(strict, size):
    body = b'{"context": {"tokens": 7}}'
    lines = b"Connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nHTTP2-Settings: AAM\r\n"
    asks = DECIDE + lines + b"Content-Length: %d\r\n\r\n" % len(body) + body
    data = asks + asks + HEAD + b"Connection: close\r\n\r\n"  # the second is pipelined
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    found = talk(strict, *pieces, pause=0.005)
    assert re.findall(rb"HTTP/1.1 (\d+)", found) == [b"200", b"200", b"200"]
    assert found.count(b'"arm"') == 2


def test_many_pipelined_requests_for_another_protocol(strict):
    asks = HEAD + b"Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
    found = talk(strict, asks * 50 + HEAD + b"Connection: close\r\n\r\n")
    assert re.findall(rb"HTTP/1.1 (\d+)", found) == [b"200"] * 51
    assert b"HTTP/1.1 429" in talk(strict, asks * 300)


@pytest.mark.parametrize(
    "path",
    ["/", "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/index.html%00", "//", "/v1", "/v1/",
     "/v1/problems/", "/v1/problems/llm/", "/v1/problems/llm/nothing", "/v1/problems/llm/arms",
     "/keys.json", "/..;/x", "/%", "/%zz"],
)  # fmt: skip
def test_odd_paths_are_not_found(strict, path):
    rest = b"HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    found = talk(strict, b"GET %s %s" % (path.encode(), rest))
    assert found.startswith((b"HTTP/1.1 404", b"HTTP/1.1 400")) or (
        path == "/" and found.startswith(b"HTTP/1.1 200")
    )


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("after=-1", 422),
        ("after=1e3", 422),
        ("after=" + "9" * 30, 422),
        ("limit=0", 422),
        ("limit=10001", 422),
        ("limit=%FF", 400),
        ("&".join(f"a{i}=1" for i in range(200)), 400),
        ("after=1&after=2", 422),
        ("after=", 422),
    ],
)
def test_odd_queries_are_refused(strict, query, status):
    answer = strict.get(f"/v1/problems/llm/log?{query}")
    assert answer.status_code == status


def test_a_field_of_a_query_that_comes_twice_is_refused(strict):
    """Of two values neither is known to be meant; arms are a list."""
    explain = "/v1/problems/llm/explain"
    answer = strict.get(f"{explain}?tokens=3&tokens=4")
    assert answer.status_code == 422
    assert answer.json()["field"] == "tokens"
    assert "send it once" in answer.json()["detail"]
    answer = strict.get(f"{explain}?tokens=3&eligible=alpha&eligible=beta")
    assert [arm["eligible"] for arm in answer.json()["arms"]] == [True, True]


@pytest.mark.parametrize("path", ["decisions", "observations", "what-if"])
def test_compressed_and_empty_bodies_are_refused_clearly(strict, path):
    url = f"/v1/problems/llm/{path}"
    sent = {"content-type": "application/json"}
    packed = gzip.compress(b'{"context": {"tokens": 3}}')
    answer = strict.post(url, content=packed, headers={**sent, "content-encoding": "gzip"})
    assert answer.status_code == 415
    assert answer.headers["accept-encoding"] == "identity"
    assert "compressed" in answer.json()["detail"]
    answer = strict.post(url, content=b"", headers=sent)
    assert (answer.status_code, answer.json()["detail"]) == (400, "the body is empty; send JSON")
    plain = strict.post(url, content=b"{", headers={**sent, "content-encoding": "Identity"})
    assert plain.status_code == 400


@pytest.mark.parametrize(
    ("method", "path", "query", "told"),
    [
        ("GET", "/log", "event=observed", "Allowed here are after, limit"),
        ("GET", "/log", "afer=3", "did you mean 'after'? Allowed here are after, limit"),
        ("GET", "/stats", "arm=alpha", "none is allowed here"),
        ("GET", "/explain", "tokns=3", "did you mean 'tokens'? Allowed here are eligible, tokens"),
        ("GET", "/curves", "tokens=3&speed=1", "allowed here are field, points, tokens"),
        ("POST", "/decisions", "tokens=3", "none is allowed here"),
        ("PATCH", "/controls", "mode=off", "none is allowed here"),
    ],
)
def test_unknown_parameters_of_a_query_are_refused(strict, method, path, query, told):
    body = {} if method == "GET" else {"json": {"context": {"tokens": 7}}}
    answer = strict.request(method, f"/v1/problems/llm{path}?{query}", **body)
    assert answer.status_code == 422
    assert answer.json()["type"] == "urn:onepull:error:InvalidQuery"
    assert answer.json()["field"] in query
    assert told.casefold() in answer.json()["detail"].casefold()


def test_every_route_refuses_unknown_parameters_and_describes_its_own(strict):
    paths = strict.get("/openapi.json").json()["paths"]
    for route in ROUTES:
        told = paths[route.path][route.method.lower()]
        assert "422" in told["responses"]
        described = [one["name"] for one in told["parameters"] if one["in"] == "query"]
        own = [query.name for query in route.query]
        assert described == own + ["context"] * route.takes_context
        path = route.path.format(problem="llm", arm="alpha")
        body: dict[str, Any] = {} if route.takes is None else {"json": {}}
        answer = strict.request(route.method, f"{path}?nonsense=1", **body)
        assert (answer.status_code, answer.json()["field"]) == (422, "nonsense")


def test_formulas_from_the_network_are_bounded(strict):
    deep = "(" * 3000 + "seconds" + ")" * 3000
    wide = "+".join(["seconds"] * 5000)
    tower = "seconds" + "**9" * 500
    for formula in (deep, wide, tower, "exp(exp(exp(seconds)))", "__import__('os')", "seconds.x"):
        begin = time.monotonic()
        answer = strict.patch("/v1/problems/llm/controls", json={"reward": formula})
        assert answer.status_code in (422, 200)
        answer = strict.post("/v1/problems/llm/replay", json={"reward": formula})
        assert answer.status_code in (422, 200)
        assert time.monotonic() - begin < 20
    assert is_alive(strict)
