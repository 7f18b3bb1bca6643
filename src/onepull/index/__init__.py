"""Plain functions of one arm, and rules made of them: from what pulls showed to an index."""

from onepull.index.rules import MeanRule, PosteriorRule, StateRule, TurnRule

__all__ = ["MeanRule", "PosteriorRule", "StateRule", "TurnRule"]
