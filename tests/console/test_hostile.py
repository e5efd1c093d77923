"""All that is shown was written by others: nothing of it runs, loads or breaks the page; and keys stay secret."""

from itertools import cycle, islice
from uuid import uuid4

import pytest

_MARKUP = (
    "<script>window.ran = 1</script>", "<img src=x onerror='window.ran = 1'>", "<svg onload='window.ran = 1'>",
    "<iframe srcdoc='<script>parent.ran = 1</script>'></iframe>", "<a href='javascript:window.ran = 1'>click</a>",
    "</title></style></textarea><script>window.ran = 1</script>", "<body onload=window.ran=1>",
    "<details open ontoggle=window.ran=1>", "<math><mtext><img src=x onerror=window.ran=1>",
    "<style>body { display: none }</style>", "<link rel=stylesheet href=//evil.example/a.css>",
    "<meta http-equiv=refresh content='0;url=//evil.example'>", "<base href=//evil.example/>",
    "<form action=//evil.example><button>x</button></form>", "<video src=//evil.example/v autoplay onerror=ran=1>",
    "{{constructor.constructor('window.ran = 1')()}}", "${window.ran = 1}", "javascript:window.ran=1",
    "data:text/html,<script>window.ran=1</script>", "' onmouseover='window.ran=1", '" autofocus onfocus="window.ran=1',
    "![x](https://evil.example/a.png)", "[x](javascript:window.ran=1)", "`` ` <script>window.ran=1</script>",
    "&lt;script&gt;window.ran=1&lt;/script&gt;", "\\u003cscript\\u003ewindow.ran=1\\u003c/script\\u003e",
)  # fmt: skip
_MARKS = (
    "admin\u202e\u2066// gnitnirp\u2069", "\u202eevil\u202c", "\u2067right\u2069 left", "\u200f\u200e\u061c",
    "zero\u200bwidth\u2060joined\ufeff", "\u001b[31mred\u001b[0m", "bell\u0007 back\b space", "line\u2028para\u2029end",
    "\U000e0041\U000e0042 tags", "שלום עולם", "مرحبا بالعالم", "e" + "\u0301" * 300, "😀" * 3, "ﷺ" * 40,
)  # fmt: skip
_LENGTH = ("a" * 20_000, "a " * 10_000, "\n" * 5_000 + "end", "-" * 5_000, "漢" * 5_000, "W" * 3_000)
HOSTILE = (*_MARKUP, *_MARKS, *_LENGTH)


def _texts() -> list[str]:
    """Return a hundred: each alone, and then between words and behind tabs."""
    framed = (f"before {text} after" if number % 2 else f"\t{text}" for number, text in enumerate(HOSTILE))
    return [*HOSTILE, *islice(cycle(framed), 100 - len(HOSTILE))]


@pytest.fixture(scope="module")
def hostile(keyed_service):
    tenant = f"hostile-{uuid4().hex}"
    key = keyed_service.make_key(tenant)
    texts = _texts()
    assert len(texts) == 100
    with keyed_service.client(key) as owner:
        # a name holds no slash and nothing unseen: what is left of the texts as one
        for number, text in enumerate(texts[:20]):
            name = "".join(one for one in text if one.isprintable() and one != "/").strip()[:150] or "x"
            assert owner.put(f"/v1/users/u{number}", json={"name": name}).status_code == 201
        put = owner.put("/v1/conversations/bad", json={"title": texts[0] + "\u202e", "user": "u0", "agent": "helper"})
        assert put.status_code == 201
        for start in range(0, 100, 20):
            batch = [{"role": "user", "content": text} for text in texts[start : start + 20]]
            stored = owner.post("/v1/conversations/bad/messages", json=batch)
            assert stored.status_code == 201, stored.text
        line = {"role": "assistant", "content": "x" * (1024 * 1024 - 100) + "<b onclick=ran=1>"}
        assert owner.post("/v1/conversations/bad/messages", json=line).status_code == 201
        call = {"role": "assistant", "tool_name": "t<script>", "tool_args": {"a": texts[0]}, "tool_result": texts[1]}
        assert owner.post("/v1/conversations/bad/messages", json=call).status_code == 201
        for text in texts[:40]:
            told = owner.post("/v1/semantic", json={"conversation": "bad", "content": text, "categories": [text[:99]]})
            assert told.status_code in {200, 201, 422}, told.text
        owner.post("/v1/compose", json={"conversation": "bad", "message": texts[0]})
    return key


@pytest.mark.parametrize(
    "view",
    ["transcript?conversation=bad", "memories", "search?q=script window onerror", "turns?conversation=bad",
     "people", "access?conversation=bad", "work", "audit"],
)  # fmt: skip
def test_hostile_text_is_only_text(open_tab, keyed_service, hostile, view, tmp_path):
    tab = open_tab(keyed_service.url)
    tab.go_signed_in(view, hostile)
    tab.settle()
    _is_only_text(tab.page, tmp_path)


def test_a_hostile_talk_that_is_tried_is_only_text(open_tab, keyed_service, hostile, tmp_path):
    tab = open_tab(keyed_service.url)
    tab.go_signed_in("try", hostile)
    talk = "\n".join(f"Ann: I like {text}\nBen: {text}" for text in HOSTILE[:-6])
    tab.page.get_by_label("Talk:").fill(talk)
    tab.page.get_by_role("button", name="Try", exact=True).click()
    tab.page.get_by_role("region", name="As it was read").wait_for()
    _is_only_text(tab.page, tmp_path)


def _is_only_text(page, tmp_path) -> None:
    for _ in range(6):
        page.mouse.wheel(0, 20_000)
        page.wait_for_timeout(60)
    assert page.evaluate("window.ran") is None
    assert (
        page.evaluate("document.querySelectorAll('main script, main iframe, main svg, main style, main base').length")
        == 0
    )
    assert page.evaluate("[...document.querySelectorAll('main a')].every(one => one.hash.startsWith('#/'))")
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    assert page.evaluate("document.querySelector('h1').offsetHeight") > 0
    page.screenshot(path=tmp_path / "hostile.png")


def test_what_is_not_seen_is_shown_by_its_number_and_a_long_line_piece_by_piece(open_tab, keyed_service, hostile):
    tab = open_tab(keyed_service.url)
    tab.go_signed_in("transcript?conversation=bad&role=assistant", hostile)
    tab.page.get_by_text("of 1,048,").wait_for()
    assert tab.page.evaluate("document.querySelector('.words').textContent.length") < 2_000
    tab.go("transcript?conversation=bad")
    tab.page.locator(".hidden-char", has_text="U+202E").first.wait_for()
    assert "\u202e" not in tab.page.locator("main").inner_text()


def test_a_key_is_kept_in_the_tab_alone_and_one_that_ends_asks_for_another_on_the_same_page(open_tab, keyed_service):
    tenant = f"keys-{uuid4().hex}"
    owner_key, other = (keyed_service.make_key(tenant) for _ in range(2))
    with keyed_service.client(owner_key) as owner:
        owner.put("/v1/conversations/talk", json={"title": "Tiles"})
    tab = open_tab(keyed_service.url)
    tab.go_signed_in("transcript?conversation=talk", owner_key)
    page = tab.page
    page.get_by_role("heading", name="Tiles").wait_for()
    assert owner_key not in page.url
    assert owner_key not in page.evaluate("JSON.stringify({...localStorage}) + document.cookie")
    assert owner_key not in page.content()
    page.evaluate("sessionStorage.setItem('keepword-key', 'kw_0123456789abcdef_' + 'A'.repeat(43))")
    page.evaluate("location.hash = '#/transcript?conversation=talk&role=user'")
    page.get_by_role("dialog").get_by_text("this key does not work").wait_for()
    tab.sign_in(other)
    page.get_by_role("dialog").wait_for(state="detached")
    page.get_by_role("heading", name="Tiles").wait_for()
    assert "role=user" in page.url
    assert owner_key not in keyed_service.log()


def test_a_reader_s_key_is_shown_nothing_that_it_may_not_do(open_tab, keyed_service):
    tenant = f"reads-{uuid4().hex}"
    with keyed_service.client(keyed_service.make_key(tenant)) as owner:
        owner.put("/v1/users/ann", json={})
        owner.put("/v1/conversations/talk", json={"user": "ann", "agent": "helper"})
        owner.post("/v1/conversations/talk/messages", json={"role": "user", "content": "Hello there."})
        owner.post("/v1/semantic", json={"conversation": "talk", "content": "Ann likes tiles."})
    tab = open_tab(keyed_service.url)
    tab.go_signed_in("memories?conversation=talk", keyed_service.make_key(tenant, "reader", user="ann"))
    page = tab.page
    page.get_by_role("link", name="Ann likes tiles.").click()
    page.get_by_text("History").wait_for()
    for name in ("Delete", "Edit", "Pin", "Restore"):
        assert page.get_by_role("button", name=name).count() == 0
    assert page.get_by_role("navigation", name="Views").get_by_text("Who may see what").count() == 0
