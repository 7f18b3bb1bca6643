"""An experiment file describes a run completely; errors in it are named."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from onepull import FixedArm, Policy, simulate
from onepull.environment import channel_selection
from onepull.errors import OnepullError, ProblemError
from onepull.experiments import Experiment
from onepull.experiments.buffer_experiment import has_buffer
from onepull.experiments.swept_entries import sweep
from onepull.experiments.toml_reading import Document
from onepull.policies.registry import registered

ROOT = Path(__file__).parents[2]
# Those with a buffer are in test_buffer_experiment.py.
EXAMPLES = [
    file
    for file in sorted((ROOT / "examples").glob("*.toml"))
    if not has_buffer(Document.read(file).values)
]
SHARED = ROOT.parent / "shared" / "data"

APPLICATION = 'application = "channel-selection"\n'
HEAD = "horizon = 1000\nreplications = 20\n"
DCB = '[[policies]]\npolicy = "DCB"\n'
OWN = """
[problem]
arms = ["near", "far"]
reward = "clip(1 - size / rate, 0, 1)"
[problem.context]
size = [1, 4]
[problem.state]
rate = {low = 1, high = 20}
[environment.contexts]
size = {law = "discrete", values = [1, 4], probabilities = [0.5, 0.5]}
[environment.states.near]
rate = {law = "uniform", low = 8, high = 20}
[environment.states.far]
rate = {law = "uniform", low = 4, high = 10}
"""


def names(policies, head=APPLICATION + HEAD):
    return list(Experiment.from_toml(head + policies).simulation.policies)


def refused(text, **kwargs):
    with pytest.raises(OnepullError) as caught:
        Experiment.from_toml(text, **kwargs)
    return str(caught.value)


def changed(text, old, new):
    assert text.count(old) == 1
    return text.replace(old, new)


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_the_examples_can_be_read_and_simulated(file):
    if "shared/data" in file.read_text(encoding="utf-8") and not SHARED.is_dir():
        pytest.skip("the traces are not in ../shared/data; test_stories.py makes its own")
    experiment = Experiment.read(file)
    experiment.simulation.prepare()
    assert experiment.replications > 1


def test_everything_that_is_written_is_read():
    head = 'name = "mirrors"\nseed = 5\ncheckpoints = [10, 100]\nbaseline = "DCB"\n'
    experiment = Experiment.from_toml(head + HEAD + OWN + DCB)
    simulation = experiment.simulation
    assert (experiment.name, experiment.replications, experiment.baseline) == ("mirrors", 20, "DCB")
    assert (simulation.horizon, simulation.seed) == (1000, 5)
    assert simulation.checkpoints.tolist() == [10, 100, 1000]
    assert simulation.environment.problem.arms == ("near", "far")
    assert repr(simulation.environment.states["far"]) == "Uniform(low=4, high=10)"


def test_a_name_is_the_files_unless_given(tmp_path):
    file = tmp_path / "mirrors.toml"
    file.write_text(APPLICATION + HEAD + DCB + "# Größe: nicht ASCII\n", encoding="utf-8")
    assert Experiment.read(file).name == "mirrors"
    file.write_text('name = "other"\n' + APPLICATION + HEAD + DCB)
    assert Experiment.read(file).name == "other"


def test_an_application_with_parameters():
    head = 'application = {name = "channel-selection", channels = 4}\n' + HEAD
    assert len(Experiment.from_toml(head + DCB).simulation.environment.problem.arms) == 4


METERED = 'application = {name = "metered-channels", budget = 300, channels = 3}\n'
CONTINUOUS = 'application = "energy-harvesting"\n'


@pytest.mark.parametrize("kind", registered())
def test_every_policy_can_be_written(kind):
    parameters = inspect.signature(registered()[kind]).parameters
    policy = f'[[policies]]\npolicy = "{kind}"\n'
    if "arm" in parameters:
        policy += 'arm = "channel 2"\n'
    cut = "delta = 0.1\n" if "delta" in parameters else ""
    texts = [APPLICATION + HEAD + policy, CONTINUOUS + HEAD + policy + cut]
    built: list[Policy] = []
    refusals: list[str] = []
    for text in [METERED + HEAD + policy] if "budget" in parameters else texts:
        try:
            built += Experiment.from_toml(text).simulation.policies.values()
        except ProblemError as error:
            refusals.append(str(error))
    assert {type(policy) for policy in built} == {registered()[kind]}
    # A policy may be for listed contexts only, or for contexts from an interval only.
    reasons = (
        "needs an interval context|needs delta" if cut else "needs (an interval|finitely many)"
    )
    assert all(re.search(reasons, refusal) for refusal in refusals)


# Sweeps and names


def test_lists_are_swept_in_order():
    swept = '[[policies]]\npolicy = "DCB"\nepsilon = [0.01, 0.5]\nseed = [1, 2]\n'
    assert names(swept) == [
        "DCB(epsilon=0.01, seed=1)",
        "DCB(epsilon=0.01, seed=2)",
        "DCB(epsilon=0.5, seed=1)",
        "DCB(epsilon=0.5, seed=2)",
    ]
    assert list(sweep({})) == [{}]


def test_values_are_told_as_simulate_tells_them():
    (name,) = names('[[policies]]\npolicy = "FixedArm"\narm = "channel 2"\n')
    assert name == "FixedArm(arm='channel 2')"
    world = channel_selection()
    found = simulate(world, [FixedArm(world.problem, arm="channel 2")], horizon=9, replications=1)
    assert found.policies == [name]


def test_a_given_name_keeps_only_what_is_swept():
    assert names('[[policies]]\npolicy = "DCB"\nname = "ours"\nepsilon = 0.5\n') == ["ours"]
    swept = '[[policies]]\npolicy = "DCB"\nname = "ours"\nepsilon = [0.1, 0.5]\nseed = 1\n'
    assert names(swept) == ["ours(epsilon=0.1)", "ours(epsilon=0.5)"]


def test_the_same_name_twice_is_refused():
    assert "policy 2: another policy is called 'DCB'; add a name" in refused(
        APPLICATION + HEAD + DCB + DCB
    )


def test_growth_tunes_delta_to_the_horizon():
    head = 'application = "energy-harvesting"\nhorizon = 10_000\nreplications = 1\n'
    policies = (
        '[[policies]]\npolicy = "CCB"\ngrowth = 0.5\n'
        '[[policies]]\npolicy = "MultiUCB"\ngrowth = 0.5\n'
        '[[policies]]\npolicy = "DoublingCCB"\ngrowth = 0.5\n'
    )
    ccb, multi, doubling = Experiment.from_toml(head + policies).simulation.policies.values()
    assert ccb.parameters["delta"] == multi.parameters["delta"] == pytest.approx(0.01)
    assert doubling.parameters["growth"] == 0.5


# What is refused

GOOD = HEAD + OWN + DCB


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("horizon = 1000", "horizn = 1000", "unknown field 'horizn'"),
        ("horizon = 1000", "", "field 'horizon' is missing"),
        ("horizon = 1000", "horizon = 1e-3", "'horizon' must be a whole number, given 0.001"),
        ("horizon = 1000", "horizon = 1", "at least the number of arms, 2, given 1"),
        ("horizon = 1000", "horizon = 1000\nhorizon = 2", "not an experiment: "),
        ("horizon = 1000", "horizon = ", "not an experiment: "),
        ("horizon = 1000", "horizon = 1000\nseed = -1", "seed must be a whole number from 0"),
        ("horizon = 1000", "horizon = 1000\ncheckpoints = [2000]", "beyond the horizon of 1000"),
        ("horizon = 1000", 'horizon = 1000\nbaseline = "UCB1"', "'UCB1' is not one of DCB"),
        ("horizon = 1000", 'horizon = 1000\napplication = "offloading"', "give one only"),
        ("replications = 20", "replications = 0", "replications must be a whole number"),
        ("[problem]", "[problm]", "unknown field 'problm'"),
        ('reward = "clip', 'rewrad = "clip', "unknown field 'rewrad'"),
        ("size / rate", "size / rat", "rat"),
        ('arms = ["near", "far"]', "arms = []", "at least one arm"),
        ("[environment.states.far]", "[environment.states.fra]", "unknown arm 'fra'; the arms are"),
        ("[environment.states.far]", "[environment.sates.far]", "unknown field 'sates'"),
        (
            '[environment.states.far]\nrate = {law = "uniform", low = 4, high = 10}\n',
            "",
            "no law for the states of 'far'",
        ),
        ("low = 4, high = 10", "low = 4, high = 30", "rate goes from 4 to 30, and must be"),
        ("low = 4, high = 10", "low = 4, hig = 10", "arm 'far', field 'rate': law 'uniform' does"),
        ("values = [1, 4]", "values = [1, 5]", "the contexts"),
        ("size = {law", "sizes = {law", "contexts: needs a law for each of size, given sizes"),
        ('policy = "DCB"', 'policy = "DBC"', "'DBC', did you mean 'DCB'? The policies are"),
        ('policy = "DCB"', 'policy = ["DCB"]', "policy 1: unknown policy ['DCB']"),
        ('policy = "DCB"', 'kind = "DCB"', "policy 1: needs the key 'policy'"),
        ('policy = "DCB"', 'policy = "DCB"\nepsilom = 1', "policy DCB does not take epsilom; it "),
        ('policy = "DCB"', 'policy = "DCB"\nepsilon = -1', "policy DCB: epsilon must be > 0"),
        ('policy = "DCB"', 'policy = "DCB"\nepsilon = "x"', "policy DCB: "),
        ('policy = "DCB"', 'policy = "DCB"\nepsilon = []', "policy 1: empty list for epsilon"),
        ('policy = "DCB"', 'policy = "DCB"\nname = ["a", "b"]', "policy 1: name must be text"),
        ('policy = "DCB"', 'policy = "DCB"\ngrowth = 0.5', "policy DCB does not take growth"),
        ('policy = "DCB"', 'policy = "FixedArm"', "policy FixedArm: needs arm"),
        ('policy = "DCB"', 'policy = "FixedArm"\narm = "fra"', "policy FixedArm: "),
        ('policy = "DCB"', 'policy = "Genie"\nstates = 3', "policy Genie does not take states"),
        ('policy = "DCB"', 'policy = "CCB"', "policy CCB: needs delta"),
        ('policy = "DCB"', 'policy = "CCB"\ndelta = 1\ngrowth = 0.5', "give delta or growth, not"),
        ('policy = "DCB"', 'policy = "CCB"\ngrowth = 2', "policy CCB: growth must be between"),
        (DCB, "policies = []", "not an experiment: "),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(old, new, words, tmp_path):
    file = tmp_path / "wrong.toml"
    file.write_text(changed(GOOD, old, new))
    with pytest.raises(ProblemError) as caught:
        Experiment.read(file)
    told = str(caught.value)
    assert told.startswith(f"{file}: ")
    assert words in told
    assert list(tmp_path.iterdir()) == [file]


def test_no_policy_is_refused():
    assert "at least one policy" in refused("policies = []\n" + APPLICATION + HEAD)


@pytest.mark.parametrize(
    ("application", "words"),
    [
        ('"channels"', "unknown application 'channels'; the applications are channel-selection, "),
        ("{channels = 4}", "unknown application None"),
        ('{name = ["offloading"]}', "unknown application ['offloading']"),
        ('{name = "channel-selection", arms = 4}', "does not take arms; it takes channels"),
        ('{name = "offloading", arms = 4}', "does not take arms; it takes nothing"),
        (
            '{name = "channel-selection", channels = "x"}',
            "channels must be a whole number from 1 to 7",
        ),
        (
            '{name = "channel-selection", channels = 0}',
            "application 'channel-selection': channels must be",
        ),
        ('{name = "channel-selection", channels = 9}', "whole number from 1 to 7, given 9"),
    ],
)
def test_applications_are_checked(application, words):
    assert words in refused(f"application = {application}\n" + HEAD + DCB)


def test_neither_problem_nor_application_is_refused():
    assert "needs [problem] and [environment], or an application" in refused(HEAD + DCB)


@pytest.mark.parametrize(
    ("contents", "words"), [(None, "No such file"), (b"\xff", "not a text file")]
)
def test_a_file_that_cannot_be_read_is_named(tmp_path, contents, words):
    file = tmp_path / "experiment.toml"
    if contents is not None:
        file.write_bytes(contents)
    with pytest.raises(ProblemError, match=words) as caught:
        Experiment.read(file)
    assert str(file) in str(caught.value)


def test_a_missing_column_names_the_file_and_the_arm(tmp_path):
    (tmp_path / "trace.csv").write_text("speed\n5\n")
    text = changed(
        GOOD,
        'rate = {law = "uniform", low = 4, high = 10}',
        'law = "trace"\npath = "trace.csv"\ncolumns = ["rate"]',
    )
    told = refused(text, folder=tmp_path)
    assert "states of arm 'far'" in told
    assert "has no column 'rate' among its 1 column" in told


# The fingerprint


def fingerprint(text, **kwargs):
    return Experiment.from_toml(text, **kwargs).fingerprint


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("horizon = 1000", "horizon = 1001"),
        ("horizon = 1000", "horizon = 1000\nseed = 1"),
        ("horizon = 1000", "horizon = 1000\ncheckpoints = [10]"),
        ("horizon = 1000", "horizon = 1000\nrealised = true"),
        ('arms = ["near", "far"]', 'arms = ["far", "near"]'),
        ("1 - size", "2 - size"),
        ("high = 20}\n[environment.contexts]", "high = 21}\n[environment.contexts]"),
        ("probabilities = [0.5, 0.5]", "probabilities = [0.4, 0.6]"),
        ("low = 4, high = 10", "low = 4, high = 9"),
        ("low = 4, high = 10", "low = 4, high = 9.9999999999"),
        (
            'law = "discrete", values = [1, 4], probabilities = [0.5, 0.5]',
            'law = "in-order", values = [1, 4]',
        ),
        (DCB, DCB + "epsilon = 0.02\n"),
        (DCB, DCB + "seed = 1\n"),
        (DCB, DCB + 'name = "ours"\n'),
        ('policy = "DCB"', 'policy = "UCB1"'),
        (DCB, DCB + '[[policies]]\npolicy = "UCB1"\n'),
    ],
)
def test_the_fingerprint_changes_with_what_matters(old, new):
    assert fingerprint(changed(GOOD, old, new)) != fingerprint(GOOD)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("replications = 20", "replications = 21"),
        ("horizon = 1000", "# a thousand\nhorizon = 1_000  # trials"),
        ("horizon = 1000", "horizon = 1000\nseed = 0"),
        ("horizon = 1000", 'horizon = 1000\nname = "mirrors"'),
        ("horizon = 1000", 'horizon = 1000\nbaseline = "DCB"'),
        ("low = 4, high = 10", "high = 10, low = 4"),
    ],
)
def test_the_fingerprint_does_not_change_with_what_does_not(old, new):
    assert fingerprint(changed(GOOD, old, new)) == fingerprint(GOOD)


def test_the_fingerprint_changes_with_the_contents_of_a_trace(tmp_path):
    text = changed(
        GOOD,
        'rate = {law = "uniform", low = 4, high = 10}',
        'law = "trace"\npath = "trace.csv"\ncolumns = ["rate"]',
    )
    (tmp_path / "trace.csv").write_text("rate\n5\n6\n")
    before = fingerprint(text, folder=tmp_path)
    (tmp_path / "trace.csv").write_text("rate\n5\n6.0000001\n")
    assert fingerprint(text, folder=tmp_path) != before
