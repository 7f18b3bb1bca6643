"""Processes and routers that share one log."""

from __future__ import annotations

import hashlib
import sys
from typing import Any

import numpy as np
from policy_cases import genie, one_each

from onepull import Router
from onepull.store import Expired, Failed, GaveUp, Observed
from onepull.testing.random_data import observations

# A genie's distributions cannot be saved, so it has no log either.
SETTINGS = {name: case for name, case in one_each().items() if case[0] is not genie}


def quiet(build: Any, problem: Any, store: Any, **given: Any) -> Router:
    """Return a router that follows the log only when it is told to."""
    return Router(problem, policy=build, store=store, poll=3000.0, **given)


def pulls(problem: Any, count: int, seed: int) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return contexts, each with the state that a pull then shows."""
    names = set(problem.context)
    rows = []
    for row in observations(problem, count, np.random.default_rng(seed)):
        row.pop("arm")
        context = {name: value for name, value in row.items() if name in names}
        rows.append((context, {n: v for n, v in row.items() if n not in names}))
    return rows


def learn(policy: Any, event: Any) -> None:
    """Learn the outcome that an event tells, as a policy without a log does."""
    if isinstance(event, Failed):
        policy.observe(event.arm, failed=True, **event.context)
    elif isinstance(event, Observed):
        policy.observe(event.arm, **event.context, **event.state)  # type: ignore[arg-type]  # never None here
    elif isinstance(event, GaveUp) or (isinstance(event, Expired) and not event.teaches):
        policy.pulled(event.arm, **event.context)
        policy.gave_up(event.arm, **event.context)


def overdue(router: Router) -> None:
    """Let everything that is in flight expire with the next `expire`."""
    flights = router._fold.flights
    for waiting in (flights.own, flights.foreign):
        waiting.update({id_: (event, 0.0) for id_, (event, _) in waiting.items()})
    flights._deadlines = [(0.0, flight.id) for flight in flights]


def digest(router: Router) -> str:
    return hashlib.sha256(router.state()).hexdigest()


def work(path: str, me: int, names: list[str], rounds: int) -> None:
    """Choose and observe on every setting; leave some decisions open."""
    generator = np.random.default_rng(me)
    routers = {
        name: Router(SETTINGS[name][1](), policy=SETTINGS[name][0], store=path, name=name)
        for name in names
    }
    rows = {name: pulls(router.problem, rounds, me) for name, router in routers.items()}
    for i in range(rounds):
        for name, router in routers.items():
            context, state = rows[name][i]
            decision = router.choose(**context)
            if generator.random() < 0.8:
                router.observe(decision, **state)
    for router in routers.values():
        router.store.flush()
    print("done", flush=True)  # noqa: T201 - how a worker speaks
    sys.stdin.readline()  # all have written everything
    for name, router in routers.items():
        router.sync()
        print(name, router.sequence, digest(router), flush=True)  # noqa: T201 - the same
        router.close()


if __name__ == "__main__":
    work(sys.argv[1], int(sys.argv[2]), sys.argv[4:], int(sys.argv[3]))
