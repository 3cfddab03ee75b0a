"""Create, edit and delete memories. An edit never overwrites someone else's unseen change."""

from __future__ import annotations

from typing import Any, cast

from fastapi import APIRouter, Request, Response

from muisti.errors import Conflict, InvalidMemory, InvalidRequest, MuistiError
from muisti.model import Memory
from muisti.model.fields import Field, ValueType
from muisti.model.memory import FIELDS
from muisti.remember.options import SaveOptions, UpdateOptions
from muisti.surfaces.web.csrf import CSRF_CHECK, Form, PostedForm
from muisti.surfaces.web.page_context import Context, PageContext
from muisti.surfaces.web.render import PageRoute, memory_url, redirect, render, to_sentence

router = APIRouter(route_class=PageRoute)
FORM_NAMES = ("content", "title", "kind", "importance", "keywords", "pinned", "trusted", "project")
_FORM_FIELDS = {field.name: field for field in FIELDS if field.name in FORM_NAMES}


@router.get("/new")
def show_new_form(request: Request, context: Context, replaces: str = "") -> Response:
    """Show an empty form, or one with the text of the memory to replace."""
    old = context.memory.get(replaces) if replaces else None
    defaults = {"trusted": "yes", "importance": "0.5", "kind": ""}
    return _render_new_form(request, context, Form(_to_form(old) if old else defaults), old)


@router.post("/new")
def create_memory(request: Request, context: Context, form: PostedForm) -> Response:
    """Save a new memory, and mark the one it replaces as outdated."""
    old = context.get_memory(form["replaces"]) if form.get("replaces") else None
    count_before = context.memory.get_stats().total_count
    given = {}
    try:
        for name, field in _FORM_FIELDS.items():
            if name != "content":
                value = _parse_value(form, field)
                given[name] = None if value == "" else value
        saved = context.memory.save(form.text("content"), **cast("SaveOptions", given))
        if old is not None and saved.id != old.id:
            context.memory.supersede(old.id, saved.id)
    except (InvalidMemory, InvalidRequest) as error:
        return _render_new_form(request, context, form, old, error)
    was_merged = context.memory.get_stats().total_count == count_before
    return redirect(memory_url(saved), "merged" if was_merged else "created")


@router.get("/memory/{memory_id}/edit")
def show_edit_form(request: Request, context: Context, memory_id: str) -> Response:
    """Show the form of one memory."""
    memory = _get_editable(context, memory_id)
    return _render_edit_form(request, context, memory, Form(_to_form(memory)))


@router.post("/memory/{memory_id}/edit")
def update_memory(request: Request, context: Context, memory_id: str, form: PostedForm) -> Response:
    """Save the changed fields. If the text was changed meanwhile, show both texts instead."""
    memory = _get_editable(context, memory_id)
    try:
        changes = _find_changes(form, memory)
        if changes:
            expected_hash = form.get("expected_hash") or None
            context.memory.update(memory_id, expected_hash=expected_hash, **changes)
    except Conflict as error:
        memory = _get_editable(context, memory_id)
        return _render_edit_form(request, context, memory, form, error, conflict=True)
    except (InvalidMemory, InvalidRequest) as error:
        return _render_edit_form(request, context, memory, form, error)
    return redirect(memory_url(memory_id), "saved")


@router.post("/memory/{memory_id}/delete", dependencies=CSRF_CHECK)
def delete_memory(context: Context, memory_id: str) -> Response:
    """Move a memory to the trash."""
    context.get_memory(memory_id)
    context.memory.delete(memory_id)
    return redirect(memory_url(memory_id), "deleted")


@router.get("/memory/{memory_id}/erase")
def show_erase_form(request: Request, context: Context, memory_id: str) -> Response:
    """Ask for confirmation before deleting permanently."""
    memory = context.get_memory(memory_id)
    return render(request, "erase.html", memory=memory, unconfirmed=False)


@router.post("/memory/{memory_id}/erase")
def erase_memory(request: Request, context: Context, memory_id: str, form: PostedForm) -> Response:
    """Delete a memory permanently, if confirmed."""
    memory = context.get_memory(memory_id)
    if not form.is_checked("confirm"):
        return render(request, "erase.html", 422, memory=memory, unconfirmed=True)
    context.memory.delete(memory_id, hard=True)
    return redirect("/trash", "erased")


@router.post("/memory/{memory_id}/restore", dependencies=CSRF_CHECK)
def restore_memory(context: Context, memory_id: str) -> Response:
    """Restore a memory from the trash or the archive."""
    context.memory.restore(memory_id)
    return redirect(memory_url(memory_id), "restored")


@router.post("/memory/{memory_id}/salience")
@router.post("/memory/{memory_id}/weigh")
def change_salience(context: Context, memory_id: str, form: PostedForm) -> Response:
    """Reinforce or de-emphasize a memory. `/weigh` is the address in earlier versions."""
    if "weaker" in (form.get("change"), form.get("way")):
        context.memory.deemphasize(memory_id)
        return redirect(memory_url(memory_id), "deemphasized")
    context.memory.reinforce(memory_id)
    return redirect(memory_url(memory_id), "reinforced")


@router.post("/memory/{memory_id}/unmerge", dependencies=CSRF_CHECK)
def unmerge_memory(context: Context, memory_id: str) -> Response:
    """Restore a merged text as a memory of its own."""
    return redirect(memory_url(context.memory.unmerge(memory_id)), "unmerged")


def _get_editable(context: PageContext, memory_id: str) -> Memory:
    memory = context.get_memory(memory_id)
    if not context.is_live(memory):
        reason = "is in the trash or the archive; restore it first"
        raise InvalidRequest("id", memory_id, reason)
    return memory


def _to_form(memory: Memory) -> dict[str, str]:
    """Return a memory's fields as the form shows them."""
    shown = {}
    for name, field in _FORM_FIELDS.items():
        value = getattr(memory, name)
        match field.value_type:
            case ValueType.FLAG:
                shown[name] = "yes" if value else ""
            case ValueType.SHARE:
                shown[name] = f"{value:g}"
            case ValueType.LIST:
                shown[name] = ", ".join(value)
            case _:
                shown[name] = str(value)
    return shown


def _parse_value(form: Form, field: Field) -> Any:
    """Return the value of a form field. Raises InvalidMemory."""
    line = form.line(field.name)
    match field.value_type:
        case ValueType.FLAG:
            return form.is_checked(field.name)
        case ValueType.SHARE:
            try:
                return float(line) if line else field.default
            except ValueError:
                reason = "must be a number between 0 and 1"
                raise InvalidMemory(field.name, line, reason) from None
        case ValueType.LIST:
            return tuple(word.strip() for word in line.split(",") if word.strip())
        case _:
            return line


def _find_changes(form: Form, memory: Memory) -> UpdateOptions:
    """Return the fields that differ from what the form showed, from its `was_` fields.

    A field that someone else changed meanwhile is left alone unless this form changes it too.
    """
    changes: UpdateOptions = {}
    for name, field in _FORM_FIELDS.items():
        if name in ("content", "project"):
            continue
        value = _parse_value(form, field)
        was = f"was_{name}"
        is_changed = form.text(name) != form.text(was)
        if is_changed or (name in form and was not in form):
            changes[name] = value  # type: ignore[literal-required]
    if "content" in form and form.text("content") != memory.content.replace("\r\n", "\n"):
        changes["content"] = form.text("content")
    return changes


def _render_new_form(
    request: Request,
    context: PageContext,
    form: Form,
    old: Memory | None,
    error: MuistiError | None = None,
) -> Response:
    return render(
        request,
        "new.html",
        error.status if error else 200,
        form=form,
        kinds=context.kinds(),
        projects=context.projects(),
        old=old,
        error=to_sentence(error) if error else "",
    )


def _render_edit_form(
    request: Request,
    context: PageContext,
    memory: Memory,
    form: Form,
    error: MuistiError | None = None,
    *,
    conflict: bool = False,
) -> Response:
    """Render the form. After a conflict it keeps the user's text; saving it again wins."""
    is_current = conflict or error is None
    if is_current:
        was, expected_hash = _to_form(memory), memory.content_hash
    else:
        was = {name: form.get(f"was_{name}", "") for name in FORM_NAMES}
        expected_hash = form.get("expected_hash", "")
    return render(
        request,
        "edit.html",
        error.status if error else 200,
        memory=memory,
        form=form,
        was=was,
        expected_hash=expected_hash,
        kinds=context.kinds(),
        conflict=conflict,
        error=to_sentence(error) if error else "",
    )
