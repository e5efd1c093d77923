"""The same merges, a contradiction supersedes, and the order in which workers come does not matter."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepword.memories.consolidate import ValidMemory, consolidate, contradicts
from keepword.memories.extracted import ExtractedMemory
from keepword.statements.meaning import meaning

AT = datetime(2026, 4, 18, tzinfo=UTC)
HOMES = ("Bonn", "Kiel", "Jena", "Ulm")
FOODS = ("leek", "kale", "rice")


def found(text, minute=0, type_="fact", source=None):
    return ExtractedMemory(type_, text, 0.8, AT + timedelta(minutes=minute), (UUID(int=source or minute + 1),), "ann")


def held(text, minute=0, type_="fact"):
    return ValidMemory(UUID(int=1000 + minute), type_, text, AT + timedelta(minutes=minute))


def test_what_nobody_vouches_for_ends_nothing_and_gives_way_to_what_is_vouched_for():
    said, claimed = held("ann lives in Bonn."), replace(found("ann lives in Kiel.", 5), vouched=False)
    changes = consolidate([said], [claimed])
    assert ([new.extracted for new in changes.added], changes.superseded) == ([claimed], [])
    again = consolidate([said], [replace(claimed, text="ann lives in Bonn.")])
    assert [id_ for id_, _ in again.merged] == [said.id]
    known = replace(held("ann lives in Kiel.", 9), vouched=False)
    # also if it was said before
    for text, minute in (("ann lives in Kiel.", 20), ("ann lives in Kiel.", 1), ("ann lives in Ulm.", 1)):
        changes = consolidate([known], [found(text, minute)])
        assert [gone.id for gone in changes.superseded] == [known.id]
        assert [new.valid_to for new in changes.added] == [None]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ann really likes green tea.", "ann loves the green tea"),
        ("ann doesn't like kale.", "ann hates kale."),
        ("ann can't stand kale.", "ann does not like kale"),
        ("ann's favourite band is Muse.", "ann's favorite band is Muse"),
    ],
)
def test_the_same_in_other_small_words_merges(one, other):
    assert meaning(one) == meaning(other)
    known = held(one)
    changes = consolidate([known], [found(other, 5)])
    assert ([id_ for id_, _ in changes.merged], changes.added, changes.superseded) == ([known.id], [], [])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("ann lives in Bonn.", "ann lives in Kiel now (said on 2026-04-18)."),
        ("ann likes kale.", "ann doesn't like kale any more."),
        ("The deadline is 3 May.", "The deadline is 9 May."),
        ("ann prefers tea over milk.", "ann prefers milk over tea."),
        ("We decided to use Kafka for events.", "We use NATS for events."),
        # the same attribute in other words
        ("The beta goes live on 19 November.", "ann: Beta slips by a week to 26 November."),
        ("ann's phone number is 555-1.", "ann's new phone number is 555-2."),
        ("The port of the gateway is 8080.", "The port of the gateway changed from 8080 to 9090."),
        # in other languages
        ("ann: Ich wohne in Bonn.", "ann: Ich wohne jetzt in Hamburg."),
        ("ann: J'habite à Lyon.", "ann: J'habite maintenant à Paris."),
        ("ann: Antworte auf Deutsch.", "ann: Antworte immer auf Englisch."),
        # another of a kind of which one is used or preferred
        ("We use MySQL.", "We switched to Postgres."),
        ("ann prefers tea.", "ann prefers coffee."),
        # the old value is named
        ("We use Redis.", "We use Valkey instead of Redis."),
        ("ann eats meat.", "ann stopped eating meat."),
        # as people note it, without an article
        ("ann: Budget for launch ads is 12,000 euros.", "the budget for launch ads is 9,500 euros."),
        ("The launch date is 3 May.", "ann: Launch date is 10 May."),
        ("ann eats meat.", "ann no longer eats meat."),
        ("We use Redis.", "We replaced Redis with Valkey."),
        ("The office is in Berlin.", "The office is no longer in Berlin."),
        ("ann's wife's birthday is on 3 March.", "ann's wife's birthday is on 4 March."),
        ("ann asks: answer in German.", "ann asks: always reply in Spanish."),
        ("ann asks: answer in German.", "ann asks: answer them in French from now on."),
        ("ann wants short answers.", "ann would like detailed answers."),
        ("ann wants to be called Max.", "ann goes by Maxine now."),
        ("ann's number is 555-1.", "ann changed their number to 555-2."),
        ("ann's e-mail address is a@b.example.", "ann has changed their email to c@d.example."),
        ("ann is 39.", "ann turned 40 in May."),
        ("ann works at Siemens.", "ann got a new job at Bosch."),
        ("ann works at Siemens.", "ann left Siemens."),
        ("ann has a car.", "ann sold their car."),
        ("We use Jenkins.", "We got rid of Jenkins."),
        ("ann: Deadline: 4 May.", "The deadline is now 6 May."),
        ("Our standup is at 9:00.", "ann: Standup is now at 10:00."),
        ("ann's manager is Karim.", "Lena is ann's manager now."),
        ("ann: Meine Nummer ist 555-1.", "ann: Meine Nummer ist jetzt 555-2."),
        ("ann: Mon numéro est 555-1.", "ann: Mon numéro est maintenant 555-2."),
        ("ann: Ich wohne in Bonn.", "ann: Ich bin nach Bremen gezogen."),
        ("ann: J'habite à Lyon.", "ann: J'ai déménagé à Paris."),
        ("ann: Vivo en Lugo.", "ann: Me he mudado a Sevilla."),
        ("ann: Mijn adres is Kade 1.", "ann: Mijn nieuwe adres is Markt 2."),
        ("The port of staging is 8080.", "The port of staging is now 8443."),
        ("Our staging database is at a.example.", "The staging database is now at b.example."),
        ("ann's phone is 555-1234.", "ann's phone number is 555-2345."),
        ("ann drives a van.", "ann sold the van."),
        ("Karim is ann's manager.", "Lena is ann's new manager."),
        ("Karim is ann's husband.", "Tom is ann's husband."),
        ("ann's budget is 900.", "ann's budget is 1,200 now."),
        ("ann's rent is 900.", "ann's rent is 1,200 now."),
        ("ann's wife is 39.", "ann's wife turned 40."),
        ("ann asks: always answer in German.", "ann asks: always answer in English, their German is bad."),
        ("ann asks: always answer in German.", "ann asks: answer in English because their German is bad."),
    ],
)
def test_a_contradiction_supersedes_and_the_older_stays_behind(old, new):
    known = held(old)
    changes = consolidate([known], [found(new, 5)])
    ((gone,), (added,)) = changes.superseded, changes.added
    assert (gone.id, gone.by, gone.at) == (known.id, added.id, added.extracted.at)
    late = consolidate([held(new, 5)], [found(old, 1)])
    assert late.superseded == []
    assert (late.added[0].valid_to, late.added[0].superseded_by) == (AT + timedelta(minutes=5), UUID(int=1005))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ann likes tea.", "ann likes milk."),
        ("ann lives in Bonn.", "bob lives in Kiel."),
        ("ann's dog is called Rex.", "ann's cat is called Tom."),
        ("ann works at Zeiss.", "ann lives in Jena."),
        ("ann works at Siemens.", "ann left Google."),
        ("user32's phone number is 555-1.", "user500 changed their number to 555-2."),
        ("Our office is in the old harbour.", "Our office is closed in May."),
        ("The invoice number is 4711.", "ann changed their number to 555-2."),
        ("ann is 39.", "ann's brother turned 40 in May."),
        ("Karim is ann's manager.", "Lena is bob's manager."),
        ("ann has two cats.", "ann has three dogs."),
        ("ann: Ich wohne in Bonn.", "bob: Ich wohne in Kiel."),
        ("We use MySQL.", "We switched to Slack."),
        ("We use MySQL.", "We use Postgres."),
        ("ann prefers short answers.", "ann prefers tea."),
        ("The beta goes live on 19 November.", "The shop closes on 26 November."),
        ("The shop opens at 9:00.", "The shop is on Elm Street."),
        ("The meeting is on Friday.", "The meeting is at 14:00."),
        ("ann: Budget for ads is 12,000 euros.", "ann: Budget for travel is 9,500 euros."),
        ("ann: Travel budget is 12,000 euros.", "ann: Ads budget is 9,500 euros."),
        ("The port of production is 8080.", "The port of staging is now 8443."),
        ("The production database is at db1.internal.", "The staging database is now at db2.internal."),
        ("The production database is at db1.internal.", "The staging database moved to db2.internal."),
        ("ann's phone number is 555-1234.", "ann's phone is an iPhone 15."),
        ("ann loves Rome.", "ann left Rome."),
        ("ann likes Karl.", "ann left Karl."),
        ("Acme is our partner.", "Globex is our partner."),
        ("Dr. Roth is ann's doctor.", "Lena is ann's doctor."),
        ("ann goes by Annie.", "ann goes by Bus."),
        ("ann: Ich wohne in Berlin.", "ann: Ich bin nach Rom geflogen."),
        ("ann: Ich wohne in Bremen.", "ann: Ich bin nach Bremen gezogen."),
        ("ann asks: answer in German.", "ann asks: answer in English, French or German."),
    ],
)
def test_what_can_be_true_together_stays_together(one, other):
    assert not contradicts(found(other, 5), held(one))
    changes = consolidate([held(one)], [found(other, 5)])
    assert (len(changes.added), changes.merged, changes.superseded) == (1, [], [])


def test_a_correction_ends_the_memory_whose_subject_is_most_alike():
    staging, payroll = held("Our staging machine is at a.example."), held("The payroll service is at c.example.", 1)
    fixed = found("the staging machine box moved to b.example.", 5, "correction")
    changes = consolidate([staging, payroll], [fixed])
    assert [gone.id for gone in changes.superseded] == [staging.id]
    # what was said later is not corrected by what was said before
    assert consolidate([replace(staging, said_at=AT + timedelta(hours=1))], [fixed]).superseded == []


def test_a_message_is_taken_once():
    one = found("ann likes tea.")
    assert consolidate([], [one], {(one.sources[0], meaning(one.text).digest)}).is_empty
    assert len(consolidate([], [one, one]).added) == 1


TEXTS = st.one_of(
    st.sampled_from(HOMES).map("ann lives in {}.".format),
    st.sampled_from(FOODS).map("ann likes {}.".format),
    st.sampled_from(FOODS).map("ann doesn't like {}.".format),
)


@settings(deadline=None)
@given(st.lists(TEXTS, max_size=12), st.randoms(use_true_random=False))
def test_what_is_valid_in_the_end_does_not_depend_on_the_order_of_arrival(texts, random):
    said = [found(text, minute) for minute, text in enumerate(texts)]
    shuffled = list(said)
    random.shuffle(shuffled)
    assert _valid(said) == _valid(shuffled)
    # no duplicates, and never two that contradict each other
    valid = _valid(said)
    assert len(valid) == len({meaning(text).digest for text in valid})
    assert sum("lives" in text for text in valid) <= 1


@given(st.lists(TEXTS, max_size=12))
def test_one_batch_gives_what_single_steps_give(texts):
    said = [found(text, minute) for minute, text in enumerate(texts)]
    valid = {}
    _apply(valid, said)
    assert {one.text for one in valid.values()} == _valid(said)


def _valid(said):
    valid = {}
    for one in said:
        _apply(valid, [one])
    return {one.text for one in valid.values()}


def _apply(valid, said):
    changes = consolidate(list(valid.values()), said)
    for new in changes.added:
        if new.valid_to is None:
            valid[new.id] = ValidMemory(new.id, new.extracted.type, new.extracted.text, new.extracted.at)
    for id_, one in changes.merged:
        if id_ in valid:
            valid[id_] = replace(valid[id_], said_at=max(valid[id_].said_at, one.at))
    for gone in changes.superseded:
        del valid[gone.id]
