"""The API reference, made from docstrings.

A page of the reference says which modules it covers::

    ```{public-names} onepull.policies
    ```

The names come from ``__all__``, so a new policy is in the reference as soon as it is public.  The
build warns, and thereby fails, if a public name is on no page.
"""

from __future__ import annotations

import builtins
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, ClassVar

from docutils import nodes
from public_names import PublicName, all_public_names, find, names_of, path_to
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.domains.python import PyAttribute, PyMethod, PyProperty
from sphinx.environment import BuildEnvironment
from sphinx.ext.napoleon import Config
from sphinx.ext.napoleon.docstring import NumpyDocstring
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole

import onepull

# Attributes are shown as parameters are, so that two may share a line.
SECTIONS: Any = Config(
    napoleon_attr_annotations=False,
    napoleon_use_rtype=False,
    napoleon_custom_sections=[("Attributes", "params_style")],
)
CARDINALITY = re.compile(r"\|([^\s|`]+)\|")  # |A| is a number here and no substitution
log = logging.getLogger(__name__)


class PublicNames(SphinxDirective):
    """Document the public names of some modules, under a heading for each package if asked."""

    required_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar[dict[str, Callable[[str], Any]]] = {
        "by-package": bool,
        "first": str.split,
    }

    def run(self) -> list[nodes.Node]:
        """Return what autodoc makes of the names."""
        self.env.note_reread()  # names may have come or gone though the page is the same
        first = self.options.get("first", [])
        names = [name for module in self.arguments[0].split() for name in names_of(module)]
        names.sort(key=lambda n: first.index(n.name) if n.name in first else len(first))
        text = "\n".join(self._sections(names))
        return self.parse_text_to_nodes(text, allow_section_headings=True)

    def _sections(self, names: Sequence[PublicName]) -> Iterator[str]:
        if "by-package" not in self.options:
            yield _documented(names)
            return
        for group in sorted({name.group for name in names}):  # the shortest, the base, is first
            yield f"## {_heading(group)}\n"
            yield f"{(inspect.getdoc(import_module(group)) or '').partition(chr(10))[0]}\n"
            yield _documented([name for name in names if name.group == group])


def _heading(package: str) -> str:
    """Return ``UCB`` for ``onepull.policies.ucb`` and ``Hidden states`` for another."""
    _, _, *inside = package.split(".")
    words = inside[0].replace("_", " ") if inside else "base"
    return words.upper() if len(words) <= 3 else f"{words[0].upper()}{words[1:]}"


def _documented(names: Sequence[PublicName]) -> str:
    entries = "\n".join(map(_entry, names))
    return f"```{{eval-rst}}\n{entries}\n```\n"


def _entry(name: PublicName) -> str:
    """Return the autodoc directive that documents one object."""
    if isinstance(name.value, ModuleType):
        summary = inspect.getdoc(name.value) or ""
        functions = ", ".join(f"`{function}`" for function in name.value.__all__)
        return f".. py:module:: {name.path}\n\n``{name.path}``: {summary} It has {functions}.\n"
    if inspect.isclass(name.value):
        inherited = (
            f"   :inherited-members: {last}\n" if (last := _not_repeated(name.value)) else ""
        )
        bases = "   :show-inheritance:\n" if _public_bases(name.value) else ""
        return f".. autoclass:: {name.path}\n   :members:\n{bases}{inherited}"
    if inspect.isroutine(name.value):
        return f".. autofunction:: {name.path}\n"
    kind = type(name.value).__name__
    summary = f"A {kind} of {len(name.value)} functions."
    return f".. py:data:: {name.path}\n   :type: {kind}\n\n   {summary}\n"


def _not_repeated(kind: type[Any]) -> str:
    """Return the bases whose members are not repeated; empty if only own ones are shown.

    What a class inherits from one that has no entry of its own is shown with the class.  What its
    nearest public base has, that base inherits or defines, and it is shown there.
    """
    if not issubclass(kind, onepull.Policy | onepull.Router):
        return ""
    above = _public_bases(kind)
    return ", ".join(base.__name__ for base in (above[0].__mro__ if above else [object]))


def _shown_with(kind: type[Any], base: type[Any]) -> type[Any]:
    """Return the class with which the reference shows what `kind` inherits from a base."""
    while (above := _public_bases(kind)) and base in above[0].__mro__:
        kind = above[0]
    return kind


class Checks(SphinxDirective):
    """List the checks of a battery with what each of them states."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return a list."""
        self.env.note_reread()
        module, _, name = self.arguments[0].rpartition(".")
        checks = getattr(import_module(module), name)
        text = "\n".join(f"- `{c.__name__}`: {' '.join((c.__doc__ or '').split())}" for c in checks)
        return self.parse_text_to_nodes(text)


class Name(SphinxRole):
    """Text in single backticks: a link if it is a public name, and code otherwise."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return a reference or a literal."""
        literal = nodes.literal(self.text, self.text, classes=["py"])
        module = self.env.ref_context.get("py:module") or "onepull"
        target = find(self.text, module) or self._member(module)
        if target is None:
            return [literal], []
        link = pending_xref(
            "", literal, refdomain="py", reftype="obj", reftarget=target, refexplicit=True
        )
        self.set_source_info(link)
        return [link], []

    def _member(self, module: str) -> str | None:
        """Return the path of ``Class.member``, or of a member of the class that is documented."""
        around, _, member = self.text.rpartition(".")
        owner = around or self.env.ref_context.get("py:class") or ""
        path = find(owner, module) if owner else None
        kind = all_public_names().get(path or "")
        if not inspect.isclass(kind) or not member.isidentifier() or member.startswith("_"):
            return None
        for base in kind.__mro__:
            if member in vars(base):
                value = getattr(base, member)
                shown = (inspect.isroutine(value) or isinstance(value, property)) and value.__doc__
                return f"{path_to(_shown_with(kind, base))}.{member}" if shown else None
        return None


class Unlisted:
    """A member of a class, which stays out of the page's table of contents: they are too many."""

    def _toc_entry_name(self, _: nodes.Node) -> str:
        return ""


class Method(Unlisted, PyMethod):
    """A method."""


class Property(Unlisted, PyProperty):
    """A property."""


class Attribute(Unlisted, PyAttribute):
    """An attribute."""


def numpy_sections(  # noqa: PLR0913, PLR0917 - autodoc's signature
    app: Sphinx, what: Any, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Read a docstring's sections.

    napoleon would take what comes before a colon in a property's docstring for its type, so it is
    told that a property is a method.
    """
    lines[:] = list(_closed_sections([CARDINALITY.sub(r"\\|\1\\|", line) for line in lines]))
    kind: Any = "method" if what in {"attribute", "property", "data"} else what
    lines[:] = NumpyDocstring(lines, SECTIONS, app, kind, name, obj, options).lines()


def _closed_sections(lines: list[str]) -> Iterator[str]:
    """Yield a docstring with a heading before prose that follows a list of parameters.

    Without one napoleon would take the prose for more parameters.
    """
    fields = False
    around = zip(["", *lines], lines, [*lines[1:], ""], strict=False)
    for before, line, after in around:
        underlined = bool(after) and set(after) == {"-"}
        if underlined:
            fields = line in {"Parameters", "Attributes"}
        indented = after.startswith(" ")
        prose = line and not line.startswith(" ") and not underlined and set(line) != {"-"}
        if fields and not before and prose and not indented:
            yield from ("Notes", "-----")
            fields = False
        yield line


def public_bases(app: Sphinx, name: str, obj: type, options: Any, bases: list[Any]) -> None:
    """Name the nearest public base class and not the internal ones between."""
    del app, name, options
    bases[:] = _public_bases(obj)


def _public_bases(kind: type) -> list[type]:
    known = [base for base in kind.__mro__[1:] if path_to(base) or base.__module__ == "builtins"]
    return [base for base in known[:1] if base is not object]


def readable_signature(  # noqa: PLR0913, PLR0917 - autodoc's signature
    app: Sphinx, what: str, name: str, obj: Any, options: Any, text: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    """Write a field's default factory so that Python's grammar, and thus Sphinx, can read it."""
    del app, what, name, obj, options
    return text and text.replace("<factory>", "..."), returns


def nothing_said(  # noqa: PLR0913, PLR0917 - autodoc's signature
    app: Sphinx, what: str, name: str, obj: Any, skip: Any, options: Any
) -> bool | None:
    """Skip the fields of named tuples, whose docstrings Python makes up."""
    del app, what, name, skip, options
    return True if str(getattr(obj, "__doc__", "")).startswith("Alias for field") else None


def own_types(app: Sphinx, doctree: nodes.document) -> None:
    """Point types in signatures at what they mean: ``bytes`` at nothing, ``Table`` at ours."""
    del app
    for link in list(doctree.findall(pending_xref)):
        if link.get("refdomain") != "py" or link.get("reftype") != "class":
            continue
        if hasattr(builtins, link["reftarget"]):
            link.replace_self(nodes.Text(link["reftarget"]))
        elif path := find(link["reftarget"], link.get("py:module") or "onepull"):
            link["reftarget"] = path


def nothing_is_missing(app: Sphinx, env: BuildEnvironment) -> None:
    """Warn about public names that no page documents."""
    del app
    shown = {path for path, *_ in env.domains.python_domain.get_objects()}
    for path in all_public_names():
        if path not in shown:
            log.warning("%s is public, but not in the reference", path)


def nothing_is_repeated(app: Sphinx, env: BuildEnvironment) -> None:
    """Warn about members that are documented with a class and with its base."""
    del app
    public = all_public_names()
    for path, *_ in env.domains.python_domain.get_objects():
        owner, _, member = path.rpartition(".")
        kind = public.get(owner)
        if inspect.isclass(kind):
            home = next((base for base in kind.__mro__ if member in vars(base)), kind)
            if (other := _shown_with(kind, home)) is not kind:
                log.warning("%s is documented with %s, too", path, other.__name__)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives, the role and the check."""
    app.setup_extension("sphinx.ext.autodoc")
    app.add_directive("public-names", PublicNames)
    app.add_directive("checks", Checks)
    app.add_directive_to_domain("py", "method", Method, override=True)
    app.add_directive_to_domain("py", "property", Property, override=True)
    app.add_directive_to_domain("py", "attribute", Attribute, override=True)
    app.add_role("name", Name())
    app.connect("autodoc-process-docstring", numpy_sections)
    app.connect("autodoc-process-bases", public_bases)
    app.connect("autodoc-process-signature", readable_signature)
    app.connect("autodoc-skip-member", nothing_said)
    app.connect("doctree-read", own_types)
    app.connect("env-check-consistency", nothing_is_missing)
    app.connect("env-check-consistency", nothing_is_repeated)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
