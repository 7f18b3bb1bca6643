"""Experiment files with a battery or a queue, which have controllers instead of policies."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from onepull.checks import whole_number
from onepull.control import (
    Backlog,
    Battery,
    BatteryPlan,
    Buffer,
    BufferEnvironment,
    Controller,
    DriftPlusPenalty,
    Myopic,
    harvesting_battery,
    metered_backlog,
)
from onepull.decoding import converted
from onepull.distributions import Distribution
from onepull.errors import ProblemError
from onepull.experiments.experiment import PolicyInputs, check_policy, policy_of
from onepull.experiments.fingerprint import fingerprint_of
from onepull.experiments.own_code import problem_of
from onepull.experiments.stated_experiment import StatedExperiment
from onepull.experiments.swept_entries import (
    check_baseline,
    check_lists,
    check_new,
    entry_name,
    label_in,
    sweep,
    told_parameters,
)
from onepull.experiments.toml_laws import law_of, state_laws
from onepull.experiments.toml_reading import (
    Document,
    FromToml,
    application_of,
    called,
    with_whole_counts,
)
from onepull.policies import Policy
from onepull.simulation.buffered import BufferSimulation
from onepull.simulation.limits import MOST_SLOTS, number_of_replications, number_of_trials
from onepull.spaces import Box, Interval

BUFFERED: dict[str, Callable[..., BufferEnvironment]] = {
    "harvesting-battery": harvesting_battery,
    "metered-backlog": metered_backlog,
}
BUFFERS: dict[str, type[Buffer]] = {"battery": Battery, "backlog": Backlog}
CONTROLLERS: dict[str, type[Controller]] = {
    kind.__name__: kind for kind in (Myopic, DriftPlusPenalty, BatteryPlan)
}
ARRIVALS = Box(amount=Interval(0, float("inf")))


class _BufferLaws(msgspec.Struct, forbid_unknown_fields=True):
    states: dict[str, Any] | None = None
    arrivals: Any = None


class _WrittenBuffer(msgspec.Struct, forbid_unknown_fields=True):
    horizon: int
    replications: int
    controllers: list[dict[str, Any]]
    name: str = ""
    seed: int = 0
    baseline: str | None = None
    application: str | dict[str, Any] | None = None
    problem: dict[str, Any] | None = None
    environment: _BufferLaws | None = None
    buffer: dict[str, Any] | None = None


class BufferExperiment(StatedExperiment[BufferSimulation]):
    """A simulation with a buffer and its number of replications, read from a file.

    Examples
    --------
    >>> experiment = BufferExperiment.from_toml('''
    ... application = "harvesting-battery"
    ... horizon = 1000
    ... replications = 8
    ... [[controllers]]
    ... controller = "DriftPlusPenalty"
    ... weight = [2.0, 4.0]
    ... policy = "DCB"
    ... ''')
    >>> list(experiment.simulation.controllers)
    ['DriftPlusPenalty(DCB, weight=2.0)', 'DriftPlusPenalty(DCB, weight=4.0)']
    """

    __slots__ = ()

    @classmethod
    def _build(cls, document: Document, folder: Path, name: str) -> BufferExperiment:
        written = _written(document.values)
        world = _world(written, folder)
        number_of_replications(written.replications)
        number_of_trials(written.horizon, MOST_SLOTS)
        controllers = dict(_controllers(written, world))
        check_baseline(written.baseline, controllers)
        simulation = BufferSimulation(
            world, controllers, horizon=written.horizon, seed=written.seed
        )
        return cls._of(document, name, written, simulation)

    @property
    def fingerprint(self) -> str:
        """A digest of everything that a replication depends on, but not of their number."""
        s = self.simulation
        learners = [(name, repr(c.policy.parameters)) for name, c in s.controllers.items()]
        return fingerprint_of(self.written, s.environment, learners)


@dataclass(frozen=True, slots=True)
class BufferProblemFile(FromToml):
    """The parts of an experiment with a buffer that a plan needs; only the world is required.

    >>> BufferProblemFile.from_toml('application = "metered-backlog"').horizon is None
    True
    """

    name: str
    environment: BufferEnvironment
    horizon: int | None = None
    seed: int = 0

    @classmethod
    def _build(cls, document: Document, folder: Path, name: str) -> BufferProblemFile:
        stated = document.values
        written = _written({"horizon": 1, "replications": 1, "controllers": [], **stated})
        world = _world(written, folder)
        number_of_trials(written.horizon, MOST_SLOTS)
        seed = whole_number("seed", written.seed, least=0, most=None)
        return cls(written.name or name, world, with_whole_counts(stated).get("horizon"), seed)


def has_buffer(stated: Mapping[str, Any]) -> bool:
    """Whether the values of a file describe an experiment with a buffer.

    >>> has_buffer({"application": {"name": "metered-backlog", "capacity": 50}})
    True
    >>> has_buffer({"application": "offloading"})
    False
    """
    application = stated.get("application")
    name = application.get("name") if isinstance(application, Mapping) else application
    named = isinstance(name, str) and name in BUFFERED
    return named or "buffer" in stated or "controllers" in stated


def _written(stated: Mapping[str, Any]) -> _WrittenBuffer:
    return converted(with_whole_counts(stated), _WrittenBuffer, "an experiment with a buffer")


def _world(written: _WrittenBuffer, folder: Path) -> BufferEnvironment:
    parts = {
        "problem": written.problem,
        "environment": written.environment,
        "buffer": written.buffer,
    }
    if written.application is not None:
        if own := [f"[{name}]" for name, part in parts.items() if part is not None]:
            raise ProblemError(f"give an application or {' and '.join(own)}, not both")
        return application_of(written.application, BUFFERED)
    laws = written.environment
    if written.problem is None or laws is None or written.buffer is None:
        missing = [f"[{name}]" for name, part in parts.items() if part is None]
        raise ProblemError(
            f"needs {' and '.join(missing)}, or an application: {', '.join(BUFFERED)}"
        )
    problem = problem_of(written.problem)
    if laws.states is None or laws.arrivals is None:
        raise ProblemError("[environment] needs states and arrivals")
    return BufferEnvironment(
        problem,
        states=state_laws(laws.states, problem, folder),
        buffer=_buffer(written.buffer),
        arrivals=law_of(laws.arrivals, ARRIVALS, folder, "arrivals"),
    )


def _buffer(written: Mapping[str, Any]) -> Buffer:
    stated = dict(written)
    kind = stated.pop("kind", None)
    if not isinstance(kind, str) or kind not in BUFFERS:
        given = "needs the key 'kind'" if kind is None else f"unknown kind {kind!r}"
        raise ProblemError(f"buffer: {given}; the kinds are {', '.join(BUFFERS)}")
    buffer: Buffer = called(f"buffer of kind {kind!r}", BUFFERS[kind], stated)
    return buffer


def _controllers(
    written: _WrittenBuffer, world: BufferEnvironment
) -> Iterator[tuple[str, Controller]]:
    """Yield every controller by name, one for each combination of swept parameters."""
    seen: set[str] = set()
    known = PolicyInputs(world.problem, world.states, written.horizon)
    for number, entry in enumerate(written.controllers, start=1):
        where = f"controller {number}"
        stated = dict(entry)
        kind = stated.pop("controller", None)
        policies = stated.pop("policy", None)
        if not isinstance(kind, str) or kind not in CONTROLLERS:
            given = "needs the key 'controller'" if kind is None else f"unknown controller {kind!r}"
            raise ProblemError(f"{where}: {given}; the controllers are {', '.join(CONTROLLERS)}")
        label = label_in(stated, where)
        listed = policies if isinstance(policies, list) else [policies]
        check_lists({**stated, "policy": policies}, where)
        shown = [(p, o) for stated_policy in listed for p, o in _policies(stated_policy, where)]
        for (policy, own), parameters in itertools.product(shown, sweep(stated)):
            inside = entry_name(policy, own) if label is None or len(shown) > 1 else ""
            name = entry_name(label or kind, told_parameters(parameters, stated, label), inside)
            check_new(name, seen, where)
            seen.add(name)
            yield name, _controller(where, kind, parameters, (policy, own), (world, known))


def _policies(written: Any, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the policies of a name or a table, each with its parameters."""
    stated = {"policy": written} if not isinstance(written, Mapping) else dict(written)
    kind = stated.pop("policy", None)
    check_policy(kind, where)
    check_lists(stated, f"{where}, policy {kind}")
    for own in sweep(stated):
        yield kind, own


def _controller(
    where: str,
    kind: str,
    parameters: Mapping[str, Any],
    policy: tuple[str, dict[str, Any]],
    here: tuple[BufferEnvironment, PolicyInputs],
) -> Controller:
    world, known = here
    try:
        inside = policy_of(*policy, known)
    except ProblemError as error:
        raise ProblemError(f"{where}: {error}") from None
    builds: dict[str, Callable[..., Controller]] = {
        **CONTROLLERS,
        "BatteryPlan": partial(_battery_plan, world.arrivals),
    }
    what = f"{where}: {kind}"
    controller: Controller = called(what, builds[kind], parameters, inside, world.buffer)
    return controller


def _battery_plan(arrivals: Distribution, policy: Policy, battery: Buffer) -> BatteryPlan:
    """Return a plan that uses the arrivals of the experiment."""
    return BatteryPlan(policy, battery, arrivals=arrivals)
