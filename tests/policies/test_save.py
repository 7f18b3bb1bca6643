"""Saved policies: nothing lost, nothing half written, nothing damaged taken for whole."""

from __future__ import annotations

import json
import os
import sys
import zlib
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest
from problems import PAPER_ARMS, channels, coded, harvesting, offloading
from taught import taught

from onepull import (
    CCB,
    DCB,
    UCB1,
    Box,
    DoublingCCB,
    Finite,
    FixedArm,
    Genie,
    MergeError,
    MultiUCB,
    OnepullError,
    Policy,
    Problem,
    Random,
    SaveFileError,
    UCB1Epsilon,
)
from onepull.atomic_files import write
from onepull.distributions import Uniform
from onepull.testing.random_data import observations

POLICIES = {
    "DCB": lambda: DCB(offloading(), epsilon=0.3),
    "DCB-beyond": lambda: DCB(channels(), epsilon=-0.5, beyond_theory=True),
    "CCB": lambda: CCB(harvesting(), delta={"power": 0.003}),
    "DoublingCCB": lambda: DoublingCCB(harvesting(), growth=0.6),
    "UCB1": lambda: UCB1Epsilon(channels(), epsilon=0.1, seed=3),
    "MultiUCB": lambda: MultiUCB(harvesting(), delta=0.2),
    "Random": lambda: Random(channels(), seed=2),
    "FixedArm": lambda: FixedArm(channels(), arm="channel-3"),
    "Genie": lambda: Genie(channels(), states=PAPER_ARMS),
}


def small(**keywords):
    policy = DCB(channels(2), **keywords)
    policy.observe_many(["channel-1", "channel-1", "channel-2"], capacity=[0.3, 3.1, 2.7])
    return policy


@pytest.mark.parametrize("build", POLICIES.values(), ids=POLICIES)
def test_a_policy_comes_back_from_its_file(build, tmp_path):
    policy = taught(build(), 50)
    path = tmp_path / "policy.json"
    policy.save(path)
    for kind in (Policy, type(policy)):
        twin = kind.load(path)
        assert type(twin) is type(policy)
        assert twin.parameters == policy.parameters
        assert twin.problem == policy.problem
        assert twin.to_bytes() == policy.to_bytes() == path.read_bytes()
        context = observations(policy.problem, 1, np.random.default_rng(2))[0]
        context = policy.problem.context.among(context)
        assert twin.explain(**context) == policy.explain(**context)


def test_a_path_may_be_text(tmp_path):
    small().save(str(tmp_path / "policy"))
    assert DCB.load(str(tmp_path / "policy")).trials == 3


def test_saving_leaves_one_file_and_replaces_it(tmp_path):
    path = tmp_path / "policy.json"
    small().save(path)
    policy = small()
    policy.observe("channel-1", capacity=1)
    policy.save(path)
    assert os.listdir(tmp_path) == ["policy.json"]  # noqa: PTH208 - names are what matters
    assert DCB.load(path).trials == 4


def test_a_write_that_fails_leaves_nothing_new(tmp_path):
    taken = tmp_path / "policy.json"
    taken.mkdir()
    (taken / "inside").write_text("kept")
    with pytest.raises(OSError, match=r"policy\.json"):
        small().save(taken)
    assert [p.name for p in tmp_path.iterdir()] == ["policy.json"]
    assert (taken / "inside").read_text() == "kept"


def test_a_policy_that_cannot_be_written_keeps_the_old_file(tmp_path):
    path = tmp_path / "policy.json"
    Genie(channels(), states=PAPER_ARMS).save(path)
    before = path.read_bytes()
    unwritable = Genie(channels(), states=dict.fromkeys(channels().arms, Uniform(0, 7)))
    with pytest.raises(OnepullError, match="only a Discrete distribution can be saved"):
        unwritable.save(path)
    with pytest.raises(TypeError):
        write(path, "not bytes")  # type: ignore[arg-type]
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["policy.json"]


def test_a_file_cut_short_anywhere_is_refused():
    text = small(seed=1).to_bytes()
    for stop in range(len(text)):
        with pytest.raises(SaveFileError):
            Policy.from_bytes(text[:stop])


def assert_whole_or_refused(text, damaged):
    """A damaged file is refused, unless it still spells the same policy to the last bit."""
    try:
        twin = Policy.from_bytes(damaged)
    except SaveFileError:
        return
    assert twin.to_bytes() == text, damaged


@pytest.mark.parametrize("flip", [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xFF])
def test_a_flipped_bit_anywhere_never_gives_another_policy(flip):
    text = small(seed=1).to_bytes()
    for place in range(len(text)):
        damaged = bytearray(text)
        damaged[place] ^= flip
        assert_whole_or_refused(text, bytes(damaged))


def test_any_other_byte_in_what_was_learned_never_gives_another_policy():
    text = small().to_bytes()
    for place in range(text.index(b'"learned"'), text.index(b'"generator"')):
        for byte in b'0123456789.-+eE,[]{}" \\\n\x00\xff':
            assert_whole_or_refused(text, text[:place] + bytes([byte]) + text[place + 1 :])


def test_another_first_digit_of_a_mean_is_refused():
    text = small().to_bytes()
    assert text.count(b"[[0.6") == 1
    with pytest.raises(SaveFileError, match="checksum does not match"):
        DCB.from_bytes(text.replace(b"[[0.6", b"[[0.7"))


def test_a_file_that_was_only_laid_out_anew_is_read():
    policy = small()
    text = msgspec.json.format(policy.to_bytes(), indent=2)
    assert text != policy.to_bytes()
    assert DCB.from_bytes(text).to_bytes() == policy.to_bytes()


@pytest.mark.parametrize("text", [b"", b"null", b"[]", b"{}", b"3", b"\xff\xfe", b"{" * 5000])
def test_what_is_no_save_file_is_refused(text, tmp_path):
    path = tmp_path / "other.json"
    path.write_bytes(text)
    with pytest.raises(SaveFileError, match=r"other.json: not a saved policy"):
        Policy.load(path)


def altered(original, /, **changes):
    """Return a policy's file with parts replaced and an honest checksum."""
    document = json.loads(original.to_bytes())
    head = {key: changes.pop(key) for key in ("format", "version") if key in changes}
    saved = {**document["saved"], **changes}
    body = msgspec.json.encode(saved)
    envelope = {**document, **head, "checksum": zlib.crc32(body), "saved": saved}
    return msgspec.json.encode(envelope)


def test_altering_nothing_alters_nothing():
    policy = small(seed=1)
    assert Policy.from_bytes(altered(policy)).to_bytes() == policy.to_bytes()


LEARNED = {"trials": 1, "pulls": [1, 0], "means": [[1.0, 2.0, 3.0, 3.0], []]}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"version": 2}, "newer onepull .file version 2, this one reads up to 1.; upgrade"),
        ({"format": "other"}, "its format is 'other'"),
        ({"policy": "Oracle"}, "contains the policy Oracle, which is not a known Policy"),
        ({"policy": "Policy"}, "abstract"),
        ({"policy": "UCB1", "parameters": {"temper": 1}}, "temper"),
        ({"policy": "FixedArm", "parameters": {"arm": "wifi"}}, "unknown arm 'wifi'"),
        ({"policy": "Genie", "parameters": {}}, "states"),
        ({"policy": "Genie", "parameters": {"states": 3}}, "items"),
        ({"parameters": {"epsilon": -1}}, "epsilon must be > 0"),
        ({"parameters": {"epsilon": "0.1"}}, "epsilon must be a number"),
        ({"problem": {"arms": ["a"]}}, "callable"),
        ({"problem": {**channels(2).to_dict(), "arms": []}}, "at least one arm"),
        ({"problem": {**channels(2).to_dict(), "reward": "min(bits, wifi)"}}, "wifi"),
        ({"problem": {**channels(2).to_dict(), "extra": 1}}, "extra"),
        ({"learned": 3}, "saved statistics are invalid"),
        ({"learned": {"some": LEARNED}}, "'some' are unknown; expected 'all'"),
        ({"learned": {"all": {**LEARNED, "trials": 0}}}, "exceed the number of trials"),
        ({"learned": {"all": {**LEARNED, "pulls": [1]}}}, "1 arms do not fit 2 arms"),
        ({"learned": {"all": {**LEARNED, "means": [[1.0, None, 3.0, 3.0], []]}}}, "null"),
        ({"learned": {"all": {**LEARNED, "means": [[1.0], []]}}}, "has 1 means, not 4"),
        ({"generator": {}}, "unknown random generator None"),
        ({"generator": {"bit_generator": "Dice"}}, "unknown random generator 'Dice'"),
        ({"generator": {"bit_generator": "PCG64"}}, "random generator are invalid"),
        ({"generator": {"bit_generator": "SFC64", "state": {"state": [str(2**99)]}}}, "invalid"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_a_file_that_makes_no_policy_is_refused_with_its_name(changes, said, tmp_path):
    path = tmp_path / "policy.json"
    path.write_bytes(altered(small(), **changes))
    with pytest.raises(SaveFileError, match=f"policy.json: (?s:.*){said}"):
        Policy.load(path)


@pytest.mark.parametrize(
    ("learned", "said"),
    [
        ({"phase": 0, "learned": {}}, "invalid: Expected `int` >= 1 - at `..phase`"),
        ({"phase": 63, "learned": {}}, "invalid: Expected `int` <= 52 - at `..phase`"),
        ({"phase": "2", "learned": {}}, "saved statistics are invalid"),
        ({"learned": {}}, "phase"),
    ],
)
def test_a_phase_that_cannot_be_is_refused(learned, said):
    with pytest.raises(SaveFileError, match=said):
        DoublingCCB.from_bytes(altered(DoublingCCB(harvesting()), learned=learned))


@pytest.mark.parametrize("key", ["4", "-1", "x", "²"])
def test_a_cell_that_is_not_there_is_refused(key):
    learned = {key: {"trials": 0, "pulls": [0, 0], "means": [[], []]}}
    with pytest.raises(SaveFileError, match="expected 0 to 3"):
        MultiUCB.from_bytes(altered(MultiUCB(channels(2)), learned=learned))


def test_another_class_is_refused():
    with pytest.raises(
        SaveFileError,
        match=r"contains a saved DCB, not a UCB1; load it with DCB.load or Policy.load",
    ):
        UCB1.from_bytes(small().to_bytes())


def own_class(module, name="Mine", base=DCB):
    return type(name, (base,), {"__module__": module, "__qualname__": name})


def test_classes_of_one_name_are_told_apart_by_their_module():
    north, south = own_class("north"), own_class("south")
    for kind in (north, south):
        policy = kind(channels(2))
        policy.observe("channel-1", capacity=1)
        assert type(Policy.from_bytes(policy.to_bytes())) is kind
    with pytest.raises(SaveFileError, match=r"north:Mine, and the known class .* south"):
        south.from_bytes(north(channels(2)).to_bytes())
    one, other = north(channels(2)), south(channels(2))
    one.join("one")
    other.join("other")
    with pytest.raises(MergeError):
        one.absorb(other.updates())


def test_a_class_named_like_one_of_the_package_does_not_replace_it():
    mine = own_class("elsewhere", "DCB")
    assert type(Policy.from_bytes(small().to_bytes())) is DCB
    assert type(DCB.from_bytes(small().to_bytes())) is DCB
    assert type(Policy.from_bytes(mine(channels(2)).to_bytes())) is mine


def test_a_class_that_was_moved_is_loaded_by_asking_for_it():
    moved = own_class("new_place", "Travelling")
    text = altered(moved(channels(2)), policy="old_place:Travelling")
    with pytest.raises(SaveFileError, match="import the module old_place first, or, if the class"):
        Policy.from_bytes(text)
    assert type(moved.from_bytes(text)) is moved


def test_two_classes_of_one_name_in_one_module_are_refused():
    one, two = own_class("here", "Twice"), own_class("here", "Twice")
    text = one(channels(2)).to_bytes()
    with pytest.raises(SaveFileError, match="and 2 classes have this name"):
        Policy.from_bytes(text)
    assert type(two.from_bytes(text)) is two


def test_a_class_that_is_defined_again_replaces_the_first(monkeypatch):
    first, again = own_class("notebook", "Again"), own_class("notebook", "Again")
    monkeypatch.setitem(sys.modules, "notebook", SimpleNamespace(Again=again))
    assert type(Policy.from_bytes(first(channels(2)).to_bytes())) is again


def test_a_missing_file_is_what_the_system_says(tmp_path):
    with pytest.raises(FileNotFoundError):
        Policy.load(tmp_path / "none.json")


def test_the_same_problem_may_be_given_with_other_arms():
    twin = DCB.from_bytes(small().to_bytes(), problem=channels(7))
    assert twin.problem.arms == channels(7).arms
    assert twin.loaded is not None
    assert (twin.loaded.added, twin.trials) == (channels(7).arms[2:], 3)
    policy = small()
    policy.add_arm("new")
    kept = DCB.from_bytes(policy.to_bytes(), problem=channels(2))
    assert kept.to_bytes() == policy.to_bytes()
    assert kept.loaded is None


def swapped():
    problem = offloading()
    context = Box({"work": problem.context["work"], "megabytes": problem.context["megabytes"]})
    return Problem(arms=problem.arms, context=context, state=problem.state, reward=problem.reward)


def in_code():
    return Problem(
        arms=["a"],
        context=channels().context,
        state={"capacity": Finite([0, 7])},
        reward=lambda bits, capacity: min(capacity, bits),
    )


@pytest.mark.parametrize(
    ("policy", "problem"),
    [
        (small, harvesting),
        (small, in_code),
        (lambda: taught(DCB(offloading()), 50), swapped),
    ],
)
def test_another_problem_is_refused(policy, problem):
    with pytest.raises(SaveFileError, match="saved for another problem"):
        DCB.from_bytes(policy().to_bytes(), problem=problem())


def test_a_reward_in_code_must_be_given_again(tmp_path):
    problem = coded()
    policy = taught(DCB(problem), 50)
    path = tmp_path / "policy.json"
    policy.save(path)
    with pytest.raises(
        SaveFileError, match=r"policy.json: its reward is a Python callable.*problem="
    ):
        DCB.load(path)
    assert DCB.load(path, problem=problem).to_bytes() == policy.to_bytes()
    with pytest.raises(SaveFileError, match="another problem"):
        DCB.load(path, problem=channels())


@pytest.mark.parametrize("kind", ["PCG64", "PCG64DXSM", "Philox", "SFC64", "MT19937"])
def test_a_generator_goes_on_where_it_was(kind):
    policy = Random(channels(), seed=np.random.Generator(getattr(np.random, kind)(7)))
    for _ in range(13):
        policy.choose(bits=1)
    twin = Random.from_bytes(policy.to_bytes())
    assert twin.to_bytes() == policy.to_bytes()
    assert [twin.choose(bits=1) for _ in range(500)] == [policy.choose(bits=1) for _ in range(500)]


def test_a_policy_without_a_seed_comes_back_without():
    assert b'"generator":null' in small().to_bytes()
    assert DCB.from_bytes(small().to_bytes())._generator is None
