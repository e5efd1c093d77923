"""The bundled deep model is the file that scripts/encoder made and that its README names."""

from importlib import resources
from pathlib import Path

from keepword.embedding import onnx

ROOT = Path(__file__).parents[3]
QUESTION = "Where did Karl move to?"
ANSWER = "I live in Lisbon now, since May."
OTHER = "The tests are green on my machine."
CC_BY = ("Synthetic-Persona-Chat", "Taskmaster-4", "CaSiNo", "MedQuAD")


def test_the_readme_names_the_file():
    assert onnx._SHA256 in (ROOT / "scripts/encoder/README.md").read_text()
    assert onnx.model_file().stat().st_size < 24_000_000


def test_the_notice_names_the_sources_that_ask_for_it():
    notice = resources.files("keepword.embedding").joinpath("data/NOTICE").read_text()
    assert f"{onnx.NAME}.onnx" in notice
    assert [name for name in CC_BY if name not in notice] == []


def test_a_question_is_nearer_to_the_turn_that_answers_it():
    question, answer, other = onnx.Model().embed([QUESTION, ANSWER, OTHER])
    assert question @ answer > question @ other + 0.1
