"""The experiments of docs/stories.md, on their traces where these are there, else on made ones."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from onepull import recommended
from onepull.experiments import Experiment
from onepull.simulation import Simulation

ROOT = Path(__file__).parents[2]
STORIES = ["llm-time", "llm-deadline", "cloud-offloading", "cloud-fresh"]
BOTH = [story + order for story in STORIES for order in ("", "-in-order")]
ORDER = {"name", "horizon", "replications", "realised"}  # what a replay says differently

with_data = pytest.mark.skipif(
    not (ROOT.parent / "shared" / "data").is_dir(), reason="the traces are not in ../shared/data"
)


def written(story):
    return msgspec.toml.decode((ROOT / "examples" / f"{story}.toml").read_text(encoding="utf-8"))


def laws(said):
    """Return every law of a story that is a trace."""
    found = [said["environment"]["contexts"], *said["environment"]["states"].values()]
    return [law for law in found if law.get("law") == "trace"]


@pytest.fixture
def made(tmp_path):
    """Return a folder for examples with short traces of random rows where theirs would be."""
    folder = tmp_path / "project" / "examples"
    folder.mkdir(parents=True)
    columns: dict[str, dict[str, None]] = {}
    for story in STORIES:
        for law in laws(written(story)):
            columns.setdefault(law["path"], {}).update(dict.fromkeys(law["columns"]))
    ranges = {
        "GeneratedTokens": (6, 600), "ttft_s": (0.2, 2.0), "decode_s_per_tok": (0.01, 0.02),
        "io_MiBps": (50, 195), "cpu_bogops": (6000, 9000),
    }  # fmt: skip
    generator = np.random.default_rng(5)
    for path, names in columns.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        limits = [next(r for end, r in ranges.items() if name.endswith(end)) for name in names]
        rows = [[f"{generator.uniform(*r):.6g}" for r in limits] for _ in range(40)]
        file.write_text("\n".join(",".join(row) for row in [names, *rows]) + "\n")
    return folder


def regrets(story, folder, policies, horizon, replications):
    """Return the regret of some policies at the horizon, a row each."""
    experiment = Experiment.read(ROOT / "examples" / f"{story}.toml", traces=folder)
    whole = experiment.simulation
    simulation = Simulation(
        whole.environment,
        {name: whole.policies[name] for name in policies},
        horizon=horizon,
        seed=whole.seed,
        realised=whole.realised,
    )
    return simulation.block(0, replications).regrets[:, :, -1]


@pytest.mark.parametrize("story", BOTH)
def test_every_story_can_be_read_and_simulated(story, made):
    experiment = Experiment.read(ROOT / "examples" / f"{story}.toml", traces=made)
    experiment.simulation.prepare()
    arms = experiment.simulation.environment.problem.arms
    assert {f"always(arm={arm!r})" for arm in arms} < set(experiment.simulation.policies)


@pytest.mark.parametrize("story", STORIES)
def test_a_replay_is_the_same_experiment_in_order(story):
    drawn, replayed = written(story), written(f"{story}-in-order")
    assert not any(law.get("in_order") for law in laws(drawn))
    assert all(law.pop("in_order") for law in laws(replayed))
    changed = {key for key in drawn | replayed if drawn.get(key) != replayed.get(key)}
    assert changed <= ORDER


@pytest.mark.parametrize("story", STORIES)
def test_the_recommended_policy_is_the_one_that_is_recommended(story, made):
    experiment = Experiment.read(ROOT / "examples" / f"{story}.toml", traces=made)
    simulation = experiment.simulation
    policy = recommended(simulation.environment.problem, horizon=simulation.horizon)
    told = simulation.policies["recommended"]
    assert type(told) is type(policy)
    assert told.parameters == pytest.approx(policy.parameters)


def test_a_replay_is_the_same_in_every_replication(made):
    replayed = regrets("llm-time-in-order", made, ["Greedy"], 200, 2)[0]
    assert replayed[0] == replayed[1]
    drawn = regrets("llm-time", made, ["Greedy"], 200, 2)[0]
    assert drawn[0] != drawn[1]


@pytest.mark.parametrize("story", BOTH)
def test_a_short_run_on_made_traces(story, made):
    (first, *_) = written(story)["problem"]["arms"]
    lost = regrets(story, made, ["Greedy", f"always(arm='{first}')", "Genie"], 300, 2)
    assert np.isfinite(lost).all()
    assert (lost[2] == 0).all()


# On the traces


@with_data
@pytest.mark.parametrize("story", BOTH)
def test_a_short_run_loses_less_than_chance(story):
    # The seed is fixed, and the draws the same on every machine: no chance of failing.
    greedy, chance = regrets(story, None, ["Greedy", "Random"], 1000, 3)
    assert greedy.mean() < chance.mean() / 2


@with_data
def test_every_endpoint_but_one_is_best_for_some_length():
    experiment = Experiment.read(ROOT / "examples" / "llm-time.toml")
    environment = experiment.simulation.environment
    tokens = np.array([[10.0], [15.0], [18.0], [266.0], [267.0], [600.0]])
    best = environment.gaps(tokens).argmin(axis=1)
    names = [environment.problem.arms[j] for j in best]
    assert names == ["anyscale"] * 2 + ["fireworks"] * 2 + ["together"] * 2
