"""The instant table is mapped from its file: processes share it, and rows that nobody asked for take no memory."""

import re
import sys
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from keepword.embedding.instant import NAME, InstantTable

MOST_KB = 512


def resident_kb(name: str) -> dict[str, int]:
    """Return how much of each mapping of a file is in memory, by its addresses."""
    mappings = re.split(r"^(?=[0-9a-f]+-[0-9a-f]+ )", Path("/proc/self/smaps").read_text(), flags=re.MULTILINE)
    found = {
        one.split(" ")[0]: re.search(r"^Rss:\s+(\d+)", one, re.MULTILINE)
        for one in mappings
        if name in one.partition("\n")[0]
    }
    return {addresses: int(rss[1]) for addresses, rss in found.items() if rss}


def test_the_rows_are_those_of_the_file():
    table = InstantTable()
    with np.load(str(resources.files("keepword.embedding") / "data" / f"{NAME}.npz")) as arrays:
        rows, scales = arrays["table"], arrays["scale"].astype(np.float32)
    tokens = np.array([1996, 2000, 30000], np.uint16)
    total = scales[tokens] @ rows[tokens].astype(np.float32)
    np.testing.assert_array_equal(table.vector(tokens), total / np.linalg.norm(total))


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_rows_that_nobody_asked_for_take_no_memory():
    # other tables of this process, which texts were read with, have rows in memory
    before = resident_kb(f"{NAME}.npz")
    table = InstantTable()
    (made,) = (kb for addresses, kb in resident_kb(f"{NAME}.npz").items() if addresses not in before)
    assert made < MOST_KB
    assert len(table.vector(np.array([2000], np.uint16))) == 256
