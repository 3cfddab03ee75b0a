"""The public question sets that search quality is measured on, each read into the same shape.

Nothing of the data is in this repository. `../shared/data` beside the repository is looked at, or
the folder that the caller names; `HOW_TO_GET` says where the originals are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

DEFAULT_FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data"
HOW_TO_GET: Mapping[str, str] = {
    "locomo_dev.json": "5 of the 10 conversations of data/locomo10.json, https://github.com/snap-research/locomo (CC BY-NC 4.0)",
    "longmemeval_dev.json": "256 of the 500 questions of longmemeval_oracle, https://github.com/xiaowu0162/LongMemEval (MIT)",
    "xquad.en.json": "https://github.com/google-deepmind/xquad (xquad.en.json; CC BY-SA 4.0)",
    "xquad.ru.json": "https://github.com/google-deepmind/xquad (xquad.ru.json; CC BY-SA 4.0)",
    "xquad.zh.json": "https://github.com/google-deepmind/xquad (xquad.zh.json; CC BY-SA 4.0)",
}


@dataclass(frozen=True)
class Document:
    """One text to remember: a turn of a talk, or a paragraph."""

    key: str
    group: str
    """The session that it belongs to; for paragraphs their own key."""
    text: str
    at: datetime


@dataclass(frozen=True)
class Question:
    text: str
    gold: frozenset[str]
    """Keys of the documents that answer it."""
    at: datetime


@dataclass(frozen=True)
class Store:
    """What belongs in one vault, with the questions asked of it."""

    name: str
    documents: tuple[Document, ...]
    questions: tuple[Question, ...]


def missing(folder: Path, names: Iterable[str]) -> list[str]:
    """A line for each file that is not there: what it is and where it comes from."""
    return [
        f"{folder / name} is missing: {HOW_TO_GET[name]}"
        for name in names
        if not (folder / name).is_file()
    ]


def locomo(folder: Path) -> list[Store]:
    """One store for each conversation; a document is a turn with its speaker and its picture's
    caption.
    """
    return [
        _conversation(str(item["sample_id"]), item) for item in _load(folder / "locomo_dev.json")
    ]


def _conversation(name: str, item: dict[str, Any]) -> Store:
    talk = item["conversation"]
    documents = []
    for key in (
        k
        for k, turns in talk.items()
        if re.fullmatch(r"session_\d+", k) and isinstance(turns, list)
    ):
        began = datetime.strptime(talk[f"{key}_date_time"], "%I:%M %p on %d %B, %Y").replace(
            tzinfo=UTC
        )
        for place, turn in enumerate(talk[key]):
            caption = f" [image: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            text = f"{turn['speaker']}: {turn['text']}{caption}"
            documents.append(
                Document(_turn_ids(turn["dia_id"])[0], key, text, began + timedelta(seconds=place))
            )
    known = {document.key for document in documents}
    asked = max(document.at for document in documents) + timedelta(days=1)
    questions = []
    for qa in item["qa"]:
        gold = (
            frozenset(turn for entry in qa.get("evidence") or () for turn in _turn_ids(entry))
            & known
        )
        if gold:
            questions.append(Question(qa["question"], gold, asked))
    return Store(name, tuple(documents), tuple(questions))


def _turn_ids(text: str) -> list[str]:
    """`D1:05`, `D:1:5` and several in one string, all as `D1:5`."""
    return [f"D{int(session)}:{int(turn)}" for session, turn in re.findall(r"D:?(\d+):(\d+)", text)]


def longmemeval(folder: Path) -> Store:
    """Every session of every question in one store; a document is a turn of either side."""
    documents: dict[str, Document] = {}
    questions = []
    for item in _load(folder / "longmemeval_dev.json"):
        gold = set()
        for session, date, turns in zip(
            item["haystack_session_ids"],
            item["haystack_dates"],
            item["haystack_sessions"],
            strict=True,
        ):
            began = _moment(date)
            for place, turn in enumerate(turns):
                key = f"{session}:{place}"
                text = f"{turn['role']}: {turn['content']}"
                documents.setdefault(
                    key, Document(key, session, text, began + timedelta(seconds=place))
                )
                if turn.get("has_answer"):
                    gold.add(key)
        if gold and not item["question_id"].endswith("_abs"):
            questions.append(
                Question(item["question"], frozenset(gold), _moment(item["question_date"]))
            )
    return Store("pooled", tuple(documents.values()), tuple(questions))


def _moment(text: str) -> datetime:
    return datetime.strptime(re.sub(r" \(\w+\)", "", text), "%Y/%m/%d %H:%M").replace(tzinfo=UTC)


def xquad(folder: Path, language: str) -> Store:
    """One document for each paragraph."""
    at = datetime(2025, 1, 1, tzinfo=UTC)
    documents: list[Document] = []
    questions: list[Question] = []
    for article in _load(folder / f"xquad.{language}.json")["data"]:
        for paragraph in article["paragraphs"]:
            key = f"p{len(documents)}"
            documents.append(
                Document(key, key, paragraph["context"], at + timedelta(minutes=len(documents)))
            )
            questions += [
                Question(qa["question"], frozenset((key,)), at + timedelta(days=30))
                for qa in paragraph["qas"]
            ]
    return Store(language, tuple(documents), tuple(questions))


def xquads(folder: Path, language: str) -> list[Store]:
    """The same as a list, like the others."""
    return [xquad(folder, language)]


def _load(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))
