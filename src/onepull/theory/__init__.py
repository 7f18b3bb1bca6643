"""What is proved about regret, as numbers: the paper's bounds, put right, and lower bounds.

`Instance` is what they depend on; `bounds` has the theorems, `limits` how little regret is
possible, `numbers_kept` what the policies keep, and `guarantee` says which of them speak about a
given policy.
"""

from onepull.theory.bounds import (
    RegretBound,
    WrongPulls,
    doubled,
    doubling,
    gap_free,
    lemma_1,
    multi_ucb,
    staircase,
    theorem_1,
    theorem_1_printed,
    theorem_2,
    theorem_3,
    theorem_4,
    ucb1,
)
from onepull.theory.guarantees import Guarantee, guarantee
from onepull.theory.instance import Instance
from onepull.theory.limits import (
    Apart,
    Limit,
    divergences,
    graves_lai,
    hoeffding_constant,
    index_policy,
    kinf,
    lai_robbins,
)
from onepull.theory.numbers_kept import Kept, numbers_kept

__all__ = [
    "Apart",
    "Guarantee",
    "Instance",
    "Kept",
    "Limit",
    "RegretBound",
    "WrongPulls",
    "divergences",
    "doubled",
    "doubling",
    "gap_free",
    "graves_lai",
    "guarantee",
    "hoeffding_constant",
    "index_policy",
    "kinf",
    "lai_robbins",
    "lemma_1",
    "multi_ucb",
    "numbers_kept",
    "staircase",
    "theorem_1",
    "theorem_1_printed",
    "theorem_2",
    "theorem_3",
    "theorem_4",
    "ucb1",
]
