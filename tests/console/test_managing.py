"""What an owner manages in the console: keys and failed work."""

import json
import re
from pathlib import Path
from uuid import uuid4

from console.conftest import AXE, until
from integration.jobs.test_failed_work import fail_job
from keepword.postgres import migrate
from unit.histories.made import node


def _serious(page) -> list:
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    return [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in {"serious", "critical"}]


def test_a_key_is_made_and_shown_once_and_revoked_after_a_question(open_tab, keyed_service):
    tenant = f"console-keys-{uuid4().hex}"
    owner_key = keyed_service.make_key(tenant)
    tab = open_tab(keyed_service.url)
    tab.go_signed_in("audit", owner_key)
    page = tab.page
    keys = page.get_by_role("region", name="Keys", exact=True)
    keys.get_by_text("this tab's").wait_for()
    keys.get_by_text("Make a key").click()
    keys.get_by_label("Role").select_option("reader")
    keys.get_by_label("User that it is bound to").fill("a/b")
    keys.get_by_role("button", name="Make it").click()
    keys.get_by_role("alert").get_by_text("slash").wait_for()
    keys.get_by_label("User that it is bound to").fill("ann")
    keys.get_by_label("It ends").select_option("90d")
    keys.get_by_role("button", name="Make it").click()
    secret = keys.locator(".secret").inner_text()
    assert re.fullmatch(r"kw_[0-9a-f]{16}_[\w-]{43}", secret)
    assert _serious(page) == []
    stored = page.evaluate("JSON.stringify({...localStorage, ...sessionStorage}) + document.cookie + location.href")
    assert secret not in stored
    keys.get_by_role("button", name="I have kept it").click()
    assert secret not in page.content()
    key_id = secret.split("_")[1]
    with keyed_service.client(secret) as ann:
        assert ann.get("/v1/whoami").json()["user"] == "ann"
        row = keys.locator("tr", has_text=key_id)
        row.get_by_text("works until").wait_for()
        row.get_by_role("button", name=f"Revoke {key_id}").click()
        row.get_by_role("button", name="Keep").click()
        assert ann.get("/v1/whoami").status_code == 200
        row.get_by_role("button", name=f"Revoke {key_id}").click()
        row.get_by_role("alertdialog").get_by_role("button", name="Revoke").click()
        row.get_by_text("revoked").wait_for()
        assert ann.get("/v1/whoami").status_code == 401
    own = keys.locator("tr", has_text="this tab's")
    own.get_by_role("button", name="Revoke").click()
    own.get_by_role("alertdialog").get_by_role("button", name="Revoke").click()
    page.get_by_text("make another admin key first").wait_for()
    page.reload()
    page.get_by_text("key.made").first.wait_for()
    assert secret not in keyed_service.log()


def test_without_a_key_the_page_says_how_the_first_is_made(tab):
    page = tab.go("audit")
    page.get_by_text("keepword keys create --tenant default --role admin").wait_for()
    assert page.get_by_text("Make a key").count() == 0


def test_failed_work_is_shown_and_runs_again_after_a_dry_run(open_tab, keyed_service):
    tenant = f"console-work-{uuid4().hex}"
    owner_key = keyed_service.make_key(tenant)
    with keyed_service.client(owner_key) as owner:
        owner.put("/v1/conversations/talk", json={})
        owner.post("/v1/conversations/talk/messages", json={"role": "user", "content": "Hello there."})
    with migrate.owner(keyed_service.conninfo) as conn:
        for task in ("compact", "extract", "describe"):
            fail_job(conn, tenant, "talk", task, f"ModelFailed: {task} <b onclick=ran=1>x</b>")
        conn.execute("UPDATE backlog SET failed = true, error = 'away' WHERE tenant_id = "
                     "(SELECT id FROM tenants WHERE name = %s)", (tenant,))  # fmt: skip
    tab = open_tab(keyed_service.url)
    tab.go_signed_in("work", owner_key)
    page = tab.page
    failures = page.get_by_role("region", name="Failures")
    one = failures.locator("li", has_text="compact <b onclick")
    one.wait_for()
    assert _serious(page) == []
    one.get_by_role("button", name="Run again").click()
    one.wait_for(state="detached")
    failures.get_by_role("button", name=re.compile("Embed .* again")).click()
    failures.get_by_text("would run again").wait_for()
    failures.get_by_role("button", name="Run", exact=True).click()
    until(page, lambda: failures.get_by_role("button", name=re.compile("Embed")).count() == 0)
    failures.get_by_role("button", name="Run all again").click()
    failures.get_by_text("A dry run says: 2 would run again.").wait_for()
    failures.get_by_role("button", name="Run", exact=True).click()
    failures.wait_for(state="detached")
    page.get_by_role("region", name="Model calls").get_by_text("of all tenants").wait_for()


def _export() -> bytes:
    """Make a small history whose words and titles are hostile."""
    bad = "<img src=x onerror='window.ran = 1'>"
    nodes = {
        "r": {"id": "r", "parent": None, "children": ["a"], "message": None},
        "a": node("a", "r", ["b"], "user", f"I like {bad}"),
        "b": node("b", "a", [], "assistant", bad),
    }
    made = {"id": "c0", "title": bad, "create_time": 1.7e9, "mapping": nodes, "current_node": "b"}
    return json.dumps([made]).encode()


def test_a_history_is_uploaded_counted_imported_and_forgotten(open_tab, told):
    tab = open_tab(told.url)
    page = tab.go("imports")
    page.get_by_text("Import a history").click()
    page.get_by_role("button", name="Upload and count").wait_for()
    page.locator("input[type=file]").set_input_files(
        {"name": "conversations.json", "mimeType": "application/json", "buffer": _export()}
    )
    page.get_by_label("Whose history it is").fill("a/b")
    page.get_by_role("button", name="Upload and count").click()
    page.get_by_role("alert").get_by_text("slash").wait_for()
    page.get_by_label("Whose history it is").fill("wren")
    page.get_by_role("button", name="Upload and count").click()
    detail = page.get_by_role("complementary", name="Import")
    detail.get_by_role("button", name="Import it").wait_for()
    detail.get_by_text("What is in it").wait_for()
    assert _serious(page) == []
    with told.client() as owner:
        assert owner.get("/v1/users/wren").status_code == 404
    detail.get_by_role("button", name="Import it").click()
    detail.locator("h2 .tag", has_text="done").wait_for()
    detail.get_by_text("What was done").wait_for()
    with told.client() as owner:
        assert owner.get("/v1/conversations/chatgpt:c0").json()["message_count"] == 2
    assert page.evaluate("window.ran") is None
    detail.get_by_role("button", name="Forget it").click()
    detail.wait_for(state="detached")
    page.get_by_text("Nothing was imported yet").wait_for()


def test_a_message_is_retracted_and_that_is_undone(open_tab, told):
    tab = open_tab(told.url)
    page = tab.go("transcript?conversation=counter-talk")
    row = page.locator("li.said", has_text="The flour delivery is on 9 June.")
    row.get_by_role("button", name="Retract").click()
    row.locator(".tag", has_text="retracted").wait_for()
    page.get_by_role("button", name="Undo", exact=True).click()
    row.locator(".tag", has_text="retracted").wait_for(state="detached")


def test_all_memories_that_pass_a_filter_are_deleted_and_come_back(open_tab, keyed_service):
    owner_key = keyed_service.make_key(f"console-all-{uuid4().hex}")
    with keyed_service.client(owner_key) as owner:
        owner.put("/v1/conversations/talk", json={}).raise_for_status()
        for text in ("Ann keeps a boat in Oslo.", "Ben sold his boat.", "The boat needs paint.", "Ann likes tea."):
            owner.post("/v1/semantic", json={"conversation": "talk", "content": text}).raise_for_status()
    tab = open_tab(keyed_service.url)
    tab.go_signed_in("memories?text=boat", owner_key)
    page = tab.page
    page.get_by_role("button", name="Delete all that pass").click()
    page.get_by_text("A dry run says: 3 would be deleted").wait_for()
    page.get_by_role("alertdialog").get_by_role("button", name="Delete").click()
    page.get_by_text("No memory passes").wait_for()
    page.get_by_role("button", name="Undo").click()
    until(page, lambda: page.locator("td.main a").count() == 3)


def test_all_about_a_person_is_exported_as_a_file(open_tab, told):
    tab = open_tab(told.url)
    page = tab.go("people?user=tom")
    page.get_by_text("shoe_size").wait_for()
    with page.expect_download() as begun:
        page.get_by_role("button", name="Export as a file").click()
    exported = json.loads(Path(begun.value.path()).read_text(encoding="utf-8"))
    assert exported["user"] == "tom"
    assert [(fact["key"], len(fact["versions"])) for fact in exported["facts"]] == [("shoe_size", 1)]
    assert "Tom's favourite bread is rye." in [one["content"] for one in exported["memories"]]
    said = [one["content"] for talk in exported["conversations"] for one in talk["messages"]]
    assert said or exported["said_elsewhere"]
    assert begun.value.suggested_filename == "tom.json"


def test_a_conversation_and_a_person_are_erased_after_a_dry_run_and_the_writing_of_their_name(open_tab, keyed_service):
    tenant = f"console-erase-{uuid4().hex}"
    owner_key = keyed_service.make_key(tenant)
    with keyed_service.client(owner_key) as owner:
        owner.put("/v1/users/ann", json={"name": "Ann"}).raise_for_status()
        for name in ("first", "second"):
            owner.put(f"/v1/conversations/{name}", json={"user": "ann"}).raise_for_status()
            said = {"role": "user", "content": f"The {name} boat is blue."}
            owner.post(f"/v1/conversations/{name}/messages", json=said).raise_for_status()
        tab = open_tab(keyed_service.url)
        tab.go_signed_in("transcript?conversation=first", owner_key)
        page = tab.page
        page.get_by_role("button", name="Erase this conversation").click()
        dialog = page.get_by_role("alertdialog", name="Erase this conversation")
        dialog.get_by_text("messages").first.wait_for()
        assert _serious(page) == []
        assert dialog.get_by_role("button", name="Erase").is_disabled()
        dialog.get_by_label("Write").fill("firs")
        assert dialog.get_by_role("button", name="Erase").is_disabled()
        assert owner.get("/v1/conversations/first").status_code == 200
        dialog.get_by_label("Write").fill("first")
        dialog.get_by_role("button", name="Erase").click()
        page.get_by_text("Nobody reads it any more").or_(page.get_by_text("rows are gone")).or_(
            page.get_by_text("It is gone")
        ).first.wait_for()
        assert owner.get("/v1/conversations/first").status_code == 404
        page.get_by_role("button", name="Close").click()
        until(page, lambda: page.locator("nav.list a").count() == 1)

        tab.go("people?user=ann")
        page.get_by_role("button", name="Erase this person").click()
        dialog = page.get_by_role("alertdialog", name="Erase this person")
        dialog.get_by_label("Write").fill("ann")
        dialog.get_by_role("button", name="Erase").click()
        until(page, lambda: owner.get("/v1/users/ann").status_code == 404)
        assert owner.get("/v1/conversations/second").status_code == 404
