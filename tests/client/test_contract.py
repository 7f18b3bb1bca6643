"""The same script against a policy, a router and a client gives the same."""

from __future__ import annotations

import random

import pytest
from serving import LINKS, served, write_problem

from onepull import Client, ContextError, RewardError, Router, StateError, UnknownArm
from onepull.problem import toml_values
from onepull.router.definition import policy_for
from onepull.router.router_file import read_router_file


@pytest.fixture(params=["policy", "router", "router on disk", "client"])
def target(request, tmp_path):
    file = write_problem(tmp_path, LINKS, "links.toml")
    values = read_router_file(file)
    if request.param == "policy":
        yield policy_for(values["problem"], values["policy"])[0]
    elif request.param == "client":
        with (
            served(file) as service,
            Client(str(service.base_url), problem="links", budget=20) as client,
        ):
            yield client
    else:
        store = tmp_path / "router.db" if request.param == "router on disk" else None
        with Router(**{**values, "store": store}) as router:
            yield router


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


@pytest.mark.parametrize("method", ["choose", "explain"])
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
