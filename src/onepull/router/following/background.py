"""The thread of a router: read what others wrote, let decisions expire, keep snapshots."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onepull.router.following.tending import Tending


class Background:
    """A thread that calls `router.tend()` from time to time, until the router is closed or gone."""

    def __init__(self, router: Tending, seconds: float) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=_run,
            args=(weakref.ref(router), self._stop, seconds),
            name="onepull-router",
            daemon=True,
        )
        weakref.finalize(router, self._stop.set)  # nobody may ever close it
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._stop.set()
        if self._thread is not threading.current_thread():
            self._thread.join()


def _run(ref: weakref.ref[Tending], stop: threading.Event, seconds: float) -> None:
    while not stop.wait(seconds):
        router = ref()
        if router is None:
            return
        router.tend()
        del router
