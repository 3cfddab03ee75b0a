"""`muisti tenants`: the tenants of a PostgreSQL database, for its administrator."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from muisti.errors import InvalidRequest
from muisti.locations import find_database
from muisti.model.tenants import SCOPES, Limits
from muisti.surfaces.cli import render
from muisti.surfaces.cli.shared import confirm_deletion, note, print_json, progress_bar

if TYPE_CHECKING:
    from muisti.model.tenants import Tenant, Token
    from muisti.storage.postgres.tenants import TenantAdministration

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
UNLIMITED = "none"
STORE_HELP = (
    "Database, as the role that owns its schema: postgresql://owner@host/database. "
    "Default: MUISTI_STORE."
)


class Amount(click.ParamType[Any]):
    """A number, with K, M, G or T after it, or `none`."""

    name = "amount"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | str:
        """Return the number or `none`, or fail with a usage error."""
        if isinstance(value, int) or value == UNLIMITED:
            return UNLIMITED if value == UNLIMITED else int(value)
        if not (parts := re.fullmatch(r"([0-9]{1,15})([KMGT]?)B?", str(value).upper(), re.ASCII)):
            self.fail(f"{value!r} is not a number such as 5000 or 2G, or `none`", param, ctx)
        return int(parts[1]) * _UNITS[parts[2]]


def _store_options(function: Any) -> Any:
    """Add `--store` and `--json`."""
    as_json = click.option("--json", "as_json", is_flag=True, help="Output JSON.")
    store = click.option("--store", "--vault", "store", metavar="ADDRESS", help=STORE_HELP)
    return store(as_json(function))


def _limit_options(function: Any) -> Any:
    """Add an option for each limit."""
    for name, what in (
        ("requests", "Maximum requests per minute"),
        ("bytes", "Maximum size, such as 2G"),
        ("memories", "Maximum number of memories"),
    ):
        text = f"{what}; `none` for no limit."
        function = click.option(f"--{name}", type=Amount(), help=text)(function)
    return function


def _open(store: str | None) -> TenantAdministration:
    """Return the administration of a database. Raises InvalidRequest if it is a folder."""
    from muisti.bootstrap_postgres import administer_tenants

    address = find_database(store)
    if address is None:
        reason = "must be an address such as postgresql://owner@host/database"
        raise InvalidRequest("store", store or "", reason)
    return administer_tenants(address)


@click.group()
def tenants() -> None:
    """Manage the tenants of a PostgreSQL database.

    A tenant is a vault with limits and tokens of its own. `muisti serve --tenants` serves all.
    """


@tenants.command()
@click.argument("name")
@_limit_options
@_store_options
def add(name: str, store: str | None, as_json: bool, **limits: Any) -> None:
    """Add a tenant with an empty vault."""
    given = {key: None if value == UNLIMITED else value for key, value in limits.items()}
    tenant = _open(store).add(name, Limits(**given))
    if as_json:
        print_json(tenant)
    else:
        click.echo(f"Added tenant {tenant.name} (number {tenant.number}).")
        note(f"`muisti tenants token add {tenant.name}` makes a token for its clients.")


@tenants.command(name="list")
@_store_options
def list_(store: str | None, as_json: bool) -> None:
    """List all tenants, with what they store."""
    found = _open(store).list_tenants()
    if as_json:
        print_json(found)
    else:
        _print_tenants(found)


@tenants.command()
@click.argument("name")
@_limit_options
@_store_options
def limit(name: str, store: str | None, as_json: bool, **limits: Any) -> None:
    """Change the limits of a tenant; omitted limits are unchanged."""
    administration = _open(store)
    old = administration.get(name).limits
    if all(value is None for value in limits.values()):
        raise InvalidRequest("limit", "", "must be given: --memories, --bytes or --requests")
    values = {
        key: getattr(old, key) if value is None else None if value == UNLIMITED else value
        for key, value in limits.items()
    }
    tenant = administration.set_limits(name, Limits(**values))
    if as_json:
        print_json(tenant)
    else:
        _print_tenants([tenant])


@tenants.command()
@click.argument("name")
@click.option("--yes", "-y", is_flag=True, help="Skip the confirmation.")
@_store_options
def drop(name: str, yes: bool, store: str | None, as_json: bool) -> None:
    """Delete a tenant with its memories, conversations and tokens."""
    administration = _open(store)
    tenant = administration.get(name)
    count = render.format_count(tenant.memories, "memory")
    confirm_deletion(f"tenant {tenant.name} with {count}", "drop", yes=yes)
    rows = administration.drop(name)
    if as_json:
        print_json({"name": name, "number": tenant.number, "rows": rows})
    else:
        click.echo(f"Dropped tenant {name} ({rows:,} rows).")


@tenants.command()
@click.argument("name")
@click.argument("folder")
@_store_options
def export(name: str, folder: str, store: str | None, as_json: bool) -> None:
    """Copy the vault of a tenant into a folder, as `muisti pull` does."""
    from muisti.bootstrap_moving import pull
    from muisti.bootstrap_postgres import name_tenant

    number = _open(store).record_export(name)
    with progress_bar("Exporting", then="Indexing", quiet=as_json) as progress:
        report = pull(name_tenant(find_database(store) or "", number), folder, progress=progress)
    if as_json:
        print_json(report)
    else:
        click.echo(f"Exported {render.format_count(report.files, 'file')} to {folder}.")
        render.print_problems(report.problems)


@tenants.command()
@click.argument("role")
@_store_options
def grant(role: str, store: str | None, as_json: bool) -> None:
    """Let a database role serve the tenants.

    It may read and write rows, owns nothing, and sees only the tenant of its transaction.
    """
    _open(store).grant(role)
    if as_json:
        print_json({"role": role})
    else:
        click.echo(f"{role} can serve the tenants.")


@tenants.command()
@click.argument("name", required=False)
@click.option(
    "--limit",
    "-n",
    "count",
    type=click.IntRange(1, 10_000),
    default=100,
    show_default=True,
    help="Maximum number of entries.",
)
@_store_options
def audit(name: str | None, count: int, store: str | None, as_json: bool) -> None:
    """Show administrative actions, latest first."""
    entries = _open(store).audit(name, count)
    if as_json:
        print_json(entries)
        return
    table = render.new_table("when", "role", "what", "tenant", "details")
    for one in entries:
        details = ", ".join(f"{key} {value}" for key, value in one.details.items() if value)
        values = (_format_time(one.at), one.role, one.act, one.tenant, details)
        table.add_row(*map(render.escape, values))
    render.new_console().print(table)


@tenants.group()
def token() -> None:
    """Manage the tokens that clients of a tenant send."""


@token.command(name="add")
@click.argument("name")
@click.option(
    "--scope",
    type=click.Choice(SCOPES),
    default="write",
    show_default=True,
    help="read: search and read; write: also save, change and delete; admin: also maintenance.",
)
@click.option("--label", default="", help="What the token is for.")
@click.option(
    "--days",
    type=click.FloatRange(0, 36_500, min_open=True),
    help="Days until it expires. Default: never.",
)
@_store_options
def add_token(
    name: str, scope: str, label: str, days: float | None, store: str | None, as_json: bool
) -> None:
    """Create a token. It is shown only once."""
    expires = None if days is None else render.current_time() + timedelta(days=days)
    made = _open(store).add_token(name, scope, label, expires)
    if as_json:
        print_json({"token": made.secret, **{
            field: getattr(made.token, field) for field in ("id", "tenant", "scope", "expires_at")
        }})  # fmt: skip
        return
    click.echo(made.secret)
    until = "" if expires is None else f", until {_format_time(expires)}"
    note(f"Token {made.token.id} of {name} (scope {scope}{until}). It is not shown again.")


@token.command(name="list")
@click.argument("name")
@_store_options
def list_tokens(name: str, store: str | None, as_json: bool) -> None:
    """List the tokens of a tenant, without their secrets."""
    found = _open(store).list_tokens(name)
    if as_json:
        print_json(found)
        return
    table = render.new_table("ID", "scope", "label", "created", "state")
    for one in found:
        values = (one.id, one.scope, one.label, _format_time(one.created_at), _describe_state(one))
        table.add_row(*map(render.escape, values))
    render.new_console().print(table)


@token.command()
@click.argument("token_id", metavar="ID")
@_store_options
def revoke(token_id: str, store: str | None, as_json: bool) -> None:
    """Revoke a token. It is refused from now on."""
    revoked = _open(store).revoke_token(token_id)
    if as_json:
        print_json(revoked)
    else:
        click.echo(f"Revoked token {revoked.id} of {revoked.tenant}.")


def _describe_state(one: Token) -> str:
    if one.revoked_at is not None:
        return f"revoked {_format_time(one.revoked_at)}"
    if one.expires_at is None:
        return "valid"
    word = "expired" if one.expires_at <= render.current_time() else "valid until"
    return f"{word} {_format_time(one.expires_at)}"


def _format_time(at: datetime) -> str:
    return at.astimezone().strftime("%Y-%m-%d %H:%M")


def _print_tenants(found: list[Tenant]) -> None:
    """Print a table; a limit is shown after a slash."""
    table = render.new_table("tenant", "number", "memories", "bytes", "requests/min", "tokens")
    for one in found:
        limits = one.limits
        pairs = ((one.memories, limits.memories), (one.bytes, limits.bytes))
        used = [f"{n:,}" if most is None else f"{n:,} / {most:,}" for n, most in pairs]
        rate = "" if limits.requests is None else f"{limits.requests:,}"
        table.add_row(render.escape(one.name), str(one.number), *used, rate, str(one.tokens))
    render.new_console().print(table)


COMMANDS = {"tenants": tenants}
