"""Trees of files over HTTP: versions, preconditions, erasing, searching, and whose they are."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from hashlib import sha256
from types import SimpleNamespace
from uuid import uuid4

import pytest

NOTES = "/memories/notes.md"


@pytest.fixture(scope="module")
def house(keyed_service):
    """A tenant with two people, a room and a project, and keys of every kind."""
    tenant = f"files-{uuid4().hex}"
    owner = keyed_service.client(keyed_service.make_key(tenant))
    for user in ("ann", "bob"):
        owner.put(f"/v1/users/{user}", json={})
    owner.put("/v1/agents/ada/users/ann", json={})
    owner.put("/v1/projects/boat", json={})
    owner.put("/v1/rooms/hall", json={})
    for path in ("users/ann", "agents/ada"):
        owner.put(f"/v1/rooms/hall/participants/{path}")
    for name, place in {"in-boat": {"user": "ann", "project": "boat"}, "dm": {"user": "ann", "kind": "direct"}}.items():
        assert owner.put(f"/v1/conversations/{name}", json={"agent": "ada"} | place).status_code == 201

    with ExitStack() as opened:
        opened.callback(owner.close)

        def as_(role="agent", headers=None, **bound):
            key = keyed_service.make_key(tenant, role, **bound)
            client = keyed_service.client(key)
            opened.callback(client.close)
            client.headers.update(headers or {})
            return client

        yield SimpleNamespace(owner=owner, as_=as_, tenant=tenant)


@pytest.fixture
def agent(house):
    """A key of an agent that nobody else acts as, in a tree of its own."""
    return house.as_(agent=f"bot-{uuid4().hex}")


def run(client, command, status=200, /, **fields):
    query = fields.pop("query", {})
    answer = client.post("/v1/memory-tool", params=query, json={"command": command, **fields})
    assert answer.status_code == status, answer.text
    return answer.json()["text" if status == 200 else "detail"]


def put(client, path, content, status=200, /, **more):
    answer = client.put("/v1/file", params={"path": path}, json={"content": content, **more})
    assert answer.status_code == status, answer.text
    return answer.json()


def read(client, path=NOTES, **query):
    return client.get("/v1/file/version" if query else "/v1/file", params={"path": path, **query})


def test_the_six_commands_work_as_claude_calls_them(agent):
    assert run(agent, "create", path=NOTES, file_text="one\ntwo\n") == f"File created successfully at: {NOTES}"
    assert run(agent, "create", 409, path=NOTES, file_text="") == f"File {NOTES} already exists"
    assert run(agent, "view", path=NOTES).endswith("with line numbers:\n     1\tone\n     2\ttwo\n     3\t")
    assert "     2\tTWO" in run(agent, "str_replace", path=NOTES, old_str="two", new_str="TWO")
    assert run(agent, "insert", path=NOTES, insert_line=1, insert_text="x") == f"The file {NOTES} has been edited."
    assert read(agent).json()["content"] == "one\nx\nTWO\n"
    moved = "/memories/deep/notes.md"
    assert run(agent, "rename", old_path=NOTES, new_path=moved) == f"Successfully renamed {NOTES} to {moved}"
    assert run(agent, "view", path="/memories").splitlines()[1:] == [
        "10B\t/memories", "10B\t/memories/deep/", "10B\t/memories/deep/notes.md",
    ]  # fmt: skip
    assert run(agent, "delete", path="/memories/deep") == "Successfully deleted /memories/deep"
    assert run(agent, "view", 404, path=moved) == f"The path {moved} does not exist. Please provide a valid path."


def test_an_empty_file_is_a_file(agent):
    run(agent, "create", path=NOTES, file_text="")
    assert run(agent, "view", path=NOTES).endswith("\n     1\t")
    run(agent, "insert", path=NOTES, insert_line=0, insert_text="first")
    assert read(agent).json()["content"] == "first\n"


@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        ({"command": "read", "path": NOTES}, 422, "command"),
        ({"command": "view"}, 422, "path"),
        ({"command": "view", "path": NOTES, "why": 1}, 422, "why"),
        ({"command": "view", "path": "/memories/a\x00b"}, 422, "NUL"),
        ({"command": "create", "path": NOTES, "file_text": "a\x00b"}, 422, "NUL"),
        ({"command": "view", "path": "/etc/passwd"}, 422, "must start with /memories"),
        ({"command": "create", "path": "/memories/%2e%2e/x", "file_text": ""}, 422, "would escape"),
        ({"command": "create", "path": "/memories", "file_text": ""}, 409, "already exists"),
        ({"command": "delete", "path": "/memories/x/.."}, 422, "Cannot delete the /memories directory itself"),
        ({"command": "rename", "old_path": "/memories", "new_path": "/memories/x"}, 422, "Cannot rename the /memories"),
        ({"command": "view", "path": "/memories", "view_range": [1]}, 422, "view_range"),
        ({"command": "insert", "path": "/memories", "insert_line": 0, "insert_text": ""}, 409, "is not a file"),
        ({"command": "insert", "path": NOTES, "insert_line": 10**30, "insert_text": ""}, 404, "does not exist"),
        ([], 422, "body"),
    ],
)
def test_a_bad_command_says_what_is_wrong(agent, body, status, told):
    answer = agent.post("/v1/memory-tool", json=body)
    assert (answer.status_code, told in answer.text) == (status, True), answer.text


def test_a_name_is_either_a_file_or_a_folder(agent):
    put(agent, "/memories/a", "file")
    assert "a folder above" in put(agent, "/memories/a/b/c", "below", 409)["detail"]
    put(agent, "/memories/d/e", "file")
    assert "already exists" in put(agent, "/memories/d", "as a file", 409)["detail"]
    assert "already exists" in run(agent, "rename", 409, old_path="/memories/a", new_path="/memories/d")
    assert "a folder above" in run(agent, "rename", 409, old_path="/memories/d", new_path="/memories/a/x")
    assert "into itself" in run(agent, "rename", 422, old_path="/memories/d", new_path="/memories/d/x")
    # 'dx' and 'd0' stand beside 'd', not in it
    put(agent, "/memories/d0", "beside")
    put(agent, "/memories/dx", "beside")
    run(agent, "delete", path="/memories/d")
    assert [one["path"] for one in agent.get("/v1/files").json()["files"]] == [
        "/memories/a", "/memories/d0", "/memories/dx",
    ]  # fmt: skip


def test_of_two_replacements_at_once_one_gets_a_clear_conflict(agent):
    """They are sent together until two have met: each writes only over what it read."""
    met = []
    for number in range(60):
        put(agent, NOTES, "word " * 20_000 + f"left{number} right{number}")
        edits = [
            {"command": "str_replace", "path": NOTES, "old_str": f"{side}{number}", "new_str": side.upper()}
            for side in ("left", "right")
        ]
        with ThreadPoolExecutor(2) as pool:
            answers = list(pool.map(lambda edit: agent.post("/v1/memory-tool", json=edit), edits))
        content = read(agent).json()["content"]
        written = ["LEFT" in content, "RIGHT" in content]
        assert [answer.status_code == 200 for answer in answers] == written, "what was answered is what is there"
        met = [answer for answer in answers if answer.status_code != 200]
        if met:
            break
    assert [answer.status_code for answer in met] == [409]
    assert "was changed by another call at the same time" in met[0].json()["detail"]


def test_a_sha256_guards_what_was_read(agent):
    first = put(agent, NOTES, "żółw", sha256="")
    assert (first["version"], first["size"], first["sha256"]) == (1, 7, sha256("żółw".encode()).hexdigest())
    put(agent, NOTES, "other", 409, sha256="")
    put(agent, NOTES, "other", 412, sha256="0" * 64)
    assert put(agent, NOTES, "żółw")["version"] == 1, "what is there already makes no version"
    second = put(agent, NOTES, "other", sha256=first["sha256"])
    assert second["version"] == 2
    put(agent, "/memories/none", "x", 404, sha256=first["sha256"])
    gone = {"path": NOTES, "sha256": first["sha256"]}
    assert agent.delete("/v1/file", params=gone).status_code == 412
    assert agent.delete("/v1/file", params=gone | {"sha256": second["sha256"]}).status_code == 204
    assert agent.delete("/v1/file", params={"path": NOTES}).status_code == 404


def test_versions_are_kept_read_and_erased(house, agent):
    slug = agent.get("/v1/whoami").json()["agent"]
    for content in ("my PIN is 4711", "my PIN is secret"):
        put(agent, NOTES, content)
    run(agent, "delete", path=NOTES)
    put(agent, NOTES, "again")
    listed = agent.get("/v1/file/versions", params={"path": NOTES}).json()["versions"]
    assert [(one["version"], one["operation"], one["author"]) for one in listed] == [
        (number, operation, f"agent:{slug}")
        for number, operation in ((4, "created"), (3, "deleted"), (2, "modified"), (1, "created"))
    ]
    page = agent.get("/v1/file/versions", params={"path": NOTES, "limit": 2}).json()
    rest = agent.get("/v1/file/versions", params={"path": NOTES, "limit": 2, "cursor": page["next"]}).json()
    assert [one["version"] for one in rest["versions"]] == [2, 1]
    assert read(agent, version=1).json()["content"] == "my PIN is 4711"
    tree = {"scope": "agent", "id": slug, "path": NOTES}
    assert agent.post("/v1/file/redact", params=tree, json={"version": 1}).status_code == 403
    assert house.owner.post("/v1/file/redact", params=tree, json={"version": 4}).status_code == 409
    assert house.owner.post("/v1/file/redact", params=tree, json={"version": 9}).status_code == 404
    for _ in range(2):
        assert house.owner.post("/v1/file/redact", params=tree, json={"version": 1}).status_code == 204
    erased = read(agent, version=1).json()
    assert (erased["content"], erased["sha256"], erased["redacted_by"]) == (None, None, "owner")
    assert read(agent, version=2).json()["content"] == "my PIN is secret"


def test_a_search_finds_files_that_hold_all_words_and_the_first_line(agent):
    put(agent, "/memories/a.md", "# Ann\n\nShe prefers WINDOW seats.\nAnd Żółw.")
    put(agent, "/memories/b.md", "window cleaning")

    def found(query):
        answer = agent.post("/v1/search/files", json={"query": query})
        assert answer.status_code == 200, answer.text
        return [(one["path"], one["line"], one["text"]) for one in answer.json()["files"]]

    assert found("seats window") == [("/memories/a.md", 3, "She prefers WINDOW seats.")]
    assert [path for path, *_ in found("window")] == ["/memories/b.md", "/memories/a.md"]
    assert found("ŻÓŁW") == [("/memories/a.md", 4, "And Żółw.")]
    assert found("100% _") == []
    put(agent, "/memories/b.md", "100% _sure_")
    assert found("100% _") == [("/memories/b.md", 1, "100% _sure_")]
    assert agent.post("/v1/search/files", json={"query": " "}).status_code == 422
    assert agent.post("/v1/search/files", json={"query": "a " * 11 + "b c d e f g h i j k"}).status_code == 422


def test_large_files_are_taken_up_to_their_limit(agent):
    million = "x" * 79 + "\n"
    text = million * 13_108  # a little over 1 MiB
    run(agent, "create", path=NOTES, file_text=text + "the end")
    assert "13109\tthe END" in run(agent, "str_replace", path=NOTES, old_str="the end", new_str="the END")
    assert read(agent).json()["size"] == len(text) + 7
    assert put(agent, NOTES, "ż" * (3 * 1024 * 1024 + 1), 413)["detail"].endswith("at most 6291456")


def test_many_files_are_listed_in_pages(agent):
    paths = [f"/memories/{number % 7}/{number:04}.md" for number in range(60)]
    for path in paths:
        put(agent, path, path)
    seen, cursor = [], None
    while True:
        query = {"limit": 25, **({"cursor": cursor} if cursor else {})}
        page = agent.get("/v1/files", params=query).json()
        seen += [one["path"] for one in page["files"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert seen == sorted(paths)
    under = agent.get("/v1/files", params={"under": "/memories/3"}).json()["files"]
    assert [one["path"] for one in under] == sorted(path for path in paths if path.startswith("/memories/3/"))
    for bad in ("\0", "/memories/../x", "\ufffd", "x"):
        assert agent.get("/v1/files", params={"cursor": bad}).status_code == 422


def test_an_agents_own_files_are_part_of_its_tree_and_the_owner_writes_them(house, agent):
    slug = agent.get("/v1/whoami").json()["agent"]
    assert house.owner.put(f"/v1/agents/{slug}/files/SOUL.md", json={"content": "Be kind."}).status_code == 200
    soul = "/memories/workspace/SOUL.md"
    assert run(agent, "view", path=soul).endswith("     1\tBe kind.")
    assert (read(agent, soul).json()["author"], read(agent, soul).json()["sha256"]) == (
        "owner", sha256(b"Be kind.").hexdigest(),
    )  # fmt: skip
    for command in ({"command": "str_replace", "path": soul, "old_str": "kind", "new_str": "rude"},
                    {"command": "delete", "path": "/memories/workspace"},
                    {"command": "create", "path": "/memories/workspace/mine", "file_text": ""}):  # fmt: skip
        assert "the tenant's owner writes them" in run(agent, command.pop("command"), 403, **command)
    assert agent.post("/v1/search/files", json={"query": "kind"}).json()["files"][0]["path"] == soul
    house.owner.put(f"/v1/agents/{slug}/files/SOUL.md", json={"content": "Be brief."})
    assert [one["operation"] for one in agent.get("/v1/file/versions", params={"path": soul}).json()["versions"]] == [
        "modified", "created",
    ]  # fmt: skip
    # of other trees they are no part
    with_ann = house.as_(headers={"Keepword-Agent": slug, "Keepword-User": "ann"})
    assert with_ann.get("/v1/files").json()["files"] == []


def test_what_an_agent_writes_for_a_user_stays_with_them(house):
    ann, bob = (house.as_(headers={"Keepword-Agent": "ada", "Keepword-User": user}) for user in ("ann", "bob"))
    put(ann, "/memories/ann.md", "Ann's secret")
    assert read(bob, "/memories/ann.md").status_code == 404
    assert bob.get("/v1/files").json()["files"] == []
    person = house.as_(user="ann", headers={"Keepword-Agent": "ada"})
    assert read(person, "/memories/ann.md").json()["author"] == "agent:ada"
    other = house.as_(headers={"Keepword-Agent": "bix", "Keepword-User": "ann"})
    assert other.get("/v1/files").json()["files"] == []
    # the tree that all users of the agent share is not written on behalf of one
    shared = {"scope": "agent", "path": "/memories/leak.md"}
    assert ann.put("/v1/file", params=shared, json={"content": "Ann's secret"}).status_code == 403
    assert ann.get("/v1/files", params={"scope": "agent"}).status_code == 200
    # an agent's own key, only with those who were introduced
    own = house.as_(agent="ada")
    assert own.get("/v1/files", params={"scope": "user", "id": "ann"}).status_code == 200
    assert own.get("/v1/files", params={"scope": "user", "id": "bob"}).status_code == 404
    assert own.get("/v1/files", params={"scope": "user", "id": "nobody"}).status_code == 404
    assert own.get("/v1/files", params={"scope": "user", "id": "ann", "agent": "bix"}).status_code == 404


def test_rooms_and_projects_have_trees(house):
    ada, cox = house.as_(agent="ada"), house.as_(agent="cox")
    hall = {"scope": "room", "id": "hall", "path": NOTES}
    assert ada.put("/v1/file", params=hall, json={"content": "We meet on Fridays."}).status_code == 200
    assert house.as_(user="ann").get("/v1/file", params=hall).json()["content"] == "We meet on Fridays."
    assert cox.get("/v1/file", params=hall).status_code == 404
    assert house.as_(user="bob").get("/v1/file", params=hall).status_code == 404
    boat = {"scope": "project", "conversation": "in-boat", "path": NOTES}
    assert ada.put("/v1/file", params=boat, json={"content": "Hull: oak."}).status_code == 200
    owners = {"scope": "project", "id": "boat", "path": NOTES}
    assert house.owner.get("/v1/file", params=owners).json()["author"] == "agent:ada"
    assert cox.get("/v1/file", params=boat).status_code == 404
    assert ada.get("/v1/file", params=boat | {"conversation": "dm"}).status_code == 404
    assert ada.get("/v1/file", params=owners).status_code == 422


def test_a_reader_reads_and_changes_nothing(house):
    writer, reader = house.as_(agent="reading-bot"), house.as_("reader", agent="reading-bot")
    put(writer, NOTES, "here")
    assert run(reader, "view", path=NOTES).endswith("     1\there")
    for command in ({"command": "create", "path": "/memories/x", "file_text": ""},
                    {"command": "str_replace", "path": NOTES, "old_str": "here", "new_str": "gone"},
                    {"command": "insert", "path": NOTES, "insert_line": 0, "insert_text": "x"},
                    {"command": "delete", "path": NOTES},
                    {"command": "rename", "old_path": NOTES, "new_path": "/memories/x"}):  # fmt: skip
        run(reader, command.pop("command"), 403, **command)
    assert reader.put("/v1/file", params={"path": NOTES}, json={"content": "x"}).status_code == 403
    assert reader.delete("/v1/file", params={"path": NOTES}).status_code == 403


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({}, 422),
        ({"scope": "user"}, 422),
        ({"scope": "user", "id": "ann"}, 422),
        ({"scope": "user", "id": "nobody", "agent": "ada"}, 404),
        ({"scope": "room"}, 422),
        ({"scope": "room", "id": "nowhere"}, 404),
        ({"scope": "project", "id": "none"}, 404),
        ({"scope": "tenant"}, 422),
        ({"scope": "agent", "id": "a:b"}, 422),
        ({"scope": "agent", "id": "ada", "agent": "bix"}, 422),
        ({"scope": "room", "id": "hall", "conversation": "dm"}, 422),
        ({"scope": "room", "id": "a\0b"}, 422),
    ],
)
def test_the_owner_is_told_which_tree_is_not_there(house, query, status):
    answer = house.owner.get("/v1/files", params=query)
    assert answer.status_code == status, answer.text
