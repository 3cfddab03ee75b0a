"""Wikilinks in the text of a memory on its page."""

from __future__ import annotations

from muisti.surfaces.web.markdown import render_markdown
from tests.web.conftest import Browser


def test_J7_wikilinks_can_be_clicked(empty: Browser) -> None:
    target = empty.memory.save("We sign tokens.", title="Auth <design>")
    body = "See [[auth <DESIGN>|the <b>way</b>]], [[Nowhere]], `[[code]]` and [[Nowhere#x|there]]."
    source = empty.memory.save(body, title="Log", aliases=["Diary"])
    page = empty.client.get(f"/memory/{source.id}").text
    link = f'<a class="wikilink" href="/memory/{target.id}">the &lt;b&gt;way&lt;/b&gt;</a>'
    assert link in page
    assert page.count('class="wikilink missing"') == 2
    assert "<code>[[code]]</code>" in page
    assert "in the text" in page
    assert f"/memory/{source.id}/unlink" not in page  # the text has to be edited
    assert source.id in empty.client.get(f"/memory/{target.id}").text
    [edge] = empty.client.get("/graph/data").json()["edges"]
    assert (edge["source"], edge["target"]) == (source.id, target.id)
    assert render_markdown("[[a]] ![[b]]") == "<p>[[a]] ![[b]]</p>\n"
    linked = render_markdown("![[a]] [[a|", {"a": '/x?"<'})
    assert linked == '<p><a class="wikilink" href="/x?&quot;&lt;">a</a> [[a|</p>\n'
