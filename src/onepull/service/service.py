"""A running service: its problems, keys, measures and live messages."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from onepull.errors import OnepullError, ParameterError, StoreError
from onepull.problem import Problem
from onepull.router import Router
from onepull.router.definition.definition import RouterSettings
from onepull.router.state.fold import asked_of
from onepull.service import demonstration
from onepull.service.handlers.deciding import ShortCut, short_cuts
from onepull.service.handlers.gathering import Gathering
from onepull.service.http.problem_details import Refused
from onepull.service.http.static_files import StaticFiles
from onepull.service.http.subscribers import TICK, Subscribers
from onepull.service.keys import Keys
from onepull.service.running.json_log import tell, tell_error
from onepull.service.running.metrics import Measures
from onepull.service.settings import ServiceSettings
from onepull.service.sources import Source
from onepull.service.views.hosted import Hosted
from onepull.store import Store, open_store

HEAVY = 2  # replays and changes that a worker computes at the same time
MOST_HEAVY_WAITING = 8  # of them that may wait
NEW_PROBLEMS_EVERY = 1.0  # seconds between two looks for problems that other workers have made


class Service:
    """All that one worker serves.

    Open its problems with `start`, which the server calls, and close them with `stop`.

    Examples
    --------
    >>> async def main():
    ...     service = Service.demonstration()
    ...     await service.start()
    ...     names = list(service.problems)
    ...     await service.stop()
    ...     return names
    >>> asyncio.run(main())
    ['demo']
    """

    def __init__(self, source: Source, *, measures: Measures | None = None, slot: int = 0) -> None:
        self.source = source
        self.settings: ServiceSettings = source.settings
        self.slot = slot
        path = self.settings.keys
        self.keys = Keys(None if path is None else Path(path))
        self.measures = measures or Measures.alone()
        self.files = StaticFiles()
        self.subscribers = Subscribers(most=self.settings.streams)
        self.problems: dict[str, Hosted] = {}
        self.short_cuts: dict[bytes, ShortCut] = {}  # by path
        self.is_ready = False
        self.is_draining = False
        self._gatherings: dict[str, Gathering] = {}
        self._hosting = threading.RLock()
        self._stores: dict[str, Store] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._heavy = asyncio.Semaphore(HEAVY)
        self._waiting = 0
        self._changes = asyncio.Lock()
        self._next_look = 0.0
        self._could_write = True  # at the last look
        self._unread: set[str] = set()  # problems whose log could not be read at the last look

    @classmethod
    def demonstration(cls, **settings: Any) -> Service:
        """Return a service of the demonstration, in memory."""
        return cls(Source((), ServiceSettings(**settings), is_demonstration=True))

    # Starting and stopping

    async def start(self) -> None:
        """Open all problems."""
        await asyncio.to_thread(self._open)
        self._tasks.append(asyncio.create_task(self._tell_live()))
        if self.source.is_demonstration and self.slot == 0:
            traffic = demonstration.Traffic(self.problems[demonstration.DEMONSTRATION].router)
            self._tasks.append(asyncio.create_task(traffic.run()))
        self.is_ready = True

    def _open(self) -> None:
        if self.source.is_demonstration:
            self.host({
                "problem": demonstration.problem(), "name": demonstration.DEMONSTRATION,
                "store": self.settings.store, "expires": demonstration.EXPIRES,
                "on_expiry": "fail", "fallback": "steady",
            })  # fmt: skip
        for arguments in self.source.routers:
            try:
                self.host(arguments)
            except ParameterError as error:
                raise ParameterError(f"{arguments['name']}: {error}") from None
        self.find_others()

    def _store(self, where: Any) -> Store:
        if str(where) not in self._stores:
            self._stores[str(where)] = open_store(where)
        return self._stores[str(where)]

    @property
    def main_store(self) -> Store:
        """The log of problems that are made over HTTP."""
        return self._store(self.settings.store)

    def host(self, arguments: Mapping[str, Any]) -> Hosted:
        """Serve a problem, and close the router that served it before, if any."""
        with self._hosting:
            store = self._store(arguments.get("store", self.settings.store))
            router = Router(**{**self.settings.redefining, **arguments, "store": store})
            if router.redefinition is not None:
                tell("a problem has changed", problem=router.name, what=str(router.redefinition))
            hosted = Hosted(router)
            before = self.problems.get(hosted.name)
            self.problems = {**self.problems, hosted.name: hosted}
            self.short_cuts = {**self.short_cuts, **short_cuts(hosted.path, hosted.router)}
        if before is not None:
            before.router.close()
        return hosted

    def find_others(self, *, waits: bool = True) -> None:
        """Serve the problems of the log that other workers, or earlier ones, have made.

        Unless it waits, it does nothing while another thread hosts a problem, which takes long.
        """
        if not self._hosting.acquire(blocking=waits):
            return
        try:
            store = self.main_store
            for name in store.problems():
                if name in self.problems:
                    continue
                try:
                    asked = asked_in(store, name)
                    if asked is not None:
                        self.host(arguments_of(name, asked))
                except OnepullError as error:
                    tell_error("a problem of the log cannot be served", error, problem=name)
        finally:
            self._hosting.release()

    async def find(self, name: str) -> Hosted | None:
        """Return a problem by its name; looks into the log, now and then, if it is not known."""
        found = self.problems.get(name)
        if found is None and (now := time.monotonic()) >= self._next_look:
            self._next_look = now + NEW_PROBLEMS_EVERY
            await asyncio.to_thread(self.find_others, waits=False)
            found = self.problems.get(name)
        return found

    def drain(self) -> None:
        """Prepare to stop: become unready, and end streams."""
        self.is_draining = True
        self.is_ready = False
        self.subscribers.close()

    async def stop(self) -> None:
        """Close everything; what was recorded is stored first."""
        self.drain()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        for hosted in self.problems.values():
            hosted.router.close()
        for store in self._stores.values():
            try:
                store.close()
            except StoreError as error:
                tell_error("the log could not be closed", error)

    # Running

    @property
    def can_answer(self) -> bool:
        """Whether requests can be answered: started, not stopping, and the log can be written."""
        return self.is_ready and all(h.router.is_healthy for h in self.problems.values())

    async def heavily(self, work: Any, *arguments: Any) -> Any:
        """Run something that takes long in a thread, a few at a time; refuses if many wait."""
        if self._waiting >= MOST_HEAVY_WAITING:
            detail = "too many requests that take long; try again later"
            raise Refused(503, detail, kind="Busy", headers=((b"retry-after", b"2"),))
        self._waiting += 1
        try:
            async with self._heavy:
                return await asyncio.to_thread(work, *arguments)
        finally:
            self._waiting -= 1

    def gathering(self, router: Router) -> Gathering:
        """Return where the observations of a router wait for each other."""
        found = self._gatherings.get(router.name)
        if found is None or found.router is not router:
            found = self._gatherings[router.name] = Gathering(router, is_near=self.looks_up_quickly)
        return found

    async def changing(self, work: Any, *arguments: Any) -> Any:
        """Run a change in a thread, one at a time."""
        async with self._changes:
            return await asyncio.to_thread(work, *arguments)

    @property
    def looks_up_quickly(self) -> bool:
        """Whether looking for an id takes no round trip to a database elsewhere."""
        return "://" not in (self.settings.store or "")

    async def _tell_live(self) -> None:
        """Send what is new to all subscribers, a few times a second."""
        while True:
            await asyncio.sleep(TICK)
            for hosted in self.problems.values():
                try:
                    news = await asyncio.to_thread(hosted.tick)
                except StoreError as error:
                    if hosted.name not in self._unread:  # once, however long it lasts
                        tell(
                            "the log cannot be read", logging.WARNING,
                            problem=hosted.name, reason=str(error),
                        )  # fmt: skip
                    self._unread.add(hosted.name)
                    continue
                except Exception as error:  # noqa: BLE001 - live messages go on with the next
                    tell_error("no live message", error, problem=hosted.name)
                    continue
                if hosted.name in self._unread:
                    self._unread.discard(hosted.name)
                    tell("the log can be read again", problem=hosted.name)
                if news is not None and len(self.subscribers):
                    self.subscribers.publish(
                        hosted.name, "tick", msgspec.json.encode(news), news["sequence"]
                    )
            self._tell_outage()
            if self.keys.problem:
                tell("nobody is let in", reason=self.keys.problem)
                self.keys.problem = ""

    def _tell_outage(self) -> None:
        """Tell once that the log cannot be written, and once that it can be again."""
        routers = [hosted.router for hosted in self.problems.values()]
        reasons = [each.store.trouble for each in routers if not each.is_healthy]
        can_write = not any(reasons)  # one that could only not be read is told elsewhere
        if self._could_write and not can_write:
            tell("the log cannot be written", logging.WARNING, reason=max(reasons))
        elif can_write and not self._could_write:
            tell("the log can be written again")
        self._could_write = can_write


def asked_in(store: Store, name: str) -> dict[str, Any] | None:
    """Return what a problem of a log was last defined with; None if the log does not say."""
    found, number = None, 0
    for snapshot in store.snapshots(name):  # its events may be deleted
        with suppress(StoreError):
            found, number = asked_of(snapshot)
            break
    while definitions := [
        event for event in store.of_id(name, str(number + 1)).values() if hasattr(event, "asked")
    ]:
        found, number = definitions[0].asked, number + 1
    return found


def arguments_of(name: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a router that was defined before."""
    arguments = {
        "name": name,
        "problem": Problem.from_dict(asked["problem"]),
        "policy": asked["policy"],
        "mode": asked["mode"],
        "fallback": asked["fallback"],
    }
    return {**arguments, **RouterSettings.stated(asked)}
