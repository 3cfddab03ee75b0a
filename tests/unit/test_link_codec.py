"""A link as one line of front matter."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muisti.model import Link, LinkSource, LinkType
from muisti.storage.files.errors import BadFrontMatter
from muisti.storage.files.link_codec import format_link, parse_link
from tests.unit.making import ANY_SHARE, ANY_TEXT, ANY_TIME, NOON

ID = "0195f000-0000-7000-8000-000000000001"
LINKS = st.builds(
    Link,
    source=st.just("me"),
    type=st.sampled_from(LinkType),
    target=st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", fullmatch=True),
    created_at=ANY_TIME,
    confidence=ANY_SHARE,
    extracted_by=st.sampled_from(LinkSource),
    valid_from=st.none() | ANY_TIME,
    valid_until=st.none() | ANY_TIME,
)


@given(LINKS)
def test_what_is_written_is_read(link: Link) -> None:
    text = format_link(link)
    assert "\n" not in text
    assert parse_link("me", text, NOON) == link


@given(LINKS)
def test_one_link_has_one_line(link: Link) -> None:
    again = parse_link("me", format_link(link), NOON)
    assert format_link(again) == format_link(link)


@given(ANY_TEXT)
def test_any_other_line_is_a_link_or_bad_front_matter(text: str) -> None:
    try:
        link = parse_link("me", text, NOON)
    except BadFrontMatter as error:
        assert "links" in str(error)  # whichever of the two it is
    else:
        assert link.target == text.split()[1]


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        (f"SUPERSEDES {ID}", LinkType.SUPERSEDES),
        (f"supersedes {ID}", LinkType.SUPERSEDES),
        (f"  Builds-On   {ID} ", LinkType.BUILDS_ON),
        (f"alternative_to\t{ID}", LinkType.ALTERNATIVE_TO),
    ],
)
def test_as_people_write_it(text: str, type_: LinkType) -> None:
    assert parse_link("me", text, NOON) == Link(source="me", type=type_, target=ID, created_at=NOON)


def test_what_is_as_usual_is_left_out() -> None:
    plain = Link(source="me", type=LinkType.CONFIRMS, target=ID, created_at=NOON)
    assert format_link(plain) == f"CONFIRMS {ID} at=2026-03-10T12:00:00Z"


def test_what_is_not_as_usual_stands_behind_it() -> None:
    found = parse_link(
        "me",
        f"confirms {ID} from=2026-01-01 until=2026-02-01T12:00:00+02:00 by=LLM confidence=.5",
        NOON,
    )
    assert (found.confidence, found.extracted_by, found.created_at) == (0.5, LinkSource.LLM, NOON)
    assert found.valid_from is not None
    assert found.valid_until is not None
    assert (found.valid_from.isoformat(), found.valid_until.isoformat()) == (
        "2026-01-01T00:00:00+00:00",
        "2026-02-01T10:00:00+00:00",
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"LOVES {ID}", r"type must be one of SUPERSEDES, "),
        (f"SUPERSEDES {ID} by=oracle", r"by must be one of user, "),
        (f"SUPERSEDES {ID} confidence=high", r"confidence must be a number between 0 and 1"),
    ],
)
def test_a_bad_line_is_told_without_our_own_names(text: str, says: str) -> None:
    with pytest.raises(BadFrontMatter, match=says) as told:
        parse_link("me", text, NOON)
    assert not any(ours in str(told.value) for ours in ("LinkType", "Finder", "float"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "SUPERSEDES",
        f"LIKES {ID}",
        f"{ID} SUPERSEDES",
        f"SUPERSEDES {ID} {ID}",
        f"SUPERSEDES {ID} often",
        f"SUPERSEDES {ID} weight=1",
        f"SUPERSEDES {ID} confidence=2",
        f"SUPERSEDES {ID} confidence=-1",
        f"SUPERSEDES {ID} confidence=nan",
        f"SUPERSEDES {ID} confidence=high",
        f"SUPERSEDES {ID} confidence=",
        f"SUPERSEDES {ID} confidence=1 confidence=0.5",
        f"SUPERSEDES {ID} by=oracle",
        f"SUPERSEDES {ID} at=yesterday",
        f"SUPERSEDES {ID} from=2026-13-01",
        f"SUPERSEDES {ID} until=9999-12-31T23:59:59-12:00",
    ],
)
def test_a_bad_line_is_told_with_what_to_write(text: str) -> None:
    with pytest.raises(BadFrontMatter, match="links.*(write it like|such as)"):
        parse_link("me", text, NOON)
