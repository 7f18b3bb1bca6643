"""The parameters that the constructor of a policy takes."""

from __future__ import annotations

from functools import lru_cache
from inspect import Parameter, signature

NAMED = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


@lru_cache(maxsize=1024)
def keywords_of(kind: type) -> tuple[str, ...]:
    """Return the keywords of a policy's constructor, without the problem and the seed.

    If the constructor passes on `**keywords`, those of its parent are among them.

    >>> from onepull import DCB
    >>> class Named(DCB):
    ...     def __init__(self, problem, *, name, **keywords):
    ...         self.name = name
    ...         super().__init__(problem, **keywords)
    >>> keywords_of(Named)
    ('name', 'epsilon', 'beyond_theory')
    """
    names: dict[str, None] = {}
    for base in kind.__mro__:
        if "__init__" in vars(base):
            taken = signature(vars(base)["__init__"]).parameters.values()
            named = [each.name for each in taken if each.kind in NAMED]
            names |= dict.fromkeys(named[2:])  # the first two are the policy and its problem
            if all(each.kind is not Parameter.VAR_KEYWORD for each in taken):
                break
    return tuple(name for name in names if name != "seed")
