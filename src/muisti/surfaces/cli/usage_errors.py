"""The message of a wrong call: what is wrong, and what was probably meant."""

from __future__ import annotations

import re

import click

from muisti.text.near_names import suggest_command, suggest_field

_NO_COMMAND = re.compile(r"No such command '(.*)'", re.DOTALL)  # click 8.2 has no class for it
_OPTIONS = {"help": "--help", "version": "--version"}
"""Commands of other programs that are options here."""
_COMMON = ("--json", "--vault")
"""Options of nearly every command, which some type before it."""


def describe_usage_error(error: click.ClickException) -> str:
    """Return the message without its last full stop, and a suggestion or where to look."""
    context = getattr(error, "ctx", None)
    # Click's own suggestions are part of the formatted message.
    is_bad_value = isinstance(error, click.BadParameter)
    message = error.format_message() if is_bad_value else error.message
    message = message.strip().removesuffix(".")
    message = message[:1].lower() + message[1:]
    if context is None or ";" in message:
        return message
    suggestion = ""
    if isinstance(error, click.NoSuchOption):
        suggestion = _suggest_option(error.option_name, context)
    elif named := _NO_COMMAND.match(error.message):
        suggestion = _suggest_command(named[1], context)
    return f"{message}; {suggestion or f'see `{context.command_path} --help`'}"


def _suggest_option(name: str, context: click.Context) -> str:
    known = [
        option
        for parameter in context.command.get_params(context)
        if isinstance(parameter, click.Option) and not parameter.hidden
        for option in (*parameter.opts, *parameter.secondary_opts)
        if option.startswith("--")
    ]
    if name in _COMMON and isinstance(context.command, click.Group):
        return f"{name} goes after the command"
    meant = suggest_field(name, known)
    return f"did you mean {meant}?" if meant else ""


def _suggest_command(name: str, context: click.Context) -> str:
    group = context.command
    assert isinstance(group, click.Group)
    if name in _OPTIONS:
        return f"did you mean `{context.command_path} {_OPTIONS[name]}`?"
    meant = suggest_command(name, group.list_commands(context))
    commands = [f"`{context.command_path} {one}`" for one in meant]
    return f"did you mean {' or '.join(commands)}?" if commands else ""
