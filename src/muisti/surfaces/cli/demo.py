"""`muisti demo`: a tour on a temporary vault."""

from __future__ import annotations

import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import click

from muisti.engine import Muisti
from muisti.errors import MuistiError
from muisti.model import SearchResult
from muisti.surfaces.cli.render import format_count
from muisti.trust import withdraw_consent

_SAVED: tuple[dict[str, str], ...] = (
    {
        "content": "We chose PostgreSQL as our database because of its JSON support.",
        "kind": "decision",
        "project": "shop",
    },
    {
        "content": "Fixed the login bug: the session cookie was not renewed "
        "after a password change.",
        "project": "shop",
    },
    {"content": "Anna prefers short answers with a code example first."},
    {"content": "The deadline of the relaunch is March 15."},
    {"content": "Deploy: run `make release`, wait for the smoke test, then tell the #ops channel."},
    {"content": "认证模块在 src/auth/index.ts 里。"},
    {"content": "Arkkitehtuuripäätös: hakuindeksi voidaan aina rakentaa uudelleen tiedostoista."},
)
_QUESTIONS = (
    "which database did we choose?",
    "what do I do to publish the software?",
    "login cookie",
    "认证",
    "päätös",
    "auth/index.ts",
    "postgers",
)


@click.command()
@click.option("--keep", is_flag=True, help="Keep the vault.")
def demo(keep: bool) -> None:
    """Take a tour on a temporary vault."""
    folder = Path(tempfile.mkdtemp(prefix="muisti-demo-"))
    root = folder / "vault"
    try:
        with Muisti.open(root) as memory:
            _show_saving(memory, root)
            _print_step(3, "Search by meaning, by keyword, in any language, by path, with a typo")
            for question in _QUESTIONS:
                _print_answer(memory, question)
            _show_duplicates(memory)
            _show_editing(memory, root)
            _show_reindexing(memory, root)
    finally:
        if keep:
            click.echo(f"\nThe demo vault is in {root}")
        else:
            shutil.rmtree(folder)
            with suppress(MuistiError):
                withdraw_consent(root)
            click.echo("\nThe demo vault has been deleted.")


def _show_saving(memory: Muisti, root: Path) -> None:
    _print_step(1, "Save a few memories: each is a Markdown file")
    for fields in _SAVED:
        memory.save(**fields)  # type: ignore[arg-type]
    for file in sorted(root.rglob("*.md")):
        click.echo(f"   {file.relative_to(root)}")
    _print_step(2, "One of these files")
    decision = memory.search("PostgreSQL")[0].memory
    for line in (root / str(decision.file_path)).read_text("utf-8").splitlines():
        click.echo(f"   | {line}")


def _show_duplicates(memory: Muisti) -> None:
    _print_step(4, "Duplicates are merged, contradictions found, private text is never stored")
    again = memory.save("anna prefers short answers, with a code example first")
    click.echo(f"   duplicate   → merged, importance {again.importance:g}: {again.content}")
    other = memory.save("The deadline of the relaunch is March 22.")
    contradicted = {link.target for link in other.links}
    relation = "contradicts the first" if contradicted else "saved beside the first"
    click.echo(f"   other date  → new memory, {relation}: {other.content}")
    private = memory.save("The door code is <private>4711</private>, ask Anna.")
    click.echo(f"   <private>   → redacted: {private.content}")
    for target in contradicted:
        old = memory.supersede(target, other.id)
        click.echo(f"   replaced    → outdated, ranks below the new one: {old.content}")
    _print_answer(memory, "when is the relaunch?")


def _show_editing(memory: Muisti, root: Path) -> None:
    _print_step(5, "Edit a file in any editor: your edit wins")
    deadline = memory.search("deadline")[0].memory
    file = root / str(deadline.file_path)
    file.write_text(file.read_text("utf-8").replace("March 22", "April 30"), "utf-8")
    click.echo(f"   {file.name}: March 22 → April 30")
    report = memory.sync()
    click.echo(f"   muisti sync: {report.changed} changed")
    _print_answer(memory, "when is the relaunch in April?")


def _show_reindexing(memory: Muisti, root: Path) -> None:
    _print_step(6, "Delete the index: the files are the source of truth, nothing is lost")
    questions = ("login cookie", "deadline", "PostgreSQL")
    before = [_list_ids(memory.search(question)) for question in questions]
    memory.flush()
    shutil.rmtree(root / ".muisti")
    click.echo("   rm -r .muisti")
    started = time.perf_counter()
    memory.reindex()
    took = (time.perf_counter() - started) * 1000
    number = format_count(memory.get_stats().total_count, "memory")
    click.echo(f"   muisti reindex: {number} in {took:.0f} ms")
    is_same = before == [_list_ids(memory.search(question)) for question in questions]
    report = memory.verify(deep=True)
    verdict = "no problems" if report.ok else report.problems
    click.echo(
        f"   same results as before: {'yes' if is_same else 'NO'};  muisti verify: {verdict}"
    )
    if not is_same or not report.ok:
        raise click.ClickException("the demo failed; please report this")


def _print_answer(memory: Muisti, question: str) -> None:
    started = time.perf_counter()
    results = memory.search(question, limit=1)
    took = click.style(f"({(time.perf_counter() - started) * 1000:.1f} ms)", dim=True)
    click.echo(f"   {click.style(question, bold=True)}")
    if results:
        click.echo(f"      {results[0].score:.2f}  {results[0].matched_snippet}  {took}")
    else:
        click.echo(f"      no matches  {took}")


def _list_ids(results: list[SearchResult]) -> list[str]:
    return [result.memory.id for result in results]


def _print_step(number: int, title: str) -> None:
    label = click.style(str(number), fg="yellow", bold=True)
    click.echo(f"\n{label}  {click.style(title, bold=True)}")


COMMANDS = {"demo": demo}
