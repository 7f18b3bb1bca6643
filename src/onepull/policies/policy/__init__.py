"""The base class of all policies, in parts: each file is one thing that a policy does."""

from onepull.policies.policy.policy import Policy

__all__ = ["Policy"]
