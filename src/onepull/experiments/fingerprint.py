"""What tells the results of one experiment from those of another."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from onepull.experiments.own_code import described

# The keys that a result folder may change, with neutral values.
NOT_IN_FINGERPRINT: dict[str, Any] = {"name": "", "replications": 0, "baseline": None}


def fingerprint_of(written: msgspec.Struct, environment: Any, *more: Any) -> str:
    """Return a digest of everything that a replication depends on, but not of their number.

    It covers the values in the file, with all digits, and what they refer to: the contents
    of traces and the parameters of applications.
    """
    said = [
        msgspec.structs.replace(written, **NOT_IN_FINGERPRINT),
        described(environment.problem),
        repr(environment),
        *more,
    ]
    return hashlib.sha256(msgspec.json.encode(said, order="deterministic")).hexdigest()
