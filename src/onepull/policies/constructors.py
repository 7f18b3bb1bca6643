"""The parameters that the constructor of a policy takes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from inspect import Parameter, signature
from types import MappingProxyType
from typing import Any

NAMED = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


@lru_cache(maxsize=1024)
def keywords_of(kind: type) -> Mapping[str, Any]:
    """Return the keywords of a policy's constructor, without the problem and the seed.

    Each has its default, `Parameter.empty` if there is none.  If the constructor passes on
    `**keywords`, those of its parent are among them.

    >>> from onepull import DCB
    >>> class Named(DCB):
    ...     def __init__(self, problem, *, name="", **keywords):
    ...         self.name = name
    ...         super().__init__(problem, **keywords)
    >>> dict(keywords_of(Named))
    {'name': '', 'epsilon': 0.01, 'beyond_theory': False}
    """
    defaults: dict[str, Any] = {}
    for base in kind.__mro__:
        if "__init__" in vars(base):
            taken = list(signature(vars(base)["__init__"]).parameters.values())
            for each in taken[2:]:  # the first two are the policy and its problem
                if each.kind in NAMED:
                    defaults.setdefault(each.name, each.default)
            if all(each.kind is not Parameter.VAR_KEYWORD for each in taken):
                break
    defaults.pop("seed", None)
    return MappingProxyType(defaults)
