"""The same script against a policy, a router and a client gives the same."""

from __future__ import annotations

import asyncio
import random
from contextlib import contextmanager
from inspect import isawaitable

import pytest
from serving import ENDPOINTS, LINKS, run, served, write_problem

from onepull import (
    AsyncClient,
    Client,
    ContextError,
    InputError,
    ParameterError,
    RewardError,
    Router,
    StateError,
    UnknownArm,
)
from onepull.problem import toml_values
from onepull.router.definition.definition import policy_for
from onepull.router.router_file import read_router_file

TARGETS = ["policy", "router", "router on disk", "client"]


@contextmanager
def opened(kind, folder, text=LINKS):
    """Open a policy, a router or a client of the same problem, called links."""
    file = write_problem(folder, text, "links.toml")
    values = read_router_file(file)
    if kind == "policy":
        yield policy_for(values["problem"], values["policy"])[0]
    elif kind == "client":
        with (
            served(file) as service,
            Client(str(service.base_url), problem="links", budget=20) as client,
        ):
            yield client
    elif kind == "async client":
        with served(file) as service:
            yield AsyncClient(str(service.base_url), problem="links", budget=20)
    else:
        store = folder / "router.db" if kind == "router on disk" else None
        with Router(**{**values, "store": store}) as router:
            yield router


@pytest.fixture(params=TARGETS)
def target(request, tmp_path):
    with opened(request.param, tmp_path) as found:
        yield found


def script(target):
    """Use every verb that all three have; return what was seen."""
    luck = random.Random(3)  # noqa: S311 - a script
    seen: list[object] = []
    for number in range(40):
        bits = luck.choice([1, 2, 3, 4])
        eligible = ["lte"] if number % 9 == 0 else None
        decision = target.choose(bits=bits, eligible=eligible)
        seen.append(getattr(decision, "arm", decision))
        target.observe(decision, bits=bits, capacity=round(luck.uniform(0, 7), 2))
        if number == 10:
            target.pause("wifi")
        if number == 14:
            target.resume("wifi")
            target.pin("lte")
        if number == 18:
            target.pin(None)
            target.share("wifi", least=0.2, most=0.6)
        if number == 30:
            target.share("wifi")
            target.add_arm("5g")
        if number == 36:
            target.remove_arm("5g")
    explanation = target.explain(bits=3)
    seen += [(row.arm, row.pulls, row.estimate, row.index) for row in explanation.arms]
    stats = target.stats()
    rows = getattr(stats, "arms", None) or stats.policy.arms
    seen += [(row.arm, row.pulls, row.clipped, row.failures) for row in rows]
    for call, kind in (
        (lambda: target.choose(bits=9), ContextError),
        (target.choose, ContextError),
        (lambda: target.explain(bits="x"), ContextError),
        (lambda: target.choose(bits=1, eligible=["5g"]), UnknownArm),
        (lambda: target.pause("5g"), UnknownArm),
        (lambda: target.observe(target.choose(bits=1), bits=1, capacity=99), StateError),
        (lambda: target.observe(target.choose(bits=1), bits=1), StateError),
        (lambda: target.observe(target.choose(bits=4), bits=4, reward=99), RewardError),
    ):
        with pytest.raises(kind) as caught:
            call()
        seen.append(str(caught.value))
    return seen


def test_what_is_missing_is_told(target):
    with pytest.raises(ParameterError, match=r"pin takes an arm, or None .*: pin\(None\)"):
        target.pin()
    said = "seconds=0.5" if isinstance(target, Client) else "capacity=…"
    with pytest.raises(StateError, match=rf"takes the state by name.*{said}\), given 3, 'fast'"):
        target.observe(target.choose(bits=1), 3, "fast")
    with pytest.raises(StateError, match=r"'capcity', did you mean 'capacity'. Allowed here"):
        target.observe(target.choose(bits=1), bits=1, capcity=3)


@pytest.mark.parametrize("method", ["choose", "explain", "pull"])
def test_a_context_without_names_is_refused(target, method):
    with pytest.raises(ContextError, match=rf"{method} takes the context by name.*, given 5, 'eu'"):
        getattr(target, method)(5, "eu")
    fields = "tokens=300" if isinstance(target, Client) else "bits=…"  # a client knows no fields
    with pytest.raises(ContextError, match=rf"{method}\({fields}\), given {{'bits': 3}}"):
        getattr(target, method)({"bits": 3})


def expected():
    """What a policy in this process does."""
    problem_file = toml_values(LINKS, "links")
    from onepull import DCB, Problem  # noqa: PLC0415 - only here

    return script(DCB(Problem.from_dict(problem_file["problem"])))


def test_the_same_script_gives_the_same(target):
    assert script(target) == expected()


def rows_of(stats):
    rows = getattr(stats, "arms", None) or stats.policy.arms
    return [(row.arm, row.pulls, row.failures, row.in_flight) for row in rows]


def refused(target):
    """Let a pull observe what cannot be; return the error and the pull."""
    with pytest.raises(StateError) as caught, target.pull(tokens=100) as pull:
        pull.observe(seconds="fast")
    return caught.value, pull


def pulling(target):
    """Use `pull` in every way; return what was seen."""
    with target.pull(tokens=100) as pull:
        pull.observe(seconds=1.5)
    seen = [pull.arm, pull.context, rows_of(target.stats())]
    with pytest.raises(TimeoutError), target.pull(tokens=100, eligible=["beta"]) as pull:
        raise TimeoutError
    seen += [pull.arm, rows_of(target.stats())]
    with pytest.raises(KeyboardInterrupt), target.pull(tokens=100):
        raise KeyboardInterrupt
    with target.pull(tokens=100):
        pass
    seen.append(rows_of(target.stats()))
    error, late = refused(target)
    seen += [str(error), error.__notes__, rows_of(target.stats())]
    late.observe(seconds=2.5)
    seen.append(rows_of(target.stats()))
    with pytest.raises(InputError, match="was begun before"), late:
        pass
    with pytest.raises(InputError, match="has no arm yet"):
        target.pull(tokens=100).observe(seconds=1)
    return seen


@pytest.mark.parametrize("kind", TARGETS)
def test_a_pull_is_the_same_everywhere(kind, tmp_path):
    with opened(kind, tmp_path, ENDPOINTS) as target, opened("policy", tmp_path, ENDPOINTS) as own:
        seen = pulling(target)
        assert seen == pulling(own)
    assert [rows for rows in seen if isinstance(rows, list)][-1] == [
        ("alpha", 2, 0, 0),
        ("beta", 1, 1, 0),
    ]


async def done(found):
    """Wait for what an async client returns."""
    return await found if isawaitable(found) else found


async def pulling_async(target):
    async with target.pull(tokens=100) as pull:
        await done(getattr(pull, "observe_async", pull.observe)(seconds=1.5))
    with pytest.raises(TimeoutError):
        async with target.pull(tokens=100, eligible=["beta"]):
            raise TimeoutError
    with pytest.raises(asyncio.CancelledError):
        async with target.pull(tokens=100):
            raise asyncio.CancelledError
    with pytest.raises(StateError) as caught:
        async with target.pull(tokens=100) as pull:
            await done(getattr(pull, "observe_async", pull.observe)(seconds="fast"))
    notes = caught.value.__notes__
    await done(pull.observe(seconds=2.5))
    stats = await done(target.stats())
    if isinstance(target, AsyncClient):
        await target.close()
    return notes, rows_of(stats)


@pytest.mark.parametrize("kind", ["policy", "router", "router on disk", "async client"])
def test_a_pull_is_the_same_with_asyncio(kind, tmp_path):
    with opened(kind, tmp_path, ENDPOINTS) as target:
        notes, rows = run(pulling_async(target))
    assert "was given up" in notes[0]
    assert rows == [("alpha", 2, 0, 0), ("beta", 1, 1, 0)]


@pytest.mark.parametrize("kind", TARGETS)
def test_a_pull_is_given_up_where_failures_have_no_reward(kind, tmp_path):
    with opened(kind, tmp_path) as target:
        with pytest.raises(TimeoutError), target.pull(bits=3):
            raise TimeoutError
        assert rows_of(target.stats()) == [("wifi", 0, 0, 0), ("lte", 0, 0, 0)]
