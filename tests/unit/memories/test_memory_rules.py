"""What the rules take for a memory, and what they leave alone."""

import time
from datetime import UTC, datetime
from uuid import UUID

import pytest

from keepword.memories.consolidate import consolidate
from keepword.memories.extracted import IMPORTANCE
from keepword.memories.mended import find_mend
from keepword.memories.rules import extract
from keepword.memories.speech import of_third_person, own_words, sentences
from keepword.model import Message

AT = datetime(2026, 4, 18, 9, tzinfo=UTC)


def message(text, role="user", user="ann", number=1, **more):
    kept = {"tool_name": None, "tool_args": None, "tool_result": None, "metadata": {}} | more
    return Message(
        UUID(int=number), "talk", number, role, user if role == "user" else None, "ada", text, kept["tool_name"],
        kept["tool_args"], kept["tool_result"], (), kept["metadata"], None, AT,
    )  # fmt: skip


def found(text, **more):
    return [(one.type, one.text) for one in extract([message(text, **more)])]


@pytest.mark.parametrize(
    ("said", "type_", "text"),
    [
        ("I like green tea.", "preference", "ann likes green tea."),
        ("my favorite band is Muse", "preference", "ann's favorite band is Muse."),
        ("Please never call me before noon!", "preference", "ann asks: never call them before noon."),
        ("I'm a carpenter.", "fact", "ann is a carpenter."),
        ("I studied law in Bonn.", "fact", "ann studied law in Bonn."),
        ("We agreed to pay in May.", "decision", "We agreed to pay in May."),
        (
            "We decided to go with Postgres for the store.",
            "decision",
            "We decided to go with Postgres for the store.",
        ),
        ("@karl please rotate the key.", "action", "ann: @karl please rotate the key."),
        ("Karl, please rotate the key.", "action", "ann: Karl, please rotate the key."),
        ("Let's stick with Debian.", "decision", "ann decided: let's stick with Debian."),
        ("I have to repaint my fence.", "task", "ann has to repaint their fence."),
        ("Actually, my train leaves at 9:15.", "correction", "ann's train leaves at 9:15."),
        ("Oops. No, I work at Zeiss.", "correction", "ann works at Zeiss."),
        ("I don't own a bicycle.", "fact", "ann doesn't own a bicycle."),
        ("I love chess, and it keeps me awake.", "preference", "ann loves chess."),
        ("My wife and I run a bakery.", "fact", "ann's wife and ann run a bakery."),
        ("I'd like you to answer briefly.", "preference", "ann would like the assistant to answer briefly."),
        ("I absolutely love chess. [photo: a board]", "preference", "ann absolutely loves chess."),
        # an adjective that may name a passing state, before its noun
        ("I like old jazz records.", "preference", "ann likes old jazz records."),
        ("I started a new job as an analyst.", "fact", "ann started a new job as an analyst."),
        ("My brother is afraid of spiders.", "fact", "ann's brother is afraid of spiders."),
    ],
)
def test_it_finds_sentences_that_stand_alone(said, type_, text):
    assert found(said) == [(type_, text)]


@pytest.mark.parametrize(
    "said",
    [
        "How are you?", "do i like tea", "I like it.", "If I worked at Zeiss, I'd be happy.", "Maybe I prefer tea.",
        "Eva said: I prefer tea.", '"I prefer tea" is what she wrote.', "> I prefer tea", "```\nI prefer tea\n```",
        "<recall>I prefer tea.</recall>", "[MEMORY]\nI prefer tea.", "Known context:\n- I prefer tea.",
        "Ada, please rotate the key.", "@ada please rotate the key.", "Karl, please don't.", "We decided to go.",
        "I haven't decided to sell.", "I'm hungry.", "You told me I like tea.", "",
        "I love seeing them play.", "My brother got me into it.", "I worked on a project to support her.",
        "Always by your side!", "Let's keep movin' forward.", "We'll keep searching.", "I have a few ideas.",
        "I love the color and texture.", "My hard work is paying off.", "I'd like to explore more options.",
        "Whenever you need help, just let me know.", "Don't forget to take care of yourself.", "I love to!",
        "My brother is tired and needs a rest.", "My team has been super encouraging.", "My son is sick because of it.",
        "We need to address issues such as bias.", "I got to pitch my idea to a judge.", "But will do that soon.",
    ],
)  # fmt: skip
def test_it_leaves_alone_what_nobody_should_keep(said):
    assert found(said) == []


@pytest.mark.parametrize(
    ("said", "type_", "text"),
    [
        ("I prefer short answers.", "preference", "ann prefers short answers."),
        ("I prefer short answers, please!", "preference", "ann prefers short answers."),
        ("I prefer answers in metric units.", "preference", "ann prefers answers in metric units."),
        ("I always use ruff and mypy --strict, never black.", "preference",
         "ann always uses ruff and mypy --strict, never black."),
        ("Decision: we use Stripe for payments, not Adyen.", "decision",
         "Decision: we use Stripe for payments, not Adyen."),
        ("Correction: the staging server moved to https://b.example.", "correction",
         "the staging server moved to https://b.example."),
        ("We will not use Kafka.", "decision", "We will not use Kafka."),
        ("We switched to Postgres.", "decision", "We switched to Postgres."),
        ("We're switching from Jira to Linear.", "decision", "We're switching from Jira to Linear."),
        ("Agreed, no deploys on Fridays.", "decision", "ann: Agreed, no deploys on Fridays."),
        ("I only drink tea now.", "preference", "ann only drinks tea now (said on 2026-04-18)."),
        ("I quit smoking.", "fact", "ann quit smoking."),
        ("My daughter Mia turns 6 on 21 November.", "fact", "ann's daughter Mia turns 6 on 21 November."),
        ("Mia was born on 21 November 2020.", "fact", "ann: Mia was born on 21 November 2020."),
        ("My sister Anna gets married on 3 July 2027.", "fact", "ann's sister Anna gets married on 3 July 2027."),
        ("I have diabetes.", "fact", "ann has diabetes."),
        ("I was diagnosed with asthma.", "fact", "ann was diagnosed with asthma."),
        ("I no longer eat meat.", "preference", "ann no longer eats meat."),
        ("I no longer work at Siemens.", "fact", "ann no longer works at Siemens."),
        ("I can't eat gluten.", "fact", "ann can't eat gluten."),
        ("I cannot drink milk.", "fact", "ann cannot drink milk."),
        ("I have a peanut allergy.", "fact", "ann has a peanut allergy."),
        ("My wife's birthday is on 3 March.", "fact", "ann's wife's birthday is on 3 March."),
        ("My wife is due on 12 April.", "fact", "ann's wife is due on 12 April."),
        ("We replaced Redis with Valkey.", "decision", "We replaced Redis with Valkey."),
        ("We no longer use Jenkins.", "fact", "We no longer use Jenkins."),
        ("The office is no longer in Berlin.", "fact", "The office is no longer in Berlin."),
        ("We pushed the launch to 3 December.", "decision", "We pushed the launch to 3 December."),
        ("I'm no longer vegetarian.", "fact", "ann is no longer vegetarian."),
        ("Beta slips by a week to 26 November.", "fact", "ann: Beta slips by a week to 26 November."),
        ("Ads budget is cut to 9,500 euros.", "fact", "ann: Ads budget is cut to 9,500 euros."),
        ("The deadline moved to 10 May.", "fact", "The deadline moved to 10 May."),
        ("Don't use emoji.", "preference", "ann asks: don't use emoji."),
        ("Please answer in German.", "preference", "ann asks: answer in German."),
        ("You should always answer in French.", "preference", "ann asks: always answer in French."),
        ("Keep your answers short, please.", "preference", "ann asks: keep the assistant's answers short."),
        ("Use tabs, not spaces.", "preference", "ann asks: use tabs, not spaces."),
        ("Use metric units.", "preference", "ann asks: use metric units."),
        ("Remind me to order a dinosaur cake.", "task", "ann asks to be reminded to order a dinosaur cake."),
        ("Call me Bob.", "preference", "ann wants to be called Bob."),
        ("I changed my number to 555-0102.", "fact", "ann changed their number to 555-0102."),
        ("I've changed my email to k@new.example.", "fact", "ann has changed their email to k@new.example."),
        ("I turned 40 in May.", "fact", "ann turned 40 in May."),
        ("I'm moving to Oslo in March.", "fact", "ann is moving to Oslo in March."),
        ("I'm learning to play the harp.", "fact", "ann is learning to play the harp."),
        ("I broke my left wrist.", "fact", "ann broke their left wrist."),
        ("I had knee surgery in 2019.", "fact", "ann had knee surgery in 2019."),
        ("I lost my job in March.", "fact", "ann lost their job in March."),
        ("I've lived in Lyon for ten years.", "fact", "ann has lived in Lyon for ten years."),
        ("I go to the gym three times a week.", "fact", "ann goes to the gym three times a week."),
        ("My sister is getting married in June.", "fact", "ann's sister is getting married in June."),
        ("Karim is my manager.", "fact", "Karim is ann's manager."),
        ("The kids are 4 and 7.", "fact", "ann: The kids are 4 and 7."),
        ("You can reach me on Signal.", "fact", "ann can be reached on Signal."),
        ("Deadline: 4 May.", "fact", "ann: Deadline: 4 May."),
        ("Standup is now at 10:00.", "fact", "ann: Standup is now at 10:00 (said on 2026-04-18)."),
        ("We got rid of Jenkins.", "decision", "We got rid of Jenkins."),
        ("It's decided: we use Stripe.", "decision", "ann: It's decided: we use Stripe."),
        ("No emojis please.", "preference", "ann asks: no emojis."),
        ("I'd like short answers.", "preference", "ann would like short answers."),
        ("All prices in euros, please.", "preference", "ann asks: all prices in euros."),
        ("Going forward, use type hints.", "preference", "ann asks: going forward, use type hints."),
        ("As of today, please no more tables.", "preference",
         "ann asks: as of today, please no more tables (said on 2026-04-18)."),
        ("From now on, answer briefly.", "preference",
         "ann asks: from now on, answer briefly (said on 2026-04-18)."),
        ("From now on, German please.", "preference", "ann asks: from now on, German (said on 2026-04-18)."),
        ("I regularly run every Sunday.", "fact", "ann regularly runs every Sunday."),
        ("I sometimes swim on Mondays.", "fact", "ann sometimes swims on Mondays."),
        ("I fly to Oslo every month.", "fact", "ann flies to Oslo every month."),
        ("TODO rotate the signing keys.", "task", "TODO rotate the signing keys."),
        ("Don't suggest anything with nuts.", "preference", "ann asks: don't suggest anything with nuts."),
        (
            "Remind me on Friday to buy a cake.",
            "task",
            "ann asks to be reminded on Friday to buy a cake (said on 2026-04-18).",
        ),
    ],
)  # fmt: skip
def test_it_keeps_what_a_user_would_want_to_be_remembered(said, type_, text):
    assert found(said) == [(type_, text)]


@pytest.mark.parametrize(
    "said",
    [
        "I meant it.", "I mean the whole world to him.", "I'm moving on.", "I'm learning a lot from you.",
        "I got it.", "I broke the build again.", "Deadline: tomorrow.", "Be brief.", "No problem.",
        "I'm planning something.", "I turned 90 degrees left.", "I got a job for you.",
        "I've been in a meeting since 9.", "I retired the server.", "We make 3 examples first.",
        "I run this script every day and it fails.", "I have kids in mind.",
        "As of today, the office is closed.", "Going forward, the team reports to Lena.",
        "From here on, Lena leads the team.", "From now on, the office is closed.", "In future, Lena leads the team.",
        "Customer: Hello.", "Client: Thanks.", "TODO List is my favorite app.", "TODO items are on the board.",
        "I often went there every day.",
        "I really like the idea of walking every day.",
        "I can't eat another bite.", "I can't eat it.", "I can't eat that much.", "I can't eat right now.",
        "I can't eat all of this.", "I can't drink any more.", "We replaced it with tape.",
        "We pushed the commit to main.", "We pushed each other to the limit.",
        "The answer is 42.", "Don't worry about the launch.", "Don't use the old file today.",
        "Keep it short.", "If we ever moved to MySQL, we need a driver.", "Priya said we switched to Postgres.",
        "It moved to 10 May.", "Agreed, nature is so refreshing.", "I never knew the colors had such deep meanings.",
        "I don't have my user ID with me right now.", "Use this one, not the other.", "No lights in the house.",
        "He answers every letter, I like tea.", "I like the Classic and Simple style.",
    ],
)  # fmt: skip
def test_it_leaves_alone_what_only_sounds_like_a_rule(said):
    assert found(said) == []


@pytest.mark.parametrize(
    ("before", "said", "text"),
    [
        ("The review is on Tuesday.", "Sorry, I meant Thursday, not Tuesday.", "The review is on Thursday"),
        ("The review is on 4 June.", "Oops, I meant 14 June.", "The review is on 14 June."),
        ("The budget is 15,000 euros.", "Sorry, I meant 18,000.", "The budget is 18,000 euros."),
        ("The port is 8080.", "Sorry, I meant not 8080 but 8443.", "The port is 8443."),
        ("The port is 8080.", "Sorry, I meant the port is 8443.", "the port is 8443."),
    ],
)
def test_what_was_meant_stands_in_the_place_of_what_was_said(before, said, text):
    one, other = message(before, number=1), message(said, number=2)
    (mended,) = extract([other], [one])
    assert (mended.type, mended.text[: len(text)]) == ("correction", text)
    assert extract([one, other])[1:] == [mended]


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("The review is on Tuesday or Monday.", "Sorry, I meant Thursday."),
        ("The review is on Tuesday.", "Sorry, I meant Lena."),
        ("The review is on Tuesday.", "Sorry, I meant 18,000."),
        ("Is the review on Tuesday?", "Sorry, I meant Thursday."),
    ],
)
def test_nobody_guesses_what_was_meant(before, said):
    assert extract([message(said, number=2)], [message(before, number=1)]) == []


def test_nobody_mends_the_words_of_others():
    of_ben = message("The review is on Tuesday.", user="ben", number=1)
    assert extract([message("Sorry, I meant Thursday.", number=2)], [of_ben]) == []


DENTIST, BORN = "My dentist appointment is on Monday.", "I was born in 1984."


def talk(*texts):
    """Make a talk in which a text that begins with ">" is the agent's."""
    return [
        message(text.removeprefix("> "), role="assistant" if text.startswith(">") else "user", number=number)
        for number, text in enumerate(texts, 1)
    ]


@pytest.mark.parametrize(
    "turns",
    [
        # a value of this kind in a question was said last
        (BORN, "Who won in 2014?", "Sorry I meant 2018."),
        (BORN, "Who won in 2014? Sorry, I meant 2018."),
        ("My rent is 900 euros.", "How much is 15% of 80?", "Sorry, I meant 20."),
        ("My flight is on Friday.", "Can you book me a table for Monday?", "Sorry, I meant Tuesday."),
        # or by the agent
        ("My daughter is 5.", "> Shall I book 3 tickets?", "No, I meant 2."),
        ("My daughter is 5.", "> Shall I book 5 tickets?", "No, I meant 2."),
        (DENTIST, "> The demo is on Tuesday.", "Sorry, I meant Thursday."),
        # or by nobody knows whom
        (DENTIST, "> " + "One thing. " * 30, "Sorry, I meant Thursday."),
        (DENTIST, "The demo, " + "which is long, " * 40 + "is soon.", "Sorry, I meant Thursday."),
        ("The gate code is [secret].", "Sorry, I meant 4712."),
        ("My shoe size is 42.", "The gate code is [secret].", "Sorry, I meant 4712."),
        # said again it is a secret, or too long
        ("The gate code is 12.", "Sorry, I meant 4712."),
        (f"The review of {'the long book ' * 26}is on May.", "Sorry, I meant " + "Thursday " * 6 + "not May."),
    ],
)
def test_no_statement_is_mended_that_may_not_be_the_one_that_was_meant(turns):
    *before, last = talk(*turns)
    assert [one for one in extract([last], before) if one.type == "correction"] == []


@pytest.mark.parametrize(
    ("turns", "text"),
    [
        ((DENTIST, "The demo is on Tuesday. Sorry, I meant Thursday."), "The demo is on Thursday (said"),
        ((DENTIST, "The demo is on Tuesday.", "Sorry, I meant Thursday."), "The demo is on Thursday (said"),
        (
            ("The demo is on Tuesday.", "> Noted, on Tuesday.", "Sorry, I meant Thursday."),
            "The demo is on Thursday (said",
        ),
        (
            ("The demo is on Tuesday.", "> What is it about?", "Sorry, I meant Thursday."),
            "The demo is on Thursday (said",
        ),
        (("The demo is on Friday.", "Oops, I meant Monday.", "No, I meant Thursday."), "The demo is on Thursday (said"),
        (("By the way, the demo is on Friday.", "Sorry, I meant Monday."), "the demo is on Monday (said"),
    ],
)
def test_the_statement_is_mended_that_was_made_last(turns, text):
    *before, last = talk(*turns)
    mended = [one.text for one in extract([last], before) if one.type == "correction"]
    assert [one[: len(text)] for one in mended] == [text]


def test_only_the_place_of_the_value_is_changed_whatever_letters_stand_before_it():
    assert find_mend("Thursday, not friday.").restate("İ ß: the demo is on FRIDAY.") == "İ ß: the demo is on Thursday."


def test_what_is_mended_in_its_message_ends_what_was_said_before():
    (said,) = talk("The demo is on Tuesday. Sorry, I meant Thursday.")
    changes = consolidate([], extract([said]))
    (valid,) = [new.extracted.text for new in changes.added if new.valid_to is None]
    assert valid.startswith("The demo is on Thursday")


def test_few_statements_of_a_message_are_mended():
    (said,) = talk("The demo is on Tuesday. " + "Sorry, I meant Thursday. " * 9)
    assert len(extract([said])) == 1 + 3


def test_earlier_messages_are_read_once_however_often_something_else_was_meant():
    def seconds(size):
        before = talk(*("We walked along. " * (size // 17) for _ in range(3)))
        last = message("Sorry, I meant Thursday. " * (size // 25), number=9)
        began = time.thread_time()
        extract([last], before)
        return time.thread_time() - began

    seconds(1024)
    assert min(seconds(32 * 1024) for _ in range(3)) < 0.5


@pytest.mark.parametrize(
    ("said", "type_"),
    [
        ("Ich bin allergisch gegen Nüsse.", "fact"), ("Ich wohne jetzt in Hamburg.", "fact"),
        ("Meine Tochter heißt Mia.", "fact"), ("Antworte bitte immer auf Deutsch.", "preference"),
        ("Ich mag keinen Koriander.", "preference"), ("Wir haben uns für Postgres entschieden.", "decision"),
        ("Erinnere mich an den Zahnarzt.", "task"),
        ("J'habite à Lyon.", "fact"), ("Je suis allergique aux noix.", "fact"), ("Je préfère le thé.", "preference"),
        ("Réponds toujours en français.", "preference"), ("Nous avons décidé de partir en mai.", "decision"),
        ("Rappelle-moi d'appeler Anna.", "task"),
        ("Vivo en Sevilla.", "fact"), ("Soy alérgica a los frutos secos.", "fact"), ("Prefiero el té.", "preference"),
        ("Responde siempre en español.", "preference"), ("Decidimos usar Postgres.", "decision"),
        ("Moro em Lisboa.", "fact"), ("Sou alérgico a nozes.", "fact"), ("Prefiro chá.", "preference"),
        ("Responda sempre em português.", "preference"), ("Decidimos usar o Postgres.", "decision"),
        ("Abito a Torino.", "fact"), ("Sono allergica alle noci.", "fact"), ("Preferisco il tè.", "preference"),
        ("Rispondi sempre in italiano.", "preference"), ("Abbiamo deciso di usare Postgres.", "decision"),
        ("Ich bin nach Bremen gezogen.", "fact"), ("Die Beta verschiebt sich auf den 26. November.", "fact"),
        ("J'ai déménagé à Lyon.", "fact"), ("Me he mudado a Sevilla.", "fact"), ("Ya no como carne.", "preference"),
        ("Mudei-me para o Porto.", "fact"), ("Mi sono trasferito a Torino.", "fact"),
        ("Ik ben verhuisd naar Gent.", "fact"), ("La reunión se pasa al 26 de noviembre.", "fact"),
        ("Ik woon in Utrecht.", "fact"), ("Ik ben allergisch voor noten.", "fact"), ("Ik hou van thee.", "preference"),
        ("Antwoord altijd in het Nederlands.", "preference"), ("We hebben besloten Postgres te gebruiken.", "decision"),
    ],
)  # fmt: skip
def test_the_main_forms_of_six_languages_are_kept_as_they_were_said(said, type_):
    ((found_type, text),) = found(said)
    assert found_type == type_
    assert text.removesuffix(" (said on 2026-04-18).").rstrip(".") == f"ann: {said}".rstrip(".")


@pytest.mark.parametrize(
    "said",
    [
        "Wohnst du in Hamburg?", "Wenn ich in Hamburg wohne, fahre ich Rad.", "Ich mag das.", "Vielleicht mag ich Tee.",
        "Tom sagte: ich wohne in Bonn.", "Je l'aime.", "Si j'habite à Lyon, je prends le train.", "Me gusta eso.",
        "Talvez prefiro chá.", "Gosto disso.", "Forse preferisco il tè.", "Misschien woon ik in Utrecht.",
        "Ik hou van dat.",
        "Das ist schön.", "C'est la vie.", "Muito obrigado!",
        "私は東京に住んでいます。", "Mieszkam w Krakowie.", "أعيش في القاهرة.",
    ],
)  # fmt: skip
def test_nothing_wrong_is_kept_of_other_languages(said):
    assert found(said) == []


def test_only_what_people_say_is_read_and_never_what_they_repeat():
    told = message("You prefer tea, and I prefer to be brief.", role="assistant")
    tool = message("", role="tool", number=2, tool_name="memory_search", tool_result="I prefer tea over coffee daily")
    assert extract([told, tool]) == []
    assert extract([message("I prefer tea over coffee daily.", number=3)], [tool]) == []
    assert found("I prefer tea.", metadata={"injected": True}) == []


def test_a_memory_names_its_source_its_time_and_who_said_it():
    (one,) = extract([message("I moved to Ghent last week.", number=9)])
    assert (one.sources, one.at, one.user) == ((UUID(int=9),), AT, "ann")
    assert one.text == "ann moved to Ghent last week (said on 2026-04-18)."
    assert one.importance == IMPORTANCE["fact"] == 0.6
    (nobody,) = extract([message("I prefer tea.", user=None)])
    assert nobody.text == "The user prefers tea."


def test_sentences_end_where_people_end_them():
    assert list(sentences('I work at St. Anna. Really! "One. Two." done\n- a point')) == [
        "I work at St. Anna.", "Really!", '"One. Two." done', "a point",
    ]  # fmt: skip
    assert own_words("a\n```\ncode\n```\nb").split() == ["a", "b"]
    assert of_third_person("I read about World War I", "eva") == "eva reads about World War I"
    assert of_third_person("I've got my own car and I always wash it", "eva") == (
        "eva has got their own car and eva always washes it"
    )
