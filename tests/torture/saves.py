"""Save files with changed values and a checksum that fits."""

from __future__ import annotations

from functools import cache

import numpy as np
from policies.mutations import loads_or_refuses, mutated
from policy_cases import CASES

from onepull.errors import SaveFileError
from onepull.policies.policy import Policy
from onepull.testing.random_data import observations
from torture.area import Area


@cache
def saved(name: str) -> bytes:
    """Return a policy that has learned a little, as a save file."""
    build, problem = CASES[name]
    policy = build(problem())
    for pull in observations(problem(), 30, np.random.default_rng(5)):
        policy.observe(**pull)
    return policy.to_bytes()


@cache
def savable() -> list[str]:
    """Return the policies that a file can hold without their problem."""
    return [name for name, (_, problem) in CASES.items() if problem().reward.is_formula]


def value_case(seed: int) -> bool:
    """Change values in a save file; it is refused, or gives a policy that works."""
    generator = np.random.default_rng(seed)
    name = savable()[int(generator.integers(len(savable())))]
    return loads_or_refuses(mutated(saved(name), generator), generator)


def byte_case(seed: int) -> bool:
    """Change bytes of a save file; the checksum refuses it."""
    generator = np.random.default_rng(seed)
    name = savable()[int(generator.integers(len(savable())))]
    blob = bytearray(saved(name))
    for _ in range(int(generator.integers(1, 4))):
        place = int(generator.integers(len(blob)))
        blob[place] ^= int(generator.integers(1, 256))
    if generator.random() < 0.3:
        del blob[int(generator.integers(len(blob))) :]
    try:
        policy = Policy.from_bytes(bytes(blob))
    except SaveFileError:
        return False
    assert policy.to_bytes() == saved(name), "other contents passed the checksum"
    return True


VALUES = Area(
    name="save-values",
    tries="values in a save file are changed, with a checksum that fits; what loads must work",
    case=value_case,
    in_tests=60,
    share=2.0,
    fixed=(
        "`IndexError` when a file with other lengths was loaded",
        "weights, laws and generator states that failed only later",
        "a window with other observations than its means, which gave negative shares later",
    ),
)
BYTES = Area(
    name="save-bytes",
    tries="bytes of a save file are flipped or cut off; the checksum refuses it",
    case=byte_case,
    in_tests=200,
    share=0.5,
)
