"""The verbs of both clients, each written once.

A verb is a generator.  It asks its driver to send a request, to wait, or to keep observations, and
returns the result.  `Client` and `AsyncClient` drive it with and without blocking.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Collection, Generator, Iterable, Mapping
from typing import Any, Generic, Never, TypeVar

import msgspec

from onepull.checks import by_name, number, pinned, state_by_name
from onepull.client import calls
from onepull.client.attempts import Breaker, Call, Keep, Reply, Steps, attempts, raise_for
from onepull.client.queue import LOGGER, ObservationQueue, open_queue
from onepull.errors import OnepullError, ServiceError
from onepull.policies import Explanation
from onepull.router import BatchReceipt, Decision, Receipt, RouterStats

DELIVERED_TOGETHER = 500  # queued observations that are delivered together
URL = "http://127.0.0.1:8000"
Done = TypeVar("Done")  # what a control returns: None, or something to await


class Verbs(ABC, Generic[Done]):
    """What both clients have in common."""

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
        self._http = self._opened(url, key) if http is None else http
        self._breaker = Breaker()
        self._made = calls.Made()
        self._is_away = False  # whether the last decision was the fallback
        self._queue = open_queue(queue)
        self._is_closed = False  # or about to be
        self._is_shut = False  # so that nothing can be sent
        self._prepare()

    @abstractmethod
    def _prepare(self) -> None:
        """Make what delivers in the background."""

    @abstractmethod
    def _opened(self, url: str, key: str | None) -> Any:
        """Return a client of httpx."""

    @abstractmethod
    def _control(self, steps: Steps[None]) -> Done:
        """Do what a control asks for."""

    @property
    def queued(self) -> int:
        """How many observations wait to be delivered."""
        return len(self._queue)

    def _check(self) -> None:
        if self._is_shut:
            raise ServiceError("this client is closed; make a new one")

    # Asking

    def _ask(self, method: str, *parts: str, body: Any = None, query: Any = ()) -> Steps[Reply]:
        self._check()
        call = Call.to(self.problem, method, *parts, body=body, query=query)
        return attempts(call, self._budget, self._breaker)

    def _choosing(
        self,
        nameless: tuple[Never, ...],
        id_: str | None,
        eligible: Collection[str] | None,
        key: str | None,
        context: Mapping[str, Any],
    ) -> Steps[Decision]:
        if nameless:
            raise by_name("choose", nameless, None)
        self._check()  # no fallback for a client that the caller has closed
        body = calls.decision_body(id_, eligible, key, context)
        try:
            reply = yield from self._ask("POST", "decisions", body=body)
            decision = calls.decision_of(reply)
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

    def _observing(
        self, decision: Decision | str, nameless: tuple[Never, ...] = (), **told: Any
    ) -> Steps[Receipt]:
        if nameless:
            raise state_by_name("decision", nameless, None)
        body = calls.observation_body(self._made, decision, **told)
        self._check()
        if not self._background and not len(self._queue):
            try:
                reply = yield from self._ask("POST", "observations", body=body)
                return calls.receipt_of(reply, body["id"])
            except ServiceError as error:
                LOGGER.info("queued an observation: %s", error)
        yield Keep([body])
        return calls.QueuedReceipt(body["id"], learned=False)

    def _observing_many(self, observations: Iterable[Any]) -> Steps[BatchReceipt]:
        self._check()
        bodies = calls.many_bodies(self._made, observations)
        told = []
        for start in range(0, len(bodies), DELIVERED_TOGETHER):
            batch = bodies[start : start + DELIVERED_TOGETHER]
            try:
                reply = yield from self._ask("POST", "observations", body=batch)
            except ServiceError:
                yield Keep(batch)
            else:
                told.append((start, calls.batch_receipt_of(reply)))
        return calls.joined_receipts(told)

    def _delivering(self) -> Steps[bool]:
        """Deliver one batch; return whether that was possible."""
        batch = self._queue.first(DELIVERED_TOGETHER)
        if not batch:
            return True
        try:
            reply = yield from self._ask("POST", "observations", body=batch)
            calls.warn_of_refused(calls.batch_receipt_of(reply), batch, LOGGER)
        except ServiceError:
            return False
        except OnepullError as error:
            # The service does not accept the batch as a whole, and would not later.
            LOGGER.error("dropped %d observations: %s", len(batch), error)
        self._queue.delivered(len(batch))
        return True

    # Looking

    def _stats(self) -> Steps[RouterStats]:
        return calls.stats_in_reply((yield from self._ask("GET", "stats")))

    def _explaining(
        self,
        nameless: tuple[Never, ...],
        eligible: Collection[str] | None,
        context: Mapping[str, Any],
    ) -> Steps[Explanation]:
        if nameless:
            raise by_name("explain", nameless, None)
        query = calls.explain_query(eligible, context)
        return calls.explanation_of((yield from self._ask("GET", "explain", query=query)))

    def _page(self, pages: calls.LogPages, query: Any) -> Steps[list[dict[str, Any]]]:
        return pages.read(raise_for((yield from self._ask("GET", "log", query=query))))

    def _replaying(self, asked: Mapping[str, Any]) -> Steps[dict[str, Any]]:
        reply = yield from self._ask("POST", "replay", body=calls.replay_body(asked))
        told: dict[str, Any] = calls.read(dict[str, Any], raise_for(reply))
        return told

    # Controls

    def set_mode(self, mode: str) -> Done:
        """Let the policy decide ("live"), or the fallback ("shadow", "off")."""
        return self._change("controls", mode=mode)

    def set_fallback(self, arm: str | None) -> Done:
        """Set the arm of shadow and off mode."""
        return self._change("controls", fallback=arm)

    def set_reward(
        self,
        reward: str,
        *,
        failure: float | str | None = None,
        error: float | None = None,
        relearn: bool = False,
    ) -> Done:
        """Change the formula without forgetting; the other arguments are those of `Router`."""
        given = _given(failure=failure, error=error, relearn=relearn or None)
        return self._change("controls", reward=reward, **given)

    def pin(self, arm: str | msgspec.UnsetType | None = msgspec.UNSET) -> Done:
        """Choose one arm for every request, until `pin(None)`."""
        return self._change("controls", pin=pinned(arm))

    def pause(self, arm: str) -> Done:
        """Stop choosing an arm."""
        return self._change("arms", arm, status="paused")

    def drain(self, arm: str) -> Done:
        """Stop choosing an arm, except for keys that are on it."""
        return self._change("arms", arm, status="draining")

    def resume(self, arm: str) -> Done:
        """Choose an arm again."""
        return self._change("arms", arm, status="active")

    def share(self, arm: str, *, least: float = 0.0, most: float = 1.0) -> Done:
        """Set the least and the most share of the pulls of an arm."""
        return self._change("arms", arm, min_share=least, max_share=most)

    def set_attributes(
        self, arm: str, *, error: float | None = None, **attributes: float | str
    ) -> Done:
        """Change what is known of an arm; `error` is that of `Router`."""
        known = calls.json_fields(attributes)
        return self._change("arms", arm, attributes=known, **_given(error=error))

    def add_arm(self, arm: str, **attributes: float | str) -> Done:
        """Add an arm."""
        body = {"attributes": calls.json_fields(attributes)}
        return self._control(self._asking("PUT", "arms", arm, body=body))

    def remove_arm(self, arm: str) -> Done:
        """Remove an arm and what was learned of it."""
        return self._control(self._asking("DELETE", "arms", arm))

    def _change(self, *parts: str, **body: Any) -> Done:
        return self._control(self._asking("PATCH", *parts, body=body))

    def _asking(self, method: str, *parts: str, body: Any = None) -> Generator[Any, Any, None]:
        raise_for((yield from self._ask(method, *parts, body=body)))


def _given(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
