"""Run the replications of a simulation on any executor."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    wait,
)
from typing import TYPE_CHECKING

from onepull.environment.environment import Environment
from onepull.errors import ClusterError, ParameterError
from onepull.policies import Policy
from onepull.simulation.executors import open_executor, parallelism
from onepull.simulation.limits import number_of_replications
from onepull.simulation.result import Block, Result

if TYPE_CHECKING:  # it loads the compiler, which may not be installed
    from onepull.simulation.simulation import Simulation


def simulate(  # noqa: PLR0913 - a full statement
    environment: Environment,
    policies: Mapping[str, Policy] | Sequence[Policy],
    *,
    horizon: int,
    replications: int,
    seed: int = 0,
    checkpoints: Iterable[int] | None = None,
    realised: bool = False,
    feedback: str | Mapping[str, str] = "state",
    announced: Iterable[str] = (),
    executor: Executor | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Result:
    """Run policies on an environment and return their regret.

    Every policy meets the same contexts and the same states, so a difference between two
    policies is not luck of the draw.  Replications run on all cores, or on the
    `concurrent.futures` executor that is given.  Needs the `simulate` extra.

    Parameters
    ----------
    policies
        Fresh policies, by name or in a list.
    horizon
        The number of trials of each replication.
    replications
        The number of independent runs.
    checkpoints
        The trials at which regret and pulls are recorded.  By default about 60 trials,
        evenly spaced on a logarithmic scale.  The horizon is always included.
    realised
        Count the rewards that were drawn.  By default regret is the difference of mean rewards.
    feedback
        What a pull shows: its "state", or only its "reward".  Give one for all policies, or
        one by policy name.
    announced
        The names of the policies that count pulls in flight when feedback is late.
    executor
        Where to run; all cores of this machine by default.
    progress
        A function that is called with the number of replications done and in total.

    Examples
    --------
    >>> from onepull import DCB, MultiUCB
    >>> from onepull.environment import channel_selection
    >>> channels = channel_selection(4)
    >>> result = simulate(
    ...     channels,
    ...     {"DCB": DCB(channels.problem), "Multi-UCB": MultiUCB(channels.problem)},
    ...     horizon=10_000, replications=20, seed=1,
    ... )
    >>> bool(result.regret("DCB").mean() < 0.05 * result.regret("Multi-UCB").mean())
    True
    """
    from onepull.simulation.simulation import Simulation  # noqa: PLC0415 - loads the compiler

    named = policies if isinstance(policies, Mapping) else _named(policies)
    simulation = Simulation(
        environment,
        named,
        horizon=horizon,
        seed=seed,
        checkpoints=checkpoints,
        realised=realised,
        feedback=feedback,
        announced=announced,
    )
    count = number_of_replications(replications)
    if executor is not None:
        return simulation.result(run(simulation, [(0, count)], executor, progress))
    with open_executor("threads") as threads:
        return simulation.result(run(simulation, [(0, count)], threads, progress))


def run(
    simulation: Simulation,
    ranges: Sequence[tuple[int, int]],
    executor: Executor,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[Block]:
    """Run ranges of replications on an executor and yield each block when it is done.

    Only a few blocks are submitted at a time.  The caller can save each one as it arrives, and
    an interrupt does not wait for blocks that have not started.
    """
    simulation.prepare()
    pool = parallelism(executor)
    total = sum(stop - start for start, stop in ranges)
    done = 0
    for block in _finished(
        simulation, cut_blocks(ranges, simulation.block_size(), pool), executor, pool
    ):
        done += block.stop - block.start
        yield block
        if progress is not None:
            progress(done, total)


def _finished(
    simulation: Simulation, tasks: Iterable[tuple[int, int]], executor: Executor, pool: int
) -> Iterator[Block]:
    under_way: set[Future[Block]] = set()
    try:
        for task in tasks:
            under_way.add(executor.submit(simulation.block, *task))
            patience = 0 if len(under_way) < 2 * pool else None
            finished, under_way = wait(under_way, patience, FIRST_COMPLETED)
            yield from map(_outcome, finished)
        while under_way:
            finished, under_way = wait(under_way, None, FIRST_COMPLETED)
            yield from map(_outcome, finished)
    finally:
        for future in under_way:
            future.cancel()


def _outcome(future: Future[Block]) -> Block:
    try:
        return future.result()
    except BrokenExecutor as error:
        raise ClusterError(f"a worker process died: {error}") from None
    except CancelledError:
        raise ClusterError("the work was cancelled before it was done") from None
    except Exception as error:
        # Dask is not imported for its exception alone; without it there is no such error.
        dask = sys.modules.get("distributed")
        if dask is not None and isinstance(error, dask.KilledWorker):
            raise ClusterError(
                f"the same replications killed several workers in a row: {error}"
            ) from None
        raise


def cut_blocks(ranges: Sequence[tuple[int, int]], size: int, pool: int) -> list[tuple[int, int]]:
    """Cut ranges of replications into blocks, small enough to give every worker one.

    >>> cut_blocks([(0, 10)], size=100, pool=2)
    [(0, 5), (5, 10)]
    """
    total = sum(stop - start for start, stop in ranges)
    size = max(1, min(size, -(-total // pool)))
    return [
        (first, min(first + size, stop))
        for start, stop in ranges
        for first in range(start, stop, size)
    ]


def _named(policies: Sequence[Policy]) -> dict[str, Policy]:
    """Name policies by their class and parameters."""
    from onepull.simulation.simulation import plain_parameters  # noqa: PLC0415 - the same

    named: dict[str, Policy] = {}
    for policy in policies:
        if not isinstance(policy, Policy):
            raise ParameterError(f"policies must be a list of policies, but it contains {policy!r}")
        stated = ", ".join(f"{k}={v!r}" for k, v in plain_parameters(policy).items())
        name = f"{type(policy).__name__}({stated})" if stated else type(policy).__name__
        if name in named:
            raise ParameterError(f"two policies are called {name}; give each a name")
        named[name] = policy
    return named
