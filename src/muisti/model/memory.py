"""Memories, links, and the description of a memory's fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from operator import attrgetter

from muisti.model.fields import Field, Given, Match, Redaction, ValueType, describe


class Sector(StrEnum):
    """The type of memory, in the sense of psychology; it sets the rate of decay."""

    EPISODIC = "episodic"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"
    EMOTIONAL = "emotional"
    REFLECTIVE = "reflective"


RATES: Mapping[Sector, float] = {
    Sector.EMOTIONAL: 0.003,
    Sector.SEMANTIC: 0.005,
    Sector.REFLECTIVE: 0.008,
    Sector.PROCEDURAL: 0.01,
    Sector.EPISODIC: 0.02,
}
"""The share of salience that a memory of importance 0.9 loses per day; less important, more."""


class Tier(StrEnum):
    """The scope of a memory: one session, one project, or everywhere."""

    SESSION = "session"
    PROJECT = "project"
    GLOBAL = "global"


class EntryType(StrEnum):
    """The type of an indexed text."""

    MEMORY = "memory"
    DOCUMENT = "document"
    """A section of an indexed Markdown file."""
    MESSAGE = "message"
    """A message of a conversation."""


class LinkType(StrEnum):
    """How two memories are related: the source SUPERSEDES, CONTRADICTS … the target."""

    SUPERSEDES = "SUPERSEDES"
    CONTRADICTS = "CONTRADICTS"
    RELATED_TO = "RELATED_TO"
    BUILDS_ON = "BUILDS_ON"
    CONFIRMS = "CONFIRMS"
    APPLIES_TO = "APPLIES_TO"
    DEPENDS_ON = "DEPENDS_ON"
    ALTERNATIVE_TO = "ALTERNATIVE_TO"


class LinkSource(StrEnum):
    """What created a link: a user, a language model, muisti itself, or the text of its source."""

    USER = "user"
    LLM = "llm"
    SYSTEM = "system"
    WIKILINK = "wikilink"
    """A `[[wikilink]]` in the text. It is in no front matter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link from one memory to another, in the front matter or the text of its source."""

    source: str
    type: LinkType
    target: str
    created_at: datetime
    confidence: float = 1.0
    extracted_by: LinkSource = LinkSource.USER
    valid_from: datetime | None = None
    """None: valid since `created_at`."""
    valid_until: datetime | None = None

    @property
    def proposed(self) -> bool:
        """Whether it is an unconfirmed suggestion: it is shown but has no effect."""
        return self.extracted_by is LinkSource.SYSTEM and self.confidence < 1

    @property
    def supersedes(self) -> bool:
        """Whether it replaces its target: a confirmed SUPERSEDES link that has not ended."""
        is_open = not self.proposed and self.valid_until is None
        return self.type is LinkType.SUPERSEDES and is_open


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of memory: its folder, its decay, and whether maintenance may move it."""

    name: str
    folder: str
    decay_per_day: float | None = None
    """Factor per idle day; None: the sector's rate applies."""
    protected: bool = False


KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("decision", "decisions", decay_per_day=1.0, protected=True),
        Kind("summary", "summaries", decay_per_day=0.99),
        Kind("context", "context", decay_per_day=0.90),
        Kind("fact", "facts"),
        Kind("preference", "preferences"),
        Kind("insight", "insights"),
        Kind("bugfix", "bugfixes"),
        Kind("feature", "features"),
        Kind("refactor", "refactors"),
        Kind("discovery", "discoveries"),
        Kind("change", "changes"),
        Kind("observation", "observations"),
        Kind("note", "notes"),
    )
}


def shorten(text: str, length: int) -> str:
    """Return a text on one line, cut to a length, for a `repr`."""
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1]}…"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Memory:
    """One memory: one Markdown file."""

    # In the order of the front matter. FIELDS, below, describes each field.

    id: str
    """A UUIDv7, which never changes."""
    content: str
    """The text, in Markdown."""
    title: str
    aliases: tuple[str, ...] = ()
    """Other titles: `[[wikilinks]]` with one of them lead to this memory."""
    kind: str
    """What it is, such as decision or fact: see the settings for all kinds."""
    sector: Sector
    """The type of memory that sets its decay rate."""
    tier: Tier = Tier.PROJECT
    """How far it is visible: in its session, in its project or everywhere."""
    project: str = ""
    """Empty for memories that belong to no project."""
    user: str = ""
    """The person it belongs to; empty for none."""
    agent: str = ""
    """The agent that wrote it; empty if unknown."""
    session_id: str | None = None
    """The session that it comes from."""
    conversation: str = ""
    """Of a summary: the conversation that it covers, such as `telegram_123456`."""
    from_message: str = ""
    """Of a summary: the ID of the first message that it covers."""
    to_message: str = ""
    """Of a summary: the ID of the last message that it covers."""
    source: str = "user"
    """Where it came from: user, ai, system or another name."""
    importance: float = 0.5
    """How much it matters, 0 to 1; set when it is saved. It slows decay."""
    salience: float = 1.0
    """How present it is when it is read, 0 to 1; decays with time, grows with use."""
    summary: str = ""
    """One line about it."""
    keywords: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    """Names of groups that the caller sorts memories into; muisti gives them no meaning."""
    concepts: tuple[str, ...] = ()
    """Names and terms found in the text; derived."""
    files: tuple[str, ...] = ()
    """Paths of files that it is about."""
    created_at: datetime
    updated_at: datetime
    access_count: int = 0
    """How often it was recalled."""
    last_accessed: datetime | None = None
    valid_from: datetime | None = None
    """When it became true; None: when it was created."""
    valid_until: datetime | None = None
    """When it stopped being true; None: not yet."""
    pinned: bool = False
    """Never moved by maintenance."""
    trusted: bool = True
    """False for imported text that no human has confirmed; agents are told so."""
    links: tuple[Link, ...] = ()
    """Links whose source is this memory, without those that its text has."""
    hashtags: tuple[str, ...] = ()
    """The `#tags` in its text, without `#`; derived. They count as keywords in every search."""
    wikilinks: tuple[str, ...] = ()
    """What the `[[wikilinks]]` in its text lead to, as written there; derived."""
    deleted_at: datetime | None = None
    """When it was moved to the trash; None if it is not there."""
    content_hash: str = ""
    """A digest of the content."""
    simhash: str = ""
    """A digest that is similar for similar texts, for finding duplicates."""
    standing: bool = False
    """Whether its text is a standing instruction or a preference; derived."""
    chunk_count: int = 0
    """How many parts of the text have a vector."""
    embedding_model: str | None = None
    """The model of the vectors; None if the text is not embedded yet."""
    file_path: str | None = None
    """The file's path, relative to the vault, with forward slashes."""
    origin: EntryType = EntryType.MEMORY
    """Searches return messages and sections of documents in this form, too."""
    index_pending: bool = False
    """True if the file is on disk but not indexed yet: it becomes searchable later."""

    def __repr__(self) -> str:
        """Return one line without the content: `<Memory …3f2a91c0 decision 'Title' in web>`."""
        where = f" in {shorten(self.project, 20)}" if self.project else ""
        return f"<Memory …{self.id[-8:]} {self.kind} {shorten(self.title, 36)!r}{where}>"

    @property
    def version(self) -> str:
        """A digest of all fields that can be edited, for `update(expected_version=…)`.

        Being recalled, decay and maintenance of the index do not change it.
        """
        import hashlib  # rarely needed
        import json

        def encode(value: object) -> object:
            """Return a time or a link as JSON types."""
            if isinstance(value, datetime):
                return value.astimezone(UTC).isoformat()
            return astuple(value)  # type: ignore[call-overload]

        fields = json.dumps([getattr(self, name) for name in VERSIONED], default=encode)
        return hashlib.sha256(fields.encode()).hexdigest()[:32]

    @property
    def place(self) -> tuple[str | None, ...]:
        """The scope: the values of PLACE and, in tier `session`, the session.

        Duplicates have the same scope (contract C3).
        """
        session = self.session_id if self.tier is Tier.SESSION else None
        return *map(str, _read_place(self)), session


_OF_SUMMARY = Field(
    ValueType.NAME,
    Given.SAVE,
    redaction=Redaction.NAME,
    versioned=True,
    lenient=True,
    place=True,
)
"""What the fields of a summary have in common: they are set once, and tell summaries apart."""
FIELDS = describe(
    Memory,
    id=Field(ValueType.ID, Given.IMPORT, versioned=True),
    content=Field(
        ValueType.BODY,
        Given.UPDATE,
        redaction=Redaction.TEXT,
        front_matter=False,
        json_aliases=("memory", "text"),
    ),
    title=Field(
        ValueType.LINE,
        Given.UPDATE,
        redaction=Redaction.TEXT,
        help="Title. Default: the first heading or sentence.",
    ),
    aliases=Field(
        ValueType.LIST,
        Given.UPDATE,
        redaction=Redaction.LIST,
        lenient=True,
        help="Another title, for wikilinks; may be repeated.",
        flags=("--alias",),
    ),
    kind=Field(
        ValueType.KIND,
        Given.UPDATE,
        alias="category",
        json_aliases=("category", "type"),
        help="decision, fact, preference, insight, bugfix, note … Default: inferred.",
        match=Match.ANY_OF,
        match_help="Only this kind; may be repeated.",
    ),
    sector=Field(
        ValueType.WORD,
        Given.UPDATE,
        choices=Sector,
        help="episodic, semantic, procedural, emotional or reflective. Default: inferred.",
        match=Match.ANY_OF,
        match_help="Only this sector; may be repeated.",
    ),
    tier=Field(
        ValueType.WORD,
        Given.UPDATE,
        choices=Tier,
        place=True,
        help="session, project or global. Default: project.",
        match=Match.ANY_OF,
        match_help="Only this tier; may be repeated.",
    ),
    project=Field(
        ValueType.PROJECT,
        Given.UPDATE,
        redaction=Redaction.NAME,
        place=True,
        help="Project the memory belongs to.",
    ),
    user=Field(
        ValueType.NAME,
        Given.UPDATE,
        redaction=Redaction.NAME,
        lenient=True,
        place=True,
        help="User the memory belongs to.",
        match=Match.EXACT_OR_EMPTY,
        match_help="Only this user's memories and those without a user.",
    ),
    agent=Field(
        ValueType.NAME,
        Given.UPDATE,
        redaction=Redaction.NAME,
        lenient=True,
        help="Agent that wrote the memory.",
        match=Match.EXACT,
        match_help="Only memories this agent wrote.",
    ),
    session_id=Field(
        ValueType.NAME,
        Given.UPDATE,
        redaction=Redaction.NAME,
        help="Session the memory comes from.",
        flags=("--session-id", "--session"),
    ),
    conversation=_OF_SUMMARY._replace(
        help="Conversation that a summary covers, such as telegram_123456."
    ),
    from_message=_OF_SUMMARY._replace(help="First message that a summary covers."),
    to_message=_OF_SUMMARY._replace(help="Last message that a summary covers."),
    source=Field(
        ValueType.NAME,
        Given.UPDATE,
        redaction=Redaction.TEXT,
        always_written=True,
        help="Source of the memory: user, ai, system …",
    ),
    importance=Field(
        ValueType.SHARE, Given.UPDATE, always_written=True, help="Importance, 0 to 1. Default: 0.5."
    ),
    salience=Field(ValueType.SHARE, Given.SAVE),
    summary=Field(ValueType.TEXT, Given.UPDATE, redaction=Redaction.TEXT, help="One-line summary."),
    keywords=Field(
        ValueType.LIST,
        Given.UPDATE,
        redaction=Redaction.LIST,
        alias="tags",
        json_aliases=("tags",),
        help="Keyword; may be repeated.",
        flags=("--keyword", "-k"),
        match=Match.ALL_OF,
        match_help="Only memories with this keyword; may be repeated.",
    ),
    categories=Field(
        ValueType.LIST,
        Given.UPDATE,
        redaction=Redaction.LIST,
        lenient=True,
        help="Category of your own, independent of the kind; may be repeated.",
    ),
    concepts=Field(ValueType.LIST),
    files=Field(
        ValueType.LIST,
        Given.UPDATE,
        redaction=Redaction.LIST,
        help="File the memory is about; may be repeated.",
        flags=("--file",),
        match=Match.ALL_OF,
        match_help="Only memories about this file; may be repeated.",
    ),
    created_at=Field(ValueType.TIME, Given.SAVE, versioned=True, alias="created"),
    updated_at=Field(ValueType.TIME, front_matter=True),
    access_count=Field(ValueType.COUNT, stored=False),
    last_accessed=Field(ValueType.TIME, stored=False),
    valid_from=Field(ValueType.TIME, Given.UPDATE, help="When the memory becomes valid."),
    valid_until=Field(ValueType.TIME, Given.UPDATE, help="When the memory stops being valid."),
    pinned=Field(
        ValueType.FLAG,
        Given.UPDATE,
        help="Whether the memory is exempt from maintenance.",
    ),
    trusted=Field(
        ValueType.FLAG,
        Given.UPDATE,
        help="Whether agents may rely on the memory.",
        match=Match.EXACT,
        match_help="Only memories that a person wrote or confirmed, or only the others.",
    ),
    links=Field(ValueType.LINKS, Given.IMPORT, versioned=True),
    hashtags=Field(ValueType.LIST),
    wikilinks=Field(ValueType.LIST),
    deleted_at=Field(ValueType.TIME, versioned=True),
    content_hash=Field(ValueType.LINE),
    simhash=Field(ValueType.LINE),
    standing=Field(
        ValueType.FLAG,
        match=Match.EXACT,
        match_help="Only standing instructions and preferences, or only the others.",
    ),
    chunk_count=Field(ValueType.COUNT, stored=False),
    embedding_model=Field(ValueType.LINE, stored=False),
    file_path=Field(ValueType.LINE),
    origin=Field(ValueType.WORD, choices=EntryType, versioned=True),
    index_pending=Field(ValueType.FLAG, stored=False),
)
"""The description of every field, from which options, files, index, REST and CLI are derived."""
VERSIONED = tuple(field.name for field in FIELDS if field.versioned)
"""The fields that `Memory.version` covers."""
PLACE = tuple(field.name for field in FIELDS if field.place)
"""The fields in which duplicates must agree."""
_read_place = attrgetter(*PLACE)
CORE_SECTIONS = ("user", "agent")
"""The parts of core memory: facts about the user, and rules for the agent."""
