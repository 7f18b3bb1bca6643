"""A run that is interrupted, damaged or extended gives the result of an uninterrupted one."""

from __future__ import annotations

import importlib.metadata
import json
import shutil
from concurrent.futures import BrokenExecutor, Future
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from typing import Any

import numpy as np
import pytest

import onepull
from onepull.errors import OnepullError, ProblemError
from onepull.experiments import BufferExperiment, BufferFolder, Experiment, ResultFolder
from onepull.experiments.differences import differences, summarised
from onepull.report import tidy
from onepull.simulation.executors import Serial, open_executor

TEXT = """
application = {name = "channel-selection", channels = 4}
horizon = 500
replications = 12
seed = 4
[[policies]]
policy = "DCB"
[[policies]]
policy = "UCB1"
"""


@cache
def experiment(text=TEXT):
    return Experiment.from_toml(text, name="channels")


def more(count, text=TEXT):
    return experiment(text.replace("replications = 12", f"replications = {count}"))


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    """Cut the twelve replications into four blocks."""
    monkeypatch.setattr("onepull.simulation.Simulation.block_size", lambda _: 3)


def run(path, stated=None, **kwargs):
    folder = ResultFolder(path, stated or experiment())
    folder.prepare()
    with open_executor("threads:2") as executor:
        return folder.run(executor, **kwargs)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return the folder of an uninterrupted run."""
    path = tmp_path_factory.mktemp("whole") / "results"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("onepull.simulation.Simulation.block_size", lambda _: 3)
        run(path)
    return path


@pytest.fixture(scope="module")
def expected(whole):
    """Return the table of the uninterrupted run."""
    return csv(ResultFolder(whole, experiment()).result())


@pytest.fixture
def copied(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "results")


def files(path):
    return sorted(file.name for file in (path / "blocks").iterdir())


def csv(result):
    return tidy(result).to_csv()


NAMES = [f"{start:07}-{start + 3:07}.npz" for start in (0, 3, 6, 9)]


def test_a_run_leaves_all_that_is_needed(whole):
    assert files(whole) == NAMES
    assert {file.name for file in whole.iterdir()} == {"about.json", "experiment.toml", "blocks"}
    opened = ResultFolder.open(whole)
    assert opened.experiment.text == TEXT
    assert opened.missing() == []


def test_the_folder_gives_what_a_plain_simulation_gives(whole):
    simulation = experiment().simulation
    plain = simulation.result([simulation.block(0, 12)])
    found = ResultFolder.open(whole).result()
    np.testing.assert_array_equal(found.regrets, plain.regrets)
    np.testing.assert_array_equal(found.pulls, plain.pulls)
    np.testing.assert_array_equal(found.best_pulls, plain.best_pulls)


@pytest.mark.parametrize("lost", [[0], [1], [3], [0, 2], [1, 2, 3], [0, 1, 2, 3]])
def test_lost_blocks_are_run_again_and_no_others(expected, copied, lost):
    kept = {}
    for number, name in enumerate(NAMES):
        file = copied / "blocks" / name
        if number in lost:
            file.unlink()
        else:
            kept[name] = file.stat().st_mtime_ns
    again = run(copied)
    assert csv(again) == expected
    assert kept == {name: (copied / "blocks" / name).stat().st_mtime_ns for name in kept}


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: b"",
        lambda data: data[:20],
        lambda data: data[: len(data) // 2],
        lambda data: data[:-1],
        lambda _: b"not a block at all",
        lambda _: b"\x93NUMPY\x01\x00",
        lambda data: bytes(len(data)),
        lambda data: data[:200] + bytes([data[200] ^ 255]) + data[201:],
    ],
)
def test_a_damaged_block_counts_as_not_done(expected, copied, damage):
    file = copied / "blocks" / NAMES[1]
    file.write_bytes(damage(file.read_bytes()))
    assert ResultFolder(copied, experiment()).missing() == [(3, 6)]
    assert csv(run(copied)) == expected


def test_no_changed_byte_is_taken_for_a_result(copied):
    """A flipped byte either makes no difference or makes the block count as not done."""
    folder = ResultFolder.open(copied)
    file = copied / "blocks" / NAMES[0]
    good = file.read_bytes()
    (expected, *_) = folder.blocks()
    for place in range(0, len(good), max(1, len(good) // 150)):
        file.write_bytes(good[:place] + bytes([good[place] ^ 0x5A]) + good[place + 1 :])
        for block in folder.blocks():
            if block.start == 0:
                np.testing.assert_array_equal(block.regrets, expected.regrets)
                np.testing.assert_array_equal(block.pulls, expected.pulls)


def test_blocks_that_do_not_belong_are_left_out(expected, copied, tmp_path):
    blocks = copied / "blocks"
    shutil.copy(blocks / NAMES[0], blocks / NAMES[1])  # says that it is another
    other = run(tmp_path / "other", experiment(TEXT + '[[policies]]\npolicy = "Greedy"\n'))
    assert other.regrets.shape[0] == 3
    shutil.copy(tmp_path / "other" / "blocks" / NAMES[2], blocks / NAMES[2])  # another shape
    (blocks / "notes.txt").write_text("mine")
    assert ResultFolder(copied, experiment()).missing() == [(3, 9)]
    assert csv(run(copied)) == expected
    assert (blocks / "notes.txt").read_text() == "mine"


def rewritten(**changes):
    """Return a damage that writes a file anew, undamaged as a file, with other arrays."""

    def damage(file):
        with np.load(file) as saved:
            arrays = {name: saved[name] for name in saved.files}
        for name, change in changes.items():
            arrays[name] = change(arrays[name].copy())
        np.savez_compressed(file, **arrays)

    return damage


def put(value, place=0):
    def change(array):
        array.flat[place] = value
        return array

    return change


def cut_off(file, size):
    file.write_bytes(file.read_bytes()[:size])


DAMAGES = {
    "emptied": lambda file: cut_off(file, 0),
    "cut off": lambda file: cut_off(file, -30),
    "cut in half": lambda file: cut_off(file, file.stat().st_size // 2),
    "text": lambda file: file.write_text("regret"),
    "nan": rewritten(regrets=put(np.nan)),
    "last nan": rewritten(regrets=put(np.nan, -1)),
    "infinite": rewritten(regrets=put(np.inf)),
    "float32": rewritten(regrets=lambda a: a.astype(np.float32)),
    "objects": rewritten(regrets=lambda a: a.astype(object)),
    "other shape": rewritten(regrets=lambda a: a[:, :-1]),
    "flat": rewritten(regrets=lambda a: a.ravel()),
    "other range": rewritten(start=lambda a: a + 1),
    "negative range": rewritten(start=lambda _: np.array(9), stop=lambda _: np.array(3)),
    "fewer pulls": rewritten(pulls=put(0)),
    "more pulls": rewritten(pulls=lambda a: a + 1),
    "negative pulls": rewritten(best_pulls=put(-1)),
    "more best pulls than pulls": rewritten(best_pulls=lambda a: a + 10**6),
    "real pulls": rewritten(pulls=lambda a: a.astype(float)),
    "huge pulls": rewritten(pulls=put(2**63 - 1)),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_block_is_told_of_and_run_again(expected, copied, damage):
    damage(copied / "blocks" / NAMES[1])
    folder = ResultFolder.open(copied)
    result = folder.result()
    assert result.replications == 9
    said = f"3 replications are missing, damaged: blocks/{NAMES[1]}; run it again"
    assert folder.damage == said
    assert result.notes[0] == f"{said}."
    assert csv(run(copied)) == expected
    whole = ResultFolder.open(copied)
    assert whole.result().notes == []
    assert whole.damage == ""


def test_a_run_tells_what_it_ran_again(copied):
    for name in NAMES[:2]:
        cut_off(copied / "blocks" / name, 9)
    folder = ResultFolder.open(copied)
    folder.run(Serial())
    assert folder.repaired == f"blocks/{NAMES[0]}, blocks/{NAMES[1]}"
    folder.run(Serial())
    assert folder.repaired == ""


def test_a_folder_of_damaged_blocks_only_says_so(copied):
    for name in NAMES:
        cut_off(copied / "blocks" / name, 9)
    with pytest.raises(ProblemError, match="all blocks are damaged; run it again"):
        ResultFolder.open(copied).result()


def test_a_damaged_block_that_another_covers_is_no_loss(copied):
    cut_off((copied / "blocks" / NAMES[1]).rename(copied / "blocks" / "0000003-0000005.npz"), 9)
    folder = ResultFolder.open(copied)
    folder.keep(experiment().simulation.block(3, 6))
    assert folder.result().replications == 12
    assert folder.damage == ""


def test_what_is_not_done_yet_is_no_damage(copied):
    (copied / "blocks" / NAMES[3]).unlink()
    folder = ResultFolder.open(copied)
    assert folder.result().notes == ["3 replications are not done yet."]
    assert folder.damage == ""
    cut_off(copied / "blocks" / NAMES[0], 9)
    notes = folder.result().notes
    assert notes == [f"{folder.damage}.", "3 replications are not done yet."]


def test_an_origin_that_is_no_text_is_named(copied):
    (copied / "origin.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(ProblemError, match=r"origin\.txt: damaged"):
        ResultFolder.open(copied)


def test_overlapping_blocks_count_once(expected, copied):
    folder = ResultFolder.open(copied)
    folder.keep(experiment().simulation.block(0, 4))
    assert csv(run(copied)) == expected


def test_more_replications_extend_and_equal_a_run_of_all(copied, tmp_path):
    before = {name: (copied / "blocks" / name).stat().st_mtime_ns for name in NAMES}
    extended = run(copied, more(20))
    assert extended.replications == 20
    assert csv(extended) == csv(run(tmp_path / "at once", more(20)))
    assert before == {name: (copied / "blocks" / name).stat().st_mtime_ns for name in NAMES}
    assert ResultFolder.open(copied).experiment.replications == 20


def test_every_worker_has_a_block(tmp_path, monkeypatch):
    monkeypatch.setattr("onepull.simulation.Simulation.block_size", lambda _: 1000)
    run(tmp_path / "results")
    assert files(tmp_path / "results") == ["0000000-0000006.npz", "0000006-0000012.npz"]


def test_fewer_replications_run_nothing_and_keep_what_is_done(copied):
    (copied / "blocks" / NAMES[0]).unlink()
    assert ResultFolder(copied, more(2)).missing() == [(0, 2)]
    assert ResultFolder(copied, more(5)).missing() == [(0, 3)]
    assert run(copied, more(5)).replications == 12


# What is refused


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        ("seed = 4", "seed = 5", "seed: 4 → 5"),
        ("seed = 4", "", "seed: 4 → 0"),
        ("horizon = 500", "horizon = 501", "horizon: 500 → 501"),
        ("seed = 4", "seed = 4\nrealised = true", "realised: False → True"),
        ("channels = 4", "channels = 5", "application.channels: 4 → 5"),
        ('policy = "DCB"', 'policy = "DCB"\nepsilon = 0.1', "policies #1.epsilon: not given → 0.1"),
        ('policy = "UCB1"', 'policy = "Greedy"', "policies #2.policy: 'UCB1' → 'Greedy'"),
        (
            '[[policies]]\npolicy = "UCB1"\n',
            "",
            "policies #2: {'policy': 'UCB1'} → not given",
        ),
        (
            "horizon = 500\nreplications = 12\nseed = 4",
            "horizon = 600\nreplications = 90\nseed = 5",
            "horizon: 500 → 600, seed: 4 → 5",
        ),
    ],
)
def test_the_folder_of_another_experiment_is_refused_with_what_changed(copied, old, new, changes):
    before = files(copied)
    assert TEXT.count(old) == 1
    with pytest.raises(ProblemError) as caught:
        ResultFolder(copied, experiment(TEXT.replace(old, new)))
    said = str(caught.value)
    assert f"holds the results of another experiment ('channels'): {changes}; choose" in said
    assert "\n" not in said
    assert files(copied) == before


def test_a_folder_of_another_kind_is_refused(copied):
    other = BufferExperiment.from_toml(
        'application = "metered-backlog"\nhorizon = 9\nreplications = 2\n'
        'controllers = [{controller = "Myopic", policy = "DCB"}]\n'
    )
    with pytest.raises(ProblemError, match="missing, damaged or of another kind; choose"):
        BufferFolder(copied, other)
    (copied / "experiment.toml").unlink()
    with pytest.raises(ProblemError, match="missing, damaged or of another kind; choose"):
        ResultFolder(copied, more(20, TEXT.replace("seed = 4", "seed = 5")))


def test_long_values_and_many_differences_are_shortened():
    found = differences({"arms": ["a" * 99]}, {"arms": ["b"]})
    assert found == [f"arms: ['{'a' * 57}… → ['b']"]
    many = differences({}, {f"key {i}": i for i in range(8)})
    assert summarised(many).endswith("key 4: not given → 4 and 3 others")
    assert summarised(many[:5]).endswith("key 4: not given → 4")
    assert summarised(many[:6]).endswith("and 1 other")


def test_a_foreign_folder_is_refused_and_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(ProblemError, match="is not empty and not a result folder"):
        ResultFolder(tmp_path, experiment())
    with pytest.raises(ProblemError, match="is not empty and not a result folder"):
        ResultFolder(tmp_path / "thesis.tex", experiment())
    with pytest.raises(ProblemError, match="is not a result folder"):
        ResultFolder.open(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


def test_an_empty_folder_is_welcome(tmp_path):
    assert run(tmp_path).replications == 12


def test_a_damaged_about_file_is_named(copied):
    (copied / "about.json").write_text("{")
    with pytest.raises(ProblemError, match=r"about\.json: damaged"):
        ResultFolder(copied, experiment())


def test_another_version_can_read_but_not_add(copied, expected, monkeypatch):
    papers = {name: (copied / name).read_bytes() for name in ("about.json", "experiment.toml")}
    monkeypatch.setattr("onepull.__version__", "99.0")
    assert csv(ResultFolder.open(copied).result()) == expected
    with pytest.raises(ProblemError, match=r"begun by onepull \S+, and this is 99\.0"):
        run(copied, more(20))
    with pytest.raises(ProblemError, match=r"begun by onepull"):
        ResultFolder.open(copied).run(Serial())
    assert papers == {name: (copied / name).read_bytes() for name in papers}
    assert files(copied) == NAMES


def test_what_began_a_folder_is_written_once(copied, monkeypatch):
    before = (copied / "about.json").read_bytes()
    about = json.loads(before)
    assert about["numba"] == importlib.metadata.version("numba")
    assert about["onepull"] == onepull.__version__
    monkeypatch.setattr("platform.python_version", lambda: "4.0")
    run(copied, more(15))
    assert (copied / "about.json").read_bytes() == before


def test_a_folder_without_results_says_so(tmp_path):
    folder = ResultFolder(tmp_path / "results", experiment())
    folder.prepare()
    with pytest.raises(ProblemError, match="no replication is done yet"):
        ResultFolder.open(folder.path).result()


# Interruptions


class Refusing(Serial):
    """Fails with an error after a few blocks."""

    def __init__(self, after, error):
        self.left, self.error = after, error

    def submit(self, fn, /, *args, **kwargs):
        self.left -= 1
        if self.left >= 0:
            return super().submit(fn, *args, **kwargs)
        if isinstance(self.error, KeyboardInterrupt):
            raise self.error
        future: Future[Any] = Future()
        future.set_exception(self.error)
        return future


@pytest.mark.parametrize("error", [KeyboardInterrupt(), BrokenProcessPool(), MemoryError()])
def test_what_was_finished_before_an_interruption_is_kept(tmp_path, expected, error):
    folder = ResultFolder(tmp_path / "results", experiment())
    folder.prepare()
    shown = OnepullError if isinstance(error, BrokenExecutor) else type(error)
    with pytest.raises(shown):
        folder.run(Refusing(2, error))
    assert files(folder.path) == NAMES[:2]
    assert csv(run(folder.path)) == expected


def test_progress_tells_what_is_done_already(copied):
    (copied / "blocks" / NAMES[1]).unlink()
    told = []
    folder = ResultFolder.open(copied)
    folder.run(Serial(), lambda *numbers: told.append(numbers))
    assert told == [(9, 12), (12, 12)]


def test_a_block_is_on_disk_before_it_is_told_of(tmp_path):
    folder = ResultFolder(tmp_path / "results", experiment())
    folder.prepare()
    seen = []
    folder.run(Serial(), lambda done, _: seen.append((done, len(files(folder.path)))))
    assert seen == [(0, 0), (3, 1), (6, 2), (9, 3), (12, 4)]


def test_a_block_is_written_atomically(tmp_path, monkeypatch):
    folder = ResultFolder(tmp_path / "results", experiment())
    folder.prepare()

    def fail(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OnepullError, match=r"\d{7}\.npz: cannot be written: No space left"):
        folder.run(Serial())
    assert files(folder.path) == []


@pytest.mark.parametrize("steps", range(4))
def test_a_run_killed_while_it_prepares_can_be_started_again(tmp_path, monkeypatch, steps):
    folder = ResultFolder(tmp_path / "results", experiment())
    real, left = ResultFolder.write, [steps]

    def dying(self, name, contents):
        left[0] -= 1
        if left[0] < 0:
            (self.path / f".{name}.0123456789abcdef").write_bytes(contents[:5])
            raise KeyboardInterrupt
        real(self, name, contents)

    monkeypatch.setattr(ResultFolder, "write", dying)
    if steps < 3:
        with pytest.raises(KeyboardInterrupt):
            folder.prepare(tmp_path)
    monkeypatch.setattr(ResultFolder, "write", real)
    assert run(folder.path).replications == 12


def test_traces_are_found_where_the_experiment_was(tmp_path, monkeypatch):
    text = """
    horizon = 50
    replications = 2
    [problem]
    arms = ["a"]
    reward = "x * y"
    context = {y = [1]}
    state = {x = {low = 0, high = 9}}
    [environment]
    contexts = {y = {law = "discrete", values = [1], probabilities = [1]}}
    states = {a = {law = "trace", path = "trace.csv", columns = ["x"]}}
    [[policies]]
    policy = "UCB1"
    """
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "trace.csv").write_text("x\n1\n2\n")
    (tmp_path / "here" / "e.toml").write_text(text)
    monkeypatch.chdir(tmp_path / "here")
    folder = ResultFolder("results", Experiment.read("e.toml"))
    folder.prepare(folder.path.parent)
    folder.run(Serial())
    monkeypatch.chdir(tmp_path)
    assert ResultFolder.open("here/results").result().replications == 2
    assert (tmp_path / "here" / "results" / "origin.txt").read_text() == ".."
    (tmp_path / "here").rename(tmp_path / "there")  # both together
    assert ResultFolder.open("there/results").result().replications == 2
    (tmp_path / "there").rename(tmp_path / "here")
    (tmp_path / "here" / "trace.csv").write_text("x\n1\n3\n")
    with pytest.raises(ProblemError, match="the contents of its traces have changed since"):
        ResultFolder.open("here/results")
    (tmp_path / "here" / "trace.csv").unlink()
    with pytest.raises(ProblemError, match=r"experiment\.toml: states of arm 'a': trace"):
        ResultFolder.open("here/results")
