"""Experiment files with a battery or a queue: controllers in the place of policies."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

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
from onepull.distributions import Distribution
from onepull.errors import OnepullError, ProblemError
from onepull.experiments.experiment import Known, check_policy, policy_of
from onepull.experiments.toml_laws import law_of, states_of
from onepull.experiments.toml_reading import (
    application_of,
    called,
    decoded,
    is_swept,
    read_text,
    sweep,
)
from onepull.policies import Policy
from onepull.problem import Problem
from onepull.simulation.buffered import BufferSimulation
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


class _StoredLaws(msgspec.Struct, forbid_unknown_fields=True):
    states: dict[str, Any] | None = None
    arrivals: Any = None


class _WrittenStored(msgspec.Struct, forbid_unknown_fields=True):
    horizon: int
    replications: int
    controllers: list[dict[str, Any]]
    name: str = ""
    seed: int = 0
    baseline: str | None = None
    application: str | dict[str, Any] | None = None
    problem: dict[str, Any] | None = None
    environment: _StoredLaws | None = None
    buffer: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class BufferExperiment:
    """A simulation with a buffer and its number of replications, as read from a file.

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

    name: str
    text: str
    simulation: BufferSimulation
    replications: int
    baseline: str | None

    @classmethod
    def read(
        cls, path: str | Path, *, traces: Path | None = None, name: str | None = None
    ) -> BufferExperiment:
        """Read an experiment from a TOML file; traces are looked for beside it."""
        file = Path(path)
        text = read_text(file)
        try:
            return cls.from_toml(text, folder=traces or file.parent, name=name or file.stem)
        except OnepullError as error:
            raise ProblemError(f"{path}: {error}") from None

    @classmethod
    def from_toml(
        cls, text: str, *, folder: Path = Path(), name: str = "experiment"
    ) -> BufferExperiment:
        """Read an experiment from TOML text, refusing unknown keys by name."""
        written = _written(decoded(text))
        world = _world(written, folder)
        if written.replications < 1:
            raise ProblemError(f"replications must be 1 or more, given {written.replications}")
        controllers = dict(_controllers(written, world))
        if written.baseline is not None and written.baseline not in controllers:
            raise ProblemError(
                f"baseline {written.baseline!r} is not one of {', '.join(controllers)}"
            )
        simulation = BufferSimulation(
            world, controllers, horizon=written.horizon, seed=written.seed
        )
        return cls(written.name or name, text, simulation, written.replications, written.baseline)

    @property
    def fingerprint(self) -> str:
        """A digest of all that a replication depends on; their number may grow later."""
        s = self.simulation
        written = msgspec.toml.decode(self.text, type=_WrittenStored)
        written.name, written.replications, written.baseline = "", 0, None
        said = [
            written,
            s.environment.problem.to_dict(),
            repr(s.environment),
            [(name, repr(c.policy.parameters)) for name, c in s.controllers.items()],
        ]
        return hashlib.sha256(msgspec.json.encode(said, order="deterministic")).hexdigest()


class BufferBrief(NamedTuple):
    """As much of an experiment with a buffer as a plan needs."""

    name: str
    environment: BufferEnvironment
    horizon: int | None = None
    seed: int = 0

    @classmethod
    def read(cls, path: str | Path) -> BufferBrief:
        """Read a brief from a file that may leave out all but the world."""
        file = Path(path)
        try:
            stated = decoded(read_text(file))
            asked = {"horizon": 1, "replications": 1, "controllers": [], **stated}
            written = _written(asked)
            world = _world(written, file.parent)
        except OnepullError as error:
            raise ProblemError(f"{path}: {error}") from None
        return cls(written.name or file.stem, world, stated.get("horizon"), written.seed)


def has_buffer(stated: Mapping[str, Any]) -> bool:
    """Whether a file is of an experiment with a buffer.

    >>> has_buffer({"application": {"name": "metered-backlog", "capacity": 50}})
    True
    >>> has_buffer({"application": "offloading"})
    False
    """
    application = stated.get("application")
    name = application.get("name") if isinstance(application, Mapping) else application
    named = isinstance(name, str) and name in BUFFERED
    return named or "buffer" in stated or "controllers" in stated


def reads_buffer(file: Path) -> bool:
    """Whether a file can be read, and is of an experiment with a buffer."""
    try:
        return has_buffer(decoded(read_text(file)))
    except ProblemError:  # whoever reads it next says what is wrong
        return False


def _written(stated: Mapping[str, Any]) -> _WrittenStored:
    try:
        return msgspec.convert(stated, _WrittenStored)
    except msgspec.ValidationError as error:
        keys = ", ".join(_WrittenStored.__struct_fields__)
        raise ProblemError(
            f"not an experiment with a buffer: {error}; its keys are {keys}"
        ) from None


def _world(written: _WrittenStored, folder: Path) -> BufferEnvironment:
    parts = {
        "problem": written.problem,
        "environment": written.environment,
        "buffer": written.buffer,
    }
    if written.application is not None:
        if own := [f"[{name}]" for name, part in parts.items() if part is not None]:
            raise ProblemError(
                f"an application has its own world: give it or {' and '.join(own)}, not both"
            )
        return application_of(written.application, BUFFERED)
    laws = written.environment
    if written.problem is None or laws is None or written.buffer is None:
        missing = [f"[{name}]" for name, part in parts.items() if part is None]
        raise ProblemError(
            f"needs {' and '.join(missing)}, or an application: {', '.join(BUFFERED)}"
        )
    problem = Problem.from_dict(written.problem)
    if laws.states is None or laws.arrivals is None:
        raise ProblemError("[environment] needs states and arrivals")
    return BufferEnvironment(
        problem,
        states=states_of(laws.states, problem, folder),
        buffer=_buffer(written.buffer),
        arrivals=law_of(laws.arrivals, ARRIVALS, folder, "arrivals"),
    )


def _buffer(written: Mapping[str, Any]) -> Buffer:
    stated = dict(written)
    kind = stated.pop("kind", None)
    if not isinstance(kind, str) or kind not in BUFFERS:
        given = "needs the key 'kind'" if kind is None else f"unknown kind {kind!r}"
        raise ProblemError(f"buffer: {given}; there are {', '.join(BUFFERS)}")
    buffer: Buffer = called(f"buffer of kind {kind!r}", BUFFERS[kind], stated)
    return buffer


def _controllers(
    written: _WrittenStored, world: BufferEnvironment
) -> Iterator[tuple[str, Controller]]:
    """Build every controller, once for each combination of what is listed, with its name."""
    seen: set[str] = set()
    known = Known(world.problem, world.states, written.horizon)
    for number, entry in enumerate(written.controllers, start=1):
        where = f"controller {number}"
        stated = dict(entry)
        kind, label = stated.pop("controller", None), stated.pop("name", None)
        policies = stated.pop("policy", None)
        if not isinstance(kind, str) or kind not in CONTROLLERS:
            given = "needs the key 'controller'" if kind is None else f"unknown controller {kind!r}"
            raise ProblemError(f"{where}: {given}; there are {', '.join(CONTROLLERS)}")
        if label is not None and not (isinstance(label, str) and label):
            raise ProblemError(f"{where}: a name is text, given {label!r}")
        listed = policies if isinstance(policies, list) else [policies]
        empty = [key for key, value in {**stated, "policy": policies}.items() if value == []]
        if empty:
            raise ProblemError(f"{where}: nothing to sweep over in {', '.join(empty)}")
        shown = [(p, o) for stated_policy in listed for p, o in _policies(stated_policy, where)]
        for (policy, own), parameters in itertools.product(shown, sweep(stated)):
            name = _name(
                label or kind,
                _told(policy, own) if label is None or len(shown) > 1 else "",
                {k: v for k, v in parameters.items() if label is None or is_swept(k, stated[k])},
            )
            if name in seen:
                raise ProblemError(f"{where}: a second {name!r}; give it a name")
            seen.add(name)
            yield name, _controller(where, kind, parameters, (policy, own), (world, known))


def _policies(written: Any, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the policies that are meant by a name or a table, each with its parameters."""
    stated = {"policy": written} if not isinstance(written, Mapping) else dict(written)
    kind = stated.pop("policy", None)
    check_policy(kind, where)
    if empty := [key for key, value in stated.items() if value == []]:
        raise ProblemError(f"{where}, policy {kind}: nothing to sweep over in {', '.join(empty)}")
    for own in sweep(stated):
        yield kind, own


def _controller(
    where: str,
    kind: str,
    parameters: Mapping[str, Any],
    policy: tuple[str, dict[str, Any]],
    here: tuple[BufferEnvironment, Known],
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
    """Return a plan with the arrivals of the experiment, so that no file states them twice."""
    return BatteryPlan(policy, battery, arrivals=arrivals)


def _told(name: str, parameters: Mapping[str, Any]) -> str:
    told = ", ".join(f"{key}={value!r}" for key, value in parameters.items())
    return f"{name}({told})" if told else name


def _name(start: str, policy: str, parameters: Mapping[str, Any]) -> str:
    told = [*([policy] if policy else []), *(f"{k}={v!r}" for k, v in parameters.items())]
    return f"{start}({', '.join(told)})" if told else start
