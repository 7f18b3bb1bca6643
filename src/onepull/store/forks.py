"""Open objects in a forked process: the locks, threads and connections are the parent's."""

from __future__ import annotations

import os
import threading
import weakref
from abc import ABC, abstractmethod
from typing import Any


class Forkable(ABC):
    """An open object that starts again in a child process."""

    def _follow_forks(self) -> None:
        """Take part in every fork from now on.

        What has begun to do so later is kept from changes earlier, such as a router, which holds
        its own locks while it waits for those of its store.  In the child it begins anew later.
        """
        _followers.append(weakref.ref(self, _followers.remove))

    def _before_fork(self) -> None:  # noqa: B027 - most have nothing to do
        """Stop changes by other threads, which the child would inherit half done."""

    def _after_fork_in_parent(self) -> None:  # noqa: B027 - most have nothing to do
        """Let other threads go on."""

    @abstractmethod
    def _after_fork_in_child(self) -> None:
        """Begin anew."""


def leave_to_parent(*connections: Any) -> None:
    """Keep connections open here that the parent still uses."""
    _of_parents.extend(connections)


_followers: list[weakref.ref[Forkable]] = []
_forking: list[Forkable] = []  # those that wait for the fork that holds the turn
_turn = threading.Lock()  # threads fork one after the other
_of_parents: list[Any] = []


def _living() -> list[Forkable]:
    # A copy, since one that ends meanwhile is removed from the list.
    return [each for each in (ref() for ref in list(_followers)) if each is not None]


def _before() -> None:
    _turn.acquire()
    _forking[:] = reversed(_living())
    for each in _forking:
        each._before_fork()  # noqa: SLF001 - of this module


def _in_parent() -> None:
    for each in _forking:
        each._after_fork_in_parent()  # noqa: SLF001 - of this module
    _forking.clear()
    _turn.release()


def _in_child() -> None:
    global _turn  # noqa: PLW0603 - the parent's is held by the thread that forked
    for each in _living():  # also what another thread began while this one waited for locks
        each._after_fork_in_child()  # noqa: SLF001 - of this module
    _forking.clear()
    _turn = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
