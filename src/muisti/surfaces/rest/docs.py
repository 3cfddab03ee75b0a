"""The API reference at /docs, rendered from OpenAPI.

Rendered here without scripts: it works offline and under a strict content security policy.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response

router = APIRouter(include_in_schema=False)
STYLE = """\
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 2.5rem; } summary { cursor: pointer; padding: .3rem 0; }
details { border-bottom: 1px solid #8884; } details > div { padding: 0 0 1rem 1.5rem; }
code, pre { font: .9em ui-monospace, monospace; }
.method { display: inline-block; width: 4.5rem; font-weight: 600; }
.description { color: GrayText; margin-left: .5rem; }
table { border-collapse: collapse; } td, th { text-align: left; padding: .1rem .8rem .1rem 0; }
"""


@router.get("/docs")
async def docs_page(request: Request) -> HTMLResponse:
    """Show all routes, by tag."""
    document = request.app.openapi()
    by_tag: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            tag = operation.get("tags", ["Other"])[0]
            by_tag.setdefault(tag, []).append(_render_operation(method, path, operation))
    operations = [f"<h2>{escape(tag)}</h2>{''.join(group)}" for tag, group in by_tag.items()]
    schemas = []
    for name, schema in sorted(document["components"]["schemas"].items()):
        required = schema.get("required", ())
        rows = [
            (
                f"<code>{escape(field)}</code>",
                _render_type(value),
                "required" if field in required else "",
                escape(value.get("description", "")),
            )
            for field, value in schema.get("properties", {}).items()
        ]
        schemas.append(
            f'<details id="{escape(name)}"><summary><code>{escape(name)}</code>'
            f'<span class="description">{escape(schema.get("description", ""))}</span></summary>'
            f"<div>{_render_table(rows)}</div></details>"
        )
    info = document["info"]
    return HTMLResponse(
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        '<title>muisti REST API</title><link rel="stylesheet" href="/docs.css"></head><body>'
        f"<h1>muisti {escape(info['version'])} REST API</h1>"
        f"<p>{escape(info.get('summary', ''))} "
        'OpenAPI: <a href="/openapi.json">openapi.json</a>. '
        "Errors are <code>application/problem+json</code>.</p>"
        f"{''.join(operations)}<h2>Schemas</h2>{''.join(schemas)}</body></html>"
    )


@router.get("/docs.css")
async def docs_style() -> Response:
    """The style sheet of that page."""
    return Response(STYLE, media_type="text/css", headers={"Cache-Control": "max-age=3600"})


def _render_operation(method: str, path: str, operation: dict[str, Any]) -> str:
    parameters = [
        (
            f"<code>{escape(parameter['name'])}</code>",
            parameter["in"] + (", required" if parameter.get("required") else ""),
            escape(_type_name(parameter["schema"])),
            escape(parameter.get("description", "")),
        )
        for parameter in operation.get("parameters", ())
    ]
    responses = []
    for status, response in operation["responses"].items():
        contents = [
            f"{escape(media_type)} {_render_type(content.get('schema', {}))}"
            for media_type, content in response.get("content", {}).items()
        ]
        description = escape(response.get("description", ""))
        responses.append((escape(status), description, ", ".join(contents)))
    bodies = [
        f"<p>Body: {_render_type(content['schema'])}</p>"
        for content in operation.get("requestBody", {}).get("content", {}).values()
    ]
    return (
        f'<details><summary><span class="method">{method.upper()}</span>'
        f"<code>{escape(path)}</code>"
        f'<span class="description">{escape(operation.get("description", ""))}</span></summary>'
        f"<div>{_render_table(parameters)}{''.join(bodies)}{_render_table(responses)}</div>"
        "</details>"
    )


def _render_table(rows: Iterable[tuple[str, ...]]) -> str:
    lines = [f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows]
    return f"<table>{''.join(lines)}</table>" if lines else ""


def _render_type(schema: dict[str, Any]) -> str:
    """Return the type of a value; one of our schemas as a link."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rsplit("/", 1)[-1])
        return f'<a href="#{name}">{name}</a>'
    if schema.get("type") == "array":
        return f"list of {_render_type(schema.get('items', {}))}"
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " or ".join(_render_type(choice) for choice in schema[key])
    return escape(_type_name(schema))


def _type_name(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(map(str, schema["enum"]))
    if "anyOf" in schema:
        return " or ".join(_type_name(choice) for choice in schema["anyOf"])
    if schema.get("type") == "array":
        return f"list of {_type_name(schema.get('items', {}))}"
    return str(schema.get("format") or schema.get("type") or schema.get("const") or "any")
