"""The model that scripts/encoder made: the file that its README names, which the embedder can run."""

import hashlib
from pathlib import Path

import pytest

from keepword.embedding import onnx

FOLDER = Path(__file__).parents[3] / "scripts/encoder"
QUESTION = "Where did Karl move to?"
ANSWER = "I live in Lisbon now, since May."
OTHER = "The tests are green on my machine."


def test_the_file_is_the_one_that_the_readme_names():
    digest = hashlib.sha256((FOLDER / "model.onnx").read_bytes()).hexdigest()
    assert digest in (FOLDER / "README.md").read_text()


def test_a_question_is_nearer_to_the_turn_that_answers_it(monkeypatch):
    monkeypatch.setattr(onnx, "model_file", lambda: FOLDER / "model.onnx")
    monkeypatch.setattr(onnx, "_SHA256", hashlib.sha256((FOLDER / "model.onnx").read_bytes()).hexdigest())
    question, answer, other = onnx.Model().embed([QUESTION, ANSWER, OTHER])
    assert len(question) == onnx.DIMENSIONS
    assert question @ answer > question @ other + 0.1
    assert question @ question == pytest.approx(1, abs=1e-3)
