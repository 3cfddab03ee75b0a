"""Every error as `application/problem+json` (RFC 9457), with a type that stays the same."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import fastapi
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from starlette.exceptions import HTTPException
from starlette.responses import Response

from muisti import errors

log = logging.getLogger("muisti")
MEDIA_TYPE = "application/problem+json"

RETRY_STATUSES = {429, 503}
"""Worth another try, and after how many seconds."""


class FieldError(BaseModel):
    """One thing that is wrong with a request."""

    model_config = ConfigDict(extra="forbid")
    field: str
    message: str


class Problem(BaseModel):
    """What went wrong, for programs and for people."""

    model_config = ConfigDict(
        alias_generator=to_camel, extra="forbid", validate_by_name=True, serialize_by_alias=True
    )
    type: str = Field(
        description="Stays the same for the same sort of error, such as `urn:muisti:memory-not-found`."
    )
    title: str
    status: int
    detail: str = Field(description="What is wrong this time, and what to do about it.")
    next_step: str | None = Field(
        default=None, description="What helps with every error of this type."
    )
    field: str | None = Field(default=None, description="The field or option that is wrong.")
    errors: list[FieldError] | None = None


class HttpProblem(fastapi.HTTPException):
    """A problem of HTTP, not of the memory. FastAPI lets these through where it reads a body."""

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
    """A problem as a response."""
    text = json.dumps(problem.model_dump(exclude_none=True), ensure_ascii=False)
    extra = {"Retry-After": "1"} if problem.status in RETRY_STATUSES else {}
    return Response(
        text.encode("utf-8", "replace"),
        problem.status,
        {**extra, **(headers or {})},
        media_type=MEDIA_TYPE,
    )


def to_problem(error: errors.MuistiError) -> Problem:
    """Return the problem document of an error: its type is the name of the class, the rest stands beside the class."""
    field = getattr(error, "field", None) or getattr(error, "option", None)
    return Problem(
        type=problem_type(type(error)),
        title=error.title,
        status=error.status,
        detail=str(error),
        next_step=error.next_step or None,
        field=to_camel(field) if isinstance(field, str) and field.isidentifier() else field,
    )


def problem_type(kind: type[errors.MuistiError]) -> str:
    """Return the URN of a class of errors, such as `urn:muisti:memory-not-found`."""
    dashed = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", kind.__name__)
    return f"urn:muisti:{dashed.lower()}"


def _of_validation(error: RequestValidationError) -> Problem:
    faults = [
        FieldError(field=_place(one["loc"]), message=str(one["msg"])) for one in error.errors()
    ]
    first = faults[0]
    if any(one["type"] == "json_invalid" for one in error.errors()):
        detail = "the body is not valid JSON"
        return Problem(
            type="urn:muisti:malformed-json",
            title="The body cannot be read",
            status=400,
            detail=detail,
        )
    return Problem(
        type="urn:muisti:invalid-request",
        title=errors.InvalidRequest.title,
        status=errors.InvalidRequest.status,
        detail=f"{first.field}: {first.message}" if first.field else first.message,
        field=first.field or None,
        errors=faults[:20],
    )


def _place(location: Sequence[str | int]) -> str:
    """`body.items.0.content` without saying that it is in the body. Odd names of fields come from the client."""
    return ".".join(str(part) for part in location[1:])[:200].encode("utf-8", "replace").decode()


def _of_http(error: HTTPException) -> Problem:
    name, title = {
        400: ("malformed-json", "The body cannot be read"),
        404: ("no-such-address", "There is nothing at this address"),
        405: ("no-such-method", "This cannot be done here"),
    }.get(error.status_code, ("http-error", "The request cannot be answered"))
    detail = (
        "the body is not UTF-8 text with valid JSON"
        if error.status_code == 400
        else str(error.detail)
    )
    return Problem(type=f"urn:muisti:{name}", title=title, status=error.status_code, detail=detail)


def add_handlers(app: FastAPI, allowed: Mapping[str, Sequence[str]]) -> None:
    """Let every error be told as a problem. Allowed: the methods of each path template, for 405."""
    from starlette.routing import compile_path

    templates = [
        (compile_path(path)[0], ", ".join(sorted(methods))) for path, methods in allowed.items()
    ]

    def of_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        headers = dict(error.headers or {})
        if error.status_code == 405:
            fits = [methods for pattern, methods in templates if pattern.match(request.url.path)]
            headers = {"Allow": fits[0]} if fits else headers
        return render_problem(_of_http(error), headers)

    def of_validation(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return render_problem(_of_validation(error))

    def of_memory(_: Request, error: Exception) -> Response:
        assert isinstance(error, errors.MuistiError)
        return render_problem(to_problem(error))

    def of_refusal(_: Request, error: Exception) -> Response:
        assert isinstance(error, HttpProblem)
        return render_problem(error.problem, error.headers)

    app.add_exception_handler(HTTPException, of_http)
    app.add_exception_handler(RequestValidationError, of_validation)
    app.add_exception_handler(errors.MuistiError, of_memory)
    app.add_exception_handler(HttpProblem, of_refusal)


Codes = Literal["read", "change", "body", "one"]
_CODES: Mapping[str, tuple[int, ...]] = {
    "read": (401, 403, 405, 421, 422, 503),
    "one": (404,),
    "change": (409, 429, 507),
    "body": (400, 408, 413, 415),
}
_DESCRIPTIONS = {
    400: "The body cannot be read.",
    401: "The token is missing or wrong.",
    403: "Not allowed: another web page asks, or the server does not do this.",
    404: "There is no such thing; the detail names it.",
    405: "This cannot be done here.",
    408: "The body took too long to arrive.",
    409: "It was changed in the meantime, or a file is broken.",
    412: "It is not the version that If-Match names.",
    413: "The body is too large.",
    415: "The body must be JSON.",
    421: "The server is not called by this name.",
    422: "A field or an option is not acceptable.",
    429: "Too many changes at once; try again a little later.",
    501: "This store cannot do that.",
    503: "The vault, the index or a model cannot be used now.",
    507: "The disk is full; nothing was changed.",
}


def document_errors(*codes: Codes, also: Sequence[int] = ()) -> dict[int | str, dict[str, Any]]:
    """The problems that a route documents: of every request, and of those that change, have a body, or name one thing."""
    wanted = sorted({code for name in ("read", *codes) for code in _CODES[name]} | set(also))
    return {
        code: {
            "description": _DESCRIPTIONS[code],
            "content": {MEDIA_TYPE: {"schema": PROBLEM_SCHEMA}},
        }
        for code in wanted
    }


PROBLEM_SCHEMA = {"$ref": "#/components/schemas/Problem"}
