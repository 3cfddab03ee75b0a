"""The API reference at /docs, rendered from OpenAPI.

It works offline and under a strict content security policy. The script adds searching and copying;
all else works without it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response

from muisti.surfaces.rest.docs_examples import (
    Schema,
    get_body,
    make_curl,
    make_example,
    make_request,
    resolve,
)

router = APIRouter(include_in_schema=False)
_STATIC = Path(__file__).parent / "static"
_CACHE = {"Cache-Control": "max-age=3600"}


@router.get("/docs")
async def docs_page(request: Request) -> HTMLResponse:
    """Show all operations, by tag."""
    base_url = str(request.base_url).rstrip("/")
    return HTMLResponse(render_page(request.app.openapi(), base_url))


@router.get("/docs.css")
async def docs_style() -> Response:
    """The style sheet of that page."""
    return Response(_read_static("docs.css"), media_type="text/css", headers=_CACHE)


@router.get("/docs.js")
async def docs_script() -> Response:
    """The script of that page."""
    return Response(_read_static("docs.js"), media_type="text/javascript", headers=_CACHE)


@cache
def _read_static(name: str) -> bytes:
    return (_STATIC / name).read_bytes()


def render_page(document: Schema, base_url: str) -> str:
    """Return the page for an OpenAPI document."""
    groups: dict[str, list[tuple[str, str, Schema]]] = {
        tag["name"]: [] for tag in document.get("tags", ())
    }
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            tag = operation.get("tags", ["Other"])[0]
            groups.setdefault(tag, []).append((method, path, operation))
    descriptions = {tag["name"]: tag["description"] for tag in document.get("tags", ())}
    navigation, sections = [], []
    for tag, operations in groups.items():
        links = [
            f'<li><a href="#{escape(operation["operationId"])}">{_render_method(method)}'
            f"{escape(operation['summary'])}</a></li>"
            for method, _, operation in operations
        ]
        section_id = escape(tag.lower().replace(" ", "-"))
        navigation.append(f"<li><b>{escape(tag)}</b><ul>{''.join(links)}</ul></li>")
        rendered = [
            _render_operation(method, path, operation, document, base_url)
            for method, path, operation in operations
        ]
        sections.append(
            f'<section><h2 id="{section_id}">{escape(tag)}</h2>'
            f"<p>{escape(descriptions.get(tag, ''))}</p>{''.join(rendered)}</section>"
        )
    schemas = document["components"]["schemas"]
    rendered_schemas = [_render_schema(name, schemas[name]) for name in sorted(schemas)]
    return _PAGE.format(
        version=escape(document["info"]["version"]),
        summary=escape(document["info"].get("summary", "")),
        base_url=escape(base_url),
        token=_TOKEN if document.get("security") else "",
        navigation="".join(navigation),
        sections="".join(sections),
        schemas="".join(rendered_schemas),
    )


_TOKEN = (
    "<p>This server needs a token: send it as <code>Authorization: Bearer TOKEN</code>. "
    "The examples take it from <code>$MUISTI_TOKEN</code>.</p>"
)
_PAGE = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>muisti REST API</title>
<link rel="stylesheet" href="/docs.css"><script src="/docs.js" defer></script></head>
<body>
<nav aria-label="Operations"><a class="wordmark" href="#top">muisti <span>REST API</span></a>
<input id="search" type="search" placeholder="Search operations…" aria-label="Search operations"
 autocomplete="off" hidden>
<details id="menu" open><summary>Operations</summary>
<ul>{navigation}<li><b>Schemas</b><ul><li><a href="#schemas">All schemas</a></li></ul></li></ul>
</details></nav>
<main id="top"><h1>muisti REST API <small>{version}</small></h1>
<p class="lede">{summary}</p>
<p>Base URL: <code>{base_url}</code>. Requests and responses are JSON with camelCase names; times
have a time zone. Errors are <code>application/problem+json</code> with a stable
<code>type</code>, and name the field and the fix. For programs:
<a href="/openapi.json">openapi.json</a>.</p>{token}
<p id="none" hidden>No operation matches.</p>
{sections}
<section><h2 id="schemas">Schemas</h2>{schemas}</section>
</main></body></html>
"""


def _render_method(method: str) -> str:
    return f'<span class="method {escape(method)}">{escape(method.upper())}</span>'


def _render_operation(
    method: str, path: str, operation: Schema, document: Schema, base_url: str
) -> str:
    schemas = document["components"]["schemas"]
    curl = make_curl(
        base_url, method, path, operation, schemas, with_token=bool(document.get("security"))
    )
    shown_path = escape(path).replace("/", "/<wbr>")
    return (
        f'<details class="operation" id="{escape(operation["operationId"])}">'
        f"<summary>{_render_method(method)}<code>{shown_path}</code>"
        f"<span>{escape(operation['summary'])}</span></summary>"
        f"<p>{_render_text(operation.get('description', ''))}</p>"
        f"<h3>Example</h3>{_render_code(curl)}"
        f"{_render_parameters(operation)}{_render_body(operation, schemas)}"
        f"{_render_responses(operation, schemas)}</details>"
    )


def _render_code(text: str) -> str:
    return f'<div class="code"><pre tabindex="0"><code>{escape(text)}</code></pre></div>'


def _render_json(value: Any) -> str:
    return _render_code(json.dumps(value, ensure_ascii=False, indent=2))


def _render_text(text: str) -> str:
    """Return a description as HTML: code between backticks, a blank line as a new paragraph."""
    parts = escape(" ".join(text.replace("\n\n", "\v").split(" "))).split("`")
    html = "".join(f"<code>{part}</code>" if at % 2 else part for at, part in enumerate(parts))
    return html.replace("\v", "</p><p>")


def _render_parameters(operation: Schema) -> str:
    rows = []
    for parameter in operation.get("parameters", ()):
        schema = parameter["schema"]
        rows.append(
            (
                f"<code>{escape(parameter['name'])}</code>"
                + ("<em>required</em>" if parameter.get("required") else ""),
                escape(parameter["in"]),
                _render_type(schema).removesuffix(" or null"),  # a URL has no null
                _render_text(parameter.get("description") or schema.get("description", ""))
                + _render_default(schema),
            )
        )
    return f"<h3>Parameters</h3>{_render_table(rows)}" if rows else ""


def _render_default(schema: Schema) -> str:
    default = schema.get("default")
    if default in (None, [], "", False):
        return ""
    return f" Default: <code>{escape(json.dumps(default, ensure_ascii=False))}</code>."


def _render_body(operation: Schema, schemas: Mapping[str, Schema]) -> str:
    body = get_body(operation)
    if body is None:
        return ""
    fields = _render_fields(resolve(body, schemas))
    return (
        f"<h3>Request body: {_render_type(body)}</h3>{_render_json(make_request(body, schemas))}"
        f"<details><summary>All fields</summary>{fields}</details>"
    )


def _render_responses(operation: Schema, schemas: Mapping[str, Schema]) -> str:
    good, bad, examples = [], [], ""
    for status, response in operation["responses"].items():
        contents = response.get("content", {})
        types = [_render_type(content.get("schema", {})) for content in contents.values()]
        description = response.get("description", "").replace("Successful Response", "Success.")
        row = (escape(status), ", ".join(types) or "no body", _render_text(description))
        if not status.startswith("2"):
            bad.append((f'<span class="status bad">{row[0]}</span>', *row[1:]))
            continue
        good.append((f'<span class="status">{row[0]}</span>', *row[1:]))
        schema = contents.get("application/json", {}).get("schema")
        if schema:
            body = _render_json(make_example(schema, schemas))
            examples += f"<details><summary>Example of {row[0]}</summary>{body}</details>"
    return (
        f"<h3>Responses</h3>{_render_table(good)}{examples}"
        f'<details class="errors"><summary>Errors</summary>{_render_table(bad)}</details>'
    )


def _render_fields(schema: Schema) -> str:
    required = schema.get("required", ())
    rows = [
        (
            f"<code>{escape(field)}</code>"
            + ("<em>required</em>" if field in required else "")
            + ("<em>old name</em>" if value.get("deprecated") else ""),
            _render_type(value),
            _render_text(value.get("description", "")) + _render_default(value),
        )
        for field, value in schema.get("properties", {}).items()
    ]
    return _render_table(rows)


def _render_schema(name: str, schema: Schema) -> str:
    return (
        f'<details class="schema" id="{escape(name)}"><summary><code>{escape(name)}</code>'
        f"<span>{_render_text(schema.get('description', ''))}</span></summary>"
        f"{_render_fields(schema)}</details>"
    )


def _render_table(rows: Iterable[tuple[str, ...]]) -> str:
    lines = [f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows]
    return f'<div class="table" tabindex="0"><table>{"".join(lines)}</table></div>' if lines else ""


def _render_type(schema: Schema) -> str:
    """Return the type of a value; one of our schemas as a link."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rsplit("/", 1)[-1])
        return f'<a href="#{name}">{name}</a>'
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " or ".join(_render_type(choice) for choice in schema[key])
    if schema.get("type") == "array":
        return f"list of {_render_type(schema.get('items', {}))}"
    if "enum" in schema:
        return ", ".join(f"<code>{escape(str(value))}</code>" for value in schema["enum"])
    name = schema.get("format") or schema.get("type") or schema.get("const") or "any"
    return escape(str(name))
