"""Replay recorded arms in order: what each policy earns beside the genie of averages.

    python benchmarks/traces.py                                   # everything
    python benchmarks/traces.py --policies AdaptiveKL --seeds 2 # only one, in a minute
    python benchmarks/traces.py --only satellite-bits,channels --half second
    python benchmarks/traces.py --policies package.module:Class --remember rivals.json

All arms were measured at the same moments, so every choice can be scored.  The genie knows each
arm's average over the trace in each context; a policy that follows changes can earn more.  A seed
draws the contexts, evenly, and the order of the arms, which decides ties.  All policies get the
same.  Intervals are 95 % over seeds.  `--half first` is for choosing, `--half second` for
confirming.  benchmarks/rivals.py says what the names of policies mean.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from recorded import DATA, TRACES, Trace
from rivals import player
from tables import interval, markdown, replaced

OURS = ("AdaptiveKL", "recommended")
AVERAGES = tuple(f"EWMA-{rate}-{explore}" for rate in (0.02, 0.1, 0.2) for explore in (0.02, 0.05))
BEST_ARM = "best-arm"
RIVALS = (*AVERAGES, "Greedy", BEST_ARM, "IMED", "DiscountedKL")
OTHERS = ("EmpiricalKL", "DCB", "eps-0.02", "eps-0.05")
PEERS = {
    "river LinUCB": [f"river-LinUCB-{beta}" for beta in (1, 10, 100)],
    "MABWiser LinUCB": [f"mabwiser-LinUCB-{alpha}" for alpha in (0.03, 0.3, 1)],
    "MABWiser LinTS": [f"mabwiser-LinTS-{alpha}" for alpha in (0.03, 0.3, 1)],
}
TUNING_SEEDS = range(101, 104)
SHORT, ENOUGH, MOST = 1000, 4000, 20  # shorter traces get more seeds: for so many trials in all
# These take milliseconds if states have two fields; they get fewer seeds there.
SLOW, FEWER = ("IMED", "DiscountedKL", "EmpiricalKL", "recommended"), 2  # and peers everywhere
PATIENCE = 20.0  # seconds between writing to a file
ALLOWED, ALLOWED_MANY = 1.0, 3.0  # percent of the reward, and if there are many arms


class Task(NamedTuple):
    """One replay."""

    trace: str
    half: str
    policy: str
    seed: int
    setting: str = ""  # the player, if the policy is a kind that was tuned

    @property
    def key(self) -> str:
        """The replay as text, for a file."""
        return "|".join(map(str, self[:4]))


class Found(NamedTuple):
    """What a replay earned beside the genie in percent, and µs per trial; or an error."""

    gain: float
    spent: float
    error: str = ""


_parts: dict[tuple[str, str], Trace] = {}


def part(name: str, half: str) -> Trace:
    """Return a trace, loaded once."""
    if (name, half) not in _parts:
        _parts[name, half] = TRACES[name]().part(half)
    return _parts[name, half]


def replay(task: Task) -> Found:
    """Replay a trace once."""
    trace = part(task.trace, task.half)
    luck = np.random.default_rng([1, task.seed])
    order = luck.permutation(trace.states.shape[1])
    problem, states, rewards = trace.shuffled(order)
    requests = luck.integers(0, len(trace.contexts), len(states))
    genie = float(rewards.mean(axis=0).max(axis=0)[requests].sum())
    trials = np.arange(len(states))
    if task.policy == BEST_ARM:
        earned = float(rewards[trials, :, requests].sum(axis=0).max())
        return Found(100.0 * (earned - genie) / abs(genie), 0.0)
    try:
        chooser = player(task.setting or task.policy)(problem, task.seed)
    except ValueError as error:
        return Found(math.nan, math.nan, str(error))
    names, place = problem.state.names, {arm: j for j, arm in enumerate(problem.arms)}
    shown = [[dict(zip(names, state, strict=True)) for state in row] for row in states.tolist()]
    paid = rewards[trials, :, requests].tolist()
    contexts = [trace.contexts[i] for i in requests.tolist()]
    earned, choose, learn = 0.0, chooser.choose, chooser.learn
    began = time.process_time()
    for context, row, rewarded in zip(contexts, shown, paid, strict=True):
        arm = choose(context)
        j = place[arm]
        earned += rewarded[j]
        learn(arm, context, row[j], rewarded[j])
    spent = (time.process_time() - began) / len(states) * 1e6
    return Found(100.0 * (earned - genie) / abs(genie), spent)


def run(tasks: list[Task], processes: int, keep: Callable[[dict[Task, Found]], None]) -> None:
    """Run all tasks, the long ones first; `keep` gets what is done now and then."""
    tasks = sorted(tasks, key=lambda task: -len(part(task.trace, task.half).states))
    found: dict[Task, Found] = {}
    kept_at = time.monotonic()
    context = get_context("fork")  # the traces are shared
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        waiting = {pool.submit(replay, task): task for task in tasks}
        for done in as_completed(waiting):
            found[waiting[done]] = done.result()
            if sys.stderr.isatty():
                print(f"\r{len(found)} of {len(tasks)} ", end="", file=sys.stderr)
            if time.monotonic() > kept_at + PATIENCE:
                keep(found)
                kept_at = time.monotonic()
    keep(found)


def tuned(traces: list[str], processes: int) -> dict[tuple[str, str], str]:
    """Return the setting of each peer on each trace that is best at its beginning."""
    tasks = [
        Task(trace, "tuning", kind, seed, setting)
        for trace in traces
        for kind, settings in PEERS.items()
        for setting in settings
        for seed in TUNING_SEEDS
    ]
    found: dict[Task, Found] = {}
    run(tasks, processes, found.update)
    gains: dict[tuple[str, str, str], float] = {}
    for task, one in found.items():
        key = task.trace, task.policy, task.setting
        gains[key] = gains.get(key, 0.0) + one.gain
    best = sorted(gains, key=gains.__getitem__)  # so that the best of each is written last
    return {(trace, kind): setting for trace, kind, setting in best}


class Results:
    """All replays, by trace and policy."""

    def __init__(self, found: dict[Task, Found], half: str) -> None:
        self.half = half
        self.runs: dict[str, dict[str, dict[int, Found]]] = {}
        for task in sorted(found):
            of_trace = self.runs.setdefault(task.trace, {})
            of_trace.setdefault(task.policy, {})[task.seed] = found[task]
        self.traces = [name for name in TRACES if name in self.runs]

    def policies(self) -> list[str]:
        """Return the policies that ran, ours first and peers last."""
        every = {policy for runs in self.runs.values() for policy in runs}
        known = [*OURS, *RIVALS, *OTHERS, *PEERS]
        return [*sorted(every - set(known)), *(policy for policy in known if policy in every)]

    def gains(self, trace: str, policy: str) -> dict[int, float]:
        """Return the gain by seed, none if the policy did not run."""
        runs = self.runs[trace].get(policy, {})
        return {seed: run.gain for seed, run in runs.items() if not run.error}

    def cells(self) -> list[list[str]]:
        """Return a table: a policy per row, a trace per column."""
        head = ["policy", *self.traces, "µs"]
        rows = []
        for policy in self.policies():
            gains = [self.gains(trace, policy) for trace in self.traces]
            told = [
                "{:+.2f} ± {:.2f}".format(*interval(one.values())) if one else "" for one in gains
            ]
            times = [
                run.spent for runs in self.runs.values() for run in runs.get(policy, {}).values()
            ]
            known = [spent for spent in times if not math.isnan(spent)]
            rows.append([policy, *told, f"{np.median(known):.0f}" if known else ""])
        return [head, *rows]

    def verdicts(self, policy: str) -> list[list[str]]:
        """Return how a policy does beside its best rival on each trace."""
        head = ["trace", "trials", "arms", policy, "best rival", "beside it ± 95 %", "aim", "met"]
        rows = []
        for trace in self.traces:
            own = self.gains(trace, policy)
            known = {
                rival: gains for rival in RIVALS if (gains := self.gains(trace, rival)).keys() & own
            }
            if not known:
                continue
            means = {rival: float(np.mean(list(gains.values()))) for rival, gains in known.items()}
            best = max(means, key=means.__getitem__)
            # In percent of what the rival earns, not of what the genie does.
            beside = [
                100.0 * (own[seed] - theirs) / (100.0 + theirs)
                for seed, theirs in known[best].items()
                if seed in own
            ]
            mean, half = interval(beside)
            shape = part(trace, self.half)
            allowed = ALLOWED_MANY if shape.has_many_arms else ALLOWED
            rows.append(
                [
                    trace,
                    f"{len(shape.states):,}",
                    str(shape.states.shape[1]),
                    f"{np.mean(list(own.values())):+.2f}",
                    f"{best} {means[best]:+.2f}",
                    f"{mean:+.2f} ± {half:.2f}",
                    f"≥ {-allowed:g}",
                    "yes" if mean >= -allowed else "NO",
                ]
            )
        return [head, *rows]


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--half", choices=("first", "second", "all"), default="all")
    parser.add_argument(
        "--seeds", type=int, default=5, help="of a long trace; a short one gets more"
    )
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--only", default="", help="some traces, separated by commas")
    parser.add_argument("--policies", default="", help="run only these, separated by commas")
    parser.add_argument("--peers", action="store_true", help="also run river and MABWiser, tuned")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument(
        "--remember", type=Path, help="take rivals from this file, and add new ones"
    )
    parser.add_argument("--json", type=Path, help="write every replay to this file")
    parser.add_argument("--write", type=Path, help="replace the tables of a page")
    return parser.parse_args()


def chosen(stated: argparse.Namespace) -> tuple[list[str], list[str]]:
    """Return the traces and the policies to run."""
    traces = [name for name in stated.only.split(",") if name] or list(TRACES)
    if unknown := [name for name in traces if name not in TRACES]:
        sys.exit(f"unknown trace {unknown[0]!r}; the traces are {', '.join(TRACES)}")
    policies = [name for name in stated.policies.split(",") if name]
    if not policies:
        policies = [*OURS, *RIVALS, *OTHERS]
    if stated.peers:
        policies += PEERS
    for name in policies:
        if name != BEST_ARM and name not in PEERS:
            player(name)  # an unknown name is an error before anything runs
    return traces, policies


def remembered(file: Path | None) -> dict[str, Found]:
    """Return the replays of a file."""
    if file is None or not file.exists():
        return {}
    return {key: Found(*value) for key, value in json.loads(file.read_text("utf-8")).items()}


def main() -> None:
    """Replay, and print a table of all policies and one verdict for each of ours."""
    stated = options()
    if not DATA.is_dir():
        sys.exit("the traces are not in ../shared/data")
    traces, policies = chosen(stated)
    old = remembered(stated.remember)
    rivals = [*RIVALS, *OTHERS, *PEERS]
    if stated.remember:  # they cost nothing if they are in the file
        policies += [rival for rival in RIVALS if rival not in policies]
    settings = tuned(traces, stated.processes) if stated.peers else {}
    tasks = [
        Task(trace, stated.half, policy, seed, settings.get((trace, policy), ""))
        for trace in traces
        for policy in policies
        for seed in seeds_of(trace, policy, stated)
    ]
    found = {task: old[task.key] for task in tasks if task.key in old and task.policy in rivals}

    def keep(fresh: dict[Task, Found]) -> None:
        found.update(fresh)
        if stated.remember:
            kept = {t.key: f for t, f in found.items() if t.policy in rivals}
            whole = {**remembered(stated.remember), **kept}
            beside = stated.remember.with_suffix(f".{os.getpid()}")  # others may write too
            beside.write_text(json.dumps(whole), "utf-8")
            beside.replace(stated.remember)

    run([task for task in tasks if task not in found], stated.processes, keep)
    results = Results(found, stated.half)
    tables = {f"traces-{stated.half}": results.cells()}
    for policy in results.policies():
        if policy not in rivals and len(verdict := results.verdicts(policy)) > 1:
            tables[f"verdict-{policy}-{stated.half}"] = verdict
    for title, cells in tables.items():
        print(f"\n{title}: percent beside the genie of averages\n{markdown(cells)}")
    tell_errors(found)
    if stated.json:
        every: dict[str, Any] = {task.key: one for task, one in found.items()}
        stated.json.write_text(json.dumps(every), "utf-8")
    if stated.write:
        replaced(stated.write, {title: markdown(cells) for title, cells in tables.items()})


def seeds_of(trace: str, policy: str, stated: argparse.Namespace) -> range:
    """Return the seeds of a trace: more if it is short, fewer if the policy is slow there."""
    length, _, fields = part(trace, "all").states.shape
    more = min(MOST, ENOUGH // length) if length < SHORT else 1
    is_slow = policy in PEERS or (policy in SLOW and fields > 1)
    count = (min(stated.seeds, FEWER) if is_slow else stated.seeds) * more
    return range(stated.first_seed, stated.first_seed + count)


def tell_errors(found: dict[Task, Found]) -> None:
    """Print which policies could not run, and why."""
    for policy, trace, error in sorted({(t.policy, t.trace, f.error) for t, f in found.items()}):
        if error:
            print(f"{policy} cannot run on {trace}: {error}")


if __name__ == "__main__":
    main()
