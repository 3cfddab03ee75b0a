"""Writing and changing memories. A change that meets another's is shown beside it, and nothing is lost."""

from __future__ import annotations

from typing import Any, cast

from fastapi import APIRouter, Request, Response

from muisti.errors import Conflict, InvalidMemory, InvalidRequest, MuistiError
from muisti.model import Memory
from muisti.model.fields import Field, ValueType
from muisti.model.memory import FIELDS
from muisti.remember.options import SaveOptions, UpdateOptions
from muisti.surfaces.web.csrf import GUARDED, Form, Posted
from muisti.surfaces.web.page_context import At, PageContext
from muisti.surfaces.web.render import PageRoute, go, href, sentence, show

router = APIRouter(route_class=PageRoute)
SHOWN = ("content", "title", "kind", "importance", "keywords", "pinned", "trusted", "project")
"""The fields of the form."""
_FORM = {field.name: field for field in FIELDS if field.name in SHOWN}


@router.get("/new")
def new(request: Request, desk: At, replaces: str = "") -> Response:
    """An empty form; or one with the text of the memory that the new one will replace."""
    old = desk.memory.get(replaces) if replaces else None
    filled = Form(_filled(old) if old else {"trusted": "yes", "importance": "0.5", "kind": ""})
    return _new_form(request, desk, filled, old)


@router.post("/new")
def remember(request: Request, desk: At, form: Posted) -> Response:
    """Keep a new memory, and let it replace another if that was said."""
    old = desk.existing(form["replaces"]) if form.get("replaces") else None
    before = desk.memory.get_stats().total_count
    try:
        saved = desk.memory.save(form.text("content"), **_given(form))
        if old is not None and saved.id != old.id:
            desk.memory.supersede(old.id, saved.id)
    except (InvalidMemory, InvalidRequest) as error:
        return _new_form(request, desk, form, old, error)
    same = desk.memory.get_stats().total_count == before
    return go(href(saved), "merged" if same else "remembered")


@router.get("/memory/{memory_id}/edit")
def edit(request: Request, desk: At, memory_id: str) -> Response:
    """The form of one memory."""
    found = _changeable(desk, memory_id)
    return _edit_form(request, desk, found, Form(_filled(found)))


@router.post("/memory/{memory_id}/edit")
def update(request: Request, desk: At, memory_id: str, form: Posted) -> Response:
    """Change what was changed in the form. Raises Conflict if somebody else changed the text meanwhile: both are shown."""
    found = _changeable(desk, memory_id)
    try:
        changes = _changes(form, found)
        if changes:
            desk.memory.update(
                memory_id, expected_hash=form.get("expected_hash") or None, **changes
            )
    except Conflict as error:
        return _edit_form(request, desk, _changeable(desk, memory_id), form, error, conflict=True)
    except (InvalidMemory, InvalidRequest) as error:
        return _edit_form(request, desk, found, form, error)
    return go(href(memory_id), "saved")


@router.post("/memory/{memory_id}/delete", dependencies=GUARDED)
def delete(desk: At, memory_id: str) -> Response:
    """To the trash, from where it can be brought back."""
    desk.existing(memory_id)
    desk.memory.delete(memory_id)
    return go(href(memory_id), "deleted")


@router.get("/memory/{memory_id}/erase")
def ask(request: Request, desk: At, memory_id: str) -> Response:
    """What would be lost for good."""
    return show(request, "erase.html", memory=desk.existing(memory_id), forgot=False)


@router.post("/memory/{memory_id}/erase")
def erase(request: Request, desk: At, memory_id: str, form: Posted) -> Response:
    """Leave no byte, if that was confirmed."""
    found = desk.existing(memory_id)
    if not form.ticked("confirm"):
        return show(request, "erase.html", 422, memory=found, forgot=True)
    desk.memory.delete(memory_id, hard=True)
    return go("/trash", "erased")


@router.post("/memory/{memory_id}/restore", dependencies=GUARDED)
def restore(desk: At, memory_id: str) -> Response:
    """Back from the trash or the archive."""
    desk.memory.restore(memory_id)
    return go(href(memory_id), "restored")


@router.post("/memory/{memory_id}/weigh")
def weigh(desk: At, memory_id: str, form: Posted) -> Response:
    """Make it stronger or weaker."""
    stronger = form.get("way") != "weaker"
    (desk.memory.reinforce if stronger else desk.memory.deemphasize)(memory_id)
    return go(href(memory_id), "reinforced" if stronger else "weakened")


@router.post("/memory/{memory_id}/unmerge", dependencies=GUARDED)
def unmerge(desk: At, memory_id: str) -> Response:
    """Make a text that was merged into another memory one of its own again."""
    return go(href(desk.memory.unmerge(memory_id)), "unmerged")


# -- Forms


def _changeable(desk: PageContext, memory_id: str) -> Memory:
    found = desk.existing(memory_id)
    if not desk.is_live(found):
        raise InvalidRequest(
            "id", memory_id, "it is in the trash or the archive; bring it back first"
        )
    return found


def _filled(found: Memory) -> dict[str, str]:
    """A form with what a memory holds."""
    return {name: _shown(field, getattr(found, name)) for name, field in _FORM.items()}


def _shown(field: Field, value: Any) -> str:
    """A value as its input has it."""
    match field.value_type:
        case ValueType.FLAG:
            return "yes" if value else ""
        case ValueType.SHARE:
            return f"{value:g}"
        case ValueType.LIST:
            return ", ".join(value)
        case _:
            return str(value)


def _value(form: Form, field: Field) -> Any:
    """What an input says. Raises InvalidMemory."""
    line = form.line(field.name)
    match field.value_type:
        case ValueType.FLAG:
            return form.ticked(field.name)
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


def _given(form: Form) -> SaveOptions:
    given = {name: _value(form, field) for name, field in _FORM.items() if name != "content"}
    return cast(
        "SaveOptions", {name: None if value == "" else value for name, value in given.items()}
    )


def _changes(form: Form, found: Memory) -> UpdateOptions:
    """Only what differs from what the form showed at first: fields that somebody else changed meanwhile stay theirs."""
    now = {
        name: _value(form, field)
        for name, field in _FORM.items()
        if name not in ("content", "project")
    }
    at_first = Form(
        {
            name.removeprefix("was_"): value
            for name, value in form.items()
            if name.startswith("was_")
        }
    )
    changes: UpdateOptions = {}
    for name, value in now.items():
        if name in form or name in at_first:
            raw = (form.text(name), at_first.text(name))
            if raw[0] != raw[1] or name not in at_first:
                changes[name] = value  # type: ignore[literal-required]
    if "content" in form and form.text("content") != found.content.replace("\r\n", "\n"):
        changes["content"] = form.text("content")
    return changes


def _new_form(
    request: Request,
    desk: PageContext,
    form: Form,
    old: Memory | None,
    error: MuistiError | None = None,
) -> Response:
    return show(
        request,
        "new.html",
        error.status if error else 200,
        form=form,
        kinds=desk.kinds(),
        projects=desk.projects(),
        old=old,
        error=sentence(error) if error else "",
    )


def _edit_form(
    request: Request,
    desk: PageContext,
    found: Memory,
    form: Form,
    error: MuistiError | None = None,
    *,
    conflict: bool = False,
) -> Response:
    """After a conflict the form keeps what was written, and goes by the memory as it is now: sent again, it wins."""
    first = conflict or error is None
    was = _filled(found) if first else {name: form.get(f"was_{name}", "") for name in SHOWN}
    expected = found.content_hash if first else form.get("expected_hash", "")
    return show(
        request,
        "edit.html",
        error.status if error else 200,
        memory=found,
        form=form,
        was=was,
        expected=expected,
        kinds=desk.kinds(),
        conflict=conflict,
        error=sentence(error) if error else "",
    )
