"""Where simulations run: in this thread, on the cores of this machine, or on a cluster."""

from __future__ import annotations

import asyncio
import os
import pickle
import re
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache, partial
from importlib import import_module
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from typing import Any

from onepull.errors import ClusterError, MissingExtra, ParameterError

ALLOWED = "serial, threads, threads:N, processes, processes:N or dask:ADDRESS"
SECONDS_TO_CONNECT = 10.0
MOST_WORKERS = 1024


def open_executor(where: str) -> AbstractContextManager[Executor]:
    """Return an executor to be used in a `with` block.

    At the end of the block all submitted work is done.  If an exception leaves the block, work
    that has not started is cancelled.

    Parameters
    ----------
    where
        `serial` runs in this thread.  `threads:N` and `processes:N` run on N cores of this
        machine, or on all of them without N.  Threads are enough for the compiled simulator;
        use processes for policies that run in Python.  `dask:ADDRESS` runs on the Dask cluster
        whose scheduler is at ADDRESS, such as `tcp://10.0.0.5:8786`.  If a worker dies, the
        cluster gives its work to another.  If the cluster has no workers yet, the work waits.

    Examples
    --------
    >>> with open_executor("threads:2") as executor:
    ...     executor.submit(pow, 2, 10).result()
    1024
    >>> open_executor("gpu")
    Traceback (most recent call last):
    onepull.errors.ParameterError: cannot run on 'gpu'; allowed are serial, threads, threads:N, \
processes, processes:N or dask:ADDRESS
    """
    kind, colon, detail = where.partition(":")
    try:
        opener = OPENERS[kind]
    except KeyError:
        raise ParameterError(f"cannot run on {where!r}; allowed are {ALLOWED}") from None
    return opener(detail if colon else None)


def workers() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def parallelism(executor: Executor) -> int:
    """Return how many tasks an executor runs at once; a guess if it is not one of ours.

    >>> with open_executor("threads:3") as executor:
    ...     parallelism(executor)
    3
    """
    return int(getattr(executor, "parallelism", workers()))


class Serial(Executor):
    """Runs each function when it is submitted, in the same thread.

    >>> with Serial() as executor:
    ...     executor.submit(pow, 2, 10).done()
    True
    """

    parallelism = 1

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run a function and return a future with its result."""
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - raised again by `result`
            future.set_exception(error)
        return future


class _Threads(ThreadPoolExecutor):
    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.parallelism = count


class _Processes(ProcessPoolExecutor):
    """Worker processes that heed no Ctrl-C and end with this process, however it ends."""

    def __init__(self, count: int) -> None:
        # A fork would copy locks that threads of this process may hold.
        super().__init__(count, mp_context=get_context("spawn"), initializer=_begin_worker)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        # This may start a worker, which inherits what is blocked: Ctrl-C reaches every process
        # of a terminal, and a worker that has just started would print a traceback.
        with _interrupts_blocked():
            return super().submit(fn, *args, **kwargs)


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Put off interrupts to the end of the block; threads other than this one still get them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin_worker() -> None:
    """Prepare a worker process: the process that started it stops it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process when its parent has ended, even if the parent was killed.

    A worker waits for work from a queue that it holds open itself, so it would wait for ever.
    """
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


class _Remote(Executor):
    """Runs functions in other processes.

    A process that receives a simulation tabulates it and compiles its reward, which takes about
    60 ms.  So functions are sent as bytes, and the receiver caches the last ones it unpacked.
    """

    def __init__(self, pool: Executor, count: int, pack: Callable[[Any], bytes]) -> None:
        self.parallelism = count
        self._pool = pool
        self._pack = pack

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self._pool.submit(_run, self._pack(fn), args, kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002 - the interface's
        self._pool.shutdown(wait, cancel_futures=cancel_futures)


class _Cluster(_Remote):
    """Runs functions on a Dask cluster.

    The scheduler gives the tasks of a dead worker to others, and gives a task up after four
    deaths.  Dask's `retries` are for tasks that raise; ours would raise again.
    """

    def __init__(self, address: str) -> None:
        _check_scheduler(address)
        self._client = _dask_module("distributed").Client(
            address, timeout=SECONDS_TO_CONNECT, set_as_default=False
        )
        try:
            self._check_workers()
            count = sum(self._client.nthreads().values())
        except BaseException:
            self._client.close()
            raise
        # Not pure: otherwise Dask would hash the arguments to find tasks it has run before.
        pool = self._client.get_executor(pure=False)
        super().__init__(pool, max(1, count), _dask_module("cloudpickle").dumps)

    def _check_workers(self) -> None:
        """Raise `ClusterError` if a worker has no simulator, or another version of it."""
        digests = self._client.run(_digest, on_error="return")
        for worker, digest in digests.items():
            if isinstance(digest, ImportError):
                raise ClusterError(f"the worker at {worker} cannot run simulations: {digest}")
            if isinstance(digest, str) and digest != _digest():
                raise ClusterError(
                    f"the worker at {worker} has another version of onepull or numba than this one"
                )

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002 - the interface's
        # Dask's executor either waits or cancels; it cannot do both.
        self._pool.shutdown(wait and not cancel_futures)
        self._client.close()


def _digest() -> str:
    # Imported on the worker, so that a worker without the simulator raises there.
    compiled = import_module("onepull.simulation.compiled")
    digest: str = compiled.source_digest()
    return digest


@lru_cache(maxsize=4)
def _unpacked(packed: bytes) -> Callable[..., Any]:
    function: Callable[..., Any] = pickle.loads(packed)  # noqa: S301 - sent by our own submit
    return function


def _run(packed: bytes, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return _unpacked(packed)(*args, **kwargs)


def _check_scheduler(address: str) -> None:
    """Raise `ClusterError` if no scheduler answers at an address.

    A Dask client that cannot connect leaves a thread behind, and waits for ever for a server that
    accepts the connection but sends nothing.  So the client is made only after a scheduler has
    answered.
    """
    # In its own thread, since in a notebook this one already has an event loop.
    with ThreadPoolExecutor(1) as aside:
        try:
            found = aside.submit(asyncio.run, _identity(address)).result()
        except (OSError, ValueError) as error:
            reason = str(error) or f"no answer within {SECONDS_TO_CONNECT:g} s"
            raise ClusterError(f"no Dask scheduler at {address!r}: {reason}") from None
    if found != "Scheduler":
        raise ClusterError(f"no Dask scheduler at {address!r}; it is a {found}")


async def _identity(address: str) -> str:
    core = _dask_module("distributed.core")
    settings = _dask_module("distributed").Security().get_connection_args("client")
    async with (
        asyncio.timeout(SECONDS_TO_CONNECT),
        core.rpc(address, timeout=SECONDS_TO_CONNECT, connection_args=settings) as server,
    ):
        return str((await server.identity())["type"])


def _serial(detail: str | None) -> AbstractContextManager[Executor]:
    if detail is not None:
        raise ParameterError(f"serial takes no number, given {detail!r}")
    return _opened(Serial)


def _threads(detail: str | None) -> AbstractContextManager[Executor]:
    return _opened(partial(_Threads, _count("threads", detail)))


def _processes(detail: str | None) -> AbstractContextManager[Executor]:
    count = _count("processes", detail)

    def build() -> Executor:
        return _Remote(_Processes(count), count, pickle.dumps)

    return _opened(build)


def _dask(detail: str | None) -> AbstractContextManager[Executor]:
    if not detail:
        raise ParameterError("dask needs the scheduler's address, such as dask:tcp://10.0.0.5:8786")
    _dask_module("distributed")
    return _opened(partial(_Cluster, detail))


def _dask_module(name: str) -> Any:
    """Import a module of the `distributed` extra, which is slow to import and has no types."""
    try:
        return import_module(name)
    except ImportError:
        raise MissingExtra.of("running on Dask needs", "distributed") from None


OPENERS: dict[str, Callable[[str | None], AbstractContextManager[Executor]]] = {
    "serial": _serial,
    "threads": _threads,
    "processes": _processes,
    "dask": _dask,
}


@contextmanager
def _opened(build: Callable[[], Executor]) -> Iterator[Executor]:
    executor = build()
    try:
        yield executor
    except BaseException:
        executor.shutdown(cancel_futures=True)
        raise
    executor.shutdown()


def _count(kind: str, detail: str | None) -> int:
    if detail is None:
        return workers()
    count = int(detail) if re.fullmatch("[0-9]{1,9}", detail) else 0
    if not 1 <= count <= MOST_WORKERS:
        raise ParameterError(
            f"{kind}:N takes a whole number N from 1 to {MOST_WORKERS:,}, given {detail!r}"
        )
    return count
