"""Names that people and models use for ours: for "did you mean" on every surface.

Nothing here is accepted in place of our own name; it is only suggested.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

COMMANDS = {
    "add": "save log",
    "append": "log save",
    "ask": "search",
    "backup": "export",
    "begin": "start",
    "cat": "show get window",
    "change": "update set",
    "chats": "conversation",
    "check": "verify doctor",
    "close": "end",
    "config": "settings",
    "configure": "settings install",
    "conversations": "conversation",
    "create": "save start init",
    "del": "delete",
    "destroy": "delete",
    "dump": "export",
    "edit": "update set",
    "erase": "delete forget",
    "fetch": "show get",
    "find": "search",
    "finish": "end",
    "fsck": "verify",
    "gc": "cleanup",
    "get": "show window",
    "grep": "search",
    "health": "doctor",
    "info": "stats show",
    "ingest": "import index",
    "insert": "save",
    "load": "import",
    "log": "history list",
    "ls": "list",
    "maintenance": "upkeep",
    "memories": "list",
    "messages": "conversation window",
    "modify": "update",
    "new": "save start",
    "open": "show serve",
    "preferences": "settings",
    "print": "show",
    "prune": "cleanup",
    "purge": "forget",
    "put": "save set",
    "query": "search",
    "read": "show window get",
    "rebuild": "reindex",
    "recall": "search context",
    "recover": "restore",
    "refresh": "sync",
    "remember": "save",
    "remove": "delete unlink",
    "replace": "supersede",
    "rescan": "sync",
    "rm": "delete",
    "run": "serve",
    "select": "search",
    "server": "serve",
    "sessions": "session",
    "set": "update settings",
    "setup": "install init",
    "similar": "related",
    "start": "serve",
    "status": "stats doctor",
    "stop": "end",
    "store": "save",
    "tags": "keywords",
    "test": "verify doctor",
    "ui": "serve",
    "undelete": "restore",
    "undo": "restore unmerge",
    "vacuum": "cleanup",
    "view": "show window",
    "web": "serve",
    "why": "explain",
    "write": "save",
}
"""Commands of other programs, each with ours; the first that exists at that place is meant."""
FIELDS = (
    "query q question search_query search term terms keyword_query prompt text",
    "content text body message memory memory_content note value data description",
    "keywords keyword tags tag labels label topics",
    "kind type category memory_type categories",
    "limit top_k k n count max max_results max_count size page_size per_page num_results results",
    "offset skip start page cursor",
    "since after from start start_date from_date created_after start_time date_from min_date",
    "until before to end end_date to_date created_before end_time date_to max_date",
    "as_of valid_at at at_time time date",
    "at time timestamp date created_at when",
    "project workspace repo repository namespace collection group group_id project_id app_id",
    "user user_id username owner author for_user",
    "agent agent_id bot author",
    "session_id session run_id thread_id thread conversation_id",
    "conversation chat chat_id channel thread conversation_id",
    "ids memory_ids memories",
    "memory_id id uuid",
    "id uuid message_id external_id",
    "title name subject heading headline",
    "importance priority weight score rating",
    "order_by sort sort_by sort_key",
    "order direction sort_order sort_direction",
    "hard permanent permanently purge erase",
    "dry_run preview simulate check what_if",
    "yes force confirm assume_yes no_confirm",
    "budget max_tokens token_budget tokens token_limit",
    "min_salience min_score threshold score_threshold min_importance",
    "mode search_type search_mode method strategy type",
    "include_deleted deleted trash with_deleted show_deleted",
    "everything all all_projects global",
    "tier scope level visibility",
    "sector memory_sector",
    "source origin sources",
    "files file paths path filename",
    "meta metadata extra attributes props",
    "role sender author from",
    "speaker name author",
    "summary abstract description",
    "user_message user_input message prompt",
    "assistant_response response reply answer assistant_message output",
    "type link_type relation relationship rel_type",
    "target to to_id target_id destination",
    "output out outfile file o",
    "vault path dir directory db database folder store data_dir",
    "json as_json machine porcelain",
    "valid_from starts from_date start_date",
    "valid_until expires expires_at ttl expiry valid_to end_date",
    "replaces supersedes replace replace_id",
)
"""Names for the same thing, ours first: fields of REST and MCP, options of the command line."""


def suggest_command(name: str, known: Iterable[str]) -> list[str]:
    """Return the commands that were probably meant, at most two; the best first."""
    names = list(known)
    meant = [one for one in COMMANDS.get(name.casefold(), "").split() if one in names]
    return meant[:2] or _find_similar(name, names)


def suggest_field(name: str, known: Iterable[str]) -> str:
    """Return the field that was probably meant, as it is spelled in `known`; or "".

    `user_id`, `userId` and `user-id` are one name.
    """
    by_name: dict[str, str] = {}
    for one in known:
        by_name.setdefault(_normalise(one), one)
    given = _normalise(name)
    if given in by_name:
        return by_name[given]
    for group in FIELDS:
        same = group.split()
        if given in same or given.removesuffix("s") in same:
            for one in same:
                meant = by_name.get(one) or by_name.get(one.removesuffix("s"))
                if meant:
                    return meant
    similar = _find_similar(given, list(by_name))
    return by_name[similar[0]] if similar else ""


def format_suggestion(name: str, known: Iterable[str]) -> str:
    """Return the end of an error message about an unknown name; "" if there is no similar one."""
    meant = suggest_field(name, known)
    return f"; did you mean {meant!r}?" if meant else ""


def _find_similar(name: str, names: list[str]) -> list[str]:
    from difflib import get_close_matches  # rarely needed

    # A long name is not a slip of one of ours, and comparing it takes long.
    return get_close_matches(name.casefold(), names, n=2, cutoff=0.7) if len(name) <= 40 else []


def _normalise(name: str) -> str:
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name[:60])
    return words.strip("-").replace("-", "_").casefold()
