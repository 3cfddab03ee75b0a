"""Settings: one frozen value, and the only module that reads the environment.

Later sources win: defaults, `muisti.toml` in the vault, `MUISTI_*` variables, arguments.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from muisti.errors import SettingsError
from muisti.model import KINDS, RATES, Kind, Sector
from muisti.safe_regex import find_fault

SETTINGS_FILE = "muisti.toml"
IN_MEMORY = ":memory:"
"""The location of a vault that lives in memory only."""
TABLES = ("kinds", "classify")
"""What only the file sets: these are tables, not single values."""
MOST_PATTERNS = 100

Value = str | int | float | bool
_KEYS: Mapping[str, tuple[str, str]] = {
    "openai": ("api.openai.com", "OPENAI_API_KEY"),
    "anthropic": ("api.anthropic.com", "ANTHROPIC_API_KEY"),
}
"""Whose key usually stands in which variable."""


def _setting(
    default: Value, doc: str, *, low: float | None = None, high: float | None = None
) -> Any:
    """A field with the sentence that the generated documentation shows, and its bounds."""
    return field(default=default, metadata={"doc": doc, "low": low, "high": high})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How one vault behaves."""

    project: str = _setting(
        "", "Project that saves and searches use when none is named; empty: none."
    )
    max_content_bytes: int = _setting(
        1_048_576, "Largest content of one memory, in bytes of UTF-8.", low=1
    )
    search_limit: int = _setting(
        10, "How many results a search gives when no limit is named.", low=1, high=1000
    )
    lock_timeout: float = _setting(
        30.0, "Seconds to wait for another process that writes to the vault.", low=0, high=86_400
    )
    index_timeout: float = _setting(
        10.0, "Seconds to wait for another process that holds the index.", low=0, high=86_400
    )
    sync_on_open: bool = _setting(
        True, "Look for edits, renames and deletions made by hand when the vault is opened."
    )
    vanished_share: float = _setting(
        0.2, "Share of files that may vanish at once before a confirmation is asked.", low=0, high=1
    )
    record_recall: bool = _setting(True, "Write to the journal which memories a search returned.")
    embedder: str = _setting(
        "onnx",
        "What makes vectors: onnx (on this machine), ollama, openai (or alike), hashing, none.",
    )
    model: str = _setting(
        "", "The embedder's model; empty: its default. `muisti model list` shows those for onnx."
    )
    embedder_url: str = _setting(
        "", "Address of the ollama or openai server; empty: the usual one on this machine."
    )
    embedder_key_variable: str = _setting(
        "",
        "Name of the environment variable with the embedder's key; empty: the usual one, for its own maker alone.",
    )
    embedder_timeout: float = _setting(
        30.0, "Seconds to wait for an answer of the embedder.", low=0.1, high=3600
    )
    embedder_retry: float = _setting(
        60.0, "Seconds after which an embedder that failed is tried again.", low=0, high=86_400
    )
    embedder_threads: int = _setting(
        1, "Threads that one embedding uses on this machine.", low=1, high=256
    )
    embed_on_save: bool = _setting(
        True, "Make a memory's vectors when it is saved; if not, before the next search."
    )
    extractor: str = _setting(
        "rules",
        "Who finds what a talk teaches: rules (no model), openai (or alike), anthropic, ollama.",
    )
    extractor_model: str = _setting(
        "", "The model that the extractor's server is asked for; rules have none."
    )
    extractor_url: str = _setting(
        "", "Address of the extractor's server; empty: the usual one of anthropic or ollama."
    )
    extractor_key_variable: str = _setting(
        "",
        "Name of the environment variable with the extractor's key; empty: the usual one, for its own maker alone.",
    )
    extractor_timeout: float = _setting(
        60.0, "Seconds to wait for an answer of the extractor.", low=0.1, high=3600
    )
    extractor_retry: float = _setting(
        60.0, "Seconds after which an extractor that failed is tried again.", low=0, high=86_400
    )
    vector_index: str = _setting(
        "bits", "How the nearest vectors are found: bits, hnsw (needs usearch) or sqlite-vec."
    )
    redact_secrets: bool = _setting(
        True, "Replace keys, tokens and passwords by `[redacted:KIND]` before anything is stored."
    )
    merge_duplicates: bool = _setting(
        True, "Let a text that says what a memory says already strengthen that memory instead."
    )
    propose_links: bool = _setting(
        True, "Propose a link when a new memory seems to contradict or update an earlier one."
    )
    decay_emotional: float = _setting(
        RATES[Sector.EMOTIONAL], "What an emotional memory loses a day.", low=0, high=1
    )
    decay_semantic: float = _setting(
        RATES[Sector.SEMANTIC], "What a semantic memory loses a day.", low=0, high=1
    )
    decay_reflective: float = _setting(
        RATES[Sector.REFLECTIVE], "What a reflective memory loses a day.", low=0, high=1
    )
    decay_procedural: float = _setting(
        RATES[Sector.PROCEDURAL], "What a procedural memory loses a day.", low=0, high=1
    )
    decay_episodic: float = _setting(
        RATES[Sector.EPISODIC], "What an episodic memory loses a day.", low=0, high=1
    )
    cleanup_below: float = _setting(
        0.0, "Salience below which upkeep moves a memory to the trash; 0: never.", low=0, high=1
    )
    evict_above: int = _setting(
        524_288_000,
        "Bytes of memories above which upkeep archives the longest unused; 0: never.",
        low=0,
    )
    evict_to: float = _setting(
        0.85, "Share of that limit that is left when upkeep has archived.", low=0, high=1
    )
    extract_threshold: float = _setting(
        0.3, "Importance from which on what a talk teaches is kept.", low=0, high=1
    )
    extract_per_session: int = _setting(
        50, "Memories that are extracted from one session; the least important yield.", low=1
    )
    extract_queue: int = _setting(
        10_000, "Exchanges that may wait to be extracted; further ones are refused.", low=1
    )
    workspace: str = _setting(
        "", "Folder whose MEMORY.md and memory/*.md are searched too; empty: the vault itself."
    )
    core_max_bytes: int = _setting(
        20_000, "Largest core memory in bytes: it stands in every context.", low=100, high=1_000_000
    )
    kinds: Mapping[str, Kind] = field(
        default_factory=lambda: dict(KINDS),
        metadata={
            "doc": "Kinds of your own: `[kinds.idea]` with `folder`, `decay_per_day`, `protected`."
        },
    )
    classify: Mapping[str, Mapping[str, tuple[str, ...]]] = field(
        default_factory=dict,
        metadata={
            "doc": 'Patterns of your own: `[classify.kind]` with `idea = ["what if"]`, `[classify.sector]` likewise.'
        },
    )

    @property
    def decay_rates(self) -> dict[Sector, float]:
        """What is lost a day, by sector."""
        return {sector: getattr(self, f"decay_{sector.value}") for sector in Sector}

    @property
    def embedder_key(self) -> str | None:
        """The key for the embedder's server, which stands in the environment and in no file."""
        return _key(self.embedder, self.embedder_url, self.embedder_key_variable)

    @property
    def extractor_key(self) -> str | None:
        """The key for the extractor's server."""
        return _key(self.extractor, self.extractor_url, self.extractor_key_variable)

    def kind(self, name: str) -> Kind | None:
        """The kind with this name or this folder (`decisions` is `decision`), in any case."""
        wanted = name.strip().casefold()
        if wanted in self.kinds:
            return self.kinds[wanted]
        return next(
            (kind for kind in self.kinds.values() if kind.folder.casefold() == wanted), None
        )


def _key(kind: str, url: str, variable: str) -> str | None:
    """What stands in the variable. A key in its usual variable is sent to nobody but who gave it out."""
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
    arguments: Mapping[str, Value] | None = None,
    foreign: bool = False,
) -> Settings:
    """Settings of a vault. Raises SettingsError that names the key, where it stands and what it takes.

    Foreign: nobody named this vault, it came with the folder. Its file may not have texts sent to somebody.
    """
    values: dict[str, Any] = {}
    if vault is not None:
        values.update(_from_file(vault / SETTINGS_FILE))
        if foreign:
            _check_foreign(
                values, str(vault / SETTINGS_FILE), os.environ if environ is None else environ
            )
    values.update(_from_environment(os.environ if environ is None else environ))
    for key, value in (arguments or {}).items():
        values[key] = _checked(key, value, "argument")
    return Settings(**values)


def find_vault(
    explicit: str | os.PathLike[str] | None = None,
    *,
    start: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Path:
    """Where the vault is: explicit path, `MUISTI_VAULT`, the nearest folder upwards with `muisti.toml`, user data."""
    environment = os.environ if environ is None else environ
    named = explicit if explicit is not None else environment.get("MUISTI_VAULT") or None
    if named is not None and not str(named).strip():
        raise SettingsError("the path of the vault is empty; name a folder, or leave it out")
    if named is not None and str(named) == IN_MEMORY:
        return Path(IN_MEMORY)
    if named is not None:
        return Path(named).expanduser().absolute()
    here = (start or Path.cwd()).absolute()
    for folder in (here, *here.parents):
        if (folder / SETTINGS_FILE).is_file():
            return folder
    import platformdirs  # 20 ms to import, and rarely needed

    return Path(platformdirs.user_data_path("muisti", appauthor=False)) / "vault"


def is_foreign(root: Path, explicit: str | os.PathLike[str] | None = None) -> bool:
    """Whether a vault was only found in the folder that one happens to be in, which may be somebody's repository."""
    if explicit is not None or os.environ.get("MUISTI_VAULT"):
        return False
    import platformdirs

    return root != Path(platformdirs.user_data_path("muisti", appauthor=False)) / "vault"


def _from_file(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8-sig")  # some editors put a mark in front
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"{path}: cannot be read ({error}); make it a readable UTF-8 text file"
        ) from error
    if not any(line.strip() and not line.lstrip().startswith("#") for line in text.splitlines()):
        return {}
    import tomllib  # most vaults have no settings of their own

    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: is not valid TOML ({error}); mend that line") from error
    values: dict[str, Any] = {
        key: _checked(key, value, str(path)) for key, value in table.items() if key not in TABLES
    }
    _check_variables(values, str(path))
    if "kinds" in table:
        values["kinds"] = {**KINDS, **_kinds(table["kinds"], str(path))}
    if "classify" in table:
        values["classify"] = _patterns(table["classify"], values.get("kinds", KINDS), str(path))
    return values


def _check_variables(values: Mapping[str, Any], where: str) -> None:
    """A vault may be somebody else's, come with a repository: its file must not have any secret of the environment sent away."""
    for name, value in values.items():
        if name.endswith("_key_variable") and value and not value.startswith("MUISTI_"):
            raise SettingsError(
                f"{where}: {name} = {value!r} is not accepted from a file: call the variable MUISTI_…, "
                f"or say so in the environment (MUISTI_{name.upper()}={value})"
            )


def _check_foreign(values: Mapping[str, Any], where: str, environ: Mapping[str, str]) -> None:
    """A repository that somebody cloned must not have what is said in it sent to its author, or kept with its secrets."""
    for name in ("embedder_url", "extractor_url", "redact_secrets"):
        variable, value = f"MUISTI_{name.upper()}", values.get(name)
        harmless = (
            value is None
            or value is True
            or (isinstance(value, str) and (not value or _is_here(value)))
        )
        if not harmless and variable not in environ:
            raise SettingsError(
                f"{where}: {name} = {value!r} is not accepted from a vault that nobody named: if it is yours, "
                f"use --vault or MUISTI_VAULT, or set {variable}"
            )


def _is_here(address: str) -> bool:
    from ipaddress import ip_address
    from urllib.parse import urlsplit

    try:
        host = urlsplit(address).hostname or ""
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name in _scalar_fields():
        variable = f"MUISTI_{name.upper()}"
        if variable in environ:
            values[name] = _checked(name, environ[variable], variable)
    return values


def _scalar_fields() -> list[str]:
    return [f.name for f in fields(Settings) if f.name not in TABLES]


def _checked(key: str, value: object, where: str) -> Value:
    known = {f.name: f for f in fields(Settings) if f.name not in TABLES}
    if key not in known:
        from difflib import get_close_matches  # rarely needed

        near = get_close_matches(key, known, n=1)
        hint = (
            f"did you mean {near[0]!r}?" if near else f"known are: {', '.join((*known, *TABLES))}"
        )
        raise SettingsError(f"{where}: there is no setting {key!r}; {hint}")
    spec = known[key]
    converted = _converted(key, value, type(spec.default), where)
    low, high = spec.metadata["low"], spec.metadata["high"]
    inside = isinstance(converted, str) or (
        (low is None or converted >= low) and (high is None or converted <= high)
    )
    if not inside:  # neither is a NaN
        span = f"at least {low:g}" if high is None else f"between {low:g} and {high:g}"
        raise SettingsError(f"{where}: {key} = {value!r} is out of range; it must be {span}")
    return converted


def _converted(key: str, value: object, wanted: type, where: str) -> Value:
    """Environment variables are text, TOML has types: both end up as the field's type."""
    if wanted is bool:
        word = str(value).strip().lower()
        if word in ("true", "1", "yes", "on"):
            return True
        if word in ("false", "0", "no", "off"):
            return False
    elif wanted is str and isinstance(value, str):
        return value
    elif wanted in (int, float) and not isinstance(value, bool):
        try:
            return int(str(value)) if wanted is int else float(str(value))
        except ValueError:
            pass
    article = {
        bool: "true or false",
        int: "a whole number",
        float: "a number",
        str: "a text in quotes",
    }[wanted]
    raise SettingsError(f"{where}: {key} = {value!r} must be {article}")


def _kinds(table: object, where: str) -> dict[str, Kind]:
    if not isinstance(table, dict):
        raise SettingsError(f"{where}: kinds must be tables such as [kinds.idea]")
    return {name: _kind(name, spec, where) for name, spec in table.items()}


def _kind(name: str, spec: object, where: str) -> Kind:
    if not re.fullmatch(r"[a-z][a-z0-9_-]{0,39}", name):
        raise SettingsError(f"{where}: kind {name!r} must be a short lower-case word")
    if not isinstance(spec, dict) or set(spec) - {"folder", "decay_per_day", "protected"}:
        raise SettingsError(
            f"{where}: [kinds.{name}] takes folder, decay_per_day and protected, nothing else"
        )
    folder = spec.get("folder", f"{name}s")
    if (
        not isinstance(folder, str)
        or not re.fullmatch(r"[\w][\w -]{0,59}", folder)
        or folder in RESERVED_FOLDERS
    ):
        raise SettingsError(
            f"{where}: [kinds.{name}] folder = {folder!r} must be one plain folder name"
        )
    decay = spec.get("decay_per_day")
    if decay is not None and (
        isinstance(decay, bool) or not isinstance(decay, int | float) or not 0 < decay <= 1
    ):
        raise SettingsError(
            f"{where}: [kinds.{name}] decay_per_day = {decay!r} must be above 0 and at most 1"
        )
    protected = spec.get("protected", False)
    if not isinstance(protected, bool):
        raise SettingsError(
            f"{where}: [kinds.{name}] protected = {protected!r} must be true or false"
        )
    return Kind(name, folder, decay, protected)


def _patterns(
    table: object, kinds: Mapping[str, Kind], where: str
) -> dict[str, dict[str, tuple[str, ...]]]:
    known = {"kind": tuple(kinds), "sector": tuple(sector.value for sector in Sector)}
    if not isinstance(table, dict) or not set(table) <= set(known):
        raise SettingsError(
            f"{where}: classify takes the tables [classify.kind] and [classify.sector], nothing else"
        )
    found = {what: _pattern_lists(what, lists, known[what], where) for what, lists in table.items()}
    count = sum(len(patterns) for lists in found.values() for patterns in lists.values())
    if count > MOST_PATTERNS:  # each of them is searched for in every memory
        raise SettingsError(
            f"{where}: classify has {count} patterns; {MOST_PATTERNS} are allowed: join some with |"
        )
    return found


def _pattern_lists(
    what: str, lists: object, known: tuple[str, ...], where: str
) -> dict[str, tuple[str, ...]]:
    if not isinstance(lists, dict):
        raise SettingsError(
            f'{where}: classify.{what} must be a table such as [classify.{what}] with {known[0]} = ["a word"]'
        )
    for name in lists:
        if name not in known:
            raise SettingsError(
                f"{where}: [classify.{what}] there is no {what} {name!r}; known are: {', '.join(known)}"
            )
    return {
        name: _pattern_list(f"{where}: [classify.{what}] {name}", patterns)
        for name, patterns in lists.items()
    }


def _pattern_list(place: str, patterns: object) -> tuple[str, ...]:
    if not isinstance(patterns, list) or not all(isinstance(pattern, str) for pattern in patterns):
        raise SettingsError(
            f'{place} = {patterns!r} must be a list of texts such as ["hotfix", "post-?mortem"]'
        )
    for pattern in patterns:
        wrong = find_fault(pattern)
        if wrong:
            raise SettingsError(f"{place}: the pattern {pattern[:80]!r} {wrong}")
    return tuple(patterns)


RESERVED_FOLDERS = frozenset({"projects", "conversations", "journal", "archive"})
