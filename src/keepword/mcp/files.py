"""The tool `memory`: the commands of Claude's memory tool, through the route of the service."""

from typing import Any, Literal

from pydantic import Field

from keepword.files import TreeKind
from keepword.mcp.arguments import Arguments
from keepword.mcp.ports import Memory

_TREE = ("scope", "id", "conversation")


class FileCommand(Arguments):
    command: Literal["view", "create", "str_replace", "insert", "delete", "rename"] = Field(
        description="view a file or folder; create a file; str_replace the one occurrence of old_str; insert text "
        "after a line; delete a file or folder; rename old_path to new_path. A reader's key may only view."
    )
    path: str | None = Field(None, description="Of all but rename: such as /memories/notes.md, or /memories itself.")
    view_range: list[int] | None = Field(None, description="Of view: first and last line; a last of -1 is the end.")
    file_text: str | None = Field(None, description="Of create: the whole content.")
    old_str: str | None = Field(None, description="Of str_replace: a text that is in the file exactly once.")
    new_str: str | None = Field(None, description="Of str_replace: what stands there from now on.")
    insert_line: int | None = Field(None, description="Of insert: after how many lines; 0 is the beginning.")
    insert_text: str | None = Field(None, description="Of insert.")
    old_path: str | None = Field(None, description="Of rename.")
    new_path: str | None = Field(None, description="Of rename.")
    scope: TreeKind | None = Field(
        None, description="Whose files: user (with this agent), agent, room or project; default: the user's, where the "
        "caller acts for one, else the agent's own.",
    )  # fmt: skip
    id: str | None = Field(None, description="Of that user, agent, room or project; default: whom the caller acts for.")
    conversation: str | None = Field(None, description="For scope project: a conversation in that project.")


async def command(memory: Memory, given: dict[str, Any]) -> dict[str, Any]:
    """Run one command; what is no part of it is refused by the route."""
    tree = {name: given[name] for name in _TREE if name in given}
    if given.get("scope") != "project":
        # the conversation that the server was set up with says nothing about other trees
        tree.pop("conversation", None)
    body = {name: value for name, value in given.items() if name not in _TREE}
    return await memory.request("POST", "/v1/memory-tool", query=tree, body=body)
