"""A service on a real socket: in a thread of the test, or in a process of its own."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import ssl
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from onepull.service import Service
from onepull.service.keys import Role, add_key
from onepull.service.running.server import address_of, bound_socket, make_server
from onepull.service.sources import read_source

ENDPOINTS = """
[problem]
arms = {alpha = {price = 1}, beta = {price = 3}}
reward = "-seconds - price * tokens / 1000"
failure = -30
context = {tokens = {low = 1, high = 4000}}
state = {seconds = {low = 0, high = 30, outside = "clip"}}
[router]
fallback = "alpha"
"""
LINKS = """
policy = "DCB"
[problem]
arms = ["wifi", "lte"]
reward = "min(bits, capacity)"
context = {bits = [1, 2, 3, 4]}
state = {capacity = {low = 0, high = 7}}
"""
# Alpha starts quickly and is slow for each token; beta is the opposite.
TOKEN_STATES = {"alpha": {"first": 0.1, "each": 0.01}, "beta": {"first": 2.0, "each": 0.001}}

# Nothing here is encrypted, and each client of its own would read all certificates, in 15 ms.
NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def client_of(url, timeout=20):
    """Return a client of a service."""
    return httpx.Client(base_url=url, timeout=timeout, verify=NO_CERTIFICATES)


def write_problem(folder, text=ENDPOINTS, name="llm.toml"):
    """Write the file of a problem."""
    file = Path(folder, name)
    file.write_text(text)
    return file


def add_keys(folder):
    """Make a file of keys with one key of each role; return its path and the keys by role."""
    path = Path(folder, "keys.json")
    return path, {role: add_key(path, role.name.lower(), role) for role in Role}


class _Errors(logging.Handler):
    """Keeps the errors that a service logs; there must be none."""

    def __init__(self):
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record):
        self.found.append(logging.Formatter().format(record))


@contextmanager
def served(path=None, **options):
    """Serve in a thread; yields a client, with `service` as the service."""
    source = read_source(path, {"port": 0, **options}, {})
    listening = bound_socket(source.settings)
    server = make_server(Service(source))
    errors = _Errors()
    for name in ("uvicorn.error", "onepull.service"):
        logging.getLogger(name).addHandler(errors)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    assert server.started
    try:
        with client_of(address_of(listening)) as client:
            client.service = server.service  # for tests that look inside
            yield client
    finally:
        server.should_exit = True
        thread.join(30)
        listening.close()
        for name in ("uvicorn.error", "onepull.service"):
            logging.getLogger(name).removeHandler(errors)
        assert not thread.is_alive()
    assert errors.found == []


class Process:
    """`onepull serve` in a process of its own, with its messages."""

    program: tuple[str, ...] = ("-m", "onepull")

    def __init__(self, *arguments, env=None):
        command = [sys.executable, "-W", "error", *self.program, "serve"]
        options = ["--port", "0", "--log", "json", *map(str, arguments)]
        self.process = subprocess.Popen(
            [*command, *options],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **(env or {})},
        )
        self.messages: list[dict[str, Any]] = []
        self._has_url = threading.Event()
        self.url = ""
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        if not self._has_url.wait(60) or not self.url:
            self.process.kill()
            raise AssertionError(f"did not start: {self.messages}")
        self.client = client_of(self.url)
        self.wait_until_ready()

    def _read(self):
        for line in self.process.stderr or ():
            try:
                message = json.loads(line)
            except ValueError:
                message = {"message": line}
            self.messages.append(message)
            if message["message"] == "listening":
                self.url = message["url"]
                self._has_url.set()
        self._has_url.set()

    def wait_until_ready(self, seconds=60.0):
        """Wait until requests can be answered."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                if self.client.get("/health/ready").status_code == 200:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.05)
        raise AssertionError(f"not ready: {self.messages}")

    def end(self, how=signal.SIGTERM):
        """Stop it, and return its exit code."""
        self.client.close()
        self.process.send_signal(how)
        code = self.process.wait(60)
        self._reader.join(10)
        if not self._reader.is_alive():
            assert self.process.stderr is not None
            self.process.stderr.close()
        return code

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end(signal.SIGTERM)  # does nothing if it has ended


def wait_for(condition, seconds=30.0):
    """Wait until a condition holds, and return what it gave."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
    return found


def decide(client, problem="llm", status=200, **body):
    """Ask for a decision."""
    body.setdefault("context", {"tokens": 100})
    answer = client.post(f"/v1/problems/{problem}/decisions", json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


def observe(client, body, problem="llm", status=200):
    """Send one observation or many."""
    answer = client.post(f"/v1/problems/{problem}/observations", json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


def learn(client, count=20):
    """Send requests, and observe how long an arm takes to the first token and for each."""
    for number in range(count):
        decision = decide(client, context={"tokens": (10, 1000)[number % 2]})
        observe(client, {"id": decision["id"], "state": TOKEN_STATES[decision["arm"]]})


def patch(client, path, expected=200, /, **body):
    """Change something of a problem."""
    answer = client.patch(f"/v1/problems/llm/{path}", json=body)
    assert answer.status_code == expected, answer.text
    return answer.json()


def run(coroutine):
    """Run a coroutine to its end, within a limit."""

    async def limited():
        async with asyncio.timeout(60):
            return await coroutine

    return asyncio.run(limited())
