"""Policies: a rule of exploration on shared knowledge, and `choose` and `observe`."""

from onepull.policies.base import Policy
from onepull.policies.censored import CensoredKL
from onepull.policies.coarse import CoarseKL
from onepull.policies.dirichlet_thompson import DirichletThompson
from onepull.policies.discounted_kl import DiscountedKL
from onepull.policies.discounted_ucb import DiscountedUCB
from onepull.policies.dsee import DSEE
from onepull.policies.empirical_kl import IMED, EmpiricalBernstein, EmpiricalKL
from onepull.policies.epoch_greedy import EpochGreedy
from onepull.policies.epsilon_greedy import EpsilonGreedy
from onepull.policies.explanation import ArmExplanation, Explanation
from onepull.policies.iltcb import ILTCB
from onepull.policies.kl_ucb import KLUCB
from onepull.policies.known_reward import CCB, DCB, DoublingCCB
from onepull.policies.lin_rel import LinRel
from onepull.policies.lin_thompson import LinearThompson
from onepull.policies.lin_ucb import LinUCB
from onepull.policies.mixture_elimination import MixtureElimination
from onepull.policies.patient import PatientKL
from onepull.policies.randomized_ucb import RandomizedUCB
from onepull.policies.recommended import recommended
from onepull.policies.reference import FixedArm, Genie, Greedy, Random
from onepull.policies.restarting_ucb import RestartingUCB
from onepull.policies.sliding_window_kl import SlidingWindowKL
from onepull.policies.sliding_window_ucb import SlidingWindowUCB
from onepull.policies.ucb1 import UCB1, MultiUCB, UCB1Epsilon
from onepull.policies.ucb_alp import UCBALP
from onepull.policies.upper_confidence import UpperConfidence
from onepull.policies.zooming import ContextualZooming

__all__ = [
    "CCB",
    "DCB",
    "DSEE",
    "ILTCB",
    "IMED",
    "KLUCB",
    "UCB1",
    "UCBALP",
    "ArmExplanation",
    "CensoredKL",
    "CoarseKL",
    "ContextualZooming",
    "DirichletThompson",
    "DiscountedKL",
    "DiscountedUCB",
    "DoublingCCB",
    "EmpiricalBernstein",
    "EmpiricalKL",
    "EpochGreedy",
    "EpsilonGreedy",
    "Explanation",
    "FixedArm",
    "Genie",
    "Greedy",
    "LinRel",
    "LinUCB",
    "LinearThompson",
    "MixtureElimination",
    "MultiUCB",
    "PatientKL",
    "Policy",
    "Random",
    "RandomizedUCB",
    "RestartingUCB",
    "SlidingWindowKL",
    "SlidingWindowUCB",
    "UCB1Epsilon",
    "UpperConfidence",
    "recommended",
]
