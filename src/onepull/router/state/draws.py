"""A random generator for each decision, so that it does not matter which worker draws."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

UNIFORM = 32  # bytes of a digest that give uniform numbers; the rest sets a generator


class Draw:
    """The draws of one decision: those of a `numpy.random.Generator`, made from its id.

    Most policies draw one uniform number.  Setting the state of a generator takes longer than
    many of them need to choose, so the first numbers come from the digest itself.

    >>> Draw("one").random() == Draw("one").random() != Draw("two").random()
    True
    """

    __slots__ = ("_at", "_digest", "_whole")

    def __init__(self, id_: str) -> None:
        self._digest = hashlib.blake2b(id_.encode()).digest()
        self._at = 0
        self._whole: np.random.Generator | None = None

    def random(self, *given: Any, **named: Any) -> Any:
        """Return a number in [0, 1), or with arguments what `Generator.random` returns."""
        at = self._at
        if given or named or at == UNIFORM:
            return self._generator().random(*given, **named)
        self._at = at + 8
        return (int.from_bytes(self._digest[at : at + 8], "big") >> 11) * 2.0**-53

    def _generator(self) -> np.random.Generator:
        if self._whole is None:
            state, step = self._digest[UNIFORM : UNIFORM + 16], self._digest[UNIFORM + 16 :]
            bits = np.random.PCG64(0)
            bits.state = {
                "bit_generator": "PCG64",
                "state": {
                    "state": int.from_bytes(state, "big"),
                    "inc": int.from_bytes(step, "big") | 1,
                },
                "has_uint32": 0,
                "uinteger": 0,
            }
            self._whole = np.random.Generator(bits)
        return self._whole

    def __getattr__(self, name: str) -> Any:
        """Return another method of the generator."""
        return getattr(self._generator(), name)
