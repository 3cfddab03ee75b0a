"""The review queue: unconfirmed memories and suggested links, one decision each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Request, Response

from muisti.errors import (
    Conflict,
    InvalidMemory,
    InvalidRequest,
    MemoryNotFound,
    MuistiError,
    NotFound,
)
from muisti.recall.filters import ALL, FilterOptions
from muisti.surfaces.review import describe_claim, describe_effect
from muisti.surfaces.web.csrf import Form, PostedForm
from muisti.surfaces.web.page_context import Context
from muisti.surfaces.web.paging import clamp_offset, link_pages
from muisti.surfaces.web.render import PageRoute, redirect, render, to_sentence

router = APIRouter(route_class=PageRoute)
PAGE = 25
ORDERS = ("created_at", "importance")


@dataclass(frozen=True, slots=True)
class ReviewParams:
    """Which part of the queue a page shows, and which item has the focus."""

    project: str = ""
    kind: str = ""
    order: str = ORDERS[0]
    offset: int = 0
    at: int = 0
    """The place of the focused item: a decision goes on with the item that follows."""
    undo: str = ""
    """The ID of the memory that was just moved to the trash."""

    @property
    def filters(self) -> FilterOptions:
        """The filters as the engine takes them."""
        filters: FilterOptions = {"project": self.project or ALL, "user": ALL}
        if self.kind:
            filters["kind"] = self.kind
        return filters

    @property
    def order_by(self) -> str:
        """The order, or the default for an unknown one."""
        return self.order if self.order in ORDERS else ORDERS[0]


def _get_address(form: Form, **query: str) -> str:
    """Return the page that a form was on: the same part of the queue, at the same place."""
    names = ("project", "kind", "order", "offset", "at")
    values = {name: form.line(f"review_{name}") for name in names} | query
    given = {name: value for name, value in values.items() if value}
    return f"/review?{urlencode(given)}" if given else "/review"


@router.get("/review")
def show_review(
    request: Request, context: Context, params: Annotated[ReviewParams, Depends()]
) -> Response:
    """Show a part of the queue."""
    return _render_queue(request, context, params)


def _render_queue(
    request: Request,
    context: Context,
    params: ReviewParams,
    error: MuistiError | None = None,
    form: Form | None = None,
) -> Response:
    """Return the page. With an error, the form that was sent keeps its text."""
    memory = context.memory
    context.review_counter.forget()  # this page must agree with its own navigation
    offset = clamp_offset(params.offset)
    count = memory.count_review(**params.filters)
    if offset >= count.total:  # the last item of the last page was decided
        offset = max(0, (count.total - 1) // PAGE * PAGE)
    items = memory.review(limit=PAGE, offset=offset, order_by=params.order_by, **params.filters)
    query = {"project": params.project, "kind": params.kind}
    if params.order_by != ORDERS[0]:
        query["order"] = params.order_by
    pages = link_pages("/review", offset, PAGE, more=count.total > offset + PAGE, **query)
    trashed = memory.get(params.undo, include_deleted=True) if params.undo else None
    return render(
        request,
        "review.html",
        200 if error is None else error.status,
        items=items,
        total=count.total,
        count=count,
        pages=pages,
        params=params,
        place={**query, "offset": str(offset or "")},
        focused=max(0, min(params.at, len(items) - 1)),
        kinds=context.kinds(),
        projects=context.projects(),
        orders=ORDERS,
        trashed=trashed if trashed is not None and trashed.deleted_at else None,
        error=to_sentence(error) if error else "",
        sent=form or Form(),
        is_sent_shown=any(form and item.memory.id == form.get("id") for item in items),
        describe_claim=describe_claim,
        describe_effect=describe_effect,
    )


@router.post("/review/memory")
def decide_about_memory(request: Request, context: Context, form: PostedForm) -> Response:
    """Confirm, edit, replace or forget a memory, unless it has changed since it was shown."""
    memory_id, version = form.line("id"), form.line("version") or None
    memory = context.memory
    try:
        match form.get("decision"):
            case "confirm":
                memory.confirm(memory_id, expected_version=version)
                return redirect(_get_address(form), "confirmed")
            case "edit":
                content = form.text("content")
                memory.update(memory_id, content=content, trusted=True, expected_version=version)
                return redirect(_get_address(form), "edited")
            case "replace":
                memory.replace(memory_id, form.text("content"), expected_version=version)
                return redirect(_get_address(form), "replaced")
            case "forget":
                if not memory.delete(memory_id):
                    raise MemoryNotFound(memory_id)
                return redirect(_get_address(form, undo=memory_id), "deleted")
            case other:
                raise InvalidRequest("decision", other, "must be confirm, edit, replace or forget")
    except (Conflict, NotFound, InvalidMemory, InvalidRequest) as error:
        return _render_queue(request, context, _parse_place(form), error, form)


@router.post("/review/link")
def decide_about_link(request: Request, context: Context, form: PostedForm) -> Response:
    """Confirm or reject a suggested link, or replace its target with its source."""
    source, target, type_ = form.line("source"), form.line("target"), form.line("type")
    try:
        match form.get("decision"):
            case "confirm":
                context.memory.confirm_link(source, target, type_)
                return redirect(_get_address(form), "link-confirmed")
            case "reject":
                context.memory.reject_link(source, target, type_)
                return redirect(_get_address(form), "link-rejected")
            case "outdated":
                context.memory.supersede(target, source)
                return redirect(_get_address(form), "superseded")
            case other:
                raise InvalidRequest("decision", other, "must be confirm, reject or outdated")
    except (Conflict, NotFound, InvalidRequest) as error:
        return _render_queue(request, context, _parse_place(form), error)


@router.post("/review/restore")
def restore_forgotten(context: Context, form: PostedForm) -> Response:
    """Restore the memory that was moved to the trash last."""
    context.memory.restore(form.line("id"))
    return redirect(_get_address(form), "restored")


def _parse_place(form: Form) -> ReviewParams:
    """Return the part of the queue that a form was on."""
    offset, at = form.line("review_offset"), form.line("review_at")
    return ReviewParams(
        project=form.line("review_project"),
        kind=form.line("review_kind"),
        order=form.line("review_order") or ORDERS[0],
        offset=int(offset) if offset.isascii() and offset.isdigit() else 0,
        at=int(at) if at.isascii() and at.isdigit() else 0,
    )
