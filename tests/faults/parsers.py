"""Every parser and scanner that reads texts of others, with pieces that are hostile to it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from types import ModuleType

from muisti.errors import MuistiError
from muisti.importers import ImportExportFiles, markdown
from muisti.lifecycle import core_memory
from muisti.model import Memory, Sector, Utterance
from muisti.models.embedders import hashing, wordpiece
from muisti.recall import fence, prompt_context, query, snippet, speaker
from muisti.remember import chunk, classify, concepts, derive
from muisti.remember.extract import (
    answers,
    cues,
    llm_response,
    other_languages,
    pronouns,
    rules,
    scoring,
    sentences,
)
from muisti.remember.similarity import contradict, near_duplicate, normal_form, numbers
from muisti.settings import Settings, load_settings
from muisti.storage.clock import SystemClock
from muisti.storage.files import (
    conversations,
    documents,
    file_names,
    frontmatter,
    journal,
    link_codec,
    memory_codec,
    settings_file,
)
from muisti.storage.files.errors import BadFrontMatter
from muisti.storage.files.markdown_codec import MarkdownCodec
from muisti.surfaces.cli import extract as cli_extract
from muisti.surfaces.hooks import events, novelty, relevance, strip_recalled, transcript
from muisti.surfaces.setup import jsontext, tomledit
from muisti.surfaces.web import highlight, versions
from muisti.surfaces.web import markdown as web_markdown
from muisti.text import markdown as text_markdown
from muisti.text import private_tags, secrets, simhash, standing, tokens, wikilinks
from muisti.text import sentences as text_sentences
from muisti.text.redact import redact_text, redact_texts
from muisti.text.secret_formats import PHRASES, TOKENS
from muisti.text.time_expressions import calendar, question, statement
from tests.faults.hostile import SEPARATORS, derive_pieces, list_patterns

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
SETTINGS = Settings()
COMMON = [
    "a",
    " ",
    "\n",
    "a b ",
    "A. ",
    "1.",
    "-",
    "_",
    ".",
    "/",
    '"',
    "\\",
    "<",
    "ä",
    "密",
    "🙂\u200d",
]
MARKUP = ["# a\n", "- a\n", " - ", "> ", "> - ", "```\n", "`", "`a ", "*a **b ", "_a", "[", "[a](", "![", "](",
          "| a |\n", "|-", "\n\n", "    a\n", "<a ", "<!--", "&", "[a]: b\n", "a\n=\n", "1. a\n", "\t", "~~~\n", "***"]  # fmt: skip
YAML = ["a: b\n", "a:\n", "- a\n", "? ", "[", "{", "'", '"', "&a ", "*a ", "!!a ", "|", "a: [b, c]\n", "# c\n",
        "  - ", "a: &a [*a]\n", "---\n", "...\n", "<<: ", "\\u", 'a: "\\x41"\n', "%a\n", "\r\n", "a b: "]  # fmt: skip
JSON = ["[", "{", '{"a":', '"', '"\\', "[1,", '{"a":1}\n', "1", "-", "\\u00", "[]", "nul", " ", "\n", "```json\n[",
        '{"memories":[', '{"content":"a"}\n', '{"type":"user","message":{"content":"a"}}\n', "//", "/*", '{"a":[', "}"]  # fmt: skip
TOML = [
    "a=1\n",
    "a.",
    "[a]\n",
    "[[a]]\n",
    "[",
    "{",
    "a={",
    "'",
    '"""',
    "a=[",
    "# a\n",
    "\n",
    " ",
    "[a.b]\n",
    "a",
    "[a.",
]


@dataclass(frozen=True)
class Parser:
    """A function of a text, the modules whose patterns it uses, and other hostile pieces."""

    name: str
    function: Callable[[str], object]
    modules: tuple[ModuleType, ...] = ()
    pieces: tuple[str, ...] = ()
    largest: int = 64_000

    def list_pieces(self) -> list[str]:
        """Return all hostile pieces, the separators between them in turn."""
        found: list[str] = [*COMMON, *self.pieces]
        for number, pattern in enumerate(list_patterns(self.modules)):
            separator = SEPARATORS[number % len(SEPARATORS)]
            pieces = derive_pieces(pattern.pattern, pattern.flags)
            found += [piece + separator for piece in pieces]
        return list(dict.fromkeys(found))


def list_secret_pieces() -> list[str]:
    """Return hostile pieces from every row of the table of secrets, and from every name."""
    rows = [derive_pieces(row.pattern, row.flags) for row in (*TOKENS, *PHRASES)]
    patterns = [*list_patterns([secrets, private_tags]), private_tags._compile_tag()]
    rows += [derive_pieces(pattern.pattern, pattern.flags) for pattern in patterns]
    words = [word for row in (*TOKENS, *PHRASES) for word in row.words]
    found = [piece + SEPARATORS[n % 4] for row in rows for n, piece in enumerate(row)]
    given = ("=", ": ", " is ", '="', " for a ", "= ", " ")
    found += [name + after for name in secrets.WORDS for after in given]
    found += [word + SEPARATORS[n % 4] for n, word in enumerate(words)]
    found += [a[0] + b[-1] for a, b in pairwise(rows) if a and b]
    return list(dict.fromkeys(found))


def _quietly(function: Callable[[str], object]) -> Callable[[str], None]:
    """Return the function without its errors: an error must not take long either."""

    def call(text: str) -> None:
        with suppress(MuistiError, BadFrontMatter, ValueError, KeyError, RecursionError):
            function(text)

    return call


@cache
def _folder() -> Path:
    folder = tempfile.TemporaryDirectory(prefix="muisti-growth-")
    _folder.keep = folder  # type: ignore[attr-defined]
    return Path(folder.name)


def _write(name: str, text: str) -> Path:
    path = _folder() / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def _read_journal(text: str) -> None:
    _write("vault/journal/2026-03.jsonl", text + "\n")
    journal.FileJournal(_folder() / "vault", SystemClock()).read({})


def _read_conversation(text: str) -> None:
    path = "conversations/one/2026-03-10.jsonl"
    _write(f"vault/{path}", text + "\n")
    conversations.FileConversations(_folder() / "vault", SETTINGS).read(path, None)


def _import(suffix: str, text: str) -> None:
    list(ImportExportFiles(MarkdownCodec(SETTINGS)).load(_write(f"import{suffix}", text)))


def _load_settings(text: str) -> None:
    _write("settings/muisti.toml", text)
    load_settings(_folder() / "settings", environ={})


def _extract(text: str) -> None:
    rules.extract([Utterance(text, "Anna", "user", NOW)])


def _memory(text: str) -> Memory:
    return Memory(
        id="0",
        content=text,
        title=text,
        kind="note",
        sector=Sector.SEMANTIC,
        created_at=NOW,
        updated_at=NOW,
    )


@cache
def _wordpiece() -> wordpiece.WordPiece:
    return wordpiece.load_bert_uncased()


def _split_chunks(text: str) -> None:
    chunk.split_chunks(text, lambda part: max(1, len(part) // 4))


def _parse_front_matter(text: str) -> None:
    memory_codec.parse_memory("a.md", frontmatter.parse(f"---\n{text}\n---\nb\n"), SETTINGS, NOW)


def _read_line(record: str, text: str) -> str:
    return record.replace("TEXT", json.dumps(text)[1:-1])


def _read_transcript(text: str) -> None:
    record = '{"type":"user","message":{"content":"TEXT"}}\n'
    transcript.read_exchanges(str(_write("t.jsonl", text + "\n" + _read_line(record, text))))


def _read_response(text: str) -> None:
    for reply in (text, '{"memories":[{"content":' + text):
        llm_response.parse_response(reply[: llm_response.LONGEST_REPLY])


def _change_settings(text: str) -> None:
    _write("changed/muisti.toml", text)
    settings_file.change_settings(_folder() / "changed", {"workspace": "a"})


CODEC = MarkdownCodec(SETTINGS)
TAGS = ("<private>", "<private ", '<private a="', "</private>", "<pri<private>vate>", "＜private")
FENCES = ("<memory>", "</memory>", "<recalled-memories>", "```memory\n", "<muisti-memory ")
TABLE: tuple[tuple[str, Callable[[str], object], tuple[ModuleType, ...], Iterable[str]], ...] = (
    ("many secrets", lambda t: redact_texts([t[:100]] * (len(t) // 100), SETTINGS), (), TAGS),
    ("private tags", private_tags.remove_private, (private_tags,), TAGS),
    ("redaction", partial(redact_text, settings=SETTINGS), (), TAGS),
    ("front matter", _parse_front_matter, (frontmatter, memory_codec), YAML),
    ("file", lambda t: CODEC.parse_memory("a.md", t, NOW), (frontmatter,), (*YAML, *MARKUP)),
    ("front matter writer", frontmatter.render, (frontmatter,), YAML),
    ("conflict markers", memory_codec.has_conflict_markers, (memory_codec,), ("<<<<<<< ", "=======\n", ">>>>>>> a\n")),
    ("link", lambda t: link_codec.parse_link("a", t, NOW), (link_codec,), ("a ", "BUILDS_ON ")),
    ("slug", file_names.make_slug, (file_names,), MARKUP),
    ("document", documents.split_sections, (documents,), MARKUP),
    ("document head", documents._strip_front_matter, (documents,), YAML),
    ("Markdown blocks", text_markdown.parse_blocks, (text_markdown,), MARKUP),
    ("chunks", _split_chunks, (chunk, text_markdown), MARKUP),
    ("sentences", text_sentences.split_sentences, (text_sentences,), ()),
    ("sentences by line", partial(text_sentences.split_sentences, lines=True, abbreviations=True), (text_sentences,), ("e.g. ", "Dr. ")),
    ("first sentence", text_sentences.get_first_sentence, (text_sentences,), ()),
    ("tokens", tokens.tokenize, (tokens,), ("aB", "a_b", "a/b", "I'm ", "a.b.")),
    ("tokens of a query", partial(tokens.tokenize, query=True), (tokens,), ("aB", "a_b")),
    ("time in a question", lambda t: question.parse_when(t, NOW), (question, calendar), ("last ", "in ", "2026-", "3 days ", "march ", "first week of ", "day before ")),
    ("standing instruction", standing.recognize_standing, (standing,), ("always ", "use a ", "all ")),
    ("time in a statement", lambda t: statement.resolve_dates(t, NOW), (statement, calendar), ("last ", "in 3 ", "2026-", "yesterday ", "next ")),
    ("mention of time", calendar.may_mention_time, (calendar,), ("last ", "in ")),
    ("wordpiece", lambda t: _wordpiece().count(t), (wordpiece,), ("##a", "aé", "e\u0301")),
    ("hashing embedder", lambda t: hashing.HashingEmbedder().embed_query(t), (hashing,), ()),
    ("simhash", simhash.simhash, (simhash,), ()),
    ("normal form", normal_form.normalize, (normal_form, numbers), ("1,", "1.0.", "1e", "$1 ", "don't ", "a-b-", "(a")),
    ("near duplicate", lambda t: near_duplicate.compare(t, t + " not"), (near_duplicate, normal_form), ("1 ", "not ")),
    ("contradiction", lambda t: contradict.find_contradiction(t, t + " not"), (contradict,), ("is ", "is not ")),
    ("content hash", derive.hash_content, (derive,), ()),
    ("title", derive.derive_title, (derive,), MARKUP),
    ("concepts", concepts.extract_concepts, (concepts,), MARKUP),
    ("kind", classify.classify_kind, (classify,), ("fixed ", "add ")),
    ("sector", classify.classify_sector, (classify,), ("feel ", "how to ")),
    ("extraction rules", _extract, (rules, cues, scoring), ("I decided ", "I am ", "I like a, ", "We use ")),
    ("extraction sentences", sentences.read_sentences, (sentences,), ("I'm ", "u r ")),
    ("shorthand", sentences.expand_shorthand, (sentences,), ("I'm ", "u r ")),
    ("pronouns", lambda t: pronouns.resolve_pronouns(t, "Anna", "Bob"), (pronouns,), ("I am ", '"I ', "you ", "my ")),
    ("whole sentence", pronouns.complete_sentence, (pronouns,), ("Am ", "and ")),
    ("answers", lambda t: answers.restate_answer(t + "?", t, speaker="Anna"), (answers,), ("What is ", "Do you ")),
    ("cues", scoring.find_cues, (cues, scoring), ("I decided ", "always ")),
    ("other languages", other_languages.score_other_languages, (other_languages,), ("ich bin ", "мне ")),
    ("model response", _read_response, (llm_response,), (*JSON, "<think>", "</think>", "```")),
    ("query", lambda t: query.split_query(query.clean_query(t)), (query,), ()),
    ("query time", lambda t: query.parse_when(t, NOW), (), ("last ", "in march ")),
    ("spelling of a query", query.spell_words, (query,), ()),
    ("snippet", lambda t: snippet.make_snippet(t, frozenset({"a"})), (), MARKUP),
    ("speaker", speaker.find_speaker, (speaker,), ("A: ", "Anna ")),
    ("names", lambda t: speaker.remove_names(t, ["Anna", "a"]), (speaker,), ("Anna ",)),
    ("fence", lambda t: fence.fence_memory(_memory(t)), (fence,), FENCES),
    ("prompt context", lambda t: prompt_context.format_list([_memory(t)], NOW), (prompt_context,), FENCES),
    ("recalled text", strip_recalled.strip_recalled, (strip_recalled,), FENCES),
    ("known sentences", lambda t: novelty.remove_known(t, [t[:1000]], 0.5), (novelty,), ("A b ", "a/b.")),
    ("prompt", relevance.extract_text, (relevance,), ("<system-reminder>", "@a ", "```\n")),
    ("command", relevance.is_command, (relevance,), ("/a ",)),
    ("question", relevance.is_question, (relevance,), ("? ", "what ")),
    ("session ID", events.clean_session_id, (events,), ("..", "-", "/")),
    ("hook input", lambda t: events.parse_call("Stop", t.encode()), (events,), JSON),
    ("agent transcript", _read_transcript, (transcript,), (*JSON, "<system-reminder>", "<command-name>")),
    ("transcript", cli_extract.parse_transcript, (cli_extract,), ("A: b\n", "a\n", *JSON)),
    ("JSON with comments", lambda t: jsontext.parse(t, jsontext.Grammar(comments=True)), (jsontext,), JSON),
    ("JSON of an agent", jsontext.parse, (jsontext,), JSON),
    ("TOML of an agent", lambda t: tomledit.add_table(t, ["a", "b"], {"c": "d"}), (tomledit,), TOML),
    ("settings", _load_settings, (), TOML),
    ("changed settings", _change_settings, (settings_file,), TOML),
    ("journal", _read_journal, (journal,), JSON),
    ("conversation", _read_conversation, (), JSON),
    ("wikilinks", wikilinks.find_wikilinks, (wikilinks,), (*MARKUP, "[[a]]", "[[", "]]")),
    ("tags", wikilinks.find_tags, (wikilinks,), (*MARKUP, "#a ", "#", "a://")),
    ("links to notes", wikilinks.find_note_links, (wikilinks,), (*MARKUP, "](a.md)")),
    ("import of JSON", partial(_import, ".json"), (), JSON),
    ("import of JSON lines", partial(_import, ".jsonl"), (), JSON),
    ("import of Markdown", partial(_import, ".md"), (markdown,), (*YAML, "<!-- muisti memory, 1 bytes -->\na")),
    ("core memory file", core_memory.parse_entries, (core_memory,), ("- a: b\n", "a: b\n", "**a**: ", "# a\n")),
    ("page Markdown", web_markdown.render_markdown, (web_markdown,), MARKUP),
    ("page text", highlight.strip_markdown, (highlight,), MARKUP),
    ("page marks", lambda t: highlight.highlight(t, t[:50]), (highlight,), MARKUP),
    ("page differences", lambda t: list(versions.diff(t, t + "b")), (versions,), ("a\nb\n",)),
)  # fmt: skip
"""Name, function, modules whose patterns it uses, and other pieces."""
PARSERS = [
    Parser(name, _quietly(function), modules, tuple(pieces))
    for name, function, modules, pieces in TABLE
]
"""All parsers but the scanner of secrets, which has its own list of pieces."""
