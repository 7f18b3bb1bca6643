"""The clients: the same verbs as a router, and routing that goes on without the service."""

from __future__ import annotations

import asyncio
import http.server
import logging
import socketserver
import threading
import time
from typing import Any

import httpx
import pytest
from serving import (
    LINKS,
    Process,
    add_keys,
    decide,
    run,
    served,
    wait_for,
    write_problem,
)

from onepull import (
    AsyncClient,
    Client,
    ConflictError,
    ContextError,
    InputError,
    NotFound,
    ParameterError,
    ProblemError,
    ServiceError,
    StateError,
    UnknownArm,
)
from onepull.client import FileQueue, QueuedReceipt
from onepull.service import Role

NOWHERE = "http://127.0.0.1:9"  # nobody listens there


@pytest.fixture
def service(tmp_path):
    with served(write_problem(tmp_path)) as client:
        yield client


def trials(service):
    return service.get("/v1/problems/llm/stats").json()["policy"]["trials"]


def test_the_verbs(service):
    with Client(str(service.base_url), problem="llm") as client:
        decision = client.choose(tokens=100)
        assert decision.mode == "live"
        receipt = client.observe(decision, seconds=1.5)
        assert (receipt.id, receipt.learned, receipt.seq > 0) == (decision.id, True, True)
        assert client.observe(decision, seconds=1.5).duplicate
        assert client.failed(client.choose(tokens=7)).learned
        other = client.choose(tokens=8, id="mine")
        assert client.choose(tokens=8, id="mine").replayed
        assert not client.gave_up(other).learned
        told = client.observe_many([
            {"id": "1", "arm": "beta", "context": {"tokens": 3}, "state": {"seconds": 2}},
            {"id": "1", "arm": "beta", "context": {"tokens": 3}, "state": {"seconds": 2}},
            {"id": "2", "arm": "beta", "context": {"tokens": 3}, "state": {"hours": 2}},
        ])  # fmt: skip
        assert (told.learned, told.duplicates) == (1, 1)
        ((index, error),) = told.rejected
        assert index == 2
        assert isinstance(error, StateError)
        stats = client.stats()
        assert (stats.name, stats.policy.trials, stats.gave_up) == ("llm", 3, 1)
        explanation = client.explain(tokens=100, eligible=["beta"])
        assert explanation.arm == "beta"
        events = list(client.log())
        assert [event["seq"] for event in events] == sorted(event["seq"] for event in events)
        assert list(client.log(after=events[1]["seq"], limit=2)) == events[2:4]
        assert client.replay(reward="-seconds")["decisions"] >= 2
        client.set_mode("shadow")
        assert client.stats().mode == "shadow"
        client.set_mode("live")
        client.set_fallback("beta")
        client.pin("beta")
        client.pin(None)
        client.pause("beta")
        client.drain("beta")
        client.resume("beta")
        client.share("alpha", least=0.1, most=0.9)
        assert client.stats().controls.shares["alpha"].least == 0.1
        client.set_attributes("beta", price=2)
        client.add_arm("gamma", price=4)
        client.add_arm("gamma", price=4)  # a repeated request
        client.remove_arm("gamma")
        client.set_reward("-seconds")
        assert client.stats().reward == "-seconds"


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda c: c.choose(tokens=0), ContextError),
        (lambda c: c.choose(), ContextError),
        (lambda c: c.choose(tokens=float("nan")), InputError),
        (lambda c: c.choose(tokens=[1]), InputError),
        (lambda c: c.choose(tokens=1, eligible="alpha"), InputError),
        (lambda c: c.choose(tokens=1, eligible=["delta"]), UnknownArm),
        (lambda c: c.choose(tokens=1, id=""), InputError),
        (lambda c: c.observe("x", arm="alpha", seconds="slow"), InputError),
        (lambda c: c.observe("x", arm="alpha", tokens=1), InputError),
        (lambda c: c.observe("unknown", seconds=1), NotFound),
        (lambda c: c.observe_many([{"state": {}}]), InputError),
        (lambda c: c.pause("delta"), UnknownArm),
        (lambda c: c.set_reward("("), ProblemError),
        (lambda c: c.set_mode("loud"), InputError),
        (lambda c: c.replay(colour="red"), ParameterError),
    ],
)
def test_errors_are_those_of_the_library(bare, call, kind):
    with pytest.raises(kind):
        call(bare)


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bare")
    with (
        served(write_problem(folder)) as service,
        Client(str(service.base_url), problem="llm", budget=10) as client,
    ):
        yield client


def test_a_problem_that_is_not_there(service):
    with Client(str(service.base_url), problem="nothing") as client, pytest.raises(NotFound):
        client.stats()


def test_conflicts(service):
    with Client(str(service.base_url), problem="llm") as client:
        decision = client.choose(tokens=5, id="one")
        with pytest.raises(ConflictError):
            client.choose(tokens=6, id="one")
        client.observe(decision, seconds=1)
        with pytest.raises(ConflictError):
            client.observe(decision, seconds=2)


def test_keys(tmp_path, monkeypatch):
    path, keys = add_keys(tmp_path)
    with served(write_problem(tmp_path), keys=str(path)) as service:
        url = str(service.base_url)
        with Client(url, problem="llm", key=keys[Role.WRITER]) as client:
            client.choose(tokens=5)
            with pytest.raises(InputError, match="role admin"):
                client.pause("beta")
        monkeypatch.setenv("ONEPULL_KEY", keys[Role.READER])
        with Client(url, problem="llm") as client:
            assert client.stats().name == "llm"
        with (
            Client(url, problem="llm", key="wrong") as client,
            pytest.raises(InputError, match="refused"),
        ):
            client.stats()


def test_without_the_service_the_fallback_decides(caplog):
    caplog.set_level(logging.WARNING, "onepull.client")
    with Client(NOWHERE, problem="llm", fallback=["alpha", "beta"], budget=0.3) as client:
        begin = time.monotonic()
        decisions = [client.choose(tokens=5) for _ in range(50)]
        assert time.monotonic() - begin < 5  # one of them waits for the service, the others do not
        assert {(d.arm, d.mode) for d in decisions} == {("alpha", "fallback")}
        assert len({d.id for d in decisions}) == 50
        assert client.choose(tokens=5, eligible=["beta"]).arm == "beta"
        with pytest.raises(InputError, match="none of the fallback arms"):
            client.choose(tokens=5, eligible=["gamma"])
        receipt = client.observe(decisions[0], seconds=1)
        assert isinstance(receipt, QueuedReceipt)
        assert client.queued == 1
    said = [record.getMessage() for record in caplog.records]
    assert [text.split(":")[0] for text in said] == [
        "using the fallback",
        "observations that waited in memory and are lost",
    ]
    with Client(NOWHERE, budget=0.1) as client, pytest.raises(ServiceError):
        client.choose(tokens=5)


@pytest.mark.parametrize("on_disk", [False, True])
def test_what_waited_is_learned_once(tmp_path, on_disk):
    file = write_problem(tmp_path)
    queue = tmp_path / "waiting" if on_disk else None
    with served(file) as service:
        port = httpx.URL(str(service.base_url)).port
        client = Client(
            str(service.base_url), problem="llm", fallback="beta", budget=0.3, queue=queue
        )
        online = client.choose(tokens=5)
    # The service is gone; its decision, and those of the fallback, are observed.
    receipts = [client.observe(online, seconds=1)]
    receipts += [client.observe(client.choose(tokens=5), seconds=s) for s in range(20)]
    assert all(isinstance(receipt, QueuedReceipt) for receipt in receipts)
    if on_disk:  # the program crashes and is started again
        client._queue.close()
        client._is_closed = True
        client._wake.set()
    with served(file, port=port) as service:
        if on_disk:
            client = Client(str(service.base_url), problem="llm", queue=queue)
        wait_for(lambda: client.queued == 0)
        assert trials(service) == 21
        assert client.observe(online, seconds=1).duplicate
        client.close()
    if queue is not None:
        assert queue.read_bytes() == b""


class Flaky(http.server.BaseHTTPRequestHandler):
    """Forwards requests, and loses every other answer or says that it is busy."""

    target = ""
    count = 0

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {"content-type": "application/json"}
        answer = httpx.post(f"{self.target}{self.path}", content=body, headers=headers)
        Flaky.count += 1
        if Flaky.count % 3 == 1:
            self.close_connection = True
            return  # done, and the answer is lost
        if Flaky.count % 3 == 2:
            self.send_error(503)
            return
        self.send_response(answer.status_code)
        self.send_header("content-length", str(len(answer.content)))
        self.end_headers()
        self.wfile.write(answer.content)

    def log_message(self, *_):
        pass


def test_retries_do_not_count_twice(service):
    Flaky.target = str(service.base_url)
    proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Flaky)
    thread = threading.Thread(target=proxy.serve_forever)
    thread.start()
    try:
        with Client(f"http://127.0.0.1:{proxy.server_port}", problem="llm", budget=10) as client:
            for _ in range(4):
                decision = client.choose(tokens=5)
                assert client.observe(decision, seconds=1).id == decision.id
    finally:
        proxy.shutdown()
        thread.join()
        proxy.server_close()
    assert Flaky.count > 8
    stats = service.get("/v1/problems/llm/stats").json()
    assert (stats["policy"]["trials"], stats["in_flight"]) == (4, 0)
    assert sum(sum(modes.values()) for modes in stats["decisions"].values()) == 4


def test_the_time_budget_is_kept():
    silent = socketserver.TCPServer(
        ("127.0.0.1", 0), socketserver.BaseRequestHandler
    )  # accepts, never answers
    try:
        url = f"http://127.0.0.1:{silent.server_address[1]}"
        with Client(url, fallback="alpha", budget=0.5) as client:
            begin = time.monotonic()
            assert client.choose(tokens=1).mode == "fallback"
            assert 0.3 < time.monotonic() - begin < 5
    finally:
        silent.server_close()


def test_observations_in_the_background(service):
    with Client(str(service.base_url), problem="llm", background=True) as client:
        for _ in range(30):
            assert isinstance(client.observe(client.choose(tokens=5), seconds=1), QueuedReceipt)
        assert client.flush()
    assert trials(service) == 30


def test_refused_observations_do_not_block_the_queue(service, caplog):
    caplog.set_level(logging.WARNING, "onepull.client")
    with Client(str(service.base_url), problem="llm", background=True) as client:
        client.observe("nobody", arm="delta", seconds=1)
        client.observe(client.choose(tokens=5), seconds=1)
        assert client.flush()
    assert trials(service) == 1
    assert "nobody" in caplog.text


def test_the_same_with_asyncio(service, tmp_path):
    async def main():
        url = str(service.base_url)
        async with AsyncClient(url, problem="llm", budget=10) as client:
            decisions = await asyncio.gather(*(client.choose(tokens=5) for _ in range(20)))
            for method in ("choose", "explain"):
                with pytest.raises(ContextError, match="takes the context by name"):
                    await getattr(client, method)(5)
            receipts = await asyncio.gather(*(client.observe(d, seconds=1) for d in decisions))
            assert all(receipt.learned for receipt in receipts)
            assert (await client.failed(await client.choose(tokens=9))).learned
            assert not (await client.gave_up(await client.choose(tokens=9))).learned
            told = await client.observe_many([{"id": decisions[0].id, "state": {"seconds": 1}}])
            assert told.duplicates == 1
            assert (await client.stats()).policy.trials == 21
            assert (await client.explain(tokens=9)).trial > 20
            assert len([event async for event in client.log(limit=5)]) == 5
            await client.set_fallback("beta")
            await client.set_mode("shadow")
            await client.set_mode("live")
            await client.pin("beta")
            await client.pin(None)
            await client.pause("beta")
            await client.drain("beta")
            await client.resume("beta")
            await client.share("beta", most=0.5)
            await client.set_attributes("beta", price=1)
            await client.add_arm("gamma", price=1)
            await client.remove_arm("gamma")
            await client.set_reward("-seconds")
            assert (await client.replay(reward="-2 * seconds"))["decisions"] >= 20
            with pytest.raises(ContextError):
                await client.choose(tokens=-1)
        async with AsyncClient(
            NOWHERE, fallback="alpha", budget=0.2, queue=tmp_path / "waiting"
        ) as client:
            decision = await client.choose(tokens=5)
            assert decision.mode == "fallback"
            assert isinstance(await client.observe(decision, seconds=3), QueuedReceipt)
            assert isinstance(await client.observe("x", arm="beta", seconds=3), QueuedReceipt)
        async with AsyncClient(url, problem="llm", queue=tmp_path / "waiting") as client:
            assert await client.flush(10)
            return (await client.stats()).policy.trials

    assert run(main()) == 23


def test_a_client_of_a_process(tmp_path):
    with (
        Process(write_problem(tmp_path, LINKS, "links.toml"), "--workers", 2) as server,
        Client(server.url, problem="links") as client,
    ):
        for _ in range(20):
            client.observe(client.choose(bits=3), capacity=2)
        wait_for(lambda: client.stats().policy.trials == 20)
        assert decide(server.client, "links", context={"bits": 1})["arm"] in ("wifi", "lte")


def test_bad_arguments():
    bad: list[dict[str, Any]] = [
        *({"budget": 0}, {"fallback": []}, {"fallback": 3}, {"budget": "soon"})
    ]
    for arguments in bad:
        with pytest.raises(ParameterError):
            Client(NOWHERE, **arguments)


def test_one_process_uses_a_queue(tmp_path):
    queue = FileQueue(tmp_path / "waiting")
    with Client(NOWHERE, queue=queue) as client:
        assert client.queued == 0


@pytest.mark.parametrize("make", [Client, AsyncClient])
def test_an_address_without_a_scheme_is_http(make):
    assert str(make("127.0.0.1:8000")._http.base_url).rstrip("/") == "http://127.0.0.1:8000"
    for wrong in ("", "ftp://there", "http://", "http://a b", "http://a:b"):
        with pytest.raises(ParameterError, match="url must be an address such as http://"):
            make(wrong)


def test_a_batch_may_have_give_ups(tmp_path):
    with (
        served(write_problem(tmp_path)) as service,
        Client(str(service.base_url), problem="llm", budget=20) as client,
    ):
        decisions = [client.choose(tokens=5) for _ in range(3)]
        told = [{"id": decision.id, "gave_up": True} for decision in decisions[:2]]
        receipt = client.observe_many([*told, {"id": decisions[2].id, "state": {"seconds": 1}}])
        assert (receipt.learned, receipt.rejected) == (1, ())
        stats = client.stats()
        assert (stats.gave_up, stats.in_flight) == (2, 0)
        assert receipt.seq == stats.sequence


def test_a_closed_client_says_so(tmp_path):
    with served(write_problem(tmp_path)) as service:
        url = str(service.base_url)
        client = Client(url, problem="llm", fallback="alpha")
        decision = client.choose(tokens=5)
        client.close()
        for call in (
            lambda: client.choose(tokens=5),  # and not the fallback
            lambda: client.observe(decision, seconds=1),
            lambda: client.observe_many([{"id": decision.id, "state": {"seconds": 1}}]),
            client.stats,
            lambda: client.pin("alpha"),
            lambda: list(client.log()),
        ):
            with pytest.raises(ServiceError, match="this client is closed"):
                call()

        async def main():
            async with AsyncClient(url, problem="llm", fallback="alpha") as other:
                await other.choose(tokens=5)
            with pytest.raises(ServiceError, match="this client is closed"):
                await other.choose(tokens=5)

        run(main())
