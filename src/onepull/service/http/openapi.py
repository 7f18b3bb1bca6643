"""The OpenAPI document, from the table of routes and the types that bodies are decoded to."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from onepull import __version__
from onepull.service.http.messages import ProblemDetails
from onepull.service.http.problem_details import TITLES
from onepull.service.http.routes import ROUTES, Route

REFS = "#/components/schemas/{name}"
SHARED = (400, 401, 403, 404, 413, 415, 421, 422)  # that any route may answer
# Every field of the context is a parameter of its own.
_CONTEXT = {
    "name": "context",
    "in": "query",
    "style": "form",
    "explode": True,
    "schema": {"type": "object", "additionalProperties": {"type": ["string", "number"]}},
    "description": "The fields of the problem's context, each as a parameter.",
}
_NAME = {"type": "string", "minLength": 1, "maxLength": 200}


@cache
def openapi_document() -> dict[str, Any]:
    """Return the document.

    >>> openapi_document()["openapi"]
    '3.1.0'
    """
    kinds = [route.takes for route in ROUTES] + [route.gives for route in ROUTES]
    types = [kind for kind in kinds if kind is not None and not isinstance(kind, str)]
    schemas, components = msgspec.json.schema_components(
        [*types, ProblemDetails], ref_template=REFS
    )
    by_type = dict(zip(map(repr, types), schemas, strict=False))
    paths: dict[str, Any] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, by_type)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "onepull",
            "version": __version__,
            "summary": "Learn which option to use for each request.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(route: Route, schemas: dict[str, Any]) -> dict[str, Any]:
    answers: dict[str, Any] = {
        status: {"description": "Done.", **_content(route.gives, schemas)}
        for status in (["200", "201"] if route.made else ["200"])
    }
    refuses = {*SHARED, *route.refuses, *([503] if route.role else [])}
    for status in sorted(refuses):
        body = {
            "application/problem+json": {"schema": {"$ref": REFS.format(name="ProblemDetails")}}
        }
        answers[str(status)] = {"description": TITLES[status], "content": body}
    if route.path == "/health/ready":
        answers["503"] = {"description": "Not ready.", **_content(route.gives, schemas)}
    found: dict[str, Any] = {
        "summary": route.told,
        "operationId": f"{route.method.lower()}{_camel(route.path)}",
        "parameters": _parameters(route),
        "responses": answers,
    }
    if route.role is not None:
        found["security"] = [{"key": []}, {}]
        found["description"] = f"Needs a key with the role {route.role.name.lower()}."
    if route.takes is not None:
        found["requestBody"] = {"required": True, **_content(route.takes, schemas)}
    return found


def _content(kind: Any, schemas: dict[str, Any]) -> dict[str, Any]:
    if isinstance(kind, str):
        return {"content": {kind: {"schema": {"type": "string"}}}}
    return {"content": {"application/json": {"schema": schemas[repr(kind)]}}}


def _parameters(route: Route) -> list[dict[str, Any]]:
    names = [part[1:-1] for part in route.path.split("/") if part.startswith("{")]
    found: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": _NAME} for name in names
    ]
    found += [
        {"name": query.name, "in": "query", "schema": query.schema, "description": query.told}
        for query in route.query
    ]
    if route.takes_context:
        found.append(_CONTEXT)
    if route.made:
        found += [
            {"name": name, "in": "header", "schema": {"type": "string"}, "description": told}
            for name, told in (
                ("If-Match", "The version that is to be changed."),
                ("If-None-Match", "* to create only."),
            )
        ]
    return found


def _camel(path: str) -> str:
    words = path.replace("{", "").replace("}", "").replace(".", "/").split("/")
    return "".join(word.capitalize() for word in words if word not in ("", "v1"))
