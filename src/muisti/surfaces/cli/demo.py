"""`muisti demo`: a tour on a vault that is thrown away."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

import click

from muisti.engine import Muisti
from muisti.model import SearchResult

_SAVED: tuple[dict[str, str], ...] = (
    {
        "content": "We chose PostgreSQL as our database because of its JSON support.",
        "kind": "decision",
        "project": "shop",
    },
    {
        "content": "Fixed the login bug: the session cookie was not renewed after a password change.",
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
@click.option("--keep", is_flag=True, help="Leave the vault there to look at.")
def demo(keep: bool) -> None:
    """A tour: save, search, keep order, edit by hand, lose the index, get it back."""
    folder = Path(tempfile.mkdtemp(prefix="muisti-demo-"))
    try:
        _tour(folder / "vault")
    finally:
        if keep:
            click.echo(f"\nThe vault is still there: {folder / 'vault'}")
        else:
            shutil.rmtree(folder)
            click.echo("\nThe demo vault has been removed; nothing is left behind.")


def _tour(path: Path) -> None:
    with Muisti.open(path) as memory:
        _step("1", "Remember a few things: each becomes a Markdown file")
        for item in _SAVED:
            memory.save(item["content"], **{k: v for k, v in item.items() if k != "content"})  # type: ignore[arg-type]
        for file in sorted(path.rglob("*.md")):
            click.echo(f"   {file.relative_to(path)}")
        decision = memory.search("database")[:1] or memory.search("PostgreSQL")
        _step("2", "This is one of them, as it is on the disk")
        click.echo(_indented((path / str(decision[0].memory.file_path)).read_text("utf-8")))
        _step(
            "3",
            "Ask in plain words, by meaning, in any language, by a path, with a slip of the pen",
        )
        for question in _QUESTIONS:
            _ask(memory, question)
        _keep_order(memory)
        _edit(memory, path)
        _lose_the_index(memory, path)


def _keep_order(memory: Muisti) -> None:
    _step("4", "Say it again, contradict it, whisper: a memory keeps itself in order")
    again = memory.save("anna prefers short answers, with a code example first")
    click.echo(
        f"   said again      → the same memory, importance {again.importance:g}: {again.content}"
    )
    other = memory.save("The deadline of the relaunch is March 22.")
    known = {link.target for link in other.links}
    click.echo(
        f"   another date    → another memory, which {'contradicts' if known else 'joins'} the first: {other.content}"
    )
    whispered = memory.save("The door code is <private>4711</private>, ask Anna.")
    click.echo(f"   <private>       → never on the disk: {whispered.content}")
    for target in known:
        old = memory.supersede(target, other.id)
        click.echo(f"   superseded      → steps behind: {old.content}")
    _ask(memory, "when is the relaunch?")


def _edit(memory: Muisti, path: Path) -> None:
    _step("5", "Edit a file with any editor: the edit wins")
    deadline = memory.search("deadline")[0].memory
    file = path / str(deadline.file_path)
    file.write_text(file.read_text("utf-8").replace("March 22", "April 30"), "utf-8")
    click.echo(f"   {file.name}: March 22 → April 30")
    report = memory.sync()
    click.echo(f"   muisti sync: {report.changed} changed")
    _ask(memory, "when is the relaunch in April?")


def _lose_the_index(memory: Muisti, path: Path) -> None:
    _step("6", "Delete the index: the files are the truth, so nothing is lost")
    questions = ("login cookie", "deadline", "PostgreSQL")
    before = [_ids(memory.search(question)) for question in questions]
    memory.flush()
    shutil.rmtree(path / ".muisti")
    click.echo("   rm -r .muisti")
    begun = time.perf_counter()
    memory.reindex()
    click.echo(
        f"   muisti reindex: {memory.get_stats().total_count} memories in {(time.perf_counter() - begun) * 1000:.0f} ms"
    )
    same = before == [_ids(memory.search(question)) for question in questions]
    report = memory.verify(deep=True)
    click.echo(
        f"   same answers as before: {'yes' if same else 'NO'};  muisti verify: {'all agree' if report.ok else report.problems}"
    )
    if not same or not report.ok:
        raise click.ClickException("the demo did not come out as it should; please report this")


def _ask(memory: Muisti, question: str) -> None:
    begun = time.perf_counter()
    found = memory.search(question, limit=1)
    took = (time.perf_counter() - begun) * 1000
    answer = found[0].matched_snippet if found else "nothing"
    score = f"{found[0].score:.2f}" if found else "    "
    click.echo(
        f"   {click.style(question, bold=True)}\n      {score}  {answer}  {click.style(f'({took:.1f} ms)', dim=True)}"
    )


def _ids(results: list[SearchResult]) -> list[str]:
    return [result.memory.id for result in results]


def _step(number: str, what: str) -> None:
    click.echo(f"\n{click.style(number, fg='yellow', bold=True)}  {click.style(what, bold=True)}")


def _indented(text: str) -> str:
    return "\n".join(f"   | {line}" for line in text.rstrip("\n").split("\n"))


COMMANDS = {"demo": demo}
