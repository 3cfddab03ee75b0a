"""Settings. The only module that reads environment variables.

Later sources win: defaults, `muisti.toml` in the vault, `MUISTI_*` variables, arguments.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar

from muisti.errors import InvalidRequest, SettingsError, Unsupported
from muisti.locations import DATABASES, find_named, find_other_database, find_upwards, get_data_path
from muisti.locations import SETTINGS_FILE as SETTINGS_FILE  # noqa: PLC0414  # others import it from here
from muisti.model import KINDS, RATES, Kind, Sector
from muisti.settings_tables import parse_kinds, parse_patterns, read_table
from muisti.settings_values import Value, convert_value

IN_MEMORY = ":memory:"
"""The location of a vault that is kept in memory only."""
TABLES = ("kinds", "classify")
"""Settings that only the file can set, because they are tables."""
HARMLESS = frozenset({"project", "kinds", *(f"decay_{sector.value}" for sector in Sector)})
"""Settings that a vault which is not trusted may make: how its own files are read and ranked."""

ValueOrList = Value | list[str] | tuple[str, ...]
"""What a caller may pass: an embedder chain is a list of names."""
_KEYS: Mapping[str, tuple[str, str]] = {
    "openai": ("api.openai.com", "OPENAI_API_KEY"),
    "anthropic": ("api.anthropic.com", "ANTHROPIC_API_KEY"),
}
"""The host and the usual API key variable of each provider."""


def _setting(
    default: Value,
    doc: str,
    *,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    is_list: bool = False,
) -> Any:
    """Return a field with its description, which users read, and its bounds or choices.

    `is_list`: a text of names with commas between them, which may be given as a list.
    """
    metadata = {"doc": doc, "low": low, "high": high, "choices": choices, "is_list": is_list}
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of a vault."""

    vault_trusted: ClassVar[bool] = True
    """Whether the vault is the user's own or approved. No file or variable can set it."""

    project: str = _setting("", "Default project for saving and searching; empty: none.")
    user: str = _setting("", "Default user for saving and searching; empty: none.")
    max_content_bytes: int = _setting(
        1_048_576, "Maximum size of a memory's content, in bytes of UTF-8.", low=1
    )
    wikilinks: bool = _setting(
        True,
        "Index `[[wikilinks]]` in the text of memories as links, and `#tags` as keywords. After a "
        "change, `muisti reindex` applies it to all memories.",
    )
    search_limit: int = _setting(10, "Default number of search results.", low=1, high=1000)
    max_search_limit: int = _setting(
        1000, "Maximum number of search results; a larger `limit` gets this many.", low=1, high=1000
    )
    context_limit: int = _setting(
        5, "Default number of memories that `get_relevant_memories` returns.", low=1, high=1000
    )
    fusion: str = _setting(
        "scores",
        "How keyword and vector results are combined: scores (sum of standard scores) or rrf "
        "(reciprocal rank fusion).",
        choices=("scores", "rrf"),
    )
    rrf_k: int = _setting(
        60, "The k of reciprocal rank fusion, in 1 / (k + rank).", low=0, high=1_000_000
    )
    rrf_depth: int = _setting(
        20, "Results of each list that reciprocal rank fusion combines.", low=1, high=1000
    )
    lock_timeout: float = _setting(
        30.0, "Seconds to wait for the write lock of the vault.", low=0, high=86_400
    )
    replica_lag: float = _setting(
        0.0,
        "Seconds that a replica may be behind the primary and still serve reads, if the address "
        "names several PostgreSQL servers; 0: the primary serves all reads.",
        low=0,
        high=86_400,
    )
    search_memory: int = _setting(
        0, "MB for searches in PostgreSQL; 0: a tenth of the machine's memory, at least 256.", low=0
    )
    index_timeout: float = _setting(
        10.0, "Seconds to wait for another process that uses the index.", low=0, high=86_400
    )
    sync_on_open: bool = _setting(True, "Check for external file changes when the vault is opened.")
    sync_first_below: int = _setting(
        20_000,
        "Files up to which a command checks for external changes before it answers; in a larger "
        "vault it answers first, says so, and leaves the check to a background process.",
        low=0,
    )
    warm: bool = _setting(
        True,
        "After a search or a hook, keep a process that answers the next ones quickly (Linux). Never"
        " in CI (the variable CI is set) and never for a vault that is not trusted.",
    )
    warm_minutes: float = _setting(
        10.0, "Minutes without a request after which that process exits.", low=0.01, high=1440
    )
    vanished_share: float = _setting(
        0.2, "Share of files that may be missing before a sync needs confirmation.", low=0, high=1
    )
    summarize_token_threshold: int = _setting(
        50_000,
        "Tokens of a session's memories above which it needs a summary, which sessions, stats and "
        "the MCP server report.",
        low=1,
    )
    record_recall: bool = _setting(True, "Record in the journal which memories a search returned.")
    vaults: str = _setting(
        "",
        'Further vaults that searches and reads look into, such as `["~/notes", "./team"]`. A path '
        "is relative to this vault.",
        is_list=True,
    )
    read_only: bool = _setting(
        False, "Never write to this vault in a folder: it can be searched and read."
    )
    embedder: str = _setting(
        "onnx",
        "Embedding provider: onnx (local), ollama, openai (or compatible), hashing, none. Or a "
        'chain such as `["onnx", "ollama:all-minilm"]`: the next is used if one cannot be loaded.',
        is_list=True,
    )
    model: str = _setting(
        "",
        "Embedding model, such as all-MiniLM-L6-v2; empty: the default. `muisti model list` shows "
        "those for onnx.",
    )
    embedder_url: str = _setting("", "Server address for ollama or openai; empty: the default.")
    embedder_key_variable: str = _setting(
        "",
        "Environment variable with the embedder's API key; empty: the provider's usual variable, "
        "sent only to that provider.",
    )
    embedder_timeout: float = _setting(
        30.0, "Seconds to wait for a reply from the embedder.", low=0.1, high=3600
    )
    embedder_query_timeout: float = _setting(
        3.0,
        "Seconds that a search or a single save waits for the embedder's server.",
        low=0.1,
        high=3600,
    )
    embedder_retry: float = _setting(
        60.0, "Seconds before a failed embedder is tried again.", low=0, high=86_400
    )
    embedder_threads: int = _setting(
        0,
        "Threads for local embedding; 0: one for a text, all cores for many texts at once.",
        low=0,
        high=256,
    )
    embed_on_save: bool = _setting(
        True, "Embed a memory when it is saved; otherwise with the next search."
    )
    extractor: str = _setting(
        "rules",
        "Extraction method: rules (no model), openai (or compatible), anthropic, ollama; "
        "none: nothing is extracted.",
    )
    extractor_model: str = _setting("", "Model for extraction; not used by rules.")
    extractor_url: str = _setting(
        "", "Server address for extraction; empty: the default of anthropic or ollama."
    )
    extractor_key_variable: str = _setting(
        "",
        "Environment variable with the extractor's API key; empty: the provider's usual variable, "
        "sent only to that provider.",
    )
    extractor_timeout: float = _setting(
        60.0, "Seconds to wait for a reply from the extractor.", low=0.1, high=3600
    )
    extractor_retry: float = _setting(
        60.0, "Seconds before a failed extractor is tried again.", low=0, high=86_400
    )
    chunk_size: int = _setting(
        400,
        "Tokens of a chunk, the part of a text that is embedded; at most what the model reads. "
        "Another value embeds all texts again.",
        low=16,
        high=100_000,
    )
    chunk_overlap: int = _setting(
        80,
        "Tokens that a chunk repeats from the one before, at most half a chunk; "
        "a fifth of `chunk_size` if only that is set.",
        low=0,
        high=100_000,
    )
    vector_index: str = _setting(
        "bits", "Vector search method: bits, hnsw (needs usearch) or sqlite-vec."
    )
    redact_secrets: bool = _setting(
        True, "Replace keys, tokens and passwords with `[redacted:KIND]` before storing text."
    )
    merge_duplicates: bool = _setting(
        True, "Merge a duplicate into the existing memory, which is reinforced."
    )
    propose_links: bool = _setting(
        True, "Suggest a link when a new memory seems to contradict or update another."
    )
    decay_emotional: float = _setting(
        RATES[Sector.EMOTIONAL], "Daily decay rate of emotional memories.", low=0, high=1
    )
    decay_semantic: float = _setting(
        RATES[Sector.SEMANTIC], "Daily decay rate of semantic memories.", low=0, high=1
    )
    decay_reflective: float = _setting(
        RATES[Sector.REFLECTIVE], "Daily decay rate of reflective memories.", low=0, high=1
    )
    decay_procedural: float = _setting(
        RATES[Sector.PROCEDURAL], "Daily decay rate of procedural memories.", low=0, high=1
    )
    decay_episodic: float = _setting(
        RATES[Sector.EPISODIC], "Daily decay rate of episodic memories.", low=0, high=1
    )
    salience_decay_days: int = _setting(
        7,
        "Idle days before memories of kinds with their own decay (summary, context) lose salience; "
        "run `muisti reindex` after changing it.",
        low=0,
        high=36_500,
    )
    cleanup_below: float = _setting(
        0.0, "Salience below which maintenance trashes a memory; 0: never.", low=0, high=1
    )
    evict_above: int = _setting(
        524_288_000,
        "Bytes of memories above which maintenance archives the longest unused; 0: never.",
        low=0,
    )
    evict_to: float = _setting(
        0.85, "Share of `evict_above` that maintenance archives down to.", low=0, high=1
    )
    session_idle_hours: float = _setting(
        24.0,
        "Hours without use after which an active session no longer protects its memories"
        " from maintenance, and is ended with a summary when the next one starts.",
        low=0.01,
        high=876_000,
    )
    extract_threshold: float = _setting(
        0.3, "Minimum importance of an extracted memory.", low=0, high=1
    )
    extract_per_session: int = _setting(
        50, "Maximum of memories extracted per session; the least important are replaced.", low=1
    )
    extract_queue: int = _setting(
        10_000, "Maximum of exchanges waiting for extraction; more are refused.", low=1
    )
    workspace: str = _setting(
        "", "Folder whose MEMORY.md and memory/*.md are indexed; empty: the vault."
    )
    core_max_bytes: int = _setting(
        20_000,
        "Maximum size of core memory, in bytes; it is in every context.",
        low=100,
        high=1_000_000,
    )
    kinds: Mapping[str, Kind] = field(
        default_factory=lambda: dict(KINDS),
        metadata={
            "doc": "Custom kinds: `[kinds.idea]` with `folder`, `decay_per_day`, `protected`."
        },
    )
    classify: Mapping[str, Mapping[str, tuple[str, ...]]] = field(
        default_factory=dict,
        metadata={
            "doc": "Custom patterns for kinds and sectors: "
            '`[classify.kind]` with `idea = ["what if"]`; `[classify.sector]` likewise.'
        },
    )

    @property
    def decay_rates(self) -> dict[Sector, float]:
        """The daily decay rate of each sector."""
        return {sector: getattr(self, f"decay_{sector.value}") for sector in Sector}

    @property
    def extraction_enabled(self) -> bool:
        """Whether memories are extracted from conversations."""
        return self.extractor != "none"

    @property
    def embedder_key(self) -> str | None:
        """The API key for the embedder, from the environment."""
        return _read_key(self.embedder, self.embedder_url, self.embedder_key_variable)

    @property
    def extractor_key(self) -> str | None:
        """The API key for the extractor, from the environment."""
        return _read_key(self.extractor, self.extractor_url, self.extractor_key_variable)

    def kind(self, name: str) -> Kind | None:
        """Return the kind with this name or folder (`decisions` is `decision`), ignoring case."""
        wanted = name.strip().casefold()
        if wanted in self.kinds:
            return self.kinds[wanted]
        return next(
            (kind for kind in self.kinds.values() if kind.folder.casefold() == wanted), None
        )


class UntrustedSettings(Settings):
    """The settings of a vault that the user neither created nor approved (contract K6)."""

    __slots__ = ()
    vault_trusted: ClassVar[bool] = False


def _read_key(kind: str, url: str, variable: str) -> str | None:
    """Return the API key. One in its usual variable is only used for its provider's own host."""
    if variable:
        return os.environ.get(variable) or None
    host, usual = _KEYS.get(kind, ("", ""))
    if url and not re.match(rf"https://{re.escape(host)}(?::443)?(?:/|$)", url.strip()):
        return None
    return os.environ.get(usual) or None


def load_settings(
    vault: Path | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    arguments: Mapping[str, ValueOrList] | None = None,
    foreign: bool = False,
) -> Settings:
    """Return the settings of a vault. Raises SettingsError.

    Foreign: the vault is not trusted. Of its file only harmless settings count, and no server is
    used for it, whatever the variables say.
    """
    environment = os.environ if environ is None else environ
    values: dict[str, Any] = {}
    if vault is not None:
        values.update(_read_file(vault / SETTINGS_FILE, only=HARMLESS if foreign else None))
    for name in _SCALARS:
        variable = f"MUISTI_{name.upper()}"
        if variable in environment:
            values[name] = _parse_value(name, environment[variable], variable)
    if foreign:
        values |= {"embedder": "none", "extractor": "rules", "record_recall": False}
    for key, value in (arguments or {}).items():
        values[key] = _parse_value(key, value, "argument")
    _check_together(values)
    return UntrustedSettings(**values) if foreign else Settings(**values)


def _check_together(values: dict[str, Any]) -> None:
    """Raises SettingsError for settings that contradict each other; both are named.

    A default is lowered to fit what is set.
    """
    most = values.get("max_search_limit")
    for name in ("search_limit", "context_limit"):
        limit = values.get(name, _SCALARS[name].default)
        if most is not None and limit > most:
            if name in values:
                raise SettingsError(
                    f"{name} = {limit} must be at most max_search_limit = {most}; change one"
                )
            values[name] = most
    if "chunk_size" in values:
        size = values["chunk_size"]
        values.setdefault("chunk_overlap", size // 5)
    else:
        size = _SCALARS["chunk_size"].default
    if values.get("chunk_overlap", 0) >= size:
        raise SettingsError(
            f"chunk_overlap = {values['chunk_overlap']} must be less than chunk_size = {size}; "
            "change one"
        )


def list_ignored_settings(vault: Path) -> list[str]:
    """Return the settings in a vault's file that only count once it is trusted.

    Raises SettingsError.
    """
    return [key for key in read_table(vault / SETTINGS_FILE) if key not in HARMLESS]


def find_vault(
    explicit: str | os.PathLike[str] | None = None,
    *,
    start: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Path:
    """Return the path of the vault.

    The explicit path, `MUISTI_STORE`, `MUISTI_VAULT`, the nearest folder upwards with a settings
    file, or the user's data folder. Raises SettingsError, InvalidRequest, Unsupported: a database.
    """
    environment = os.environ if environ is None else environ
    named = explicit if explicit is not None else find_named(environment)
    if named is not None:
        if not str(named).strip():
            raise SettingsError("the path of the vault is empty; give a folder, or omit it")
        if str(named).startswith(DATABASES):
            raise Unsupported("this", "it needs a vault in a folder, not one in a database")
        if (other := find_other_database(str(named))) is not None:
            raise InvalidRequest("location", other, "must be a folder or a postgresql:// address")
        return Path(named) if str(named) == IN_MEMORY else Path(named).expanduser().absolute()
    return Path(find_upwards(str((start or Path.cwd()).absolute())) or get_own_vault())


def get_data_folder() -> Path:
    """Return the user's data folder: it has the default vault and the list of trusted vaults."""
    return Path(get_data_path())


def get_own_vault() -> Path:
    """Return the path of the user's default vault."""
    return get_data_folder() / "vault"


def is_foreign(root: Path, explicit: str | os.PathLike[str] | None = None) -> bool:
    """Return whether a vault was only found in the working folder, perhaps a stranger's clone."""
    if explicit is not None or find_named():
        return False
    return root != get_own_vault()


def _read_file(path: Path, only: frozenset[str] | None = None) -> dict[str, Any]:
    """Return the settings in a file, or only those with these names. Raises SettingsError."""
    table = read_table(path)
    if only is not None:
        table = {key: value for key, value in table.items() if key in only}
    values: dict[str, Any] = {
        key: _parse_value(key, value, str(path))
        for key, value in table.items()
        if key not in TABLES
    }
    for name, value in values.items():
        # A vault may come with a stranger's repository, so it must not send other variables.
        if name.endswith("_key_variable") and value and not value.startswith("MUISTI_"):
            raise SettingsError(
                f"{path}: {name} = {value!r} is not allowed in a file: call it MUISTI_…, "
                f"or set MUISTI_{name.upper()}={value} in the environment"
            )
    if "kinds" in table:
        values["kinds"] = {**KINDS, **parse_kinds(table["kinds"], str(path))}
    if "classify" in table:
        kinds = values.get("kinds", KINDS)
        values["classify"] = parse_patterns(table["classify"], kinds, str(path))
    return values


_SCALARS = {field.name: field for field in fields(Settings) if field.name not in TABLES}


def _parse_value(key: str, value: object, where: str) -> Value:
    """Return a setting's value in its own type. Raises SettingsError if it is not valid."""
    if key not in _SCALARS:
        from difflib import get_close_matches  # rarely needed

        near = get_close_matches(key, _SCALARS, n=1)
        known = ", ".join((*_SCALARS, *TABLES))
        hint = f"did you mean {near[0]!r}?" if near else f"known settings: {known}"
        raise SettingsError(f"{where}: unknown setting {key!r}; {hint}")
    field = _SCALARS[key]
    if field.metadata["is_list"] and isinstance(value, list | tuple):
        if not value or not all(isinstance(item, str) and "," not in item for item in value):
            raise SettingsError(f"{where}: {key} = {value!r} must be a list of names")
        value = ",".join(value)
    converted = convert_value(key, value, type(field.default), where)
    choices = field.metadata["choices"]
    if choices and converted not in choices:
        raise SettingsError(f"{where}: {key} = {value!r} must be one of {', '.join(choices)}")
    low, high = field.metadata["low"], field.metadata["high"]
    inside = isinstance(converted, str) or (
        (low is None or converted >= low) and (high is None or converted <= high)
    )
    if not inside:  # this includes NaN
        span = f"at least {low:g}" if high is None else f"between {low:g} and {high:g}"
        raise SettingsError(f"{where}: {key} = {value!r} must be {span}")
    return converted
