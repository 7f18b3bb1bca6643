"""The verbs of a router, over HTTP."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Collection, Iterable, Iterator
from types import TracebackType
from typing import Any, Self

from onepull.checks import number
from onepull.client import calls
from onepull.client.attempts import Breaker, Call, Reply, Send, address, attempts, raise_for
from onepull.client.queue import ObservationQueue, open_queue
from onepull.errors import MissingExtra, OnepullError, ServiceError
from onepull.policies import Explanation
from onepull.router import BatchReceipt, Decision, Receipt, RouterStats

BATCH = 500  # queued observations that are delivered together
LOOK = 0.5  # seconds between two attempts to deliver
URL, KEY = "http://127.0.0.1:8000", "ONEPULL_KEY"
LOGGER = logging.getLogger("onepull.client")


class Client:
    """Asks a service for decisions and tells it what became of them.

    It has the verbs of `Router`.  Every request may be sent again without harm: decisions and
    observations carry an id, and an id counts once.  If the service cannot be reached within the
    time `budget`, `choose` returns the `fallback`, and observations wait in a queue until the
    service is back.  So routing never stops.

    Parameters
    ----------
    url
        The address of the service; without a scheme it is http.
    problem
        The name of the problem.
    key
        The key; by default that of the environment variable ONEPULL_KEY.
    fallback
        The arm to return when the service cannot be reached, or several in order of preference.
        Without it `choose` raises ServiceError then.
    budget
        How many seconds a call may take, with all its attempts.
    queue
        Where observations wait: None for memory, or the path of a file, which survives a crash.
    background
        Whether observations are always delivered in the background, in batches.
    expires
        What `expires_at` of a fallback says, in seconds from now.
    http
        An `httpx.Client` to use, for example with certificates of your own.

    Examples
    --------
    >>> client = Client("http://127.0.0.1:9", fallback="wifi", budget=0.1)
    >>> decision = client.choose(bits=3)
    >>> decision.arm, decision.mode
    ('wifi', 'fallback')
    >>> client.observe(decision, capacity=2.0).is_queued, client.queued
    (True, 1)
    >>> client.close()
    """

    def __init__(  # noqa: PLR0913 - one for each thing that may be configured
        self,
        url: str = URL,
        *,
        problem: str = "default",
        key: str | None = None,
        fallback: str | Iterable[str] | None = None,
        budget: float = 1.0,
        queue: str | os.PathLike[str] | ObservationQueue | None = None,
        background: bool = False,
        expires: float = 60.0,
        http: Any = None,
    ) -> None:
        self.problem = problem
        self._fallback = calls.checked_fallback(fallback)
        self._budget = number("budget", budget, above=0.0, most=3600.0)
        self._expires = expires
        self._background = background
        self._http = http or httpx_or_error().Client(
            base_url=address(url), headers=headers_for(key)
        )
        self._breaker = Breaker()
        self._made = calls.Made()
        self._is_away = False  # whether the last decision was the fallback
        self._queue = open_queue(queue)
        self._wake, self._is_closed = threading.Event(), False
        self._delivering = threading.Lock()
        self._thread: threading.Thread | None = None
        if len(self._queue):
            self._deliver_later()

    # Deciding and learning

    def choose(
        self,
        /,
        *,
        id: str | None = None,  # noqa: A002 - as the router calls it
        eligible: Collection[str] | None = None,
        key: str | None = None,
        **context: Any,
    ) -> Decision:
        """Return the arm to pull for a context; the fallback if the service cannot be reached."""
        body = calls.decision_body(id, eligible, key, context)
        try:
            decision = calls.decision_of(self._call("POST", "decisions", body=body))
        except ServiceError as error:
            if not self._fallback:
                raise
            decision = calls.fallback_decision(body, self._fallback, self._expires, str(error))
            if not self._is_away:
                LOGGER.warning("using the fallback: %s", error)
            self._is_away = True
        else:
            self._is_away = False
        self._made.add(decision, body["context"])
        return decision

    def observe(
        self,
        decision: Decision | str,
        /,
        *,
        arm: str | None = None,
        reward: float | None = None,
        failed: bool = False,
        **state: Any,
    ) -> Receipt:
        """Tell what became of a decision; on disk when this returns, unless it is queued."""
        body = calls.observation_body(
            self._made, decision, arm=arm, reward=reward, failed=failed, state=state
        )
        return self._observe(body)

    def failed(self, decision: Decision | str, /, *, arm: str | None = None) -> Receipt:
        """Tell that the pull failed."""
        return self.observe(decision, arm=arm, failed=True)

    def gave_up(self, decision: Decision | str, /, *, arm: str | None = None) -> Receipt:
        """Tell that no answer will come."""
        body = calls.observation_body(self._made, decision, arm=arm)
        return self._observe({**body, "gave_up": True})

    def _observe(self, body: dict[str, Any]) -> Receipt:
        if not self._background and not len(self._queue):
            try:
                return calls.receipt_of(self._call("POST", "observations", body=body), body["id"])
            except ServiceError as error:
                LOGGER.info("queued an observation: %s", error)
        self._queue.put([body])
        self._deliver_later()
        return calls.QueuedReceipt(body["id"], learned=False)

    def observe_many(self, observations: Iterable[Any], /) -> BatchReceipt:
        """Tell what became of many decisions; what cannot be delivered is queued.

        The counts of the receipt leave out what is queued.
        """
        bodies = calls.many_bodies(self._made, observations)
        told = []
        for start in range(0, len(bodies), BATCH):
            batch = bodies[start : start + BATCH]
            try:
                reply = self._call("POST", "observations", body=batch)
            except ServiceError:
                self._queue.put(batch)
                self._deliver_later()
            else:
                told.append((start, calls.batch_receipt_of(reply)))
        return calls.joined(told)

    # What waits

    @property
    def queued(self) -> int:
        """How many observations wait to be delivered."""
        return len(self._queue)

    def flush(self, seconds: float = 5.0) -> bool:
        """Deliver what waits; return whether nothing is left."""
        deadline = time.monotonic() + seconds
        while len(self._queue) and time.monotonic() < deadline:
            self._breaker.answered()
            if not self._deliver():
                time.sleep(0.05)
        return not len(self._queue)

    def _deliver_later(self) -> None:
        self._wake.set()
        if self._thread is None and not self._is_closed:
            self._thread = threading.Thread(target=self._run, name="onepull-client", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while not self._is_closed:
            self._wake.wait(None if not len(self._queue) else LOOK)
            self._wake.clear()
            while len(self._queue) and self._deliver():
                pass
            if len(self._queue) and not self._is_closed:
                time.sleep(LOOK / 5)
                self._wake.set()

    def _deliver(self) -> bool:
        """Deliver one batch; return whether that was possible."""
        with self._delivering:
            batch = self._queue.first(BATCH)
            if not batch:
                return True
            try:
                reply = self._call("POST", "observations", body=batch)
                calls.warn_of_refused(calls.batch_receipt_of(reply), batch, LOGGER)
            except ServiceError:
                return False
            except OnepullError as error:
                # The service does not accept the batch as a whole, and would not later.
                LOGGER.error(  # noqa: TRY400 - the reason is all there is to tell
                    "dropped %d observations: %s", len(batch), error
                )
            self._queue.delivered(len(batch))
            return True

    # Looking

    def stats(self) -> RouterStats:
        """Return what was counted and learned of each arm."""
        return calls.stats_of(self._call("GET", "stats"))

    def explain(self, /, *, eligible: Collection[str] | None = None, **context: Any) -> Explanation:
        """Return each arm's estimate, bonus, index and probability, the choice and the reason."""
        return calls.explanation_of(self._send(calls.explain_call(self.problem, eligible, context)))

    def log(self, *, after: int = 0, limit: int | None = None) -> Iterator[dict[str, Any]]:
        """Yield the events of the log as plain values."""
        pages = calls.LogPages(after, limit)
        while (query := pages.query()) is not None:
            yield from pages.read(raise_for(self._call("GET", "log", query=query)))

    def replay(self, **asked: Any) -> dict[str, Any]:
        """Return what another `reward` or `policy` would have chosen and earned.

        `since` and `until` limit the time, in seconds since the epoch.
        """
        body = calls.replay_body(asked)
        told: dict[str, Any] = calls.read(
            dict[str, Any], raise_for(self._call("POST", "replay", body=body))
        )
        return told

    # Controls

    def set_mode(self, mode: str) -> None:
        """Let the policy decide ("live"), or the fallback ("shadow", "off")."""
        self._change("controls", mode=mode)

    def set_fallback(self, arm: str | None) -> None:
        """Set the arm of shadow and off mode."""
        self._change("controls", fallback=arm)

    def set_reward(self, reward: str) -> None:
        """Change the formula without forgetting."""
        self._change("controls", reward=reward)

    def pin(self, arm: str | None) -> None:
        """Choose one arm for every request, until `pin(None)`."""
        self._change("controls", pin=arm)

    def pause(self, arm: str) -> None:
        """Stop choosing an arm."""
        self._change("arms", arm, status="paused")

    def drain(self, arm: str) -> None:
        """Stop choosing an arm, except for keys that are on it."""
        self._change("arms", arm, status="draining")

    def resume(self, arm: str) -> None:
        """Choose an arm again."""
        self._change("arms", arm, status="active")

    def share(self, arm: str, *, least: float = 0.0, most: float = 1.0) -> None:
        """Set the least and the most share of the pulls of an arm."""
        self._change("arms", arm, min_share=least, max_share=most)

    def set_attributes(self, arm: str, **attributes: float | str) -> None:
        """Change what is known of an arm."""
        self._change("arms", arm, attributes=calls.plain(attributes))

    def add_arm(self, arm: str, **attributes: float | str) -> None:
        """Add an arm."""
        body = {"attributes": calls.plain(attributes)}
        raise_for(self._call("PUT", "arms", arm, body=body))

    def remove_arm(self, arm: str) -> None:
        """Remove an arm and what was learned of it."""
        raise_for(self._call("DELETE", "arms", arm))

    def _change(self, *parts: str, **body: Any) -> None:
        raise_for(self._call("PATCH", *parts, body=body))

    # Sending

    def _call(self, method: str, *parts: str, body: Any = None, query: Any = ()) -> Reply:
        return self._send(Call.to(self.problem, method, *parts, body=body, query=query))

    def _send(self, call: Call) -> Reply:
        tries = attempts(self._budget, self._breaker)
        got: Reply | Exception | None = None
        try:
            while True:
                step = tries.send(got)
                got = None
                if isinstance(step, Send):
                    got = self._try(call, step.seconds)
                else:
                    time.sleep(step.seconds)
        except StopIteration as ended:
            reply: Reply = ended.value
            return reply

    def _try(self, call: Call, seconds: float) -> Reply | Exception:
        try:
            answer = self._http.request(
                call.method, call.path, content=call.body, params=call.query or None,
                timeout=seconds,
            )  # fmt: skip
        except httpx_or_error().HTTPError as error:
            return error  # type: ignore[no-any-return]  # an exception
        return Reply(answer.status_code, answer.content, answer.headers.get("retry-after"))

    def close(self) -> None:
        """Try once more to deliver what waits, and close; a queue in a file keeps the rest."""
        if self._is_closed:
            return
        if len(self._queue) and not self._breaker.is_open:
            self.flush(self._budget)
        self._is_closed = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join(self._budget + 1.0)
        self._queue.close()
        self._http.close()

    def __enter__(self) -> Self:
        """Return the client."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the client."""
        self.close()


def headers_for(key: str | None) -> dict[str, str]:
    """Return the headers of all requests."""
    found = {"content-type": "application/json", "accept": "application/json"}
    token = key if key is not None else os.environ.get(KEY, "")
    return {**found, "authorization": f"Bearer {token}"} if token else found


def httpx_or_error() -> Any:
    """Return the package httpx; raises MissingExtra if it is not installed."""
    try:
        import httpx  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtra(
            "the client needs the 'client' extra: pip install 'onepull[client]'"
        ) from None
    return httpx
