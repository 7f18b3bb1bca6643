"""Parse the text of a formula into a tree.

The parser reads the text token by token and accepts only numbers, declared names and the
operations of `operations.py`.  It checks length, size, depth and exponents as it reads, so no
text takes long, and no text is nested deeper than the limits below.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from keyword import iskeyword

from onepull.checks import nearest, unknown
from onepull.errors import FormulaError
from onepull.formula import operations as op
from onepull.formula.operations import Operation
from onepull.formula.tokens import REFUSED, TOKENS, Token, WordsOfFields, formula_line
from onepull.formula.tree import (
    Apply,
    Field,
    Number,
    Operand,
    Term,
    Word,
    gives,
    height_of,
    names_in,
)
from onepull.formula.words import MOST_COMMON, are_aligned, common, first_words

MOST_PARTS = 1000
DEPTH = 60
NESTING = 128  # brackets, signs and operands within one another
EXPONENT = 100.0


def parse(
    text: str, names: Collection[str], words: WordsOfFields | None = None
) -> tuple[Term, frozenset[tuple[str, str | Word]]]:
    """Return the tree of `text`, a number-valued formula over `names`.

    The pairs are fields of words, each with a field or a word that it is compared with.
    """
    parser = _Parser(formula_line(text), names, words or {})
    return parser.formula(), frozenset(parser.compared)


# How tightly each operator binds, from loose to tight.
_CHOICE, _OR, _AND, _NOT, _COMPARISON, _SUM, _PRODUCT, _UNARY, _POWER = range(1, 10)
_BINDS = {
    "if": _CHOICE,
    "or": _OR,
    "and": _AND,
    **dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), _COMPARISON),
    **dict.fromkeys(("+", "-"), _SUM),
    **dict.fromkeys(("*", "/", "//", "%"), _PRODUCT),
    "**": _POWER,
}
_INFIX = {
    operation.name: operation
    for operation in (
        *(op.ADD, op.SUBTRACT, op.MULTIPLY, op.DIVIDE, op.REMAINDER, op.POWER),
        *(op.LESS, op.LESS_EQUAL, op.GREATER, op.GREATER_EQUAL, op.EQUAL, op.UNEQUAL),
        *(op.AND, op.OR),
    )
}
_BASES = frozenset("xXoObB")
_END = "the end of the formula"
_CHOOSING = "a choice is written 'a if condition else b'"
# What is written otherwise in other languages.
_HINTS = {
    "^": "a power is written x**2",
    "=": "equality is written ==",
    "&": "conditions are joined by 'and'",
    "|": "conditions are joined by 'or'",
    "!": "a condition is negated by 'not'",
    "?": _CHOOSING,
    "if": _CHOOSING,
    "then": _CHOOSING,
}
_ELSEWHERE = {"ln": "log(x)", "pow": "x**y", "power": "x**y", "round": "floor(x + 0.5)"}


class _Parser:
    """Builds the tree of a text by precedence climbing."""

    def __init__(self, text: str, names: Collection[str], words: WordsOfFields) -> None:
        self.text = text
        self.names = names
        self.words = {name: {word: i for i, word in enumerate(words[name])} for name in words}
        # Fields of words, each with a field or a word that it is compared with.
        self.compared: set[tuple[str, str | Word]] = set()
        self.size = 0
        self.nesting = 0
        self.place = 0  # where the next token is looked for
        self.stop = 0  # where the last token that was taken ends
        self.next = self.token()

    # Tokens

    def token(self) -> Token:
        match = TOKENS.match(self.text, self.place)
        if match is None:
            return Token("end", "", len(self.text), len(self.text) + 1)
        kind = match.lastgroup or "other"
        token = Token(kind, match[kind], *match.span(kind))
        if kind in REFUSED:
            raise self.refuse(token[2:], f"{REFUSED[kind]} is not part of the formula language")
        self.place = token.stop
        return token

    def take(self) -> Token:
        taken = self.next
        self.stop = taken.stop
        self.next = self.token()
        return taken

    def expect(self, text: str) -> None:
        if self.next.text != text:
            raise self.unexpected(f"expected {text!r} or an operator")
        self.take()

    def unexpected(self, wanted: str) -> FormulaError:
        token = self.next
        given = _END if token.kind == "end" else repr(token.text)
        hint = f"; {_HINTS[token.text]}" if token.text in _HINTS else ""
        return self.refuse(token[2:], f"not a formula: {wanted}, given {given}{hint}")

    def refuse(self, span: tuple[int, int], reason: str) -> FormulaError:
        return FormulaError(reason, text=self.text, start=span[0], stop=span[1])

    # Terms

    def formula(self) -> Term:
        term = self.number(self.expression(0))
        if self.next.kind != "end":
            raise self.unexpected("expected an operator")
        return term

    def expression(self, binding: int) -> Operand:
        """Read a term whose operators bind more tightly than `binding`."""
        self.nesting += 1
        if self.nesting > NESTING:
            raise self.refuse(self.next[2:], f"a formula may be nested at most {NESTING} deep")
        start = self.next.start
        term = self.operand(binding)
        while (binds := _BINDS.get(self.next.text, 0)) > binding:
            if binds == _CHOICE:
                term = self.choice(term, start)
            elif binds == _COMPARISON:
                term = self.comparison(term, start)
            elif binds in (_AND, _OR):
                term = self.junction(term, start, binds)
            elif binds == _POWER:
                term = self.power(term, start)
            else:
                sign = self.take().text
                right = self.number(self.expression(binds))
                term = self.arithmetic(sign, (self.number(term), right), start)
        self.nesting -= 1
        return term

    def operand(self, binding: int) -> Operand:
        token = self.next
        if token.kind == "text":
            self.count(1, token[2:])
            return Word(self.take().text[1:-1], token[2:])
        if token.kind == "number":
            return self.constant(self.take())
        if token.text in ("-", "+"):
            self.take()
            return self.signed(token, self.number(self.expression(_UNARY)))
        if token.text == "not" and binding < _NOT:
            self.take()
            return self.apply(op.NOT, (self.truth(self.expression(_NOT - 1)),), token.start)
        if token.text == "(":
            self.take()
            term = self.expression(0)
            self.expect(")")
            return term
        if token.kind == "name" and not iskeyword(token.text):
            self.take()
            return self.call(token) if self.next.text == "(" else self.field(token)
        raise self.unexpected("expected a number, a field, a function or '('")

    def constant(self, token: Token) -> Number:
        self.count(1, token[2:])
        try:
            value = float(int(token.text, 0) if token.text[1:2] in _BASES else token.text)
        except OverflowError:
            value = math.inf
        except ValueError:
            raise self.refuse(token[2:], "not a formula: this is not a number") from None
        if not math.isfinite(value):
            raise self.refuse(token[2:], "this number is too large")
        return Number(value, token[2:])

    def field(self, token: Token) -> Field:
        self.count(1, token[2:])
        if token.text not in self.names:
            raise self.refuse(token[2:], self.unknown(token.text))
        return Field(token.text, token[2:])

    def unknown(self, name: str) -> str:
        """Return that a name is unknown, and what it may have meant."""
        if name in op.FUNCTIONS:
            return f"unknown name {name!r}; call it with parentheses"
        if any(name in words for words in self.words.values()):
            return f"unknown name {name!r}; a word is written in quotes"
        return unknown(
            "name", name, self.names, f"the fields are {', '.join(self.names) or 'none'}"
        )

    def signed(self, sign: Token, term: Term) -> Term:
        if sign.text == "+":
            return term
        if isinstance(term, Number):
            return Number(-term.value, (sign.start, self.stop))
        return self.apply(op.NEGATIVE, (term,), sign.start)

    def arithmetic(self, sign: str, sides: tuple[Term, Term], start: int) -> Term:
        if sign != "//":
            return self.apply(_INFIX[sign], sides, start)
        quotient = self.apply(op.DIVIDE, sides, start)
        return self.wrapped(op.FLOOR, quotient)

    def power(self, base: Operand, start: int) -> Term:
        self.take()
        exponent = self.number(self.expression(_UNARY - 1))
        terms: tuple[Term, ...] = (self.number(base), exponent)
        operation = op.POWER
        if isinstance(exponent, Number):
            if abs(exponent.value) > EXPONENT:
                allowed = f"between -{EXPONENT:g} and {EXPONENT:g}"
                raise self.refuse(exponent.span, f"an exponent must lie {allowed}")
            if exponent.value in op.POWERS:
                operation, terms = op.POWERS[exponent.value], terms[:1]
        return self.apply(operation, terms, start)

    def comparison(self, left: Operand, start: int) -> Term:
        links: list[Term] = []
        while _BINDS.get(self.next.text) == _COMPARISON:
            operation, before = _INFIX[self.take().text], self.size
            right = self.expression(_COMPARISON)
            if _BINDS.get(self.next.text) == _COMPARISON:
                # 'a < b < c' is 'a < b and b < c', so b is worked out twice.
                self.count(self.size - before, (start, self.stop))
            links.append(self.link(operation, left, right, start))
            left = right
        return links[0] if len(links) == 1 else self.apply(op.AND, tuple(links), start)

    def link(self, operation: Operation, left: Operand, right: Operand, start: int) -> Term:
        """Return one comparison; a word becomes its number in the list of the compared field."""
        if operation in (op.EQUAL, op.UNEQUAL):
            words, others = self.words_of(left), self.words_of(right)
            if isinstance(left, Field) and isinstance(right, Field) and words and others:
                return self.fields_compared(operation, (left, right), (words, others), start)
            if (known := words or others) is not None:
                sides = self.coded(left, known), self.coded(right, known)
                self.note_word(left, right)
                return self.apply(operation, sides, start)
        return self.apply(operation, (self.number(left), self.number(right)), start)

    def fields_compared(
        self,
        operation: Operation,
        fields: tuple[Field, Field],
        words: tuple[dict[str, int], dict[str, int]],
        start: int,
    ) -> Term:
        """Return whether two fields have the same word, which may have a number in each list."""
        (left, right), (mine, theirs) = fields, words
        self.compared |= {(left.name, right.name), (right.name, left.name)}
        pairs = common(mine, theirs)
        if not pairs:
            reason = (
                f"expected a field with one of the words {first_words(mine)}; {right.name!r} has "
            )
            raise self.refuse(right.span, f"{reason}the words {first_words(theirs)}")
        if are_aligned(mine, theirs):
            return self.apply(operation, fields, start)
        if len(pairs) > MOST_COMMON:
            raise self.refuse(
                (start, self.stop),
                f"{left.name!r} and {right.name!r} have more than {MOST_COMMON} words in common, "
                "so both must list their words in the same order",
            )
        same: list[Term] = [
            self.apply(
                op.AND,
                (
                    self.apply(op.EQUAL, (left, Number(float(i))), start),
                    self.apply(op.EQUAL, (right, Number(float(j))), start),
                ),
                start,
            )
            for i, j in pairs
        ]
        either = same[0] if len(same) == 1 else self.apply(op.OR, tuple(same), start)
        return either if operation is op.EQUAL else self.apply(op.NOT, (either,), start)

    def note_word(self, *sides: Operand) -> None:
        """Note that a field is compared with a word."""
        for field, word in (sides, sides[::-1]):
            if isinstance(field, Field) and isinstance(word, Word):
                self.compared.add((field.name, Word(word.text)))

    def words_of(self, term: Operand) -> dict[str, int] | None:
        return self.words.get(term.name) if isinstance(term, Field) else None

    def coded(self, term: Operand, words: dict[str, int]) -> Term:
        """Return a word, or the field that it is compared with, as a number."""
        if isinstance(term, Field) and self.words_of(term) is words:
            return term
        if isinstance(term, Word) and term.text in words:
            return Number(float(words[term.text]), term.span)
        near = nearest(term.text, words) if isinstance(term, Word) else None
        hint = f"; did you mean {near!r}?" if near else ""
        raise self.refuse(term.span, f"expected one of the words {first_words(words)}{hint}")

    def junction(self, first: Operand, start: int, binds: int) -> Term:
        word, terms = self.next.text, [self.truth(first)]
        while self.next.text == word:
            self.take()
            terms.append(self.truth(self.expression(binds)))
        return self.apply(_INFIX[word], tuple(terms), start)

    def choice(self, body: Operand, start: int) -> Term:
        self.take()
        chosen = self.number(body)
        condition = self.truth(self.expression(_CHOICE))
        self.expect("else")
        orelse = self.number(self.expression(0))
        return self.apply(op.WHERE, (condition, chosen, orelse), start)

    def call(self, name: Token) -> Term:
        operation = op.FUNCTIONS.get(name.text)
        if operation is None:
            known = ", ".join(sorted(op.FUNCTIONS))
            hint = f"; write {_ELSEWHERE[name.text]}" if name.text in _ELSEWHERE else ""
            reason = f"not a function of the formula language; use {known}{hint}"
            raise self.refuse(name[2:], reason)
        self.take()
        operands: list[Operand] = []
        while self.next.text != ")":
            if self.next.text in ("*", "**"):
                raise self.refuse(
                    self.next[2:], f"{operation.name} takes positional arguments only"
                )
            operands.append(self.expression(0))
            if self.next.text != ",":
                break
            self.take()
        self.expect(")")
        least, most = operation.arguments
        if len(operands) < least or (most is not None and len(operands) > most):
            wanted = f"{least}" if least == most else f"{least} or more"
            reason = f"{operation.name} takes {wanted} arguments, given {len(operands)}"
            raise self.refuse((name.start, self.stop), reason)
        terms = (
            self.truth(term) if operation is op.WHERE and i == 0 else self.number(term)
            for i, term in enumerate(operands)
        )
        return self.apply(operation, tuple(terms), name.start)

    def apply(self, operation: Operation, terms: tuple[Term, ...], start: int) -> Apply:
        span = (start, self.stop)
        self.count(operation.cost, span, operation.name)
        height = 1 + max([height_of(term) for term in terms])
        if height > DEPTH:
            raise self.refuse(span, f"a formula may have at most {DEPTH} operations in one another")
        names = frozenset().union(*[names_in(term) for term in terms])
        return Apply(operation, terms, span, height, names)

    def count(self, parts: int, span: tuple[int, int], name: str = "") -> None:
        self.size += parts
        if self.size > MOST_PARTS:
            priced = f" ({name!r} counts as {parts})" if name and parts > 1 else ""
            raise self.refuse(
                span, f"a formula may have at most {MOST_PARTS} parts, given more{priced}"
            )

    def number(self, term: Operand) -> Term:
        """Return a term as a number; a comparison becomes 0 or 1."""
        if isinstance(term, Word) or self.words_of(term) is not None:
            raise self.refuse(term.span, "words can only be compared with == and !=")
        if gives(term) == "truth":
            return self.wrapped(op.INDICATOR, term)
        return term

    def wrapped(self, operation: Operation, term: Term) -> Apply:
        """Apply an operation that is not written in the formula, and not counted."""
        return Apply(operation, (term,), term.span, height_of(term), names_in(term))

    def truth(self, term: Operand) -> Term:
        """Return a term that must be a condition."""
        if isinstance(term, Word) or gives(term) != "truth":
            reason = "expected a condition, such as 'x >= y' or 'x == 1', not a value"
            if self.next.text == "=":
                reason = _HINTS["="]
            raise self.refuse(term.span, reason)
        return term
