"""Decisions that last: a problem, a policy and a log."""

from onepull.router.decision import Decision
from onepull.router.receipts import BatchReceipt, Observation, Receipt
from onepull.router.router import Router
from onepull.router.router_stats import RouterStats

__all__ = ["BatchReceipt", "Decision", "Observation", "Receipt", "Router", "RouterStats"]
