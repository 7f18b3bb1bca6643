"""An experiment file with a buffer says everything about a run; what is wrong is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from onepull import (
    DCB,
    Discrete,
    Finite,
    Genie,
    Problem,
    UpperConfidence,
    recommended,
    simulate_buffer,
)
from onepull.control import (
    Battery,
    BatteryPlan,
    BufferEnvironment,
    DriftPlusPenalty,
    Myopic,
    metered_backlog,
)
from onepull.errors import OnepullError, ProblemError
from onepull.experiments import BufferExperiment, BufferFolder, Experiment, ResultFolder
from onepull.experiments.buffer_experiment import has_buffer
from onepull.experiments.toml_reading import Document
from onepull.simulation.executors import open_executor

ROOT = Path(__file__).parents[2]
EXAMPLES = [
    file
    for file in sorted((ROOT / "examples").glob("*.toml"))
    if has_buffer(Document.read(file).values)
]

HEAD = "horizon = 300\nreplications = 3\nseed = 5\n"
OWN = """
[problem]
arms = ["near", "far"]
reward = "log(1 + power * gain)"
context = {power = [0.5, 1.0]}
state = {gain = [0, 1, 4]}
[environment]
arrivals = {law = "discrete", values = [0, 1], probabilities = [0.6, 0.4]}
[environment.states]
near = {gain = {law = "discrete", values = [1], probabilities = [1.0]}}
far = {gain = {law = "discrete", values = [0, 4], probabilities = [0.5, 0.5]}}
[buffer]
kind = "battery"
capacity = 3
amounts = [0.5, 1.0]
"""
DRIFT = '[[controllers]]\ncontroller = "DriftPlusPenalty"\nweight = 2.0\npolicy = "DCB"\n'
GOOD = HEAD + OWN + DRIFT
QUEUE = 'application = "metered-backlog"\n' + HEAD


def names(controllers, head=HEAD + OWN):
    return list(BufferExperiment.from_toml(head + controllers).simulation.controllers)


def changed(text, old, new):
    assert text.count(old) == 1
    return text.replace(old, new)


def run(text):
    experiment = BufferExperiment.from_toml(text)
    simulation = experiment.simulation
    return simulate_buffer(
        simulation.environment,
        simulation.controllers,
        horizon=simulation.horizon,
        replications=experiment.replications,
        seed=simulation.seed,
    )


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_the_examples_can_be_read_and_simulated(file):
    simulation = BufferExperiment.read(file).simulation
    simulation.horizon = 20
    assert np.isfinite(simulation.replication(0)).all()


def test_there_are_examples_of_both_buffers():
    assert {file.stem for file in EXAMPLES} >= {"battery", "backlog"}


def test_a_file_is_the_library_call_with_the_same_seed():
    written = run(
        HEAD + OWN + '[[controllers]]\ncontroller = "Myopic"\npolicy = "recommended"\n' + DRIFT +
        '[[controllers]]\ncontroller = "BatteryPlan"\npolicy = "Genie"\n'
        '[[controllers]]\ncontroller = "DriftPlusPenalty"\nweight = 2.0\n'
        'policy = {policy = "UpperConfidence", alpha = 0.51}\n'
    )  # fmt: skip
    problem = Problem(
        arms=["near", "far"],
        context={"power": Finite([0.5, 1.0])},
        state={"gain": Finite([0, 1, 4])},
        reward="log(1 + power * gain)",
    )
    states = {"near": Discrete([1], [1.0]), "far": Discrete([0, 4], [0.5, 0.5])}
    battery, arrivals = Battery(capacity=3, amounts=[0.5, 1.0]), Discrete([0, 1], [0.6, 0.4])
    world = BufferEnvironment(problem, states=states, buffer=battery, arrivals=arrivals)
    genie = Genie(problem, states=states)
    called = simulate_buffer(
        world,
        {
            "Myopic(recommended)": Myopic(recommended(problem, horizon=300), battery),
            "DriftPlusPenalty(DCB, weight=2.0)": DriftPlusPenalty(
                DCB(problem), battery, weight=2.0
            ),
            "BatteryPlan(Genie)": BatteryPlan(genie, battery, arrivals=arrivals),
            "DriftPlusPenalty(UpperConfidence(alpha=0.51), weight=2.0)": DriftPlusPenalty(
                UpperConfidence(problem, alpha=0.51), battery, weight=2.0
            ),
        },
        horizon=300,
        replications=3,
        seed=5,
    )
    assert written.controllers == called.controllers
    for measure, values in called.measured.items():
        assert np.array_equal(written.measured[measure], values)


def test_an_application_is_the_library_world():
    head = 'application = {name = "metered-backlog", capacity = 50}\n' + HEAD
    written = run(head + '[[controllers]]\ncontroller = "Myopic"\nprice = 1.5\npolicy = "Genie"\n')
    world = metered_backlog(50)
    control = Myopic(Genie(world.problem, states=world.states), world.buffer, price=1.5)
    called = simulate_buffer(world, {"x": control}, horizon=300, replications=3, seed=5)
    assert written.controllers == ["Myopic(Genie, price=1.5)"]
    assert np.array_equal(written.measured["cost"], called.measured["cost"])
    assert written.of("Myopic(Genie, price=1.5)", "cost").mean() > 0


def test_lists_are_swept_in_controllers_and_in_their_policies():
    swept = (
        '[[controllers]]\ncontroller = "DriftPlusPenalty"\nweight = [1, 2]\n'
        'policy = ["recommended", {policy = "DCB", epsilon = [0.1, 0.5]}]\n'
    )
    assert names(swept) == [
        f"DriftPlusPenalty({policy}, weight={weight})"
        for policy in ("recommended", "DCB(epsilon=0.1)", "DCB(epsilon=0.5)")
        for weight in (1, 2)
    ]
    assert names(swept + 'name = "ours"\n')[-1] == "ours(DCB(epsilon=0.5), weight=2)"


def test_a_given_name_keeps_only_what_is_swept():
    assert names(DRIFT + 'name = "drift"\n') == ["drift"]
    swept = changed(DRIFT, "weight = 2.0", "weight = [1.0, 2.0]") + 'name = "drift"\n'
    assert names(swept) == ["drift(weight=1.0)", "drift(weight=2.0)"]


BACKLOG = 'kind = "backlog"\ncapacity = 3\namounts = [0.5, 1.0]\ncosts = {far = 1.0}\n'


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("horizon = 300", "horizn = 300", "unknown field 'horizn', did you mean 'horizon'?"),
        ("horizon = 300", "horizon = 0", "horizon must be a whole number from 1, given 0"),
        ("horizon = 300", "horizon = 300\nrealised = true", "unknown field 'realised'"),
        ("replications = 3", "replications = 0", "replications must be a whole number"),
        ("seed = 5", "seed = -5", "seed must be a whole number from 0, given -5"),
        ("seed = 5", 'baseline = "DCB"', "baseline 'DCB' is not one of DriftPlusPenalty(DCB"),
        ("seed = 5", 'application = "metered-backlog"', "give an application or [problem] and"),
        ("[buffer]", "[stroage]", "unknown field 'stroage'"),
        ('kind = "battery"', "", "buffer: needs the key 'kind'; the kinds are battery, backlog"),
        ('kind = "battery"', 'kind = "bucket"', "buffer: unknown kind 'bucket'; the kinds are"),
        ('kind = "battery"', 'kind = ["battery"]', "buffer: unknown kind ['battery']"),
        ('kind = "battery"', 'kind = "battery"\ncosts = {}', "kind 'battery' does not take costs"),
        ('kind = "battery"', 'kind = "backlog"', "buffer of kind 'backlog' needs costs"),
        ("capacity = 3", "", "buffer of kind 'battery' needs capacity"),
        ("capacity = 3", "capacity = -3", "capacity must be a number > 0, given -3"),
        ("capacity = 3", "capacity = 0.75", "must not exceed the capacity, 0.75, given 1"),
        ("amounts = [0.5, 1.0]", "amounts = 0.5", "must be a list of numbers from small to large"),
        ("amounts = [0.5, 1.0]", "amounts = [0.5, 0.75]", "power"),
        ("arrivals = {law", "arivals = {law", "unknown field 'arivals'"),
        ("arrivals = {law", "contexts = {law", "unknown field 'contexts'"),
        ("values = [0, 1], prob", "values = [-1, 1], prob", "amount goes from -1 to 1"),
        ('arrivals = {law = "discrete"', 'arrivals = {law = "uniform"', "arrivals: law 'uniform'"),
        ("far = {gain", "fra = {gain", "environment states: unknown arm 'fra'"),
        ('controller = "DriftPlusPenalty"', 'controller = "Drift"', "controller 1: unknown contr"),
        ('controller = "DriftPlusPenalty"', "", "needs the key 'controller'; the controllers are"),
        ('controller = "DriftPlusPenalty"', 'controller = "Myopic"', "Myopic does not take weight"),
        ("weight = 2.0", "", "controller 1: DriftPlusPenalty needs weight"),
        ("weight = 2.0", "weight = []", "controller 1: empty list for weight"),
        ("weight = 2.0", "weight = -1", "DriftPlusPenalty: weight must be a number > 0, given -1"),
        ("weight = 2.0", 'weight = "x"', "DriftPlusPenalty: weight must be a number > 0"),
        ("weight = 2.0", "weight = 2.0\nname = 3", "controller 1: name must be text, given 3"),
        ("weight = 2.0", "weight = [2.0, 2.0]", "another controller is called 'DriftPlus"),
        ('policy = "DCB"', "", "controller 1: needs the key 'policy'; the policies are Adaptive"),
        ('policy = "DCB"', "policy = []", "controller 1: empty list for policy"),
        ('policy = "DCB"', 'policy = "DBC"', "'DBC', did you mean 'DCB'? The policies are"),
        ('policy = "DCB"', "policy = {alpha = 1}", "controller 1: needs the key 'policy'"),
        ('policy = "DCB"', 'policy = {policy = "DCB", alpha = 1}', "DCB does not take alpha"),
        ('policy = "DCB"', 'policy = {policy = "DCB", epsilon = []}', "empty list for epsilon"),
        ('policy = "DCB"', 'policy = "Random"', "Random does not estimate what an arm is worth"),
        ('policy = "DCB"', 'policy = "UCBALP"', "policy UCBALP: needs costs, budget"),
        ("[[controllers]]", "[[policies]]", "unknown field 'policies'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(old, new, words, tmp_path):
    file = tmp_path / "wrong.toml"
    file.write_text(changed(GOOD, old, new))
    assert has_buffer(Document.read(file).values)
    with pytest.raises(ProblemError) as caught:
        BufferExperiment.read(file)
    told = str(caught.value)
    assert told.startswith(f"{file}: ")
    assert words in told


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            QUEUE + '[[controllers]]\ncontroller = "BatteryPlan"\npolicy = "DCB"\n',
            "controller 1: BatteryPlan: BatteryPlan needs a Battery, given Backlog",
        ),
        (
            GOOD + '[[controllers]]\ncontroller = "BatteryPlan"\npolicy = "DCB"\narrivals = 1\n',
            "controller 2: BatteryPlan does not take arrivals; it takes nothing",
        ),
        (
            changed(
                changed(GOOD, 'controller = "DriftPlusPenalty"\nweight = 2.0\n',
                        'controller = "BatteryPlan"\n'),
                'arrivals = {law = "discrete", values = [0, 1], probabilities = [0.6, 0.4]}',
                'arrivals = {law = "uniform", low = 0, high = 1}',
            ),
            "controller 1: BatteryPlan: a plan needs arrivals with listed amounts, given Uniform",
        ),
        (QUEUE + "controllers = []\n", "at least one controller, given none"),
        (HEAD + DRIFT, "needs [problem] and [environment] and [buffer], or an application: harv"),
        (
            'application = {name = "metered-backlog", size = 3}\n' + HEAD + DRIFT,
            "application 'metered-backlog' does not take size; it takes capacity",
        ),
        ('application = "metered"\n' + HEAD + DRIFT, "unknown application 'metered'; the app"),
        (
            changed(GOOD, 'kind = "battery"\ncapacity = 3\namounts = [0.5, 1.0]\n', BACKLOG),
            "power=0.5 may drain 0 to 1.09861 of the buffer",
        ),
        ("horizon = = 3", "not an experiment"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(text, words):
    with pytest.raises(OnepullError) as caught:
        BufferExperiment.from_toml(text)
    assert words in str(caught.value)


def test_other_readers_say_that_they_do_not_take_a_buffer():
    with pytest.raises(ProblemError, match="has a buffer, which only `onepull run`, `compare`"):
        Experiment.from_toml(GOOD)


# The fingerprint and the folder


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("horizon = 300", "horizon = 301"),
        ("seed = 5", "seed = 6"),
        ("capacity = 3", "capacity = 4"),
        ("[0.6, 0.4]", "[0.5, 0.5]"),
        ("weight = 2.0", "weight = 2.5"),
        ('policy = "DCB"', 'policy = "UpperConfidence"'),
    ],
)
def test_the_fingerprint_changes_with_what_matters(old, new):
    before = BufferExperiment.from_toml(GOOD).fingerprint
    assert BufferExperiment.from_toml(changed(GOOD, old, new)).fingerprint != before


def test_the_fingerprint_does_not_change_with_what_does_not():
    before = BufferExperiment.from_toml(GOOD).fingerprint
    more = changed(GOOD, "replications = 3", 'replications = 9\nname = "more"  # a comment')
    assert BufferExperiment.from_toml(more).fingerprint == before


def test_a_run_is_taken_up_where_it_was(tmp_path):
    experiment = BufferExperiment.from_toml(GOOD)
    whole = run(GOOD)
    with open_executor("serial") as executor:
        folder = BufferFolder(tmp_path / "runs", experiment)
        folder.prepare()
        first = folder.run(executor)
        (tmp_path / "runs" / "blocks" / "0000001-0000002.npz").write_bytes(b"damaged")
        (tmp_path / "runs" / "blocks" / "0000002-0000003.npz").unlink()
        assert folder.missing() == [1, 2]
        seen = []
        again = folder.run(executor, lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]
    opened = BufferFolder.open(tmp_path / "runs")
    for found in (first, again, opened.result()):
        for measure, values in whole.measured.items():
            assert np.array_equal(found.measured[measure], values)


def test_more_replications_are_added_and_other_experiments_refused(tmp_path):
    with open_executor("serial") as executor:
        folder = BufferFolder(tmp_path / "runs", BufferExperiment.from_toml(GOOD))
        folder.prepare()
        folder.run(executor)
        more = BufferExperiment.from_toml(changed(GOOD, "replications = 3", "replications = 4"))
        folder = BufferFolder(tmp_path / "runs", more)
        assert folder.missing() == [3]
        assert folder.run(executor).replications == 4
    other = BufferExperiment.from_toml(changed(GOOD, "seed = 5", "seed = 6"))
    with pytest.raises(ProblemError, match="holds the results of another experiment"):
        BufferFolder(tmp_path / "runs", other)
    with pytest.raises(ProblemError, match="has a buffer"):
        ResultFolder.open(tmp_path / "runs")


def test_a_folder_before_its_first_result(tmp_path):
    folder = BufferFolder(tmp_path / "runs", BufferExperiment.from_toml(GOOD))
    folder.prepare()
    with pytest.raises(ProblemError, match="no replication is done yet"):
        folder.result()


@pytest.mark.parametrize(
    "contents",
    [b"", b"PK", {"measured": np.full((9, 1), np.nan)}, {"measured": np.zeros((9, 2))}, {"x": 1}],
)
def test_a_damaged_replication_is_told_of_and_run_again(tmp_path, contents):
    experiment = BufferExperiment.from_toml(GOOD)
    with open_executor("serial") as executor:
        folder = BufferFolder(tmp_path / "runs", experiment)
        folder.prepare()
        whole = folder.run(executor)
        file = folder.path / "blocks" / "0000001-0000002.npz"
        if isinstance(contents, bytes):
            file.write_bytes(contents)
        else:
            np.savez_compressed(file, **contents)
        assert folder.result().replications == 2
        said = f"1 replication is missing, damaged: blocks/{file.name}; run it again"
        assert (folder.damage, folder.remarks) == (said, [f"{said}."])
        again = folder.run(executor)
    assert folder.repaired == f"blocks/{file.name}"
    assert (folder.damage, folder.remarks) == ("", [])
    assert again.rows() == whole.rows()
