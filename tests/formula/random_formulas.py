"""Random texts for the formula language: valid formulas, and texts that may be anything."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

# How tightly an operator binds, from loose to tight, as in Python.
CHOICE, OR, AND, NOT, COMPARISON, SUM, PRODUCT, UNARY, POWER, ATOM = range(10)

NUMBERS = [
    *("0", "1", "2", "3", "7", "10", "100", "0.1", "0.5", ".25", "3.7", "5.", "1e-3", "1e5"),
    *("1_000", "0x1F", "0b101", "0o17", "2.5e-1", "1E2", "1e-308", "1e300"),
]
EXPONENTS = ["0", "1", "2", "3", "4", "5", "-1", "-2", "0.5", "1.5", "-0.5", "(1 / 3)"]
COMPARISONS = ["<", "<=", ">", ">=", "==", "!="]
FUNCTIONS = ["abs", "exp", "log", "log2", "log10", "log1p", "sqrt", "floor", "ceil"]


class Part(NamedTuple):
    """A part of a formula, and how tightly its outermost operator binds."""

    text: str
    binds: int


def random_formula(
    rng: random.Random, names: Sequence[str], words: Mapping[str, Sequence[str]] | None = None
) -> str:
    """Return a random formula over the names, from the whole grammar.

    It has a few dozen parts at most, and may be undefined somewhere.  `words` has the fields of
    words, beside `names`; they are compared with their words and with each other.
    """
    return _Grower(rng, names, words or {}).number(rng.randint(0, 4)).text


class _Grower:
    def __init__(
        self, rng: random.Random, names: Sequence[str], words: Mapping[str, Sequence[str]]
    ) -> None:
        self.rng = rng
        self.names = names
        self.words = words
        self.left = 40  # parts that may still be added

    def number(self, depth: int) -> Part:
        """Return a part that is a number."""
        self.left -= 1
        if depth <= 0 or self.left <= 0 or self.rng.random() < 0.1:
            return self.leaf()
        grown: Callable[[int], Part] = self.rng.choices(
            [self.infix, self.power, self.signed, self.call, self.choice, self.truth],
            weights=[8, 2, 1, 6, 3, 1],
        )[0]
        return grown(depth - 1)

    def leaf(self) -> Part:
        return Part(self.rng.choice([*self.names] * 12 + NUMBERS), ATOM)

    def infix(self, depth: int) -> Part:
        sign = self.rng.choice(["+", "-", "*", "/", "//", "%"])
        binds = SUM if sign in "+-" else PRODUCT
        left, right = self.number(depth), self.number(depth)
        if sign in ("/", "//", "%") and self.rng.random() < 0.6:
            right = Part(f"(abs({right.text}) + 0.5)", ATOM)
        return Part(
            self.spaced(self.inside(left, binds), sign, self.inside(right, binds + 1)), binds
        )

    def power(self, depth: int) -> Part:
        base = self.inside(self.number(depth), ATOM)
        exponent = self.rng.choice(EXPONENTS)
        if self.rng.random() < 0.2:
            base, exponent = f"(abs({base}) + 0.1)", f"clip({self.number(depth).text}, -9, 9)"
        return Part(self.spaced(base, "**", exponent), POWER)

    def signed(self, depth: int) -> Part:
        return Part(self.rng.choice("--+") + self.inside(self.number(depth), UNARY), UNARY)

    def call(self, depth: int) -> Part:
        name = self.rng.choice(["min", "max", "clip", "where", *FUNCTIONS])
        if name == "where":
            terms = [self.truth(depth), self.number(depth), self.number(depth)]
        else:
            count = {"min": self.rng.randint(2, 4), "max": self.rng.randint(2, 4), "clip": 3}
            terms = [self.number(depth) for _ in range(count.get(name, 1))]
        return Part(f"{name}({', '.join([term.text for term in terms])})", ATOM)

    def choice(self, depth: int) -> Part:
        body, orelse = self.inside(self.number(depth), OR), self.inside(self.number(depth), CHOICE)
        condition = self.inside(self.truth(depth), OR)
        return Part(f"{body} if {condition} else {orelse}", CHOICE)

    def truth(self, depth: int) -> Part:
        """Return a part that is a condition."""
        self.left -= 1
        kind = self.rng.random() if depth > 0 and self.left > 0 else 1.0
        if kind < 0.15:
            return Part(f"not {self.inside(self.truth(depth - 1), NOT)}", NOT)
        if kind < 0.45:
            word, binds = self.rng.choice([("and", AND), ("or", OR)])
            terms = [self.truth(depth - 1) for _ in range(self.rng.randint(2, 3))]
            return Part(f" {word} ".join([self.inside(term, binds + 1) for term in terms]), binds)
        if self.words and self.rng.random() < 0.5:
            return self.words_compared()
        text = self.inside(self.number(depth - 1), SUM)
        for _ in range(self.rng.choice([1, 1, 1, 2, 3])):
            side = self.inside(self.number(depth - 1), SUM)
            text = self.spaced(text, self.rng.choice(COMPARISONS), side)
        return Part(text, COMPARISON)

    def words_compared(self) -> Part:
        """Return a comparison of fields of words, with their words or with each other."""
        field = self.rng.choice([*self.words])
        alike = [name for name, words in self.words.items() if words == self.words[field]]
        text = field
        for _ in range(self.rng.choice([1, 1, 1, 2])):
            word = self.rng.choice(self.words[field])
            quoted = self.rng.choice([f"'{word}'", f'"{word}"'])
            text = self.spaced(
                text, self.rng.choice(["==", "!="]), self.rng.choice([quoted, *alike])
            )
        return Part(text, COMPARISON)

    def inside(self, part: Part, binds: int) -> str:
        """Return the text of a part that must bind at least so tightly."""
        bracketed = part.binds < binds or self.rng.random() < 0.1
        return f"({part.text})" if bracketed else part.text

    def spaced(self, left: str, sign: str, right: str) -> str:
        return self.rng.choice([f"{left} {sign} {right}", f"{left}{sign}{right}"])


TOKENS = [
    *("x", "y", "z", "_", "__import__", "x.real", "os", "lambda", "await", "yield", "None", "True"),
    *("(", ")", "[", "]", "{", "}", ",", ":", ";", ".", "...", ":=", "=", "->", "@", "#", "\\"),
    *("+", "-", "*", "/", "//", "%", "**", "<", "<=", "==", "!=", ">>", "~", "&", "|", "^", "!"),
    *("if", "else", "and", "or", "not", "is", "in", "for", "min(", "where(", "exp(", "min", "f("),
    *("0", "1", "9", "1e308", "1e999", "0x", "1_", "__", "1j", "1.2.3", "007", "'a'", '"', "'''"),
    *("\0", "\n", "\t", "\r", "\x1b[31m", "\x7f", "é", "ｘ", "×", "\ud800", "\U0001f600", "\u202e"),
]
REPEATED = [
    *("(", ")", "[", "{", "-", "+", "~", "not ", "x**", "x+", "x*", "x<", "x if x<x else ", "9"),
    *("min(", "exp(", "min(x,", "(x<", "(x if x<x else ", "x and ", "x<x and ", "where(x<x,", "'"),
    *("x%1e-308+", "f'{", "lambda:", "0x", "1e", "_", "x.", "x[", " ", "\n", "\0", "é", "x,"),
]


def random_text(rng: random.Random, words: Mapping[str, Sequence[str]] | None = None) -> str:
    """Return a text that may or may not be a formula over x, y and fields of words."""
    made: Callable[[random.Random], str] = rng.choice([_tokens, _repeated, _any])
    return _mutated(rng, words) if rng.random() < 0.4 else made(rng)


def _mutated(rng: random.Random, words: Mapping[str, Sequence[str]] | None) -> str:
    text = random_formula(rng, ["x", "y"], words)
    for _ in range(rng.randint(1, 4)):
        start, stop = sorted([rng.randint(0, len(text)), rng.randint(0, len(text))])
        stop = min(stop, start + rng.choice([0, 1, 5, 50]))
        replaced = rng.choice(["", rng.choice(TOKENS), text[start:stop] * 2, text[stop:start:-1]])
        text = text[:start] + replaced + text[stop:]
    return text


def _tokens(rng: random.Random) -> str:
    return rng.choice(["", " "]).join(rng.choices(TOKENS, k=rng.randint(0, 30)))


def _repeated(rng: random.Random) -> str:
    """Return a text that is deep or long."""
    count = int(10 ** rng.uniform(0, rng.choice([2, 3, 5])))
    opening = rng.choice(REPEATED) * count
    closing = rng.choice(["", ")", "]", ",x)", ",1)", "else 1"]) * count
    return opening + rng.choice(["x", "", "x<y", "1"]) + closing


def _any(rng: random.Random) -> str:
    limit = rng.choice([0x80, 0x110000])
    return "".join([chr(rng.randrange(limit)) for _ in range(rng.randint(0, 50))])
