"""`onepull serve`: from the arguments to a service that runs until it is told to stop."""

from __future__ import annotations

import gc
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib.util import find_spec
from logging import WARNING
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from onepull.checks import some
from onepull.errors import MissingExtra, OnepullError, ParameterError
from onepull.router import Router
from onepull.router.definition.preview import Preview
from onepull.service.keys import named_keys
from onepull.service.running.json_log import start_logging, tell
from onepull.service.running.metrics import Measures
from onepull.service.running.server import address_of, bound_socket, make_server
from onepull.service.running.systemd import tell_systemd_ready
from onepull.service.running.workers import (
    WORKERS_FAILED,
    Supervisor,
    end_with_parent,
    tell_parent,
)
from onepull.service.service import Service
from onepull.service.settings import ServiceSettings
from onepull.service.sources import Source, read_source
from onepull.store.opening import without_password
from onepull.store.read_only import open_to_read

Prepare: TypeAlias = Callable[[], None]

COLLECT = (
    20_000,
    20,
    50,
)  # new objects until garbage is looked for among them, and among older ones
MOST_TOLD = 20  # changes that a check lists
SWITCH = 0.002  # seconds that a thread may keep the interpreter


def check_source(path: Path | None, options: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a source has, a line each; raises OnepullError if something is wrong.

    The log is read, too, and nothing is changed.
    """
    yield from _checked(read_source(path, options))


def _checked(source: Source, *, reads_log: bool = True) -> Iterator[str]:
    if source.is_demonstration:
        yield "demo: the built-in demonstration"
    for router in source.routers:
        stated = {**source.settings.redefining, **router}
        try:
            with Router(**{**stated, "store": None}) as trial:  # in memory: nothing is written
                policy = trial.stats().policy.policy
            arms = len(router["problem"].arms)
            many = f"{arms} arm{'s' * (arms != 1)}"
            yield f"{router['name']}: {many}, {policy}, log in {without_password(router['store'])}"
            if reads_log:
                for line in _fit(stated):
                    yield f"{router['name']}: {line}"
        except ParameterError as error:
            raise ParameterError(f"{router['name']}: {error}") from None
    if reads_log:
        yield from _others_in_log(source)
    settings = source.settings
    if settings.compile and find_spec("numba") is None:
        raise MissingExtra.of("compiled decisions need", "simulate")
    if settings.keys is None:
        yield "keys: none, so only this machine is answered; see `onepull key add`"
    elif keys := named_keys(Path(settings.keys)):
        yield f"keys: {len(keys)} in {settings.keys}"
    else:
        yield f"keys: none in {settings.keys}, so nobody is let in; see `onepull key add`"
    yield f"listens on {settings.host}:{settings.port} with {settings.workers} worker(s)"


def _fit(arguments: Mapping[str, Any]) -> Iterator[str]:
    """Yield how the log of a router fits its file; raises OnepullError if it does not."""
    store = open_to_read(arguments["store"])
    if store is None:
        yield "the log is new"
        return
    with store, Preview(**{**arguments, "store": store}) as preview:
        if preview.is_new:
            yield "the log does not have this problem yet"
            return
        if preview.redefinition is None:
            yield f"the log fits, up to event {preview.sequence:,}"
        else:
            yield f"the log will be redefined at the start; {preview.redefinition}"
        for what, told in (
            ("changed at run time, which the file does not undo", preview.changes),
            ("set at run time", preview.controls),
        ):
            if told:
                more = [f"{len(told) - MOST_TOLD:,} more"] if len(told) > MOST_TOLD else []
                yield f"{what}: {'; '.join([*told[:MOST_TOLD], *more])}"


def _others_in_log(source: Source) -> Iterator[str]:
    """Yield the problems that no file has, which were made over HTTP and are served, too."""
    where = source.settings.store
    store = None if where is None else open_to_read(where)
    if store is None:
        return
    with store:
        named = {router["name"] for router in source.routers}
        others = [name for name in store.problems() if name not in named]
    if others:
        yield f"also served from the log: {some(others)}"


def serve(path: Path | None, options: Mapping[str, Any], *, prepare: Prepare | None = None) -> int:
    """Serve until told to stop; return the exit code.

    `prepare` is called in each worker before it serves, if the settings say `compile`.
    """
    source = read_source(path, options)
    settings = source.settings
    for _ in _checked(source, reads_log=False):
        pass  # what is wrong is told before anything starts
    listening = bound_socket(settings)
    start_logging(settings.log)
    stores = dict.fromkeys(router["store"] for router in source.routers)
    shown = [without_password(store) for store in stores or [settings.store or "memory"]]
    tell(
        "listening", url=address_of(listening), workers=settings.workers,
        store=", ".join(shown), keys=settings.keys or "none",
    )  # fmt: skip
    if settings.workers == 1:
        _prepare(settings, prepare)
        return run_one(source, listening)
    code = Supervisor(_Start(path, dict(options), prepare), settings, listening).run()
    tell("stopped", code=code)
    return code


def run_one(
    source: Source, listening: socket.socket, measures: Measures | None = None, slot: int = 0,
    parent: Connection | None = None,
) -> int:  # fmt: skip
    """Serve in this process until told to stop; `parent` is told when it has started."""
    server = make_server(Service(source, measures=measures, slot=slot))

    def stop(*_: Any) -> None:
        server.should_exit = True

    if parent is None:
        server.tell_started = tell_systemd_ready
    else:
        server.tell_started = partial(tell_parent, parent)
        end_with_parent(parent, stop)
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        # A terminal that is closed sends it to all processes; workers are stopped by their parent.
        signal.signal(signal.SIGHUP, stop if parent is None else signal.SIG_IGN)
    # Before the server listens for signals, and after: it raises the one that stopped it again.
    signal.signal(signal.SIGTERM, stop)
    # The thread that writes the log would otherwise keep requests waiting, 5 ms at a time.
    sys.setswitchinterval(SWITCH)
    # Decisions in flight live long and form no cycles; looking through all of them takes longer
    # than deciding.
    gc.set_threshold(*COLLECT)
    signal.signal(signal.SIGINT, stop)
    try:
        server.run(sockets=[listening])
    except SystemExit:
        return WORKERS_FAILED
    tell("stopped", slot=slot)
    return 0 if server.started else WORKERS_FAILED


def _prepare(settings: ServiceSettings, prepare: Prepare | None) -> None:
    """Compile decisions if asked for, in 0.3 s, or 3 s the first time."""
    if settings.compile and prepare is not None:
        begin = time.perf_counter()
        prepare()
        tell("decisions are compiled", seconds=round(time.perf_counter() - begin, 2))


class _Start:
    """Starts a worker in a process of its own."""

    def __init__(self, path: Path | None, options: dict[str, Any], prepare: Prepare | None) -> None:
        self._path, self._options, self._prepare = path, options, prepare

    def __call__(
        self, settings: ServiceSettings, slot: int, measures: Path, listening: socket.socket,
        parent: Connection,
    ) -> None:  # fmt: skip
        start_logging(settings.log)
        try:
            source = self._source(settings)
            _prepare(settings, self._prepare)
            shared = Measures.shared(measures, settings.workers, slot)
            code = run_one(source, listening, shared, slot, parent)
        except OnepullError as error:
            tell(str(error), slot=slot)
            code = WORKERS_FAILED
        raise SystemExit(code)

    def _source(self, settings: ServiceSettings) -> Source:
        """Read what to serve; the address and the number of workers stay as at the start."""
        source = read_source(self._path, self._options)
        same = {name: getattr(settings, name) for name in ("host", "port", "workers")}
        settings = msgspec.structs.replace(source.settings, **same)
        return msgspec.structs.replace(source, settings=settings)

    def check(self, settings: ServiceSettings) -> None:
        """Read everything as a worker does, without a change; the exit code says if it worked."""
        start_logging(settings.log)
        try:
            for _ in _checked(self._source(settings)):
                pass
        except OnepullError as error:
            tell("the files are not served", WARNING, reason=str(error))
            raise SystemExit(WORKERS_FAILED) from None
