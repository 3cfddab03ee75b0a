"""Language models on a server: what they are asked, in which forms, and what becomes of keys and
addresses.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterator

import pytest

from muisti.errors import ExtractorMisbehaved, ExtractorProblem, ExtractorUnavailable, SettingsError
from muisti.models.http.breaker import Breaker
from muisti.models.http.purpose import EXTRACTOR
from muisti.models.language.anthropic import AnthropicLanguageModel
from muisti.models.language.factory import RULES, check_settings, make_language_model
from muisti.models.language.guarded import GuardedLanguageModel
from muisti.models.language.ollama import OllamaLanguageModel
from muisti.models.language.openai import OpenAILanguageModel
from muisti.models.language.registry import LANGUAGE_MODELS
from muisti.models.language.remote import RemoteLanguageModel
from muisti.settings import Settings, load_settings
from tests.chat_server import ChatServer, Script, broken_off, endless, said, saying, serving, silent

KEY = "sk-very-secret-0123456789"
CLIENTS: dict[str, type[RemoteLanguageModel]] = {
    "openai": OpenAILanguageModel,
    "anthropic": AnthropicLanguageModel,
    "ollama": OllamaLanguageModel,
}
Maker = Callable[..., RemoteLanguageModel]


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with serving() as running:
        yield running


@pytest.fixture(params=CLIENTS)
def make(request: pytest.FixtureRequest, server: ChatServer) -> Iterator[Maker]:
    made: list[RemoteLanguageModel] = []

    def maker(**options: object) -> RemoteLanguageModel:
        made.append(CLIENTS[request.param](server.url, "m", KEY, **{"timeout": 20.0, **options}))
        return made[-1]

    yield maker
    for chat in made:
        chat.close()


def asked(server: ChatServer, chat: RemoteLanguageModel) -> dict[str, object]:
    try:
        assert chat.complete("the task", "the talk") == server.reply
    finally:
        chat.close()
    return server.requests[-1]


# What is asked ------------------------------------------------------------------------------------

TALK = [{"role": "system", "content": "the task"}, {"role": "user", "content": "the talk"}]


def test_how_openai_is_asked(server: ChatServer) -> None:
    assert asked(server, OpenAILanguageModel(f"{server.url}/v1", "gpt-x", KEY)) == {
        "model": "gpt-x",
        "messages": TALK,
        "stream": False,
        "temperature": 0,
        "max_tokens": 4096,
        "response_format": {"type": "json_object"},
    }
    assert server.paths == ["/v1/chat/completions"]
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert server.headers[0]["content-type"] == "application/json"


def test_how_anthropic_is_asked(server: ChatServer) -> None:
    assert asked(server, AnthropicLanguageModel(server.url, "claude-x", KEY)) == {
        "model": "claude-x",
        "max_tokens": 4096,
        "system": "the task",
        "messages": [{"role": "user", "content": "the talk"}],
        "temperature": 0,
    }
    assert server.paths == ["/v1/messages"]
    assert server.headers[0]["x-api-key"] == KEY
    assert server.headers[0]["anthropic-version"] == "2023-06-01"
    assert "authorization" not in server.headers[0]


def test_how_ollama_is_asked(server: ChatServer) -> None:
    body = asked(server, OllamaLanguageModel(server.url, "llama"))
    options = body.pop("options")
    assert body == {
        "model": "llama",
        "messages": TALK,
        "stream": False,
        "format": "json",
        "think": False,
    }
    assert isinstance(options, dict)
    assert (options["temperature"], options["num_predict"]) == (0, 4096)
    assert server.paths == ["/api/chat"]
    assert "authorization" not in server.headers[0]


@pytest.mark.parametrize(
    ("kind", "ending", "path"),
    [
        ("openai", "", "/v1/chat/completions"),
        ("openai", "/", "/v1/chat/completions"),
        ("openai", "/v1/", "/v1/chat/completions"),
        ("openai", "/v1/chat/completions", "/v1/chat/completions"),
        ("openai", "/v1beta/openai", "/v1beta/openai/chat/completions"),
        ("anthropic", "/v1", "/v1/messages"),
        ("anthropic", "/v1/messages/", "/v1/messages"),
        ("anthropic", "/proxy", "/proxy/v1/messages"),
        ("ollama", "/", "/api/chat"),
        ("ollama", "/api", "/api/chat"),
        ("ollama", "/api/chat", "/api/chat"),
    ],
)
def test_where_it_is_asked(server: ChatServer, kind: str, ending: str, path: str) -> None:
    asked(server, CLIENTS[kind](server.url + ending, "m", None))
    assert server.paths == [path]


@pytest.mark.parametrize(
    ("kind", "refusals", "lacks"),
    [
        ("openai", 1, {"response_format"}),
        ("openai", 2, {"temperature", "max_tokens"}),
        ("anthropic", 1, {"temperature"}),
        ("ollama", 1, {"think"}),
    ],
)
@pytest.mark.parametrize("status", [400, 422])
def test_a_form_that_is_refused_is_left_for_good(
    server: ChatServer, kind: str, refusals: int, lacks: set[str], status: int
) -> None:
    chat = CLIENTS[kind](server.url, "m", KEY)
    server.script = [saying("unsupported parameter", status)] * refusals
    full = set(asked(server, chat)) | set(server.requests[0])
    assert lacks <= full - set(server.requests[-1])
    asked(server, chat)
    assert set(server.requests[-1]) == set(server.requests[-2])
    assert len(server.requests) == refusals + 2


def test_a_question_that_is_refused_in_every_form(make: Maker, server: ChatServer) -> None:
    chat = make()
    server.script = [saying("too long", 400)] * 3
    with pytest.raises(
        ExtractorUnavailable,
        match=r"returned 400 \(too long\); check the extractor's url and model",
    ):
        chat.complete("the task", "the talk")
    server.script.clear()
    assert chat.complete("the task", "the talk") == server.reply
    assert set(server.requests[-1]) == set(server.requests[0])


# What is answered ---------------------------------------------------------------------------------


def test_thoughts_are_no_part_of_the_text(server: ChatServer) -> None:
    parts = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "one "},
        {"type": "text", "text": "two"},
    ]
    for chat, answer in (
        (AnthropicLanguageModel(server.url, "m", KEY), {"content": parts}),
        (OpenAILanguageModel(server.url, "m", KEY), {"choices": [{"message": {"content": parts}}]}),
    ):
        server.script = [saying(json.dumps(answer))]
        assert chat.complete("", "") == "one two"
        chat.close()


@pytest.mark.exhaustive(keep=8)
@pytest.mark.parametrize(
    "step",
    [
        said(None),
        said(""),
        said("  \n"),
        said(7),
        said(["x"]),
        said([{"type": "text"}]),
        saying("{}"),
        saying("[]"),
        saying("null"),
        saying('{"choices": [], "content": [], "message": null}'),
        saying('{"choices": {}, "content": {}, "message": []}'),
        saying('{"choices": [7], "content": [7], "message": 7}'),
        saying('{"choices": "x", "content": "x", "message": "x"}'),
        saying("<html>Bad gateway</html>", content_type="text/html"),
        saying("{not json"),
        saying("[" * 100_000),
    ],
    ids=range(16),
)
def test_an_answer_without_a_text(make: Maker, server: ChatServer, step: Script) -> None:
    server.script = [step]
    with pytest.raises(ExtractorMisbehaved):
        make().complete("the task", "the talk")
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "step",
    [
        broken_off,
        saying("busy", 500),
        saying("overloaded", 529),
        saying("slow down", 429, Retry_After="0"),
        saying("", 429),
    ],
    ids=["broken off", "500", "529", "429 with a time", "429 without"],
)
def test_what_passes_by_itself_is_tried_again(
    make: Maker, server: ChatServer, step: Script
) -> None:
    server.script = [step]
    assert make().complete("the task", "the talk") == server.reply
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("steps", "error", "message"),
    [
        ([saying("oh no", 500)] * 3, ExtractorUnavailable, r"returned 500 \(oh no\)"),
        ([saying("later", 429, Retry_After="30")], ExtractorUnavailable, "returned 429"),
        (
            [saying("", 307, Location="http://127.0.0.1:1/")],
            ExtractorUnavailable,
            "redirects",
        ),
        (
            [saying("no such model", 404)],
            ExtractorUnavailable,
            "check the extractor's url and model",
        ),
        ([saying(f"bad key {KEY}", 401)], ExtractorUnavailable, "check the extractor's key"),
        ([endless], ExtractorMisbehaved, "more than 100000 bytes"),
        ([silent] * 3, ExtractorUnavailable, "within 0.4 s"),
    ],
    ids=["500", "429", "redirect", "404", "401", "huge", "hang"],
)
def test_what_does_not_pass_is_told(
    make: Maker,
    server: ChatServer,
    steps: list[Script],
    error: type[ExtractorProblem],
    message: str,
) -> None:
    server.script = list(steps)
    with pytest.raises(error, match=message) as caught:
        make(timeout=0.4 if silent in steps else 4.0, largest=100_000).complete(
            "the task", "the talk"
        )
    assert KEY not in str(caught.value)
    assert len(server.requests) <= 3


# Keys ---------------------------------------------------------------------------------------------


def test_the_key_goes_in_the_header_and_nowhere_else(
    make: Maker, server: ChatServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    chat = make()
    for steps in (
        [saying(KEY, 500)] * 3,
        [saying(KEY, 401)],
        [saying(KEY, 403)],
        [saying(KEY, 400)] * 3,
        [saying(KEY, 404)],
    ):
        server.script = list(steps)
        with pytest.raises(ExtractorUnavailable) as caught:
            chat.complete("the task", "the talk")
        assert KEY not in "".join(
            map(str, (caught.value, caught.value.__cause__, caught.value.__context__, chat))
        )
    assert not [
        record for record in caplog.records if KEY in f"{record.getMessage()}{record.exc_text}"
    ]
    assert all(KEY not in json.dumps(request) for request in server.requests)
    assert all(sum(KEY in value for value in headers.values()) == 1 for headers in server.headers)


def test_a_line_end_after_the_key_is_forgiven(server: ChatServer) -> None:
    asked(server, OpenAILanguageModel(server.url, "m", f"{KEY}\r\n"))
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"extractor": "openai", "extractor_url": "https://api.openai.com/v1"}, "openai's"),
        ({"extractor": "openai", "extractor_url": "https://api.openai.com.evil.example/v1"}, None),
        ({"extractor": "openai", "extractor_url": "https://api.openai.com@evil.example/v1"}, None),
        ({"extractor": "openai", "extractor_url": "http://api.openai.com/v1"}, None),
        ({"extractor": "openai", "extractor_url": "http://localhost:8000"}, None),
        (
            {
                "extractor": "openai",
                "extractor_url": "http://localhost:8000",
                "extractor_key_variable": "MINE",
            },
            "mine",
        ),
        ({"extractor": "anthropic"}, "anthropic's"),
        ({"extractor": "anthropic", "extractor_url": "https://proxy.example"}, None),
        ({"extractor": "anthropic", "extractor_key_variable": "NOWHERE"}, None),
        ({"extractor": "ollama"}, None),
        ({"extractor": "ollama", "extractor_key_variable": "MINE"}, "mine"),
        ({}, None),
    ],
)
def test_a_key_goes_to_its_maker_or_where_it_is_named(
    settings: dict[str, str], expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        os,
        "environ",
        {"OPENAI_API_KEY": "openai's", "ANTHROPIC_API_KEY": "anthropic's", "MINE": "mine"},
    )
    assert Settings(**settings).extractor_key == expected


# The breaker --------------------------------------------------------------------------------------


class Seconds:
    def __init__(self) -> None:
        self.at = 1000.0

    def __call__(self) -> float:
        return self.at


class Scripted:
    """Answers with what it is told to, or raises it."""

    def __init__(self) -> None:
        self.next: str | Exception = "fine"
        self.count = 0

    def complete(self, system: str, question: str) -> str:
        self.count += 1
        if isinstance(self.next, Exception):
            raise self.next
        return self.next

    def close(self) -> None: ...


def test_the_breaker_opens_tries_and_closes() -> None:
    clock, inner = Seconds(), Scripted()
    chat = GuardedLanguageModel(inner, Breaker(EXTRACTOR, pause=60, clock=clock))
    inner.next = ExtractorUnavailable("down")
    for _ in range(5):
        with pytest.raises(ExtractorUnavailable, match="down"):
            chat.complete("", "")
    assert inner.count == 3
    clock.at += 60
    with pytest.raises(ExtractorUnavailable):
        chat.complete("", "")
    with pytest.raises(ExtractorUnavailable, match="failed 4 times in a row; next attempt in 60 s"):
        chat.complete("", "")
    assert inner.count == 4
    clock.at += 60
    inner.next = "fine"
    assert [chat.complete("", "") for _ in range(3)] == ["fine"] * 3
    inner.next = ExtractorMisbehaved("odd")
    for _ in range(2):
        with pytest.raises(ExtractorMisbehaved):
            chat.complete("", "")
    inner.next = "fine"
    assert chat.complete("", "") == "fine"


# Settings -----------------------------------------------------------------------------------------


def test_without_a_word_there_is_no_model() -> None:
    assert make_language_model(load_settings(environ={})) is None
    check_settings(Settings())


@pytest.mark.parametrize("kind", CLIENTS)
def test_the_model_of_the_settings(kind: str, server: ChatServer) -> None:
    clock = Seconds()
    chat = make_language_model(
        Settings(
            extractor=kind,
            extractor_url=server.url,
            extractor_model="m",
            extractor_retry=5.0,
            extractor_timeout=2.0,
        ),
        clock=clock,
    )
    assert chat is not None
    assert chat.complete("", "") == server.reply
    server.script = [saying("", 401)] * 3
    for _ in range(4):
        with pytest.raises(ExtractorUnavailable):
            chat.complete("", "")
    assert len(server.requests) == 4
    clock.at += 5
    assert chat.complete("", "") == server.reply
    chat.close()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"extractor": "gpt"}, "must be one of rules, anthropic, ollama, openai"),
        ({"extractor": ""}, "must be one of"),
        ({"extractor": "openai", "extractor_url": "http://x/v1"}, "needs extractor_model"),
        ({"extractor": "openai", "extractor_model": "m"}, "needs extractor_url"),
        ({"extractor": "anthropic"}, "needs extractor_model"),
        ({"extractor": "ollama", "extractor_model": " "}, "needs extractor_model"),
        (
            {"extractor": "ollama", "extractor_model": "m", "extractor_url": "localhost:11434"},
            "extractor.s url must be an http",
        ),
        (
            {"extractor": "openai", "extractor_model": "m", "extractor_url": "file:///etc/passwd"},
            "must be an http",
        ),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, str], message: str) -> None:
    for check in (check_settings, make_language_model):
        with pytest.raises(SettingsError, match=message):
            check(Settings(**settings))


@pytest.mark.parametrize("kind", [RULES, *LANGUAGE_MODELS.names()])
def test_settings_that_can_be(kind: str) -> None:
    url = "https://api.openai.com/v1" if kind == "openai" else ""
    check_settings(Settings(extractor=kind, extractor_model="m", extractor_url=url))
