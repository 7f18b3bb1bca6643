"""What is known about the regret of every policy, in words: by whom, and when it holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from onepull import policies as p
from onepull.policies import Policy

TOGETHER = "for contexts that learn together none is known"
ALIKE = "with joint learning even arms that are best somewhere cost as much (remark 3)"
WIDER = "for the Hoeffding width on the same means there is one (Garivier and Moulines 2011)"
LINEAR = "if rewards are not linear in the features, regret may be"
# Made for laws that change, so that what is said of them holds there too.
FORGETFUL: tuple[type[Policy], ...] = (
    p.DiscountedUCB,
    p.SlidingWindowUCB,
    p.DiscountedKL,
    p.SlidingWindowKL,
    p.RestartingUCB,
)

STATEMENTS: Mapping[type[Policy], str] = MappingProxyType(
    {
        p.DCB: "O(log n) for every arm that is best nowhere, bounded for the others, for ε > -1/2 "
        "(Sakulkar and Krishnamachari, theorem 3, corrected)",
        p.CCB: "δLT, and DCB's on the centres of the cells, for ε > -1/2 (Sakulkar and "
        "Krishnamachari, theorem 4, corrected)",
        p.DoublingCCB: "of order T^growth, and √(T log T) at least, for fresh phases (Sakulkar and "
        "Krishnamachari); with carry_over none is known",
        p.UpperConfidence: "with joint learning that of DCB and CCB with ε = α - 2, for α > 3/2; "
        "blind or per context with α = 2 that of UCB1 and Multi-UCB; through a factorisation "
        "that of DCB, and 2·error·T",
        p.UCB1: "O(K log n) in a single context (Auer, Cesa-Bianchi and Fischer 2002); linear "
        "where the best arm depends on the context",
        p.UCB1Epsilon: "UCB1's with 2+ε in place of 2 (Auer, Cesa-Bianchi and Fischer 2002): "
        "O(K log n) in a single context, linear where the best arm depends on the context",
        p.MultiUCB: "O(MK log n), UCB1's in every context; on cells Õ(T^2/3) for one Lipschitz "
        "field at the best δ (Lu, Pál and Pál 2010)",
        p.EpsilonGreedy: "O(log n) for every arm in a single context, with c > 5 and d below every "
        f"gap (Auer, Cesa-Bianchi and Fischer 2002); {ALIKE}",
        p.DSEE: "O(log n) for every arm in a single context, with a weight that is large enough "
        f"for the smallest gap (Vakili, Liu and Zhao 2013); {ALIKE}",
        p.KLUCB: "O(log n) in a single context for c ≥ 3 (Garivier and Cappé 2011); with less, and "
        f"{TOGETHER}",
        p.EmpiricalKL: "in a single context asymptotically the least possible, for laws of "
        f"finitely many values and c = 3 (Cappé et al. 2013); with less, and {TOGETHER}",
        p.IMED: "in a single context asymptotically the least possible (Honda and Takemura 2015); "
        f"{TOGETHER}",
        p.PatientKL: "none is known; it aims at the least that is possible, in which arms are "
        "explored where it is cheapest (Graves and Lai 1997)",
        p.EmpiricalBernstein: "O(log n) in a single context, with the variance in place of G², for "
        f"ζ > 1 (Audibert, Munos and Szepesvári 2009); {TOGETHER}",
        p.DirichletThompson: "in a single context asymptotically the least possible, for listed "
        f"rewards and a prior of 1 (Riou and Honda 2020); {TOGETHER}",
        p.CoarseKL: "none is known",
        p.DiscountedUCB: "wrong pulls O(√(CT) log T) in a single context that changes C times, "
        "with α > 2 and a memory of order √(T/C) (Garivier and Moulines 2011); O(T log N / N) "
        f"where nothing changes; {TOGETHER}",
        p.SlidingWindowUCB: "wrong pulls O(√(CT log T)) in a single context that changes C times, "
        "with α > 1/2 and a window of order √(T log T / C) (Garivier and Moulines 2011); "
        f"O(T log W / W) where nothing changes; {TOGETHER}",
        p.DiscountedKL: f"none is known; {WIDER}",
        p.SlidingWindowKL: f"none is known; {WIDER}",
        p.RestartingUCB: "of its regret none is known; an arm that does not change is ever found "
        "changed with probability `failure` at most (after Besson and Kaufmann 2019)",
        p.LinUCB: "Õ(d√T) if rewards are linear in the features and alpha grows as √(d log n) "
        "(Abbasi-Yadkori, Pál and Szepesvári 2011), with a constant alpha for SupLinUCB only "
        f"(Chu et al. 2011); {LINEAR}",
        p.LinRel: f"Õ(√T) for SupLinRel only, of which this is the index (Auer 2002); {LINEAR}",
        p.LinearThompson: "Õ(d√(dT)) if rewards are linear in the features, with a spread of "
        f"√(9d log(n/δ))/2 (Agrawal and Goyal 2012); with the default none is known; {LINEAR}",
        p.ContextualZooming: "Õ(T^((1+c)/(2+c))) for contexts of dimension c, with the published "
        "width (Slivkins 2014)",
        p.EpochGreedy: "O(T^2/3 (K log N)^1/3) to the best of the N policies of its class "
        "(Langford and Zhang 2007)",
        p.RandomizedUCB: "O(√(KT log(NT/δ))) to the best of the N policies of its class with "
        "probability 1-δ, with the published constants (Dudík et al. 2011)",
        p.ILTCB: "O(√(KT log(NT/δ))) to the best of the N policies of its class with probability "
        "1-δ, with psi = 100 (Agarwal et al. 2014)",
        p.UCBALP: "O(log T) to the best mixture for the budget, per context, for costs that are "
        "all one and known frequencies of the contexts, O(√T) where the budget just pays for a set "
        "of contexts (Wu, Srikant, Liu and Jiang 2015); with other costs or joint learning none is "
        "known",
        p.MixtureElimination: "O((1 + OPT/B)√(KT log(KTN))) to the best mixture of the N policies "
        "of its class as published (Badanidiyuru, Langford and Slivkins 2014); for this simpler "
        "form none is known",
        p.Greedy: "none: it may stay with a wrong arm for ever",
        p.Random: "linear, unless all arms are as good: it never learns",
        p.FixedArm: "linear, unless its arm is the best in every context: it never learns",
        p.Genie: "nothing is lost, if it knows the true laws: regret is counted against it",
    }
)


def statement(kind: type[Policy], missed: Sequence[str] = ()) -> str:
    """Return what is known about the regret of a policy, nothing for those not our own.

    Parameters
    ----------
    missed
        What is assumed and does not hold.

    Examples
    --------
    >>> statement(p.IMED, ["the laws change"])
    'in a single context asymptotically the least possible (Honda and Takemura 2015); for \
contexts that learn together none is known; not here, where the laws change'
    """
    said = STATEMENTS.get(kind, "")
    return f"{said}; not here, where {' and '.join(missed)}" if said and missed else said
