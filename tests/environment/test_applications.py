"""The paper's applications: which arm is best in which context."""

from __future__ import annotations

import numpy as np
import pytest

from onepull.environment import channel_selection, energy_harvesting, offloading
from onepull.errors import ParameterError


def best(environment, contexts):
    gaps = environment.gaps(np.asarray(contexts, float))
    assert np.all(gaps >= 0)
    return [np.flatnonzero(row == 0).tolist() for row in gaps]


@pytest.mark.parametrize("count", [4, 7])
def test_channel_i_is_best_for_i_bits_and_the_rest_never(count):
    world = channel_selection(count)
    assert best(world, [[1], [2], [3], [4]]) == [[0], [1], [2], [3]]
    assert len(world.problem.arms) == count


def test_harvesting_is_best_on_channels_three_and_four():
    powers = np.linspace(0, 1, 1001)[1:, None]
    found = best(energy_harvesting(), powers)
    assert {arm for arms in found for arm in arms} == {2, 3}
    # Gain matters most at low power: channel 4 is best first, then channel 3.
    assert found[0] == [3]
    assert found[-1] == [2]
    assert np.all(np.diff([arms[0] for arms in found]) <= 0)


def test_all_channels_are_alike_without_power():
    assert best(energy_harvesting(), [[0.0]]) == [[0, 1, 2, 3]]


def test_offloading_keeps_three_servers_in_use():
    world = offloading()
    jobs = [[m, w] for m in (1, 10, 50, 100) for w in (100, 1000, 5000, 10000)]
    rewards = world.expected_rewards(np.array(jobs, float))
    assert np.all((rewards >= -1) & (rewards <= 1))
    names = {world.problem.arms[arms[0]] for arms in best(world, jobs)}
    assert len(names) >= 3
    # Large data are best on the fast link, long work on the fast processor.
    assert best(world, [[100, 100]]) == [[world.problem.arms.index("edge")]]
    assert best(world, [[1, 10000]]) == [[world.problem.arms.index("cloud")]]


@pytest.mark.parametrize("build", [channel_selection, energy_harvesting])
def test_there_are_one_to_seven_channels(build):
    for count in (1, 7, np.int64(3)):
        assert len(build(count).problem.arms) == count
    for wrong in (0, 8, 9, -1, 2.0, True, "4", None):
        with pytest.raises(ParameterError, match=f"whole number from 1 to 7, given {wrong!r}"):
            build(wrong)
