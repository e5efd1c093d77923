"""The one function that decides, for every viewer and place that hypothesis can think of."""

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

import keepword
from keepword.access import (
    GLOBAL_RUN,
    AgentSessions,
    Grant,
    OwnPlaces,
    Place,
    Project,
    Viewer,
    WholeTenant,
    grant,
    make_viewer,
)
from keepword.errors import Forbidden
from keepword.model import Key

TENANT = UUID(int=7)
names = st.sampled_from(["ann", "bob", "cyd", "a:b", "", "ann:ada"])
slugs = st.sampled_from(["ada", "bix", "cox"])
several = st.frozensets(names, max_size=3)
viewers = st.builds(
    Viewer, st.just(TENANT), st.sampled_from(["admin", "agent", "reader", "owner", ""]), st.none() | slugs,
    st.none() | names,
)  # fmt: skip
projects = st.none() | st.builds(Project, names, st.booleans(), st.integers(0, 100))
kinds = st.sampled_from(["room", "direct", "session", "channel", "", "roster", "across", "everywhere"])
places = st.builds(
    Place, kinds, names, slugs, st.none() | names, st.none() | names, projects, several,
    st.frozensets(slugs, max_size=3),
)  # fmt: skip
strangers = (
    st.none()
    | st.text(max_size=3)
    | st.integers()
    | st.lists(st.text(max_size=2), max_size=2)
    | st.builds(Project, names, st.booleans(), st.integers(0, 100))
    | st.builds(lambda kind: SimpleNamespace(kind=kind), st.sampled_from(["room", "everywhere", None, 5, []]))
)
everything = (
    places
    | st.builds(AgentSessions, slugs, st.none() | names, several)
    | st.builds(OwnPlaces, several)
    | st.just(WholeTenant())
    | strangers
)


def test_nothing_else_makes_a_grant():
    package = Path(keepword.__file__).parent
    making = re.compile(r"(?<!class )\bGrant\(")
    makers = {str(file.relative_to(package)) for file in package.rglob("*.py") if making.search(file.read_text())}
    assert makers == {"access/grant.py"}


@given(viewers, everything)
def test_every_combination_has_an_answer_in_the_viewers_tenant(viewer, place):
    opened = grant(viewer, place)
    assert isinstance(opened, Grant)
    assert opened.tenant_id == TENANT
    assert grant(viewer, place) == opened


@given(viewers, strangers)
def test_what_is_not_a_place_opens_nothing(viewer, place):
    assert grant(viewer, place) == Grant(TENANT)


@given(viewers, places)
def test_an_unknown_kind_of_place_opens_nothing(viewer, place):
    assert grant(viewer, replace(place, kind="channel")) == Grant(TENANT)


@given(viewers, everything)
def test_an_unknown_role_opens_nothing(viewer, place):
    assert grant(replace(viewer, role="owner"), place) == Grant(TENANT)


@given(viewers, everything)
def test_everything_is_for_an_admin_who_is_bound_to_nobody(viewer, place):
    if grant(viewer, place).everything:
        assert viewer == Viewer(TENANT, "admin")
        assert place == WholeTenant()


@given(viewers, everything)
def test_only_the_own_place_can_be_written_and_never_by_a_reader(viewer, place):
    opened = grant(viewer, place)
    if opened.writes is not None:
        assert viewer.role in {"admin", "agent"}
        assert opened.writes == place.run_id
        assert opened.writes in opened.run_ids


@given(viewers, everything)
def test_shared_knowledge_is_written_only_where_it_is_read_and_never_from_a_direct_conversation(viewer, place):
    opened = grant(viewer, place)
    assert opened.shares <= opened.run_ids
    if opened.shares:
        assert opened.writes is not None
        assert place.kind != "direct"
    assert GLOBAL_RUN not in opened.shares
    assert all(opened.lets_share(run_id) for run_id in opened.shares)


@given(viewers, places)
def test_what_the_tenant_shares_is_read_everywhere_but_in_isolated_projects(viewer, place):
    opened = grant(viewer, place)
    isolated = place.project is not None and place.project.isolated
    assert (GLOBAL_RUN in opened.run_ids) == (not opened.is_nothing and not isolated)


@given(viewers, everything)
def test_what_is_private_opens_to_its_user_in_the_direct_conversation_alone(viewer, place):
    opened = grant(viewer, place)
    if "private" in opened.visibilities or opened.private_to is not None:
        assert place.kind == "direct"
        assert opened.private_to == place.user
        assert viewer.user in {None, place.user}
        assert "public" not in opened.visibilities


@given(viewers, everything)
def test_a_direct_conversation_is_never_reached_from_elsewhere(viewer, place):
    if not isinstance(place, OwnPlaces):
        reached = {run_id for run_id in grant(viewer, place).run_ids if run_id.startswith("dm:")}
        assert reached <= {getattr(place, "run_id", None)}


@given(viewers, places)
def test_in_an_isolated_project_no_profile_is_read(viewer, place):
    opened = grant(viewer, replace(place, project=Project("sealed", isolated=True, sessions=1)))
    assert not any(run_id.startswith("profile:") for run_id in opened.run_ids | opened.shares)


@given(viewers, everything)
def test_a_narrower_viewer_never_reads_more(viewer, place):
    """Naming an agent or a user takes away or changes nothing; a list is the one thing that needs a name."""
    if not isinstance(place, OwnPlaces):
        named, unnamed = grant(viewer, place), grant(replace(viewer, agent=None, user=None), place)
        assert unnamed.everything or named.run_ids <= unnamed.run_ids
        assert unnamed.everything or named.visibilities <= unnamed.visibilities


@given(viewers, st.builds(OwnPlaces, several))
def test_a_list_opens_places_and_no_words(viewer, place):
    opened = grant(viewer, place)
    assert (opened.visibilities, opened.everything, opened.writes) == (frozenset(), False, None)


@given(viewers, everything, names)
def test_narrowing_a_grant_never_adds_to_it(viewer, place, name):
    opened = grant(viewer, place)
    for run_id in (*opened.run_ids, f"session:{name}"):
        narrowed = opened.only(run_id)
        assert narrowed.run_ids <= opened.run_ids
        assert narrowed.everything == opened.everything
        assert narrowed.visibilities == opened.visibilities


@given(st.none() | slugs, st.none() | names, st.none() | slugs, st.none() | names)
def test_a_bound_key_can_ask_for_nobody_else(agent, user, asked_agent, asked_user):
    key = Key("k", TENANT, "t", "agent", agent, user)
    if (agent is not None and asked_agent not in {None, agent}) or (
        user is not None and asked_user not in {None, user}
    ):
        with pytest.raises(Forbidden):
            make_viewer(key, asked_agent, asked_user)
    else:
        seen = make_viewer(key, asked_agent, asked_user)
        assert seen.agent == (asked_agent if agent is None else agent)
        assert seen.user == (asked_user if user is None else user)
