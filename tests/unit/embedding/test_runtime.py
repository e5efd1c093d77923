"""The model's runtime sends nothing to anybody and leaves no files of its own."""

import os
import subprocess
import sys

PROGRAM = """
from keepword.embedding.onnx import LocalEmbedder
import asyncio
asyncio.run(LocalEmbedder().embed_query("hello"))
"""


def test_the_model_leaves_no_telemetry_behind(tmp_path):
    """onnxruntime writes an id of the device and the events that it will send into the user's cache."""
    env = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    env |= {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    subprocess.run([sys.executable, "-c", PROGRAM], env=env, check=True)
    assert list(tmp_path.rglob("*")) == []
