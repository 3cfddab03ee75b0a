"""Tools that replace each other: after a migration to MySQL, PostgreSQL is no longer used."""

from __future__ import annotations

_TABLE = """
postgresql postgres mysql mariadb sqlite oracle mssql mongodb cockroachdb dynamodb duckdb
cassandra couchdb firestore supabase planetscale; redis valkey memcached dragonfly keydb; kafka
rabbitmq nats sqs celery redpanda pulsar; elasticsearch opensearch solr meilisearch typesense
algolia; npm yarn pnpm bun; pip poetry pipenv uv conda pdm hatch rye; webpack vite rollup esbuild
parcel turbopack; maven gradle bazel; react vue angular svelte solid preact ember; django flask
fastapi tornado litestar; python java kotlin go golang rust ruby php perl scala elixir typescript
javascript swift clojure haskell; tailwind bootstrap bulma; vim neovim emacs helix vscode sublime
zed pycharm intellij webstorm cursor nano atom; bash zsh fish powershell nushell; aws azure gcp
hetzner digitalocean linode heroku vercel netlify fly.io render ovh upcloud; jenkins travis
circleci gitlab-ci buildkite drone teamcity bamboo github; github gitlab bitbucket gitea codeberg
sourcehut; slack teams mattermost discord zulip rocketchat; jira linear trello asana clickup
youtrack notion shortcut; ansible terraform pulumi chef puppet kubernetes nomad ecs; docker podman
containerd; unittest pytest nose jest vitest mocha jasmine cypress playwright selenium; pylint
flake8 ruff eslint biome; black yapf prettier; datadog grafana newrelic sentry prometheus
honeycomb; windows macos linux ubuntu debian fedora arch nixos; chrome firefox safari edge brave
vivaldi arc; iphone android pixel samsung; gmail outlook fastmail protonmail; rest graphql grpc
soap; zoom meet webex; obsidian evernote onenote logseq
"""
"""Groups of tools of which a project mostly uses one, divided by semicolons."""
_ALTERNATIVES: dict[str, frozenset[str]] = {}
for _group in _TABLE.split(";"):
    _tools = frozenset(_group.split())
    for _tool in _tools:
        _ALTERNATIVES[_tool] = _ALTERNATIVES.get(_tool, frozenset()) | _tools - {_tool}


def find_alternatives(tool: str) -> frozenset[str]:
    """Return what is used instead of a tool, in lower case; empty for an unknown word."""
    return _ALTERNATIVES.get(tool.lower(), frozenset())
