"""Each view on the demo's story: it shows what is there, can be read by everybody, and each action has its undo."""

import re

import pytest

from console.conftest import AXE, PAGE_SECONDS, until
from keepword import story

# each view, and what it shows of the story
VIEWS = {
    "turns?conversation=counter-talk": "Noted: opening on 12 June, and no walnuts.",
    "memories": "Tom's favourite bread is rye.",
    "search?q=when does the bakery open": "Decision: the bakery opens on 12 June.",
    "access?user=tom&agent=aide&conversation=counter-talk": "it was said in a direct conversation of 'mira'",
    "transcript?conversation=counter-talk": "Noted: opening on 12 June, and no walnuts.",
    "summaries?conversation=counter-talk": "This conversation has no summary yet",
    "people?user=tom": "shoe_size",
    "people?agent=aide": "SOUL.md",
    "try?user=ann": "Nothing of it is stored",
    "work": "Coverage of the vector spaces",
    "imports": "Import a history",
    "audit": "Since",
    "health": "What the doctor finds",
}


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_shows_the_story_and_axe_finds_nothing_serious_in_either_theme(open_tab, told, view):
    for scheme in ("light", "dark"):
        tab = open_tab(told.url, scheme)
        page = tab.go(view)
        page.get_by_text(VIEWS[view]).first.wait_for()
        tab.settle()
        page.evaluate(AXE.read_text(encoding="utf-8"))
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
        serious = [
            (one["id"], one["nodes"][0]["html"][:200], one["nodes"][0]["failureSummary"][:200])
            for one in found
            if one["impact"] in {"serious", "critical"}
        ]
        assert serious == [], scheme


@pytest.mark.parametrize("view", [*VIEWS, "memories?state=any"])
def test_a_view_fits_on_a_phone(open_tab, told, view):
    tab = open_tab(told.url, width=390)
    page = tab.go(view)
    tab.settle()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def _undo(page) -> None:
    page.get_by_role("button", name="Undo").click()
    page.get_by_text(re.compile("^Undone")).wait_for()


def _open_memory(tab, text: str):
    page = tab.go("memories")
    page.get_by_role("link", name=text).click()
    page.get_by_role("complementary", name="Memory").get_by_text("History").wait_for()
    return page


def test_a_memory_is_edited_rated_and_deleted_and_each_is_undone(tab):
    page = _open_memory(tab, "Tom's favourite bread is rye.")
    detail = page.get_by_role("complementary", name="Memory")
    detail.get_by_role("button", name="Edit").click()
    detail.get_by_label("Memory", exact=True).fill("Tom's favourite bread is spelt.")
    detail.get_by_role("button", name="Save").click()
    detail.locator(".quote").get_by_text("spelt").wait_for()
    detail.locator(".diff ins").get_by_text("spelt").first.wait_for()
    _undo(page)
    detail.locator(".quote").get_by_text("rye").wait_for()

    yes = detail.get_by_role("button", name="Yes")
    yes.click()
    detail.locator("button[aria-pressed=true]").wait_for()
    _undo(page)
    detail.locator("button[aria-pressed=true]").wait_for(state="detached")

    detail.get_by_role("button", name="Delete").click()
    detail.get_by_role("button", name="Restore").wait_for()
    _undo(page)
    detail.get_by_role("button", name="Delete").wait_for()
    page.get_by_role("link", name="Tom's favourite bread is rye.").wait_for()


def test_many_memories_are_deleted_after_a_dry_run_and_come_back(tab):
    page = tab.go("memories")
    page.get_by_label("Choose Tom's favourite").check()
    page.get_by_label("Choose The counter is").check()
    page.get_by_role("button", name=re.compile("Delete the chosen")).click()
    page.get_by_text("A dry run says: 2 would be deleted.").wait_for()
    page.get_by_role("alertdialog").get_by_role("button", name="Delete").click()
    page.get_by_role("link", name="The counter is painted blue.").wait_for(state="detached")
    _undo(page)
    page.get_by_role("link", name="The counter is painted blue.").wait_for()


def test_a_message_is_pinned_a_fact_deleted_and_a_setting_changed_and_each_is_undone(tab):
    page = tab.go("transcript?conversation=counter-talk")
    row = page.locator("li.said", has_text="The flour delivery is on 9 June.")
    row.get_by_role("button", name="Pin").click()
    row.locator(".mark").wait_for()
    _undo(page)
    row.locator(".mark").wait_for(state="detached")

    page = tab.go("people?user=tom")
    fact = page.locator("li", has_text="shoe_size")
    fact.get_by_role("button", name="Delete").click()
    fact.wait_for(state="detached")
    _undo(page)
    fact.wait_for()

    page = tab.go("health")
    box = page.get_by_label("direct_reads_rooms")
    box.click()
    until(page, lambda: not box.is_checked())
    _undo(page)
    until(page, box.is_checked)


def test_the_turn_shows_what_was_withheld_and_stands_beside_the_turn_before(tab):
    page = tab.go("turns?conversation=counter-talk")
    page.get_by_text(story.QUESTION).first.wait_for()
    page.get_by_label("Beside the turn before").check()
    page.get_by_role("article", name="Before").wait_for()
    page.get_by_role("button", name="Look in the whole tenant").click()
    withheld = page.locator(".withheld li", has_text="Lisbon")
    withheld.get_by_text("it stays there").wait_for()


def test_search_stands_beside_another_recipe_and_is_copied_without_the_key(tab):
    page = tab.go("search?q=the oven&two=1&recipe2=fast&user2=tom&conversation2=counter-talk")
    page.get_by_role("region", name="First").locator(".hits > li").first.wait_for()
    page.get_by_role("region", name="Second").get_by_text("found in").wait_for()
    assert page.get_by_role("region", name="Second").get_by_text("Zanolli").count() == 0
    page.get_by_text("Why", exact=True).first.click()
    page.get_by_role("region", name="Signals").first.get_by_text("instant").wait_for()


def test_the_first_four_views_are_walked_by_the_keyboard_alone(tab):
    page = tab.go("turns?conversation=counter-talk")

    def press_until(selector: str, most: int = 120) -> None:
        for _ in range(most):
            page.keyboard.press("Tab")
            if page.evaluate("selector => document.activeElement.matches(selector)", selector):
                return
        raise AssertionError(f"Tab does not reach {selector}")

    page.locator(".detail article").wait_for()
    press_until(".skip", 1)
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"
    press_until(".detail input[type=checkbox]")
    page.keyboard.press("Space")
    page.get_by_role("article", name="Before").wait_for()
    page.evaluate("document.activeElement.blur()")
    press_until("header a[href='#/memories']")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Memories", level=1).wait_for()
    page.locator("td.main a").first.wait_for()
    press_until("td.main a")
    page.keyboard.press("Enter")
    page.get_by_role("complementary", name="Memory").wait_for()
    page.evaluate("document.activeElement.blur()")
    press_until("header a[href='#/search']")
    page.keyboard.press("Enter")
    press_until("input[name=q]")
    page.keyboard.type("bakery")
    page.keyboard.press("Enter")
    page.locator(".hits > li").first.wait_for()
    page.evaluate("document.activeElement.blur()")
    press_until("header a[href='#/access']")
    page.keyboard.press("Enter")
    press_until("input[name=user]")
    page.keyboard.type("tom")
    page.keyboard.press("Enter")
    page.get_by_text("Would they see it?").wait_for()


def test_a_talk_is_tried_by_keyboard_and_stays_while_another_view_is_looked_at(tab):
    page = tab.go("try?user=ann")
    talk = "I moved to Oslo in May.\nBen: Maybe I should buy a boat.\nBen: The password is hunter2abc."
    page.get_by_label("Talk:").fill(talk)
    page.keyboard.press("Control+Enter")
    kept = page.get_by_role("region", name="Would be remembered")
    kept.get_by_text("ann moved to Oslo in May").wait_for()
    passed_over = page.get_by_role("region", name="Passed over")
    passed_over.get_by_text("it guesses, wishes or supposes").wait_for()
    page.get_by_role("region", name="As it was read").get_by_text("The password is [secret]").wait_for()
    page.get_by_text("3 messages, 1 memory kept").wait_for()
    page.get_by_role("link", name="Work", exact=True).click()
    page.get_by_text("Coverage of the vector spaces").wait_for()
    page.go_back()
    kept.get_by_text("ann moved to Oslo in May").wait_for()
    assert "Oslo" not in page.url
    page.get_by_label("Also ask the language model").check()
    page.get_by_role("button", name="Try", exact=True).click()
    page.get_by_role("alert").get_by_text("KEEPWORD_LLM_URL").wait_for()


def test_health_shows_findings_origins_and_plots(tab):
    page = tab.go("health")
    page.get_by_role("region", name="Findings").get_by_text("migrations").wait_for()
    origins = page.get_by_role("region", name="Settings with their origins")
    origins.get_by_text("KEEPWORD_HOME", exact=True).first.wait_for()
    page.get_by_label("Also those that have their default").check()
    origins.get_by_text("KEEPWORD_TIMEZONE", exact=True).wait_for()
    page.get_by_role("img", name=re.compile("median to the 95th")).wait_for()
    # the second reading comes after some seconds
    page.get_by_role("img", name=re.compile("^Entries of the tenant")).wait_for()
    page.get_by_role("region", name="Growth").get_by_text("message").first.wait_for()


def test_an_empty_tenant_plays_the_story_into_one_of_its_own_and_is_empty_again_after_it(browser, make_service):
    service = make_service(worker="true").start()
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(PAGE_SECONDS * 1000)
    page.goto(f"{service.url}/console#transcript")
    page.get_by_role("button", name="Play the demo's story").click()
    page.get_by_text("This is the demo's story.").wait_for()
    page.goto(f"{service.url}/console#turns?conversation=counter-talk")
    page.get_by_text(story.QUESTION).first.wait_for()
    # whoever signed in with another key since is in no demo: the button would erase their own tenant
    secret = page.evaluate("sessionStorage.getItem('keepword-key')")
    page.evaluate("sessionStorage.removeItem('keepword-key')")
    page.reload()
    page.get_by_text("without a key, on this machine").wait_for()
    assert page.get_by_role("button", name="Erase the demo").count() == 0
    page.evaluate("secret => sessionStorage.setItem('keepword-key', secret)", secret)
    page.reload()
    page.get_by_role("button", name="Erase the demo").click()
    page.get_by_text("Nothing is stored yet").wait_for()
    page.get_by_text("without a key, on this machine").wait_for()
    context.close()


def test_health_draws_the_messages_of_each_day(tab):
    page = tab.go("health")
    page.get_by_role("img", name="Messages by day, the last 90 days").wait_for()
