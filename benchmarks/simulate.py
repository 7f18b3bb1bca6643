"""Measure the CPU time of a simulated trial, and compare it with C and with other simulators.

The contestants of a group take turns, round after round, so a noisy machine slows them equally.
The result is the ratios within a round, not the times.  The C loops of `bound.c` must end with
exactly the regret and the pulls of the simulator.
"""

import argparse
import ctypes
import gc
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from functools import partial
from importlib import import_module, metadata
from io import StringIO
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from onepull import CCB, DCB, UCB1, Finite, Policy, Problem
from onepull.distributions import Discrete, scaled_bernoulli
from onepull.environment import Environment, channel_selection, energy_harvesting
from onepull.simulation import Simulation, simulate
from onepull.simulation.draws import keys
from onepull.simulation.kernels.ruling import ruling
from onepull.simulation.law_tables import Laws, tabulate
from onepull.simulation.result import Block

SEED = 1
CHANCES = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3]  # of the problem that all simulators can run
FLAGS = ["-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC"]  # equal to the bit
FIRST_REPLICATION = """
from onepull import DCB
from onepull.environment import channel_selection
from onepull.simulation import Simulation
channels = channel_selection(7)
Simulation(channels, {"DCB": DCB(channels.problem)}, horizon=10_000).block(0, 1)
"""


class Row(NamedTuple):
    """The best time, and the quartiles of the ratio over rounds."""

    name: str
    time: float
    unit: str
    ratio: list[float]  # lower quartile, median, upper quartile


class Contestant(NamedTuple):
    """A function that runs one replication, and its number of trials."""

    name: str
    play: Callable[[int], Any]
    trials: int


def compete(contestants: list[Contestant], rounds: int) -> list[Row]:
    """Run all contestants in turn and compare them with the first, round by round."""
    times = np.empty((rounds, len(contestants)))
    for number in range(-1, rounds):  # the first round warms up
        for c, contestant in enumerate(contestants):
            begin = process_time()
            contestant.play(max(number, 0))
            times[number, c] = (process_time() - begin) / contestant.trials * 1e9
    return rows([contestant.name for contestant in contestants], times, "ns")


def rows(names: list[str], times: Any, unit: str) -> list[Row]:
    """Return the best of each column, and its ratio to the first."""
    ratios = np.quantile(times / times[:, :1], [0.25, 0.5, 0.75], axis=0).T.tolist()
    best = times.min(axis=0).tolist()
    return [Row(n, b, unit, r) for n, b, r in zip(names, best, ratios, strict=True)]


class _Law(ctypes.Structure):
    _fields_ = [("keep", ctypes.c_void_p), ("alias", ctypes.c_void_p)]


class _Problem(ctypes.Structure):
    """The structure `problem` of bound.c."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("arms", "contexts", "atoms", "horizon", "marks")),
        ("key", ctypes.c_uint64),
        ("arrivals", _Law),
        ("states", _Law),
        *(
            (name, ctypes.c_void_p)
            for name in ("widths", "ranges", "gaps", "rewards", "nodes", "used", "weights")
        ),
        ("node_count", ctypes.c_int64),
        ("slack", ctypes.c_double),
        *(
            (name, ctypes.c_void_p)
            for name in (
                *("checkpoints", "means", "counts", "pulls", "best_pulls"),
                *("roots", "regrets", "pulls_at", "best_pulls_at"),
            )
        ),
    ]


class Bound:
    """A loop of bound.c on the problem of a simulation with one policy."""

    def __init__(self, simulation: Simulation, function: str, *, known_sizes: bool) -> None:
        policy: Any = next(iter(simulation.policies.values()))
        environment, payoff = simulation.environment, simulation.environment.problem.payoff
        (piece,) = environment.pieces()
        cells, self.states = policy.sharing.factor, tabulate(piece.states)
        self.arrivals, self.simulation = tabulate([piece.contexts]), simulation
        columns = [column[:, None] for column in np.array(cells.centres).T]
        rewards = payoff.vector(*columns, *self.states.rows.T)  # [cell, arm's atom]
        lows, highs = (np.array(bound) for bound in cells.centre_bounds)
        self.sizes = {
            "arms": len(piece.states),
            "contexts": cells.features,
            "atoms": int(self.states.size[0]),
        }
        nodes, used = np.unique(self.states.rows, return_inverse=True)
        self.tables = {
            "widths": ruling(policy.rule, len(piece.states), simulation.horizon)(0).table,
            "ranges": highs - lows,
            "rewards": np.ascontiguousarray(rewards.T if function == "dcb" else rewards),
            "nodes": nodes,
            "used": used.ravel().astype(np.int64),
            "weights": np.concatenate([law.atoms[1] for law in piece.states if law.atoms]),
            "checkpoints": np.append(simulation.checkpoints, -1),
        }
        if function == "dcb":
            self.tables["gaps"] = environment.gaps(np.array(cells.centres))
        self.slack = 1e-12 * max(1.0, *(abs(bound) for bound in payoff.whole_range))
        sizes = [f"-D{name.upper()}={size}" for name, size in self.sizes.items()]
        self.run = getattr(_compiled(sizes if known_sizes else []), function)

    def block(self, number: int) -> Block:
        """Run a replication and return what the simulator would return."""
        arms, marks = self.sizes["arms"], len(self.simulation.checkpoints)
        shape = (arms, self.sizes["atoms"])
        found: dict[str, Any] = {
            "means": np.full((self.sizes["contexts"], arms), np.inf),
            "counts": np.zeros(shape),
            "pulls": np.zeros(arms, np.int64),
            "best_pulls": np.zeros(arms, np.int64),
            "roots": np.zeros(arms),
            "regrets": np.zeros((1, 1, marks)),
            "pulls_at": np.zeros((1, marks, arms), np.int64),
            "best_pulls_at": np.zeros((1, marks, arms), np.int64),
        }
        given = _Problem(
            **self.sizes,
            horizon=self.simulation.horizon,
            marks=marks,
            key=int(keys(self.simulation.seed, 0, number)[0]),
            arrivals=_law(self.arrivals),
            states=_law(self.states),
            node_count=len(self.tables["nodes"]),
            slack=self.slack,
            **{name: table.ctypes.data for name, table in {**self.tables, **found}.items()},
        )
        self.run(ctypes.byref(given))
        told = (found[name] for name in ("regrets", "pulls_at", "best_pulls_at"))
        return Block(number, number + 1, *told)


def _law(laws: Laws) -> _Law:
    return _Law(laws.keep.ctypes.data, laws.alias.ctypes.data)


def _compiled(sizes: list[str]) -> ctypes.CDLL:
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        raise SystemExit("the C loops need a compiler: install cc, or set CC to one")
    with tempfile.TemporaryDirectory() as folder:
        library = str(Path(folder) / "bound.so")
        source = str(Path(__file__).with_name("bound.c"))
        command = [compiler, *FLAGS, *sizes, "-o", library, source, "-lm"]
        subprocess.run(command, check=True)  # noqa: S603 - a compiler on our own source
        return ctypes.CDLL(library)


def beside_c(environment: Environment, policy: Policy, function: str, options: Any) -> list[Row]:
    """Compare the simulator with C loops that give the same result to the last bit."""
    simulation = Simulation(environment, {"policy": policy}, horizon=options.trials, seed=SEED)
    loop = Bound(simulation, function, known_sizes=False)
    fixed = Bound(simulation, function, known_sizes=True)
    ours = simulation.block(0, 1)
    for bound in (loop, fixed):
        theirs = bound.block(0)
        for name in ("regrets", "pulls", "best_pulls"):
            if not np.array_equal(getattr(ours, name), getattr(theirs, name)):
                raise SystemExit(f"C and the simulator disagree on {name} of {function}")
    contestants = [
        Contestant("C, any sizes", loop.block, options.trials),
        Contestant("C, sizes compiled in", fixed.block, options.trials),
        Contestant("onepull", lambda r: simulation.block(r, r + 1), options.trials),
    ]
    return compete(contestants, options.rounds)


def finer_cells(options: argparse.Namespace) -> list[Row]:
    """Compare CCB with itself on finer and finer cells."""
    environment = energy_harvesting()
    contestants = []
    for delta in (1e-2, 1e-3, 1e-4):
        policy = CCB(environment.problem, delta=delta)
        simulation = Simulation(environment, {"CCB": policy}, horizon=options.trials, seed=SEED)
        play = partial(_one, simulation)
        contestants.append(Contestant(f"onepull CCB, δ={delta:g}", play, options.trials))
    return compete(contestants, options.rounds)


def _one(simulation: Simulation, number: int) -> Block:
    return simulation.block(number, number + 1)


def threads(options: argparse.Namespace) -> list[Row]:
    """Compare the elapsed times on one thread and on two."""
    environment = channel_selection(7)
    policies = {"DCB": DCB(environment.problem)}
    times = np.empty((options.rounds, 2))
    for number in range(-1, options.rounds):
        for count in (1, 2):
            with ThreadPoolExecutor(count) as pool:
                begin = perf_counter()
                simulate(
                    environment, policies, horizon=options.trials, replications=20, seed=SEED,
                    executor=pool,
                )  # fmt: skip
                times[number, count - 1] = perf_counter() - begin
    return rows(["1 thread", "2 threads"], times * 1e3, "ms elapsed")


def start_up(options: argparse.Namespace) -> list[Row]:
    """Compare the elapsed times to the first replication, with a warm and with a cold cache."""
    times = np.empty((options.starts, 2))
    for number in range(options.starts):
        with tempfile.TemporaryDirectory() as folder:
            place = {**os.environ, "XDG_CACHE_HOME": folder}
            for turn in (1, 0):  # the first run compiles, the second finds it in the cache
                begin = perf_counter()
                subprocess.run([sys.executable, "-c", FIRST_REPLICATION], env=place, check=True)  # noqa: S603 - this interpreter
                times[number, turn] = perf_counter() - begin
    return rows(["process, warm cache", "process, cold cache"], times, "s elapsed")


def _onepull(policy: Callable[[Problem], Policy], trials: int) -> Callable[[int], Any]:
    arms = {f"arm {j}": scaled_bernoulli(1, chance) for j, chance in enumerate(CHANCES)}
    problem = Problem(
        arms=list(arms), context={"stake": Finite([1])}, state={"win": Finite([0, 1])},
        reward="stake * win",
    )  # fmt: skip
    environment = Environment(problem, states=arms, contexts=Discrete([1], [1]))
    simulation = Simulation(environment, {"policy": policy(problem)}, horizon=trials, seed=SEED)
    return partial(_one, simulation)


def _pymab(trials: int) -> Callable[[int], Any]:
    pymab, policies = import_module("pymab"), import_module("pymab.policies")
    environment = pymab.BanditEnvironment(
        means=np.array(CHANCES), reward_model=pymab.BernoulliReward()
    )

    def play(number: int) -> Any:
        return pymab.Experiment(
            environment=environment,
            policies={"UCB": policies.UCBPolicy(n_arms=len(CHANCES))},
            config=pymab.ExperimentConfig(horizon=trials, n_replicates=1, seed=number),
        ).run()

    return play


class _Coins:
    """The part of an environment that river needs."""

    def __init__(self, trials: int) -> None:
        self.trials, self.trial, self.generator = trials, 0, random.Random(SEED)  # noqa: S311 - a simulation
        self.action_space = self
        self.n = len(CHANCES)

    def reset(self, *, seed: int) -> None:
        self.generator.seed(seed)

    def seed(self, seed: int) -> None:
        """Do nothing; river calls this on the action space."""

    def step(self, arm: int) -> tuple[None, float, bool, bool, dict[str, Any]]:
        self.trial += 1
        won = self.generator.random() < CHANCES[arm]
        return None, float(won), self.trial == self.trials, False, {}


def _river(trials: int) -> Callable[[int], Any]:
    bandit = import_module("river.bandit")

    def play(number: int) -> Any:
        policies = [bandit.UCB(delta=1.0, seed=number)]
        trace = bandit.evaluate(policies, _Coins(trials), n_episodes=1, seed=number)
        return sum(step["reward"] for step in trace)

    return play


def _coba(trials: int) -> Callable[[int], Any]:
    coba = import_module("coba")
    coba.CobaContext.logger = coba.NullLogger()

    def play(number: int) -> Any:
        coins = coba.Environments.from_lambda(
            trials,
            lambda *_: None,
            lambda *_: list(range(len(CHANCES))),
            lambda _i, _context, arm, generator: float(generator.random() < CHANCES[arm]),
            seed=number,
        )
        return coba.Experiment(coins, coba.BanditUCBLearner()).run(quiet=True)

    return play


def _smpybandits(trials: int) -> Callable[[int], Any]:
    with redirect_stdout(StringIO()):
        evaluator = import_module("SMPyBandits.Environment").Evaluator
        bernoulli = import_module("SMPyBandits.Arms").Bernoulli
        ucb = import_module("SMPyBandits.Policies").UCB
    stated = {
        "horizon": trials,
        "repetitions": 1,
        "n_jobs": 1,
        "verbosity": 0,
        "environment": [{"arm_type": bernoulli, "params": CHANCES}],
        "policies": [{"archtype": ucb, "params": {}}],
    }

    def play(number: int) -> Any:
        del number
        with redirect_stdout(StringIO()):
            evaluator(stated).startAllEnv()

    return play


PEERS = {"pymab": _pymab, "river": _river, "coba": _coba, "SMPyBandits": _smpybandits}


def peers(options: argparse.Namespace) -> list[Row]:
    """Compare UCB1 on seven coins with other packages' simulators."""
    contestants = [
        Contestant("onepull UCB1", _onepull(UCB1, options.trials), options.trials),
        Contestant("onepull DCB", _onepull(DCB, options.trials), options.trials),
    ]
    few = options.trials // 50
    for name, simulator in PEERS.items():
        try:
            play = simulator(few)
            contestants.append(Contestant(f"{name} {metadata.version(name)} UCB", play, few))
        except ModuleNotFoundError:
            print(f"{name} is left out; to install it: pip install {name}", file=sys.stderr)
        except ImportError as error:
            print(f"{name} is left out because it does not start: {error}", file=sys.stderr)
    return compete(contestants, max(2, options.rounds // 4))


def main() -> None:
    """Run all comparisons and print them."""
    parser = argparse.ArgumentParser(description="Time a simulated trial, beside C and others.")
    parser.add_argument("--quick", action="store_true", help="only a few rounds")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    options.trials = 100_000
    options.rounds, options.starts = (5, 1) if options.quick else (40, 3)
    gc.disable()  # as timeit does, so that no contestant pays for a collection
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    groups: dict[str, list[Row]] = dict(_groups(options))
    if options.json:
        told = {group: [row._asdict() for row in found] for group, found in groups.items()}
        print(json.dumps({"groups": told, "load": load, "cores": os.cpu_count()}))
        return
    title = "Time of a simulated trial, and its ratio to the first row of its group"
    caption = f"{os.cpu_count()} cores, load {load:.1f} before the run"
    columns = ("group", "contestant", "best", "ratio", "quartiles")
    table = Table(*columns, title=title, caption=caption)
    for group, found in groups.items():
        for name, best, unit, (low, ratio, high) in found:
            spread = f"{low:.2f} to {high:.2f}"
            table.add_row(group, name, f"{best:,.4g} {unit}", f"{ratio:.2f}", spread)
        table.add_section()
    Console().print(table)


def _groups(options: argparse.Namespace) -> Iterator[tuple[str, list[Row]]]:
    channels, harvesting = channel_selection(7), energy_harvesting()
    dcb, ccb = DCB(channels.problem), CCB(harvesting.problem, delta=1e-3)
    yield "DCB, K=7, M=4", beside_c(channels, dcb, "dcb", options)
    yield "CCB, K=4, δ=0.001", beside_c(harvesting, ccb, "ccb", options)
    yield "finer cells", finer_cells(options)
    yield "threads", threads(options)
    yield "start-up", start_up(options)
    yield "seven coins", peers(options)


if __name__ == "__main__":
    main()
