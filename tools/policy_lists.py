"""What the documentation lists of policies, made from the registry."""

import inspect
import textwrap
from collections.abc import Iterable

from onepull.environment import (
    Environment,
    channel_selection,
    energy_harvesting,
    metered_channels,
)
from onepull.errors import ProblemError
from onepull.experiments.experiment import RECOMMENDED, PolicyInputs, policy_of
from onepull.policies import Policy
from onepull.policies.registry import registered

WIDTH = 105
HORIZON = 1000
# Listed contexts, contexts from an interval, and a budget: each policy fits one of them.
WORLDS = (channel_selection(), energy_harvesting(), metered_channels(300.0))
FROM_EXPERIMENT = ("problem", "states")  # never written in a file
EXAMPLES = {"arm": "channel 1", "delta": 0.1}  # of parameters without a default


def parameters_table() -> str:
    """Return a row for each policy of an experiment file, with its parameters."""
    rows = {name: _parameters(kind) for name, kind in registered().items()}
    rows[RECOMMENDED] = "`seed`"
    lines = [f"| `{name}` | {rows[name]} |" for name in sorted(rows, key=str.casefold)]
    return "\n".join(["| policy | parameters |", "| --- | --- |", *lines])


def exchanging_observations() -> str:
    """Return the policies whose fleets exchange observations instead of sums."""
    return _listed(name for name, policy in _built() if not policy._knowledge.adds_up)  # noqa: SLF001 - not public


def ignoring_pulls_in_flight() -> str:
    """Return the policies that do not count pulls in flight."""
    return _listed(name for name, policy in _built() if not policy.counts_in_flight)


def _parameters(kind: type[Policy]) -> str:
    """Return the parameters of a policy; those that the experiment gives come last."""
    given = getattr(kind, "needs", ())
    names = [name for name in inspect.signature(kind).parameters if name not in FROM_EXPERIMENT]
    own = ["`delta` or `growth`" if n == "delta" else f"`{n}`" for n in names if n not in given]
    last = [", ".join(f"`{name}`" for name in given)] if given else []
    return "; ".join([", ".join(own), *last]) or "none"


def _built() -> Iterable[tuple[str, Policy]]:
    return ((name, _anywhere(name, kind)) for name, kind in registered().items())


def _anywhere(name: str, kind: type[Policy]) -> Policy:
    """Return a policy in the first world that it fits."""
    signature = inspect.signature(kind).parameters.values()
    required = {p.name for p in signature if p.default is p.empty and p.name in EXAMPLES}
    refusals = []
    for world in WORLDS:
        try:
            return policy_of(name, {key: EXAMPLES[key] for key in required}, _inputs(world))
        except ProblemError as error:
            refusals.append(str(error))
    raise ProblemError("\n".join(refusals))


def _inputs(world: Environment) -> PolicyInputs:
    return PolicyInputs(world.problem, world.states, HORIZON, world.costs or None, world.budget)


def _listed(names: Iterable[str]) -> str:
    *most, last = [f"`{name}`" for name in names]
    return textwrap.fill(f"{', '.join(most)} and {last}.", WIDTH, break_on_hyphens=False)
