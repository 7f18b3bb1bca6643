"""Index rules: plain functions that compute the index of one arm from its statistics."""

from onepull.index.rules import MeanRule, PosteriorRule, Rule, StateRule, TurnRule

__all__ = ["MeanRule", "PosteriorRule", "Rule", "StateRule", "TurnRule"]
