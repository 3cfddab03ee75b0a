"""Every error as `application/problem+json` (RFC 9457), with a stable type."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import fastapi
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import BaseRoute

from muisti import errors
from muisti.surfaces.rest.near_fields import describe_unknown

log = logging.getLogger("muisti")
MEDIA_TYPE = "application/problem+json"

RETRY_STATUSES = {429, 503}
"""These responses carry a Retry-After header."""


class FieldError(BaseModel):
    """One invalid field of a request."""

    model_config = ConfigDict(extra="forbid")
    field: str
    message: str


class Problem(BaseModel):
    """An error, for programs and for people."""

    model_config = ConfigDict(
        alias_generator=to_camel, extra="forbid", validate_by_name=True, serialize_by_alias=True
    )
    type: str = Field(
        description="The same for every error of this class, such as `urn:muisti:memory-not-found`."
    )
    title: str = Field(description="A short heading; the same for every error of this type.")
    status: int = Field(description="The HTTP status code.")
    detail: str = Field(description="What is wrong in this case, and how to fix it.")
    next_step: str | None = Field(
        default=None, description="What to do about any error of this type."
    )
    field: str | None = Field(default=None, description="The invalid field or option.")
    errors: list[FieldError] | None = Field(default=None, description="Every invalid field.")


class HttpProblem(fastapi.HTTPException):
    """An error of the HTTP layer, not of the memory.

    A subclass of FastAPI's own, which is what FastAPI re-raises while it reads a body.
    """

    def __init__(
        self,
        status: int,
        name: str,
        title: str,
        detail: str,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, detail, dict(headers or {}))
        self.problem = Problem(type=f"urn:muisti:{name}", title=title, status=status, detail=detail)


def render_problem(problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    """Return a problem as a response."""
    values = problem.model_dump(exclude_none=True)
    # Unknown fields and bad values may be secrets that were sent to the wrong place.
    for name in {"detail", "field"} & values.keys():
        values[name] = errors.redact_message(values[name])
    for one in values.get("errors", ()):
        one.update({name: errors.redact_message(text) for name, text in one.items()})
    text = json.dumps(values, ensure_ascii=False)
    retry = {"Retry-After": "1"} if problem.status in RETRY_STATUSES else {}
    return Response(
        text.encode("utf-8", "replace"),
        problem.status,
        {**retry, **(headers or {})},
        media_type=MEDIA_TYPE,
    )


def to_problem(error: errors.MuistiError) -> Problem:
    """Return the problem document of an error, from the attributes of its class."""
    field = getattr(error, "field", None) or getattr(error, "option", None)
    return Problem(
        type=problem_type(type(error)),
        title=error.title,
        status=error.status,
        detail=str(error),
        next_step=error.next_step or None,
        field=to_camel(field) if isinstance(field, str) and field.isidentifier() else field,
    )


def problem_type(error: type[errors.MuistiError]) -> str:
    """Return the URN of an error class, such as `urn:muisti:memory-not-found`."""
    dashed = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", error.__name__)
    return f"urn:muisti:{dashed.lower()}"


_HTTP_TITLES = {
    400: ("malformed-json", "Request body is not valid JSON"),
    404: ("no-such-address", "No such path"),
    405: ("no-such-method", "Method not allowed"),
}


def add_handlers(app: FastAPI, routes: Sequence[BaseRoute]) -> None:
    """Render every error as a problem. Routes: where to look up the methods that a path allows."""
    api_routes = [route for route in routes if isinstance(route, APIRoute)]

    def handle_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        status, detail, headers = error.status_code, str(error.detail), dict(error.headers or {})
        if status == 400:
            detail = "the body is not UTF-8 text with valid JSON"
        if status == 405:  # each method is a route of its own, and Starlette names only the first
            matching = [one for one in api_routes if one.path_regex.match(request.url.path)]
            same_path = [one for one in matching if one.path == matching[0].path]
            methods = {method for one in same_path for method in one.methods or ()}
            headers = {"Allow": ", ".join(sorted(methods))} if methods else headers
        name, title = _HTTP_TITLES.get(status, ("http-error", "Request failed"))
        problem = Problem(type=f"urn:muisti:{name}", title=title, status=status, detail=detail)
        return render_problem(problem, headers)

    def handle_validation(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        found = error.errors()
        if any(one["type"] == "json_invalid" for one in found):
            name, title = _HTTP_TITLES[400]
            detail = "the body is not valid JSON"
            problem = Problem(type=f"urn:muisti:{name}", title=title, status=400, detail=detail)
            return render_problem(problem)
        invalid = []
        # An unknown name comes first: it often is why another one is missing.
        for one in sorted(found, key=lambda one: one["type"] != "extra_forbidden"):
            path = ".".join(str(part) for part in one["loc"][1:])  # without "body" or "query"
            path = errors.redact_message(path)[:200]  # clients may send odd names
            field = path.encode("utf-8", "replace").decode()
            is_unknown = one["type"] == "extra_forbidden"
            told = str(one["msg"]).removeprefix("Value error, ")
            message = describe_unknown(request, one["loc"]) if is_unknown else told
            invalid.append(FieldError(field=field, message=message))
        first = invalid[0]
        problem = Problem(
            type=problem_type(errors.InvalidRequest),
            title=errors.InvalidRequest.title,
            status=errors.InvalidRequest.status,
            detail=f"{first.field}: {first.message}" if first.field else first.message,
            field=first.field or None,
            errors=invalid[:20],
        )
        return render_problem(problem)

    def handle_muisti(_: Request, error: Exception) -> Response:
        assert isinstance(error, errors.MuistiError)
        return render_problem(to_problem(error))

    def handle_problem(_: Request, error: Exception) -> Response:
        assert isinstance(error, HttpProblem)
        return render_problem(error.problem, error.headers)

    app.add_exception_handler(HTTPException, handle_http)
    app.add_exception_handler(RequestValidationError, handle_validation)
    app.add_exception_handler(errors.MuistiError, handle_muisti)
    app.add_exception_handler(HttpProblem, handle_problem)


ErrorGroup = Literal["read", "item", "write", "body"]
_STATUSES: Mapping[str, tuple[int, ...]] = {
    "read": (401, 403, 405, 421, 422, 503),
    "item": (404,),
    "write": (409, 429, 507),
    "body": (400, 408, 413, 415),
}
_DESCRIPTIONS = {
    400: "The body is not valid JSON.",
    401: "The token is missing or wrong.",
    403: "Not allowed: from another site, or not enabled on this server.",
    404: "Not found; the detail says what.",
    405: "Method not allowed.",
    408: "The body took too long to arrive.",
    409: "The memory has changed, or a file is broken.",
    412: "The current version is not the one in If-Match.",
    413: "The body is too large.",
    415: "The body must be JSON.",
    421: "The Host header is not a name of this server.",
    422: "A field or an option is invalid.",
    429: "Too many writes; try again later.",
    501: "Not supported by this store.",
    503: "The vault, the index or a model is not available.",
    507: "The disk is full; nothing was changed.",
}
_PROBLEM_SCHEMA = {"$ref": "#/components/schemas/Problem"}


def document_errors(
    *groups: ErrorGroup, also: Sequence[int] = ()
) -> dict[int | str, dict[str, Any]]:
    """Return the error responses of a route for OpenAPI. Every route has those of "read"."""
    statuses = set(also)
    for group in ("read", *groups):
        statuses.update(_STATUSES[group])
    content = {MEDIA_TYPE: {"schema": _PROBLEM_SCHEMA}}
    return {
        status: {"description": _DESCRIPTIONS[status], "content": content}
        for status in sorted(statuses)
    }
