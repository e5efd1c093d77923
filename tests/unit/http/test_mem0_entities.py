"""The session that an add of mem0's clients is about is told before its key is known, and is no error of its own."""

import pytest

from keepword.http.mem0_entities import Entities, session_of
from keepword.model import MAX_NAME_CHARS


def test_the_names_of_an_add_tell_its_session():
    assert session_of({"user_id": "a:b", "run_id": "50%", "messages": []}) == "mem0:a%3Ab:::50%25"
    assert session_of({"agent_id": "ada"}) == Entities(agent="ada").session


@pytest.mark.parametrize(
    "body", [{}, {"user_id": 7}, {"user_id": None}, {"user_id": ""}, {"app_id": "x" * MAX_NAME_CHARS}]
)
def test_names_that_can_be_none_tell_no_session(body):
    assert session_of(body) == ""
