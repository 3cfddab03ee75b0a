"""The description of all routes as a page: made here, without scripts, so that it works offline and under a strict policy."""

from __future__ import annotations

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
code, pre { font: .9em ui-monospace, monospace; } .method { display: inline-block; width: 4.5rem; font-weight: 600; }
.told { color: GrayText; margin-left: .5rem; }
table { border-collapse: collapse; } td, th { text-align: left; padding: .1rem .8rem .1rem 0; }
"""


@router.get("/docs")
async def docs_page(request: Request) -> HTMLResponse:
    """All routes, by subject."""
    return HTMLResponse(_page(request.app.openapi()))


@router.get("/docs.css")
async def docs_style() -> Response:
    """How that page looks."""
    return Response(STYLE, media_type="text/css", headers={"Cache-Control": "max-age=3600"})


def _page(told: dict[str, Any]) -> str:
    groups: dict[str, list[str]] = {}
    for path, item in told["paths"].items():
        for method, operation in item.items():
            groups.setdefault(operation.get("tags", ["Other"])[0], []).append(
                _operation(method, path, operation)
            )
    body = "".join(f"<h2>{escape(tag)}</h2>{''.join(found)}" for tag, found in groups.items())
    schemas = "".join(
        _schema(name, schema) for name, schema in sorted(told["components"]["schemas"].items())
    )
    info = told["info"]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f'<title>muisti REST</title><link rel="stylesheet" href="/docs.css"></head><body>'
        f"<h1>muisti {escape(info['version'])}</h1><p>{escape(info.get('summary', ''))} "
        'For programs: <a href="/openapi.json">openapi.json</a>. Errors are <code>application/problem+json</code>.</p>'
        f"{body}<h2>What is sent and told</h2>{schemas}</body></html>"
    )


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    told = escape(operation.get("description", ""))
    rows = "".join(
        f"<tr><td><code>{escape(p['name'])}</code></td><td>{p['in']}{', needed' if p.get('required') else ''}</td>"
        f"<td>{escape(_type(p['schema']))}</td><td>{escape(p.get('description', ''))}</td></tr>"
        for p in operation.get("parameters", ())
    )
    body = operation.get("requestBody", {}).get("content", {})
    sent = "".join(f"<p>Body: {_linked(content['schema'])}</p>" for content in body.values())
    answers = "".join(
        f"<tr><td>{escape(code)}</td><td>{escape(answer.get('description', ''))}</td><td>{_contents(answer)}</td></tr>"
        for code, answer in operation["responses"].items()
    )
    return (
        f'<details><summary><span class="method">{method.upper()}</span><code>{escape(path)}</code>'
        f'<span class="told">{told}</span></summary><div>{f"<table>{rows}</table>" if rows else ""}{sent}'
        f"<table>{answers}</table></div></details>"
    )


def _contents(answer: dict[str, Any]) -> str:
    return ", ".join(
        f"{escape(kind)} {_linked(content.get('schema', {}))}"
        for kind, content in answer.get("content", {}).items()
    )


def _schema(name: str, schema: dict[str, Any]) -> str:
    needed = schema.get("required", ())
    rows = "".join(
        f"<tr><td><code>{escape(key)}</code></td><td>{_linked(value)}</td><td>{'needed' if key in needed else ''}</td>"
        f"<td>{escape(value.get('description', ''))}</td></tr>"
        for key, value in schema.get("properties", {}).items()
    )
    told = escape(schema.get("description", ""))
    return (
        f'<details id="{escape(name)}"><summary><code>{escape(name)}</code><span class="told">{told}</span></summary>'
        f"<div><table>{rows}</table></div></details>"
    )


def _linked(schema: dict[str, Any]) -> str:
    """The type of a value; one of ours as a link."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rsplit("/", 1)[-1])
        return f'<a href="#{name}">{name}</a>'
    if schema.get("type") == "array":
        return f"list of {_linked(schema.get('items', {}))}"
    for word in ("anyOf", "oneOf"):
        if word in schema:
            return " or ".join(_linked(one) for one in schema[word])
    return escape(_type(schema))


def _type(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(map(str, schema["enum"]))
    if "anyOf" in schema:
        return " or ".join(_type(one) for one in schema["anyOf"])
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(schema.get("format") or schema.get("type") or schema.get("const") or "anything")
