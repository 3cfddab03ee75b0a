"""The read verbs of REST, of the command line and of hooks, asked in a scope."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from click.testing import CliRunner
from starlette.testclient import TestClient

from muisti import bootstrap
from muisti.errors import InvalidRequest, MemoryNotFound, SessionNotFound
from muisti.surfaces.cli.group import cli
from muisti.surfaces.hooks import dispatch
from muisti.surfaces.hooks.options import Options
from muisti.surfaces.hooks.prompt import extract_query, recall_for_prompt
from muisti.surfaces.hooks.recall import recall_for_session
from muisti.surfaces.hooks.run import Outcome

from .asking import Asked, Verb, make_query, visible
from .world import PROJECTS, TOPIC, USERS, Item, Scope, Sight, World

# -- REST


class Rest:
    """Asks over HTTP, in this process."""

    def __init__(self, client: TestClient) -> None:
        self._client = client

    def ask(self, sight: Sight | None, method: str, path: str, *wanted: Item, **sent: Any) -> Asked:
        """Send a request. A session that must not be found is a 404."""
        response = self._client.request(method, path, **sent)
        assert response.status_code < 500, response.text
        is_unknown = "urn:muisti:session-not-found" in response.text
        if sight is None:
            assert response.status_code == 404, response.text
            assert is_unknown, response.text
        else:
            assert not is_unknown, response.text
            assert response.status_code == 200 or not wanted, response.text
        return Asked(response.text, sight, wanted if sight else ())

    def ask_random(self, world: World, chance: random.Random, scope: Scope) -> Asked:
        """Ask one of the verbs."""
        verb = chance.choice([self._search, self._list, self._by_id, self._session, self._other])
        return verb(world, chance, scope)

    def _search(self, world: World, chance: random.Random, scope: Scope) -> Asked:
        query, sight = make_query(world, chance), world.look(scope)
        given = {"query": query, **_camel(scope)}
        mode = chance.choice(["keyword", "hybrid"])
        match chance.randrange(4):
            case 0:
                params = {**given, "limit": 100, "mode": mode}
                return self.ask(sight, "GET", "/api/search", params=params)
            case 1:
                body = {**given, "limit": 100, "mode": mode}
                return self.ask(sight, "POST", "/api/search", json=body)
            case 2:
                return self.ask(sight, "GET", "/api/search/compact", params=given)
        core = [item for item in world.of("core") if sight and sight.sees(item)]
        body = {**given, "budget": 8000}
        return self.ask(sight, "POST", "/api/context", *core, json=body)

    def _list(self, world: World, chance: random.Random, scope: Scope) -> Asked:
        sight = world.look(scope, all_sessions=True)
        wanted = visible(world, sight, "memory")
        if chance.random() < 0.5:
            params = {**_camel(scope), "limit": 1000}
            return self.ask(sight, "GET", "/api/memories", *wanted, params=params)
        params = {**_camel(scope), "format": chance.choice(["markdown", "json"])}
        return self.ask(sight, "GET", "/api/export", *wanted, params=params)

    def _by_id(self, world: World, chance: random.Random, scope: Scope) -> Asked:
        item = chance.choice(world.of("memory"))
        sight = world.look(scope, all_sessions=True)
        path = f"/api/memories/{quote(item.id, safe='')}"
        params = _camel(scope)
        match chance.randrange(6):
            case 0:
                seen = [item] if sight and sight.sees(item) and not item.deleted else []
                return self.ask(sight, "GET", path, *seen, params=params)
            case 1:
                path = f"/api/search/timeline/{item.id}"
                return self.ask(sight, "GET", path, params={**params, "before": 20, "after": 20})
            case 2:
                body = {**params, "ids": [item.id]}
                return self.ask(sight, "POST", "/api/search/details", json=body)
            case 3:
                params |= {"query": make_query(world, chance), "memoryId": item.id}
                return self.ask(world.look(scope), "GET", "/api/search/explain", params=params)
            case 4:
                return self.ask(world.look(scope), "GET", f"{path}/related", params=params)
        what = chance.choice(["links", "graph", "history", "superseding"])
        return self.ask(sight, "GET", f"{path}/{what}", params=params)

    def _session(self, world: World, chance: random.Random, scope: Scope) -> Asked:
        session = scope.session or chance.choice([*world.sessions][:6])
        sight = world.look(Scope("*", None, session))
        what = chance.choice(["memories", "context", "text", "uses"])
        response = self._client.get(f"/api/sessions/{session}/{what}")
        is_known = session in world.sessions and session not in world.conversations
        assert (response.status_code == 200) or not is_known, response.text
        return Asked(response.text, sight)

    def _other(self, world: World, chance: random.Random, scope: Scope) -> Asked:
        params = {name: value for name, value in _camel(scope).items() if name != "sessionId"}
        sight = world.look(replace(scope, session=None))
        match chance.randrange(3):
            case 0:
                user = {} if scope.user in (None, "*") else {"user": scope.user}
                own = Sight(user=user.get("user"))
                core = [item for item in world.of("core") if own.sees(item)]
                return self.ask(own, "GET", "/api/core", *core, params=user)
            case 1:
                return self.ask(sight, "GET", "/api/sessions", params=params)
        named = chance.choice(world.conversations)
        path = f"/api/conversations/{named}/messages"
        text = self._client.get(path, params={**params, "limit": 1000}).text
        return Asked(text, world.look(replace(scope, session=None), named=named))


def _camel(scope: Scope) -> dict[str, str]:
    options = dict(scope.options)
    if "session_id" in options:
        options["sessionId"] = options.pop("session_id")
    return options


# -- Command line


class CommandLine:
    """Runs commands in this process, in the folder of a repository or elsewhere."""

    def __init__(self, vault: Path, folders: Path) -> None:
        self._vault = vault
        self._folders = folders
        for project in ("", *PROJECTS):
            folder = folders / (project or "elsewhere")
            folder.mkdir(parents=True, exist_ok=True)
            if project:
                (folder / ".git").mkdir(exist_ok=True)

    def ask_random(self, world: World, chance: random.Random, scope: Scope) -> Asked:
        """Run one of the commands that read in a scope."""
        here = chance.choice(["", *PROJECTS])
        command, in_project, more = self._choose(world, chance)
        effective = scope
        if in_project and scope.project is None and scope.session is None and here:
            effective = replace(scope, project=here)
        sight = world.look(effective, **more)
        arguments = [*command, *_options(scope), "--vault", str(self._vault)]
        if chance.random() < 0.5:
            arguments.append("--json")
        return self._run(here, arguments, sight)

    def _choose(
        self, world: World, chance: random.Random
    ) -> tuple[list[str], bool, dict[str, Any]]:
        """A command, whether the working folder is its default project, and what it shows more."""
        query = make_query(world, chance)
        listed = {"all_sessions": True}
        match chance.randrange(9):
            case 0 | 1:
                return ["search", query, "-n", "50"], True, {}
            case 2:
                return ["compact", query, "-n", "50"], True, {}
            case 3:
                return ["keywords", TOPIC, "-n", "100"], True, {}
            case 4 | 5:
                return ["list", "-n", "200"], True, listed
            case 6:
                return ["context", query, "--budget", "8000"], True, {}
            case 7:
                return ["export"], False, listed
        named = chance.choice([None, *world.conversations])
        if named is None:
            return ["conversation", "search", query], True, {}
        return ["conversation", "search", query, "--conversation", named], False, {"named": named}

    def _run(self, here: str, arguments: list[str], sight: Sight | None) -> Asked:
        with chdir(self._folders / (here or "elsewhere")):
            done = CliRunner().invoke(cli, arguments)
        text = f"{done.output}{done.stderr}{done.exception or ''}"
        if sight is None:
            assert isinstance(done.exception, SessionNotFound), text
        else:
            expected = (type(None), SystemExit, InvalidRequest, MemoryNotFound)
            assert isinstance(done.exception, expected), repr(done.exception)
        return Asked(text, sight)

    def ask_lists(self, world: World, chance: random.Random, scope: Scope) -> Asked:
        """Run one of the commands with a user and a project, but no session."""
        scope = replace(scope, session=None)
        if chance.random() < 0.4:
            user = None if scope.user == "*" else scope.user
            arguments = ["core", "get", *_options(Scope(user=user))]
            return self._run("", [*arguments, "--vault", str(self._vault)], Sight(user=user))
        arguments = ["session", "list", *_options(scope), "--vault", str(self._vault), "--json"]
        return self._run("", arguments, world.look(scope))


def _options(scope: Scope) -> list[str]:
    named = []
    for name, value in scope.options.items():
        named += [f"--{name.replace('_', '-')}", value]
    return named


# -- Hooks


class Hooks:
    """Calls hooks in this process, for the user of the settings."""

    def __init__(self, vault: Path, folders: Path) -> None:
        self._vault = vault
        self._folders = folders

    def ask_random(self, world: World, chance: random.Random, scope: Scope) -> Asked:
        """Recall for a session or for a prompt; a hook always has a project and a user."""
        project = chance.choice(["", *PROJECTS])
        user = chance.choice(["", *USERS])
        session = chance.choice([*world.sessions, "new"])
        key = chance.choice(world.of("memory", "memory", "document")).key
        prompt = f"What do you know about {key} {' '.join(world.words[key][:3])}?"
        own = world.look(Scope(project, user, session)) or Sight(project, user)
        match chance.randrange(3):
            case 0:
                text = self._start(project, user, session)
                return Asked(text, Sight(project, user))
            case 1:
                return Asked(self._prompt(project, user, session, prompt), own)
        event = chance.choice(["SessionStart", "UserPromptSubmit"])
        text = self._handle(event, project, user, session, prompt)
        return Asked(text, own if event == "UserPromptSubmit" else Sight(project, user))

    def _start(self, project: str, user: str, session: str) -> str:
        with bootstrap.open(self._vault, role="cli", settings={"user": user}) as memory:
            return recall_for_session(memory, project, session, None, 3000)[0]

    def _prompt(self, project: str, user: str, session: str, prompt: str) -> str:
        with bootstrap.open(self._vault, role="hook", settings={"user": user}) as memory:
            query = extract_query(prompt)
            return recall_for_prompt(memory, query, project, session, set())[0]

    def _handle(self, event: str, project: str, user: str, session: str, prompt: str) -> str:
        payload = {
            "session_id": session,
            "cwd": str(self._folders / (project or "elsewhere")),
            "hook_event_name": event,
            "prompt": prompt,
            "source": "startup",
        }
        options = Options()
        options.name = options.event = event
        options.vault = str(self._vault)
        outcome = Outcome(event)
        was = dispatch._read_stdin
        os.environ["MUISTI_USER"] = user
        dispatch._read_stdin = lambda: json.dumps(payload).encode()
        try:
            dispatch.handle_event(options, outcome)
        finally:
            dispatch._read_stdin = was
            del os.environ["MUISTI_USER"]
        return outcome.reply.decode()


Ask = Callable[[World, random.Random, Scope], Asked]
__all__ = ["Ask", "CommandLine", "Hooks", "Rest", "Verb"]
