"""Experiment files: everything about a run, in one TOML file."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from onepull import policies as p
from onepull.distributions import Distribution
from onepull.environment import (
    Environment,
    channel_selection,
    energy_harvesting,
    metered_channels,
    offloading,
)
from onepull.errors import OnepullError, ProblemError
from onepull.experiments.toml_laws import delays_of, law_of, states_of
from onepull.experiments.toml_reading import application_of, decoded, is_swept, read_text, sweep
from onepull.policies import Policy
from onepull.policies.recommended import recommended
from onepull.policies.ucb.known_reward import tuned_delta
from onepull.problem import Problem
from onepull.simulation import Simulation

APPLICATIONS: dict[str, Callable[..., Environment]] = {
    "channel-selection": channel_selection,
    "energy-harvesting": energy_harvesting,
    "metered-channels": metered_channels,
    "offloading": offloading,
}
# Those that stand without being told anything, such as a budget.
READY = [
    name
    for name, build in APPLICATIONS.items()
    if all(p.default is not p.empty for p in inspect.signature(build).parameters.values())
]
RECOMMENDED = "recommended"  # what `onepull.recommended` returns for the problem
POLICIES: dict[str, type[Policy]] = {
    kind.__name__: kind
    for kind in (
        p.UCB1,
        p.UCB1Epsilon,
        p.MultiUCB,
        p.UpperConfidence,
        p.EpsilonGreedy,
        p.DSEE,
        p.KLUCB,
        p.EmpiricalKL,
        p.IMED,
        p.PatientKL,
        p.EmpiricalBernstein,
        p.DirichletThompson,
        p.CoarseKL,
        p.DiscountedUCB,
        p.SlidingWindowUCB,
        p.RestartingUCB,
        p.DiscountedKL,
        p.SlidingWindowKL,
        p.DCB,
        p.CCB,
        p.DoublingCCB,
        p.LinUCB,
        p.LinRel,
        p.LinearThompson,
        p.ContextualZooming,
        p.EpochGreedy,
        p.RandomizedUCB,
        p.ILTCB,
        p.UCBALP,
        p.MixtureElimination,
        p.Greedy,
        p.Random,
        p.FixedArm,
        p.Genie,
    )
}


class _Laws(msgspec.Struct, forbid_unknown_fields=True):
    contexts: Any = None
    states: dict[str, Any] | None = None
    costs: dict[str, float] | None = None
    budget: float | None = None
    delays: Any = None
    losses: float | dict[str, float] | None = None


class _Written(msgspec.Struct, forbid_unknown_fields=True):
    horizon: int
    replications: int
    policies: list[dict[str, Any]]
    name: str = ""
    seed: int = 0
    checkpoints: list[int] | None = None
    baseline: str | None = None
    realised: bool = False
    feedback: str = "state"
    application: str | dict[str, Any] | None = None
    problem: dict[str, Any] | None = None
    environment: _Laws | None = None


@dataclass(frozen=True, slots=True)
class Experiment:
    """A simulation with its number of replications, as read from a file.

    Examples
    --------
    >>> experiment = Experiment.from_toml('''
    ... application = "channel-selection"
    ... horizon = 1000
    ... replications = 20
    ... [[policies]]
    ... policy = "DCB"
    ... epsilon = [0.01, 0.1]
    ... ''')
    >>> list(experiment.simulation.policies)
    ['DCB(epsilon=0.01)', 'DCB(epsilon=0.1)']
    """

    name: str
    text: str
    simulation: Simulation
    replications: int
    baseline: str | None

    @classmethod
    def read(
        cls, path: str | Path, *, traces: Path | None = None, name: str | None = None
    ) -> Experiment:
        """Read an experiment from a TOML file; traces are looked for beside it."""
        file = Path(path)
        text = read_text(file)
        try:
            return cls.from_toml(text, folder=traces or file.parent, name=name or file.stem)
        except OnepullError as error:
            raise ProblemError(f"{path}: {error}") from None

    @classmethod
    def from_toml(cls, text: str, *, folder: Path = Path(), name: str = "experiment") -> Experiment:
        """Read an experiment from TOML text, refusing unknown keys by name."""
        written = _written(decoded(text))
        environment = _environment(written, folder)
        if written.replications < 1:
            raise ProblemError(f"replications must be 1 or more, given {written.replications}")
        built = dict(_policies(written, environment))
        policies = {name: told.policy for name, told in built.items()}
        if written.baseline is not None and written.baseline not in policies:
            raise ProblemError(f"baseline {written.baseline!r} is not one of {', '.join(policies)}")
        simulation = Simulation(
            environment,
            policies,
            horizon=written.horizon,
            seed=written.seed,
            checkpoints=written.checkpoints,
            realised=written.realised,
            feedback={name: told.feedback for name, told in built.items()},
            announced=[name for name, told in built.items() if told.announced],
        )
        return cls(written.name or name, text, simulation, written.replications, written.baseline)

    @property
    def fingerprint(self) -> str:
        """A digest of all that a replication depends on; their number may grow later.

        It is made of what is written, which has every digit, and of what was read, which
        has the contents of traces and of applications.
        """
        s = self.simulation
        written = msgspec.toml.decode(self.text, type=_Written)
        written.name, written.replications, written.baseline = "", 0, None
        said = [
            written,
            s.environment.problem.to_dict(),
            repr(s.environment),
            [(name, repr(policy.parameters)) for name, policy in s.policies.items()],
            s.checkpoints.tolist(),
            s.realised,
        ]
        return hashlib.sha256(msgspec.json.encode(said, order="deterministic")).hexdigest()


def setting(stated: Mapping[str, Any], folder: Path) -> tuple[Problem, Environment | None]:
    """Return the problem and the environment, if it is told, of a file that may leave out the rest.

    >>> problem, environment = setting({"application": "channel-selection"}, Path())
    >>> environment.problem == problem
    True
    """
    written = _written({"horizon": 1, "replications": 1, "policies": [], **stated})
    if written.problem is None or written.application or written.environment:
        environment = _environment(written, folder)
        return environment.problem, environment
    return Problem.from_dict(written.problem), None


def _written(stated: Mapping[str, Any]) -> _Written:
    if "buffer" in stated or "controllers" in stated:
        raise ProblemError("has a buffer, which only `onepull run`, `compare` and `plan` take")
    try:
        return msgspec.convert(stated, _Written)
    except msgspec.ValidationError as error:
        keys = ", ".join(_Written.__struct_fields__)
        raise ProblemError(f"not an experiment: {error}; its keys are {keys}") from None


def _environment(written: _Written, folder: Path) -> Environment:
    if written.application is not None:
        own = written.environment or _Laws()
        late = _Laws(delays=own.delays, losses=own.losses)
        if written.problem is not None or own != late:
            raise ProblemError(
                "an application has its own problem and environment: give one only, "
                "or nothing but delays and losses"
            )
        application = application_of(written.application, APPLICATIONS)
        if own == _Laws():
            return application
        delays = delays_of(own.delays, folder)
        return application.with_late_feedback(delays=delays, losses=own.losses)
    if written.problem is None or written.environment is None:
        raise ProblemError("needs [problem] and [environment], or an application")
    problem = Problem.from_dict(written.problem)
    laws = written.environment
    if laws.states is None or laws.contexts is None:
        raise ProblemError("[environment] needs contexts and states")
    states = states_of(laws.states, problem, folder)
    contexts = law_of(laws.contexts, problem.context, folder, "contexts")
    return Environment(
        problem,
        states=states,
        contexts=contexts,
        costs=laws.costs,
        budget=laws.budget,
        delays=delays_of(laws.delays, folder),
        losses=laws.losses,
    )


class _Built(NamedTuple):
    policy: Policy
    feedback: str
    announced: bool


def _policies(written: _Written, environment: Environment) -> Iterator[tuple[str, _Built]]:
    """Build every policy, once for each combination of its listed parameters.

    Each comes with its name, with what a pull shows to it, and whether it is told of pulls.
    """
    seen: set[str] = set()
    known = Known(
        environment.problem,
        environment.states,
        written.horizon,
        environment.costs,
        environment.budget,
    )
    for number, entry in enumerate(written.policies, start=1):
        stated = dict(entry)
        kind, label = stated.pop("policy", None), stated.pop("name", None)
        shown = stated.pop("feedback", written.feedback)
        check_policy(kind, f"policy {number}")
        if label is not None and not (isinstance(label, str) and label):
            raise ProblemError(f"policy {number}: a name is text, given {label!r}")
        if empty := [key for key, value in stated.items() if value == []]:
            raise ProblemError(f"policy {number}: nothing to sweep over in {', '.join(empty)}")
        for parameters in sweep(stated):
            own = {key: value for key, value in parameters.items() if key != "announced"}
            policy = policy_of(kind, own, known._replace(feedback=shown))
            announced = parameters.get("announced", False)
            if not isinstance(announced, bool):
                raise ProblemError(
                    f"policy {number}: announced is true or false, given {announced!r}"
                )
            swept = {k: v for k, v in parameters.items() if label is None or is_swept(k, stated[k])}
            told = ", ".join(f"{key}={value!r}" for key, value in swept.items())
            name = f"{label or kind}({told})" if told else label or kind
            if name in seen:
                raise ProblemError(f"policy {number}: a second {name!r}; give it a name")
            seen.add(name)
            yield name, _Built(policy, shown, announced)


class Known(NamedTuple):
    """What an experiment can tell a policy."""

    problem: Problem
    states: Mapping[str, Distribution]
    horizon: int
    costs: Mapping[str, float] | None = None
    budget: float | None = None
    feedback: str = "state"


def check_policy(name: Any, where: str) -> None:
    """Refuse what is not the name of a policy."""
    if not isinstance(name, str) or name not in (*POLICIES, RECOMMENDED):
        given = "needs the key 'policy'" if name is None else f"unknown policy {name!r}"
        there = ", ".join((*POLICIES, RECOMMENDED))
        raise ProblemError(f"{where}: {given}; there are {there}")


def policy_of(name: str, parameters: Mapping[str, Any], known: Known) -> Policy:
    """Return a policy from its name and parameters as they are written.

    >>> from onepull.environment import channel_selection
    >>> channels = channel_selection(2)
    >>> policy_of("DCB", {"epsilon": 0.1}, Known(channels.problem, channels.states, 1000))
    <DCB(2 arms, epsilon=0.1) after 0 trials>
    """
    build: Any = POLICIES.get(
        name, partial(recommended, horizon=known.horizon, feedback=known.feedback)
    )
    taken = inspect.signature(build).parameters
    allowed = [n for n in taken if n not in ("problem", "states", "feedback")]
    if "delta" in allowed:
        allowed.append("growth")  # a delta tuned to the horizon
    if unknown := [key for key in parameters if key not in allowed]:
        raise ProblemError(
            f"policy {name} does not take {', '.join(unknown)}; "
            f"it takes {', '.join(allowed) or 'nothing'}"
        )
    stated: dict[str, Any] = dict(parameters)
    if build is p.Genie:
        stated["states"] = known.states
    if "delta" in stated and "growth" in stated:
        raise ProblemError(f"policy {name}: give delta or growth, not both")
    try:
        if "delta" in allowed and "growth" in stated:
            stated["delta"] = tuned_delta(known.problem, known.horizon, stated.pop("growth"))
        needed = [n for n in allowed if n in taken and taken[n].default is inspect.Parameter.empty]
        needed += getattr(build, "needs", ())  # what a policy with a budget has to be told
        here = {"costs": known.costs, "budget": known.budget, "horizon": known.horizon}
        stated |= {n: here[n] for n in needed if n not in stated and here.get(n) is not None}
        if missing := [n for n in needed if n not in stated]:
            place = "; costs and a budget go into [environment]" if "budget" in missing else ""
            raise ProblemError(f"needs {', '.join(missing)}{place}")
        policy: Policy = build(known.problem, **stated)
    except (OnepullError, TypeError) as error:
        raise ProblemError(f"policy {name}: {error}") from None
    return policy
