"""Measure the service beside a bare echo server and a bare server that stores what it gets.

All servers run at the same time and are loaded in turns, round after round, so a noisy machine
slows them equally.  The result is the ratios within a round, not the times.  The load comes from
`wrk` (Debian's package) over loopback, for a fixed number of seconds.
"""

import argparse
import http.client
import json
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from onepull import Router

HERE = Path(__file__).parent
PARTS = ("decide", "observe", "batch", "flight", "start")
TICKS = os.sysconf("SC_CLK_TCK")
LINKS = """
policy = "{}"
[problem]
arms = ["wifi", "lte", "5g", "satellite"]
reward = "min(bits, capacity)"
context = {{bits = [1, 2, 3, 4]}}
state = {{capacity = {{low = 0, high = 7}}}}
[router]
expires = 3600
"""
DCB, RECOMMENDED = LINKS.format("DCB"), LINKS.format("recommended")
COMPILED = f"{RECOMMENDED}[service]\ncompile = true\n"
HEAD = 'local head = {["Content-Type"] = "application/json"}\n'
DECIDE = (
    HEAD
    + """
request = function() return wrk.format("POST", nil, head, '{"context": {"bits": 3}}') end
"""
)
# Ids are new in every run; the arm is named, so that no decision is needed.
OBSERVE = (
    HEAD
    + """
local count, name = 0, ""
function init(args) name = args[1] .. tostring({}) end
function one()
  count = count + 1
  return string.format('{"id":"%s-%d","arm":"lte","context":{"bits":3},"state":{"capacity":%d}}',
    name, count, count % 8)
end
request = function() return wrk.format("POST", nil, head, one()) end
"""
)
BATCH = (
    OBSERVE
    + """
local several = one
request = function()
  local all = {}
  for i = 1, COUNT do all[i] = several() end
  return wrk.format("POST", nil, head, "[" .. table.concat(all, ",") .. "]")
end
"""
)


class Load(NamedTuple):
    """What a load gave: requests a second, latencies in ms, CPU µs of the server a request."""

    rate: float
    p50: float
    p99: float
    cpu: float


class Server:
    """A server in a process of its own."""

    def __init__(self, name: str, command: list[Any], port: int, path: str, ready: str) -> None:
        self.name, self.path = name, path
        self.url = f"http://127.0.0.1:{port}"
        begin = time.monotonic()
        self.process = subprocess.Popen(  # noqa: S603 - this interpreter with fixed arguments
            [sys.executable, *map(str, command)], stderr=subprocess.DEVNULL
        )
        while True:
            try:
                urllib.request.urlopen(f"{self.url}{ready}", timeout=5).close()  # noqa: S310 - ours
                break
            except urllib.error.HTTPError:
                break
            except OSError:
                time.sleep(0.01)
        self.seconds_to_start = time.monotonic() - begin

    def cpu(self) -> float:
        """Return the seconds of CPU time of the process and its workers."""
        total = 0.0
        mine = {self.process.pid}
        for folder in sorted(Path("/proc").glob("[0-9]*"), key=lambda path: int(path.name)):
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(folder.name) in mine or int(fields[1]) in mine:
                mine.add(int(folder.name))
                total += (int(fields[11]) + int(fields[12])) / TICKS
        return total

    def memory(self) -> float:
        """Return the megabytes that the process holds in memory."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def load(self, script: Path, connections: int, seconds: int) -> Load:
        """Load the server for some seconds."""
        before = self.cpu()
        options = [f"-c{connections}", f"-d{seconds}s", "-s", str(script)]
        done = subprocess.run(  # noqa: S603 - fixed arguments
            ["wrk", "-t1", "--latency", *options,  # noqa: S607 - as it is installed
             f"{self.url}{self.path}", "--", f"{time.time_ns()}"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        spent = self.cpu() - before
        if bad := re.search(r"Non-2xx.*|Socket errors.*", done.stdout):
            raise SystemExit(f"{self.name}: {bad.group(0)}")
        count = int(re.search(r"(\d+) requests in", done.stdout).group(1))  # type: ignore[union-attr]  # as wrk prints it
        rate = float(re.search(r"Requests/sec:\s+(\S+)", done.stdout).group(1))  # type: ignore[union-attr]  # the same
        return Load(rate, *_latencies(done.stdout), spent / max(count, 1) * 1e6)

    def end(self) -> None:
        """Stop the server."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)


def _latencies(text: str) -> tuple[float, float]:
    units = {"us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4}
    found = dict(re.findall(r"(50|99)%\s+([\d.]+[a-z]+)", text))
    p50, p99 = (re.fullmatch(r"([\d.]+)([a-z]+)", found[key]) for key in ("50", "99"))
    assert p50 is not None  # noqa: S101 - as wrk prints it
    assert p99 is not None  # noqa: S101 - the same
    return float(p50[1]) * units[p50[2]], float(p99[1]) * units[p99[2]]


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@contextmanager
def bare(kind: str, folder: Path) -> Iterator[Server]:
    """Run a bare server."""
    folder.mkdir(exist_ok=True)
    port = _free_port()
    command = [HERE / "bare_servers.py", kind, port, folder / f"{kind}.db"]
    server = Server(f"bare {kind}", command, port, "/", "/")
    try:
        yield server
    finally:
        server.end()


@contextmanager
def onepull(
    name: str, folder: Path, path: str, *, text: str = DCB, workers: int = 1
) -> Iterator[Server]:
    """Run the service."""
    folder.mkdir(exist_ok=True)
    (folder / "links.toml").write_text(text)
    port = _free_port()
    options = ["--port", port, "--workers", workers, "--log", "json"]
    command = ["-m", "onepull", "serve", folder / "links.toml", *options]
    server = Server(name, command, port, f"/v1/problems/links/{path}", "/health/ready")
    try:
        yield server
    finally:
        server.end()


def teach(server: Server, count: int = 2000) -> None:
    """Let a server learn all arms, since a policy that knows nothing has little to compute."""
    arms = ("wifi", "lte", "5g", "satellite")
    told = [
        {
            "id": f"taught{i}",
            "arm": arms[i % 4],
            "context": {"bits": 3},
            "state": {"capacity": i * 0.618 % 1 * (4 + i % 4)},
        }
        for i in range(count)
    ]
    path = f"{server.url}/v1/problems/links/observations"
    head = {"Content-Type": "application/json"}
    asked = urllib.request.Request(path, json.dumps(told).encode(), head)  # noqa: S310 - ours
    urllib.request.urlopen(asked).close()  # noqa: S310 - ours


def compare(
    title: str, servers: list[Server], script: Path, connections: int, times: tuple[int, int]
) -> dict[str, Any]:
    """Load servers in turns; return medians, and ratios to the first server within a round."""
    rounds, seconds = times
    for server in servers:
        server.load(script, connections, min(seconds, 1))  # warms up
    found: list[list[Load]] = [
        [server.load(script, connections, seconds) for server in servers] for _ in range(rounds)
    ]
    rows = []
    for i, server in enumerate(servers):
        loads = [round_[i] for round_ in found]
        ratios = [round_[i].rate / round_[0].rate for round_ in found]
        row = {
            "server": server.name,
            **{
                name: statistics.median(getattr(load, name) for load in loads)
                for name in Load._fields
            },
            "ratio": statistics.median(ratios),
            "lowest": min(ratios),
            "highest": max(ratios),
        }
        rows.append(row)
    return {"title": title, "connections": connections, "rows": rows}


def show(console: Console, found: dict[str, Any], *, each: int = 1) -> None:
    """Print a comparison; `each` is how many observations a request has."""
    table = Table(title=f"{found['title']}, {found['connections']} connections")
    for column in ("server", "a second", "p50 ms", "p99 ms", "CPU µs", "ratio", "from", "to"):
        table.add_column(column, justify="left" if column == "server" else "right")
    for row in found["rows"]:
        table.add_row(
            row["server"], f"{row['rate'] * each:,.0f}", f"{row['p50']:.2f}", f"{row['p99']:.2f}",
            f"{row['cpu'] / each:.1f}", f"{row['ratio']:.2f}", f"{row['lowest']:.2f}",
            f"{row['highest']:.2f}",
        )  # fmt: skip
    console.print(table)


def in_flight(folder: Path, counts: list[int], script: Path, times: tuple[int, int]) -> Any:
    """Measure decisions with more and more of them in flight."""
    rows = []
    for count in counts:
        place = folder / f"flight{count}"
        place.mkdir()
        (place / "links.toml").write_text(DCB)
        with Router.open(place / "links.toml", store=place / "router.db") as router:
            for _ in range(count):
                router.choose(bits=3)
        with onepull(f"{count:,} in flight", place, "decisions") as server:
            # Short, since the load itself adds decisions in flight.
            loads = [server.load(script, 8, min(times[1], 1)) for _ in range(times[0])]
        rows.append({
            "in_flight": count,
            "rate": statistics.median(load.rate for load in loads),
            "p99": statistics.median(load.p99 for load in loads),
            "cpu": statistics.median(load.cpu for load in loads),
        })  # fmt: skip
    return rows


def starts(folder: Path, events: int) -> dict[str, float]:
    """Measure how long a start takes with a long log, with and without a snapshot."""
    place = folder / "start"
    place.mkdir()
    (place / "links.toml").write_text(DCB)
    with Router.open(place / "links.toml", store=place / "router.db") as router:
        for start in range(0, events, 2000):
            router.observe_many([
                {"id": f"s{i}", "arm": "lte", "context": {"bits": 3}, "state": {"capacity": i % 8}}
                for i in range(start, min(start + 2000, events))
            ])  # fmt: skip
        router.snapshot()
    with onepull("start", place, "decisions") as server:
        seconds = server.seconds_to_start
    empty = folder / "empty"
    with onepull("empty", empty, "decisions") as server:
        return {"events": events, "seconds": seconds, "seconds_empty": server.seconds_to_start}


def soak(folder: Path, minutes: float, console: Console) -> list[dict[str, float]]:
    """Load the service for minutes with decisions and their outcomes; return its memory on the way.

    Every decision is answered, so nothing piles up, and `keep` bounds the log.
    """
    place = folder / "soak"
    text = DCB.replace("expires = 3600", "expires = 5\nkeep = 100000")
    rows: list[dict[str, float]] = []
    with onepull("soak", place, "decisions", text=text) as server:
        until, began = time.monotonic() + 60 * minutes, time.monotonic()
        stop = threading.Event()
        threads = [threading.Thread(target=_live, args=(server.url, stop)) for _ in range(4)]
        for thread in threads:
            thread.start()
        while time.monotonic() < until:
            time.sleep(min(30.0, 6 * minutes))
            stats = json.load(urllib.request.urlopen(f"{server.url}/v1/problems/links/stats"))  # noqa: S310 - ours
            row = {
                "minute": (time.monotonic() - began) / 60,
                "events": stats["sequence"],
                "in_flight": stats["in_flight"],
                "megabytes": server.memory(),
                "file_megabytes": sum(f.stat().st_size for f in place.glob("router.db*")) / 1e6,
            }
            rows.append(row)
            console.print({name: round(value, 1) for name, value in row.items()})
        stop.set()
        for thread in threads:
            thread.join()
    return rows


def _live(url: str, stop: threading.Event) -> None:
    """Decide, and answer most of it: a hundredth fails, and another expires."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=30)

    def post(path: str, body: Any) -> Any:
        head = {"Content-Type": "application/json"}
        connection.request("POST", f"/v1/problems/links/{path}", json.dumps(body), head)
        return json.loads(connection.getresponse().read())

    count = 0
    while not stop.is_set():
        told = []
        for _ in range(20):
            count += 1
            decision = post("decisions", {"context": {"bits": 1 + count % 4}})
            if count % 100:
                told.append({"id": decision["id"], "state": {"capacity": count % 8}})
        post("observations", told)
    connection.close()


def main() -> None:
    """Run everything and print tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=2, help="of each load")
    parser.add_argument("--events", type=int, default=200_000, help="of the long log")
    parser.add_argument("--batch", type=int, default=200, help="observations in one request")
    parser.add_argument("--soak", type=float, default=0.0, help="minutes of a long load")
    parser.add_argument("--only", nargs="*", default=[*PARTS], choices=PARTS)
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    given = parser.parse_args()
    if shutil.which("wrk") is None:
        raise SystemExit("needs wrk: apt-get install wrk")
    times, console = (given.rounds, given.seconds), Console(stderr=given.json)
    console.print(f"load of the machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        scripts = {}
        for script, text in (
            ("decide", DECIDE),
            ("observe", OBSERVE),
            ("batch", BATCH.replace("COUNT", str(given.batch))),
        ):
            scripts[script] = folder / f"{script}.lua"
            scripts[script].write_text(text)

        def run(title: str, script: str, connections: int, *contestants: Any) -> None:
            if script not in given.only:
                return
            with ExitStack() as these:
                servers = [these.enter_context(each) for each in contestants]
                for server in servers[1:] if script == "decide" else ():
                    teach(server)
                told = compare(title, servers, scripts[script], connections, times)
            found[script] = told
            show(console, told, each=given.batch if script == "batch" else 1)

        run(
            "Decisions", "decide", 32,
            bare("echo", folder),
            onepull("onepull, DCB", folder / "a", "decisions"),
            onepull("onepull, recommended", folder / "b", "decisions", text=RECOMMENDED),
            onepull("onepull, recommended, compiled", folder / "i", "decisions", text=COMPILED),
            onepull("onepull, DCB, 2 workers", folder / "c", "decisions", workers=2),
        )  # fmt: skip
        run(
            "Durable observations, one a request", "observe", 128,
            bare("commit", folder),
            onepull("onepull, DCB", folder / "d", "observations"),
            onepull("onepull, DCB, 2 workers", folder / "e", "observations", workers=2),
        )  # fmt: skip
        run(
            f"Durable observations, {given.batch} a request", "batch", 4,
            bare("commit", folder / "h"),
            onepull("onepull, DCB", folder / "f", "observations"),
            onepull("onepull, DCB, 2 workers", folder / "g", "observations", workers=2),
        )  # fmt: skip
        if "flight" in given.only:
            found["in_flight"] = in_flight(folder, [10, 1000, 100_000], scripts["decide"], times)
            console.print(found["in_flight"])
        if "start" in given.only:
            found["start"] = starts(folder, given.events)
            console.print(found["start"])
        if given.soak:
            found["soak"] = soak(folder, given.soak, console)
    if given.json:
        print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
