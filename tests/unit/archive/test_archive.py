"""An archive is either whole or refused: no byte of it can be lost or changed unnoticed."""

import io
import json
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepword import archive
from keepword.archive import Progress, writing
from keepword.errors import BrokenArchive

TENANT = {"id": "6f1c2f0e-98c5-4b58-8a0b-0d9b7c1d1a11", "name": "späti", "created_at": "2026-01-02T03:04:05+00:00"}


def records(kind, amount, size=10):
    return [
        json.dumps({"kind": kind, "id": number, "text": "x" * size}).replace(" ", "").encode()
        for number in range(amount)
    ]


def made(*kinds, amount=3):
    return b"".join(archive.write(TENANT, [(kind, records(kind, amount)) for kind in kinds]))


SMALL = made("user", "message", "key")


def test_what_was_written_is_read():
    header, blocks = archive.read(io.BytesIO(made("user", "message", amount=2500)))
    found = list(blocks)
    assert (str(header.tenant_id), header.tenant) == (TENANT["id"], TENANT["name"])
    assert [(block.number, block.kind, len(block.lines)) for block in found] == [
        (1, "user", 1000), (2, "user", 1000), (3, "user", 500),
        (4, "message", 1000), (5, "message", 1000), (6, "message", 500),
    ]  # fmt: skip
    assert b"".join(line for block in found[3:] for line in block.lines).splitlines() == records("message", 2500)


def test_a_tenant_without_anything_is_an_archive():
    assert archive.check(io.BytesIO(b"".join(archive.write(TENANT, [])))).blocks == 0


def test_a_block_is_closed_before_it_gets_large(monkeypatch):
    monkeypatch.setattr(writing, "BLOCK_BYTES", 1000)
    lines = b"".join(archive.write(TENANT, [("message", records("message", 20, size=300))]))
    _, blocks = archive.read(io.BytesIO(lines))
    assert max(sum(map(len, block.lines)) for block in blocks) < 1000 + 400


@given(st.integers(0, len(SMALL) - 1), st.integers(1, 255))
def test_a_flipped_byte_is_noticed(position, change):
    damaged = bytearray(SMALL)
    damaged[position] ^= change
    with pytest.raises(BrokenArchive):
        archive.check(io.BytesIO(bytes(damaged)))


@given(st.integers(0, len(SMALL) - 1))
def test_a_cut_is_noticed(length):
    with pytest.raises(BrokenArchive):
        archive.check(io.BytesIO(SMALL[:length]))


@given(st.integers(0, SMALL.count(b"\n") - 1), st.integers(0, SMALL.count(b"\n") - 1))
def test_lines_that_changed_places_are_noticed(one, other):
    lines = SMALL.splitlines(keepends=True)
    lines[one], lines[other] = lines[other], lines[one]
    if one == other:
        archive.check(io.BytesIO(b"".join(lines)))
        return
    with pytest.raises(BrokenArchive):
        archive.check(io.BytesIO(b"".join(lines)))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "no export"),
        (b'{"hello": "world"}\n', "no export"),
        (b"PK\x03\x04 something else entirely\n", "no export"),
        (SMALL.replace(b'"format":1', b'"format":2', 1), "newer Keepword"),
        (SMALL.replace(TENANT["id"].encode(), b"nobody", 1), "header"),
        (SMALL.replace(b'"id":1', b'"id":7', 1), "block 1: the checksum"),
        (SMALL[: len(SMALL) // 2], "cut off after block"),
        (SMALL + b"more\n", "follows the end"),
        (made("dream"), "'dream'"),
    ],
    ids=["empty", "other-json", "other-file", "newer", "no-id", "damaged", "cut", "longer", "unknown-kind"],
)
def test_the_error_says_what_is_wrong(content, says):
    with pytest.raises(BrokenArchive, match=says):
        archive.check(io.BytesIO(content))


class Memory:
    """A store that can be interrupted."""

    def __init__(self, dies_at=None):
        self.blocks = []
        self.dies_at = dies_at
        self.finished = False

    def begin(self, header, tenant):  # noqa: ARG002
        last = self.blocks[-1] if self.blocks else None
        return Progress(UUID(int=1), last.number if last else 0, last.digest if last else header.digest)

    def put(self, tenant_id, block):  # noqa: ARG002
        if block.number == self.dies_at:
            raise KeyboardInterrupt
        self.blocks.append(block)

    def finish(self, tenant_id):  # noqa: ARG002
        self.finished = True


def test_an_interrupted_import_stores_each_block_once():
    whole = made("user", "message", amount=2500)
    store = Memory(dies_at=4)
    with pytest.raises(KeyboardInterrupt):
        archive.import_archive(io.BytesIO(whole), store)
    assert not store.finished
    store.dies_at = None
    taken = archive.import_archive(io.BytesIO(whole), store)
    assert [block.number for block in store.blocks] == [1, 2, 3, 4, 5, 6]
    assert (taken.resumed_after, taken.records) == (3, {"user": 2500, "message": 2500})
    assert store.finished


def test_an_import_does_not_go_on_with_another_file():
    store = Memory(dies_at=2)
    with pytest.raises(KeyboardInterrupt):
        archive.import_archive(io.BytesIO(made("user", "message")), store)
    store.dies_at = None
    with pytest.raises(BrokenArchive, match="not the one"):
        archive.import_archive(io.BytesIO(made("agent", "message")), store)
    assert not store.finished


def test_a_broken_archive_is_never_finished():
    store = Memory()
    with pytest.raises(BrokenArchive):
        archive.import_archive(io.BytesIO(SMALL[:-10]), store)
    assert not store.finished


def test_kinds_can_be_left_out():
    store = Memory()
    taken = archive.import_archive(io.BytesIO(SMALL), store, "copy", {"key"})
    assert taken.tenant == "copy"
    assert [block.kind for block in store.blocks] == ["user", "message"]
    assert "key" not in taken.records
