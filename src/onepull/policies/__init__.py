"""Policies: how to choose, and what to learn from a pull."""

# Made by tools/public_names.py
from onepull.policies.budget.mixture_elimination import MixtureElimination
from onepull.policies.budget.ucb_alp import UCBALP
from onepull.policies.choice import Choice
from onepull.policies.controls import Controls, Share
from onepull.policies.drifting.discounted_kl import DiscountedKL
from onepull.policies.drifting.discounted_ucb import DiscountedUCB
from onepull.policies.drifting.restarting_ucb import RestartingUCB
from onepull.policies.drifting.sliding_window_kl import SlidingWindowKL
from onepull.policies.drifting.sliding_window_ucb import SlidingWindowUCB
from onepull.policies.explanation import ArmExplanation, Explanation
from onepull.policies.fleet.updates import Absorbed
from onepull.policies.hidden_states.coarse_kl import CoarseKL
from onepull.policies.hidden_states.regression_ucb import RegressionUCB
from onepull.policies.kept_states.adaptive_kl import AdaptiveKL
from onepull.policies.linear.lin_rel import LinRel
from onepull.policies.linear.lin_thompson import LinearThompson
from onepull.policies.linear.lin_ucb import LinUCB
from onepull.policies.loaded import Loaded
from onepull.policies.partition.contextual_zooming import ContextualZooming
from onepull.policies.policy import Policy
from onepull.policies.policy_class.epoch_greedy import EpochGreedy
from onepull.policies.policy_class.iltcb import ILTCB
from onepull.policies.policy_class.randomized_ucb import RandomizedUCB
from onepull.policies.pull import Pull
from onepull.policies.recommendation import recommended
from onepull.policies.reference import FixedArm, Genie, Greedy, Random
from onepull.policies.request import Request
from onepull.policies.rule_policy import MeanPolicy, TurnPolicy
from onepull.policies.scheduled.dsee import DSEE
from onepull.policies.scheduled.epsilon_greedy import EpsilonGreedy
from onepull.policies.sharing.by_name import shared
from onepull.policies.sharing.knowledge import Knowledge
from onepull.policies.states.dirichlet_thompson import DirichletThompson
from onepull.policies.states.empirical_bernstein import EmpiricalBernstein
from onepull.policies.states.empirical_kl import EmpiricalKL
from onepull.policies.states.imed import IMED
from onepull.policies.states.patient_kl import PatientKL
from onepull.policies.states.state_policy import StatePolicy
from onepull.policies.stats import ArmStats, Stats
from onepull.policies.traits import Traits
from onepull.policies.ucb.ccb import CCB, DoublingCCB
from onepull.policies.ucb.dcb import DCB
from onepull.policies.ucb.kl_ucb import KLUCB
from onepull.policies.ucb.multi_ucb import MultiUCB
from onepull.policies.ucb.ucb1 import UCB1, UCB1Epsilon
from onepull.policies.ucb.upper_confidence import UpperConfidence

__all__ = [
    "CCB",
    "DCB",
    "DSEE",
    "ILTCB",
    "IMED",
    "KLUCB",
    "UCB1",
    "UCBALP",
    "Absorbed",
    "AdaptiveKL",
    "ArmExplanation",
    "ArmStats",
    "Choice",
    "CoarseKL",
    "ContextualZooming",
    "Controls",
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
    "Knowledge",
    "LinRel",
    "LinUCB",
    "LinearThompson",
    "Loaded",
    "MeanPolicy",
    "MixtureElimination",
    "MultiUCB",
    "PatientKL",
    "Policy",
    "Pull",
    "Random",
    "RandomizedUCB",
    "RegressionUCB",
    "Request",
    "RestartingUCB",
    "Share",
    "SlidingWindowKL",
    "SlidingWindowUCB",
    "StatePolicy",
    "Stats",
    "Traits",
    "TurnPolicy",
    "UCB1Epsilon",
    "UpperConfidence",
    "recommended",
    "shared",
]
# To here.
