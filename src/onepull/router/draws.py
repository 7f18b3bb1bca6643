"""A random generator for each decision, so that it does not matter which worker draws."""

from __future__ import annotations

import hashlib

import numpy as np


class Draws:
    """A generator that is set to a state made from an id.

    >>> draws = Draws()
    >>> draws.of("one").random() == draws.of("one").random()
    True
    """

    def __init__(self) -> None:
        self._bits = np.random.PCG64(0)
        self._generator = np.random.Generator(self._bits)

    def of(self, id_: str) -> np.random.Generator:
        """Return the generator of a decision, valid until the next call."""
        digest = hashlib.blake2b(id_.encode(), digest_size=32).digest()
        state, step = digest[:16], digest[16:]
        # The numbers of PCG64 are set one by one, since making a new one takes far longer.
        self._bits.state = {
            "bit_generator": "PCG64",
            "state": {
                "state": int.from_bytes(state, "big"),
                "inc": int.from_bytes(step, "big") | 1,
            },
            "has_uint32": 0,
            "uinteger": 0,
        }
        return self._generator
