"""Wikilinks and tags are found outside of code, URLs and link targets."""

from __future__ import annotations

import pytest

from muisti.text.wikilinks import WikiLink, find_note_links, find_tags, find_wikilinks

LINKS = {
    "[[A]] and [[B|label]] and [[C#Part]]": [
        WikiLink("A"), WikiLink("B", "label"), WikiLink("C", "", "Part"),
    ],
    "![[image.png]] [[A]] [[A|again]]": [WikiLink("image.png", embed=True), WikiLink("A")],
    "| [[A\\|label]] |": [WikiLink("A", "label")],
    "`[[code]]` ``[[co`de]]`` [[real]]": [WikiLink("real")],
    "```\n[[code]]\n```\n[[real]]": [WikiLink("real")],
    "~~~~py\n```\n[[code]]\n~~~\n~~~~\n[[real]]": [WikiLink("real")],
    "[[#heading]] [[]] [[ ]] [[a\nb]] [[[A]]]": [WikiLink("A")],
    "a ` b [[real]]": [WikiLink("real")],
    "- item\n      ```sh\n      [[code]]\n      ```\n- [[real]]": [WikiLink("real")],
    "- ```\n  [[code]]\n  ```\n1. ~~~\n   [[code]]\n   ~~~\n[[real]]": [WikiLink("real")],
    "> ```\n> [[code]]\n> ```\n> [[real]]": [WikiLink("real")],
    "```inline``` [[one]]\n[[two]]": [WikiLink("one"), WikiLink("two")],
    r"\[[escaped]] [[real]]": [WikiLink("real")],
    "https://x.example/[[no]] (https://x.example)[[a]] [[b|https://y.example]] [u](http://z)[[c]]": [
        WikiLink("a"), WikiLink("b", "https://y.example"), WikiLink("c"),
    ],
}  # fmt: skip
TAGS = {
    "#one two #two-2, (#three/four) #ÄäÖ": ["one", "two-2", "three/four", "ÄäÖ"],
    "# Heading\n## Heading two\n#real": ["real"],
    "#123 #1a #fff #A0B1C2 #facade8 a#b &#amp; C# #_x": ["facade8"],
    "https://x.example/#part http://y.example/a#b [t](#anchor) [[A#part]]": [],
    "`#code` and\n```\n#code\n```\n#real #real": ["real"],
    '<a href="#x"> #real/': ["real"],
    "1. Build:\n    ```c\n    #include <x>\n    ```\n    #real": ["real"],
    r"\#escaped #real": ["real"],
}


@pytest.mark.parametrize("text", LINKS)
def test_wikilinks(text: str) -> None:
    assert find_wikilinks(text) == LINKS[text]


@pytest.mark.parametrize("text", TAGS)
def test_tags(text: str) -> None:
    assert find_tags(text) == TAGS[text]


def test_links_to_files() -> None:
    text = "[a](b/C%20d.md#x) [u](https://x.example/y.md) `[n](no.md)` [o](o.txt) [p](<p.md>)"
    assert find_note_links(text) == ["b/C d.md", "p.md"]
