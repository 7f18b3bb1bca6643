"""Experiment files: one TOML file describes a run completely."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from onepull.checks import shown, unknown
from onepull.decoding import converted
from onepull.distributions import Distribution
from onepull.environment import (
    Environment,
    channel_selection,
    energy_harvesting,
    metered_channels,
    offloading,
)
from onepull.errors import OnepullError, ProblemError
from onepull.experiments.fingerprint import fingerprint_of
from onepull.experiments.own_code import is_own, own_class, problem_of
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
from onepull.experiments.toml_laws import contexts_of, delays_of, state_laws
from onepull.experiments.toml_reading import Document, application_of, with_whole_counts
from onepull.policies import Policy
from onepull.policies.recommendation import recommended
from onepull.policies.registry import registered
from onepull.policies.ucb.ccb import tuned_delta
from onepull.problem import Problem
from onepull.simulation import Simulation
from onepull.simulation.limits import number_of_replications, number_of_trials

APPLICATIONS: dict[str, Callable[..., Environment]] = {
    "channel-selection": channel_selection,
    "energy-harvesting": energy_harvesting,
    "metered-channels": metered_channels,
    "offloading": offloading,
}
# Those that need no parameters, such as a budget.
READY = [
    name
    for name, build in APPLICATIONS.items()
    if all(p.default is not p.empty for p in inspect.signature(build).parameters.values())
]
RECOMMENDED = "recommended"  # the policy that `onepull.recommended` returns


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


class Experiment(StatedExperiment[Simulation]):
    """A simulation and its number of replications, read from a file.

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

    __slots__ = ()

    @classmethod
    def _build(cls, document: Document, folder: Path, name: str) -> Experiment:
        written = _written(document.values)
        environment = _environment(written, folder)
        number_of_replications(written.replications)
        number_of_trials(written.horizon)
        built = dict(_policies(written, environment))
        policies = {name: made.policy for name, made in built.items()}
        check_baseline(written.baseline, policies)
        simulation = Simulation(
            environment,
            policies,
            horizon=written.horizon,
            seed=written.seed,
            checkpoints=written.checkpoints,
            realised=written.realised,
            feedback={name: made.feedback for name, made in built.items()},
            announced=[name for name, made in built.items() if made.announced],
        )
        return cls._of(document, name, written, simulation)

    @property
    def fingerprint(self) -> str:
        """A digest of everything that a replication depends on, but not of their number."""
        s = self.simulation
        policies = [(name, repr(policy.parameters)) for name, policy in s.policies.items()]
        more = (policies, s.checkpoints.tolist(), s.realised)
        return fingerprint_of(self.written, s.environment, *more)


def problem_and_environment(
    stated: Mapping[str, Any], folder: Path
) -> tuple[Problem, Environment | None]:
    """Return the problem of a file and its environment, None if the file has none.

    Unlike an experiment, the file needs no horizon, replications and policies.

    >>> stated = {"application": "channel-selection"}
    >>> problem, environment = problem_and_environment(stated, Path())
    >>> environment.problem == problem
    True
    """
    written = _written({"horizon": 1, "replications": 1, "policies": [], **stated})
    if written.problem is None or written.application or written.environment:
        environment = _environment(written, folder)
        return environment.problem, environment
    return problem_of(written.problem), None


def _written(stated: Mapping[str, Any]) -> _Written:
    if "buffer" in stated or "controllers" in stated:
        raise ProblemError("has a buffer, which only `onepull run`, `compare` and `plan` support")
    return converted(with_whole_counts(stated), _Written, "an experiment")


def _environment(written: _Written, folder: Path) -> Environment:
    if written.application is not None:
        own = written.environment or _Laws()
        late = _Laws(delays=own.delays, losses=own.losses)
        if written.problem is not None or own != late:
            raise ProblemError(
                "an application has its own problem and environment: give one only; "
                "[environment] may add delays and losses"
            )
        application = application_of(written.application, APPLICATIONS)
        if own == _Laws():
            return application
        delays = delays_of(own.delays, folder)
        return application.with_late_feedback(delays=delays, losses=own.losses)
    if written.problem is None or written.environment is None:
        raise ProblemError("needs [problem] and [environment], or an application")
    problem = problem_of(written.problem)
    laws = written.environment
    if laws.states is None or (laws.contexts is None and problem.context.has_fields):
        raise ProblemError("[environment] needs contexts and states")
    states = state_laws(laws.states, problem, folder)
    contexts = contexts_of(laws.contexts, problem.context, folder)
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
    """Yield every policy by name, one for each combination of swept parameters."""
    seen: set[str] = set()
    known = PolicyInputs(
        environment.problem,
        environment.states,
        written.horizon,
        environment.costs,
        environment.budget,
    )
    for number, entry in enumerate(written.policies, start=1):
        where, stated = f"policy {number}", dict(entry)
        kind, shown = stated.pop("policy", None), stated.pop("feedback", written.feedback)
        check_policy(kind, where)
        label = label_in(stated, where)
        check_lists(stated, where)
        for parameters in sweep(stated):
            own = {key: value for key, value in parameters.items() if key != "announced"}
            policy = policy_of(kind, own, known._replace(feedback=shown))
            announced = parameters.get("announced", False)
            if not isinstance(announced, bool):
                raise ProblemError(f"{where}: announced must be true or false, given {announced!r}")
            name = entry_name(label or kind, told_parameters(parameters, stated, label))
            check_new(name, seen, where)
            seen.add(name)
            yield name, _Built(policy, shown, announced)


class PolicyInputs(NamedTuple):
    """The values of an experiment that the constructor of a policy may need."""

    problem: Problem
    states: Mapping[str, Distribution]
    horizon: int
    costs: Mapping[str, float] | None = None
    budget: float | None = None
    feedback: str = "state"


def check_policy(name: Any, where: str) -> None:
    """Raise ProblemError if a name is not that of a policy."""
    names = (*registered(), RECOMMENDED)
    if is_own(name):
        own_class(name, Policy, where)
    elif not isinstance(name, str) or name not in names:
        known = f'the policies are {", ".join(names)}, or your own "module:Class"'
        told = unknown("policy", name, names, known)
        if name is None:
            told = f"needs the key 'policy'; {known}"
        elif isinstance(name, str) and "." in name:
            meant = ":".join(name.rsplit(".", 1))
            told = (
                f'a policy of your own is written "module:Class", given {shown(name)}; did you '
                f"mean {shown(meant)}?"
            )
        raise ProblemError(f"{where}: {told}")


def policy_of(name: str, parameters: Mapping[str, Any], known: PolicyInputs) -> Policy:
    """Return a policy from its name and parameters in a file.

    >>> from onepull.environment import channel_selection
    >>> channels = channel_selection(2)
    >>> policy_of("DCB", {"epsilon": 0.1}, PolicyInputs(channels.problem, channels.states, 1000))
    <DCB(2 arms, epsilon=0.1) after 0 trials>
    """
    build: Any = partial(recommended, horizon=known.horizon, feedback=known.feedback)
    if is_own(name):
        build = own_class(name, Policy, f"policy {name}")
    elif name != RECOMMENDED:
        build = registered()[name]
    signature = inspect.signature(build).parameters
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    taken = {n: p for n, p in signature.items() if p.kind not in several}
    allowed = [n for n in taken if n not in ("problem", "states", "feedback")]
    if "delta" in allowed:
        allowed.append("growth")  # tunes delta to the horizon
    if unknown := [key for key in parameters if key not in allowed]:
        raise ProblemError(
            f"policy {name} does not take {', '.join(unknown)}; "
            f"it takes {', '.join(allowed) or 'nothing'}"
        )
    stated: dict[str, Any] = dict(parameters)
    if "states" in taken:
        stated["states"] = known.states
    if "delta" in stated and "growth" in stated:
        raise ProblemError(f"policy {name}: give delta or growth, not both")
    try:
        if "delta" in allowed and "growth" in stated:
            stated["delta"] = tuned_delta(known.problem, known.horizon, stated.pop("growth"))
        needed = [n for n in allowed if n in taken and taken[n].default is inspect.Parameter.empty]
        needed += getattr(build, "needs", ())  # costs and budget, which may have defaults
        here = {"costs": known.costs, "budget": known.budget, "horizon": known.horizon}
        stated |= {n: here[n] for n in needed if n not in stated and here.get(n) is not None}
        if missing := [n for n in needed if n not in stated]:
            place = "; costs and a budget go into [environment]" if "budget" in missing else ""
            raise ProblemError(f"needs {', '.join(missing)}{place}")
        policy: Policy = build(known.problem, **stated)
    except (OnepullError, TypeError) as error:
        raise ProblemError(f"policy {name}: {error}") from None
    return policy
