"""The words of attributes: which a formula may compare with, and which are probably mistakes."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from onepull.arms import Attributes, WordsOfAttributes
from onepull.errors import FormulaError, ProblemError
from onepull.formula.tree import Word
from onepull.formula.words import slip_of

QUOTED = re.compile(r"""'[^'\n]*'|"[^"\n]*\"""")


def spoken(attributes: Attributes, further: WordsOfAttributes) -> WordsOfAttributes:
    """Return the words that each attribute is compared with: those of the arms, and further ones.

    >>> spoken({"a": {"tier": "gold", "price": 1}}, {"tier": ("plain",)})
    {'tier': ('gold', 'plain')}
    """
    columns: dict[str, dict[str, None]] = {}
    for given in attributes.values():
        for name, value in given.items():
            if isinstance(value, str):
                columns.setdefault(name, {})[value] = None
    return {
        name: tuple(dict.fromkeys([*words, *further.get(name, ())]))
        for name, words in columns.items()
    }


def mentioned(texts: Iterable[Any], fields: Mapping[str, Collection[str]]) -> set[str]:
    """Return the words in quotes of some formulas, and those of the fields.

    >>> sorted(mentioned(["tier == 'gold'", -1], {"region": ["eu"]}))
    ['eu', 'gold']
    """
    formulas = [text for text in texts if isinstance(text, str)]
    quoted = (word[1:-1] for text in formulas for word in QUOTED.findall(text))
    return {*quoted, *itertools.chain.from_iterable(fields.values())}


def with_remedy(error: FormulaError, words: WordsOfAttributes) -> FormulaError:
    """Return an error that says how to declare a word, if it is one of a word in quotes."""
    if not words or not QUOTED.fullmatch(error.text[error.start : error.stop]):
        return error
    name = next(iter(words))
    reason = f"{error.reason}; a word that no arm has yet is declared as in words={{{name!r}: …}}"
    return FormulaError(reason, text=error.text, start=error.start, stop=error.stop)


def check_words(
    attributes: Attributes,
    compared: Collection[tuple[str, str | Word]],
    fields: Mapping[str, Collection[str]],
    declared: WordsOfAttributes,
) -> None:
    """Raise ProblemError if the word of an arm is probably misspelt.

    An arm may have a word that no request has and the formula does not mention.  But it is hardly
    meant if it looks like one of these, and is not declared.

    >>> check_words({"a": {"home": "uss"}}, [("home", "region")], {"region": ["eu", "us"]}, {})
    Traceback (most recent call last):
    onepull.errors.ProblemError: arm 'a' has home='uss', which is compared with 'region'; \
did you mean 'us'?  Else declare it: words={'home': ['uss']}
    """
    for attribute in sorted({name for name, _ in compared}):
        others = [other for name, other in compared if name == attribute]
        words: dict[str, str] = {}  # each with what it is compared with
        for other in others:
            if isinstance(other, Word):
                words[other.text] = repr(other.text)
            else:
                words |= dict.fromkeys(fields.get(other, ()), repr(other))
        for arm, known in attributes.items():
            word = str(known.get(attribute, ""))
            if word in words or word in declared.get(attribute, ()):
                continue
            if (meant := slip_of(word, sorted(words))) is not None:
                raise ProblemError(
                    f"arm {arm!r} has {attribute}={word!r}, which is compared with "
                    f"{words[meant]}; did you mean {meant!r}?  Else declare it: "
                    f"words={{{attribute!r}: [{word!r}]}}"
                )
