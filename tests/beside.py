"""The same replications by a kernel and by the library."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np

from onepull.simulation import Simulation
from onepull.simulation.draws import uniform
from onepull.simulation.prepare import Interpreted, _InterpretedRunner


class SameLuck(Interpreted):
    """Runs a policy that draws what the compiled one draws."""

    def begin(self, own_key):
        policy: Any = deepcopy(self.policy)
        policy._generator = Luck(own_key, policy)
        return _InterpretedRunner(policy)


class Luck:
    """Numbers in [0, 1) by the trial, as kernels take them."""

    def __init__(self, key, policy):
        self.key, self.policy = np.uint64(key), policy

    def random(self):
        return uniform(self.key, self.policy.trials)


def blocks(environment, policy, interpreted=Interpreted, horizon=1500, feedback="state"):
    """Return the same replications by the kernel and by the library."""
    found = []
    for make in (None, interpreted):
        simulation = Simulation(
            environment, {"policy": policy}, horizon=horizon, seed=3, feedback=feedback
        )
        if make is None:
            assert simulation._prepared[0].is_compiled
        else:
            simulation.__dict__["_prepared"] = [make(policy)]
        found.append(simulation.block(0, 2))
    return found


def assert_identical(one, two):
    assert np.array_equal(one.pulls, two.pulls)
    assert np.array_equal(one.best_pulls, two.best_pulls)
    assert np.array_equal(one.regrets, two.regrets)
