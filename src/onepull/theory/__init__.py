"""Proven bounds on regret: the paper's, as printed and corrected, and lower bounds.

`Instance` holds the quantities that the bounds depend on.  `pulls` and `bounds` have the
theorems, `limits` the lower bounds, `numbers_kept` the storage of policies.  `guarantee` returns
the bounds that apply to a policy.
"""

from onepull.theory.bounds import (
    RegretBound,
    WrongPulls,
    doubling_ccb,
    doubling_phases,
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
    "doubling_ccb",
    "doubling_phases",
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
