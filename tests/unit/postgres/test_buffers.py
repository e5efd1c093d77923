"""How much memory PostgreSQL is given: a share of what this process may use, within bounds."""

import pytest

from keepword.postgres.embedded import memory as limits

MB = 1 << 20


@pytest.mark.parametrize(
    ("memory", "buffers"), [(256 * MB, 128), (1024 * MB, 256), (8192 * MB, 2048), (262_144 * MB, 4096)]
)
def test_it_is_a_quarter_of_the_memory_within_bounds(memory, buffers):
    assert limits.buffers_mb(memory) == buffers


@pytest.mark.parametrize(("text", "limit"), [("268435456\n", 256 * MB), ("max\n", None), ("", None)])
def test_a_limit_of_the_container_counts_and_no_limit_does_not(tmp_path, monkeypatch, text, limit):
    file = tmp_path / "memory.max"
    file.write_text(text)
    monkeypatch.setattr(limits, "_CGROUP_LIMITS", (tmp_path / "nowhere",))
    machine = limits.memory_bytes()
    monkeypatch.setattr(limits, "_CGROUP_LIMITS", (file, tmp_path / "nowhere"))
    assert limits.memory_bytes() == (limit or machine)
