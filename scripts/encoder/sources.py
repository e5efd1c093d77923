"""Conversations that the encoder is trained on, read from clones of public repositories.

    python scripts/encoder/sources.py --repositories FOLDER --questions scripts/encoder/questions.jsonl.xz --out FILE

Each source is a bare or ordinary git clone in one folder, named owner+name (with the git directory in `repo` or in
itself), at any commit that has the named files. Only sources under permissive or attribution licences; none whose
answers were written by a vendor's model that forbids it, and none that Keepword measures recall on.
"""

from __future__ import annotations

import argparse
import csv
import html
import io
import json
import lzma
import random
import re
import subprocess
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

csv.field_size_limit(10**8)
# what a generator that got stuck writes: a piece or a word four times in a row
STUCK = re.compile(r"(\w{2,20}?)\1{3,}|\b(\w+)\b(?:\W+\2\b){3,}", re.IGNORECASE)

HUMANS, MANY, AGENT, ANSWERS = "humans", "many", "agent", "answers"


@dataclass
class Dialogue:
    """`kind`: two people, several, a user with an agent, or questions with long answers.

    `questions` are (turn, question) that somebody asked about a turn; `facts` are (speaker, line) of what the speaker
    says somewhere in it.
    """

    source: str
    kind: str
    turns: list[tuple[str, str]]
    questions: list[tuple[int, str]] = field(default_factory=list)
    facts: list[tuple[str, str]] = field(default_factory=list)


class Repositories:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def names(self, repository: str, pattern: str) -> list[str]:
        listed = self._git(repository, "ls-tree", "-r", "--name-only", "HEAD").decode()
        return [name for name in listed.splitlines() if re.search(pattern, name)]

    def text(self, repository: str, name: str) -> str:
        return self._git(repository, "show", f"HEAD:{name}").decode("utf-8", "replace")

    def texts(self, repository: str, names: list[str]) -> Iterator[str]:
        asked = "".join(f"HEAD:{name}\n" for name in names)
        raw = io.BytesIO(self._git(repository, "cat-file", "--batch", stdin=asked.encode()))
        while head := raw.readline():
            yield raw.read(int(head.split()[-1])).decode("utf-8", "replace")
            raw.readline()

    def _git(self, repository: str, *arguments: str, stdin: bytes | None = None) -> bytes:
        where = self._folder / repository.replace("/", "+")
        where = next(path for path in (where / "repo", where / ".git", where) if (path / "HEAD").exists())
        command = ["git", "--git-dir", str(where), *arguments]
        return subprocess.run(command, input=stdin, capture_output=True, check=True).stdout


def read_all(repositories: Repositories, questions: Path, seed: int) -> list[Dialogue]:
    shuffle = random.Random(seed)
    readers = (
        persona_chat,
        self_dialogues,
        molweni,
        taskmaster,
        camping,
        answers_of_people,
        medical,
        front_end,
        recipes,
    )
    found = [one for reader in readers for one in reader(repositories, shuffle)]
    found += generated(questions)
    return [tidy for one in found if (tidy := _tidied(one))]


def _tidied(dialogue: Dialogue) -> Dialogue | None:
    """Join what one speaker says in a row; drop what is too short or stuck."""
    joins = not dialogue.questions  # their turns are numbered
    turns: list[tuple[str, str]] = []
    for speaker, text in dialogue.turns:
        said = " ".join(text.split())
        if joins and turns and said and turns[-1][0] == speaker:
            turns[-1] = (speaker, f"{turns[-1][1]} {said}")
        elif said:
            turns.append((speaker, said))
    least = 4 if dialogue.kind in {HUMANS, MANY, AGENT} and joins else 2
    if len(turns) < least or any(STUCK.search(text[:4000]) for _, text in turns):
        return None
    dialogue.turns = turns
    return dialogue


def persona_chat(repositories: Repositories, _: random.Random) -> Iterator[Dialogue]:
    """Synthetic-Persona-Chat, CC BY 4.0. The train file is larger than some mirrors keep; two suffice."""
    for part in ("valid", "test"):
        table = repositories.text(
            "google-research-datasets/Synthetic-Persona-Chat", f"data/Synthetic-Persona-Chat_{part}.csv"
        )
        for row in csv.DictReader(io.StringIO(table)):
            turns = re.findall(r"^(User [12]): (.*)$", row["Best Generated Conversation"], re.MULTILINE)
            facts = [
                (user, line.strip())
                for user, column in (("User 1", "user 1 personas"), ("User 2", "user 2 personas"))
                for line in (row[column] or "").splitlines()
                if len(line.split()) > 2
            ]
            yield Dialogue("persona-chat", HUMANS, turns, facts=facts)


def self_dialogues(repositories: Repositories, shuffle: random.Random) -> Iterator[Dialogue]:
    """Self-dialogue corpus, BSD-3-Clause: one writer plays both sides."""
    name = "jfainberg/self_dialogue_corpus"
    blocked = set(repositories.text(name, "blocked_workers.txt").split())
    every = []
    for file in repositories.names(name, r"\.csv$"):
        for row in csv.DictReader(io.StringIO(repositories.text(name, file))):
            if row.get("WorkerId") in blocked or row.get("AssignmentStatus") == "Rejected":
                continue
            said = [(("A", "B")[place % 2], row.get(f"Answer.sentence{place + 1}") or "") for place in range(20)]
            turns = [(speaker, text) for speaker, text in said if text.strip()]
            if len(turns) >= 6:
                every.append(turns)
    shuffle.shuffle(every)
    yield from (Dialogue("self-dialogue", HUMANS, turns) for turns in every[:9000])


def molweni(repositories: Repositories, _: random.Random) -> Iterator[Dialogue]:
    """Molweni, Apache-2.0: chat rooms with several people."""
    for part in ("dev", "test"):
        for talk in json.loads(repositories.text("HIT-SCIR/Molweni", f"DP/{part}.json")):
            yield Dialogue("molweni", MANY, [(said["speaker"], said["text"]) for said in talk["edus"]])


def taskmaster(repositories: Repositories, _: random.Random) -> Iterator[Dialogue]:
    """Taskmaster-4, CC BY 4.0: orders. Much alike, so 150 of each file."""
    for number in range(8):
        for talk in json.loads(
            repositories.text("google-research-datasets/Taskmaster", f"TM-4-2024/data/data_0{number}.json")
        )[:150]:
            yield Dialogue(
                "taskmaster", AGENT, [(said["speaker"].lower(), said["text"]) for said in talk["utterances"]]
            )


def camping(repositories: Repositories, _: random.Random) -> Iterator[Dialogue]:
    """CaSiNo, CC BY 4.0: two campers negotiate, and each has reasons that it was told before."""
    for part in ("train", "test", "valid"):
        for talk in json.loads(repositories.text("kushalchawla/CaSiNo", f"data/split/casino_{part}.json")):
            turns = [(said["id"], said["text"]) for said in talk["chat_logs"] if "-Deal" not in said["text"]]
            facts = [
                (who, reason)
                for who, about in talk["participant_info"].items()
                for reason in about["value2reason"].values()
                if 4 <= len(reason.split()) <= 20
            ]
            yield Dialogue("casino", HUMANS, [(who, text) for who, text in turns if text != "Walk-Away"], facts=facts)


def answers_of_people(repositories: Repositories, _: random.Random) -> Iterator[Dialogue]:
    """Open-Assistant's hundred English trees, Apache-2.0: every answer by a person is a dialogue."""
    lines = repositories.text("LAION-AI/Open-Assistant", "model/model_eval/manual/data/en_100_tree.jsonl")

    def paths(message: dict, before: tuple[tuple[str, str], ...]) -> Iterator[tuple[tuple[str, str], ...]]:
        if message.get("synthetic"):
            return
        now = (*before, ("user" if message["role"] == "prompter" else "assistant", message["text"]))
        longer = [path for reply in message.get("replies") or () for path in paths(reply, now)]
        yield from longer or [now]

    for line in lines.splitlines():
        if line.strip():
            yield from (
                Dialogue("open-assistant", ANSWERS, list(path)) for path in paths(json.loads(line)["prompt"], ())
            )


def medical(repositories: Repositories, shuffle: random.Random) -> Iterator[Dialogue]:
    """MedQuAD, CC BY 4.0, without the parts that have no answers and without GARD's."""
    names = repositories.names("abachaa/MedQuAD", r"^[13-9]_.*\.xml$")
    shuffle.shuffle(names)
    pair = re.compile(r"<Question[^>]*>(.*?)</Question>\s*<Answer>(.*?)</Answer>", re.DOTALL)
    for document in repositories.texts("abachaa/MedQuAD", names):
        turns = []
        for question, answer in pair.findall(document):
            if len(answer.split()) > 20:
                plain = html.unescape(answer)
                asked = re.sub(r"\(are\) ", "", question).replace(" ?", "?").replace("??", "?")
                turns += [("user", asked), ("assistant", plain)]
        if turns:
            yield Dialogue("medquad", ANSWERS, turns[:6])


def front_end(repositories: Repositories, _: random.Random) -> Iterator[Dialogue]:
    """reactjs-interview-questions and front-end-interview-handbook, MIT."""
    page = repositories.text("sudheerj/reactjs-interview-questions", "README.md")
    numbered = re.compile(r"^\d+\.\s+### (.+?\?)\s*$(.*?)(?=^\d+\.\s+### |\Z)", re.MULTILINE | re.DOTALL)
    for question, answer in numbered.findall(page):
        text = re.sub(r"\*\*\[.*?Back to Top.*", "", answer)
        yield Dialogue("front-end", ANSWERS, [("user", question), ("assistant", text)])
    name = "yangshun/front-end-interview-handbook"
    for text in repositories.texts(name, repositories.names(name, r"/quiz/questions/.*/en-US\.mdx$")):
        if match := re.match(r"---\s*title: (.+?)\n.*?---\n(.+)", text, re.DOTALL):
            yield Dialogue("front-end", ANSWERS, [("user", match[1].strip("'\" ")), ("assistant", match[2])])


def recipes(repositories: Repositories, shuffle: random.Random) -> Iterator[Dialogue]:
    """based.cooking, in the public domain."""
    name = "LukeSmithxyz/based.cooking"
    wishes = ("Can you give me a recipe for {}?", "How do I make {}?", "I want to cook {} tonight. What do I need?")
    for text in repositories.texts(name, repositories.names(name, r"^content/[^_].*\.md$")):
        if match := re.match(r"---\s*title: \"?(.+?)\"?\n.*?---\n(.+)", text, re.DOTALL):
            body = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", match[2])
            yield Dialogue("recipes", ANSWERS, [("user", shuffle.choice(wishes).format(match[1])), ("assistant", body)])


def generated(path: Path) -> Iterator[Dialogue]:
    """Dialogues and questions by Qwen2.5-Coder-1.5B (Apache-2.0)."""
    kinds = {"syn": HUMANS, "synagent": AGENT, "molweni": MANY, "tm4": AGENT}
    with lzma.open(path, "rt") as lines:
        for line in lines:
            row = json.loads(line)
            if row["src"] not in kinds or not _is_sound(row):
                continue
            questions = [
                (turn, one.strip())
                for turn, asked in row["qs"]
                for one in re.findall(r"[^?]+\?", asked)
                if 5 <= len(one.split()) <= 28
                and not STUCK.search(one)
                and not re.search(r"\b(\w+)( \1\b)+", one, re.IGNORECASE)
            ]
            if questions:
                turns = [(speaker, text) for speaker, text in row["turns"]]
                yield Dialogue(f"generated-{row['src']}", kinds[row["src"]], turns, questions)


def _is_sound(row: dict) -> bool:
    if row["src"] == "syn":  # one turn that holds another's
        return not any(re.search(r"\b[A-Z][a-z]+:", text) for _, text in row["turns"])
    return row["src"] != "synagent" or len(row["turns"][1][1].split()) >= 6


def write(path: Path, dialogues: list[Dialogue]) -> None:
    with lzma.open(path, "wt", preset=2) as lines:
        lines.writelines(json.dumps(asdict(one)) + "\n" for one in dialogues)


def read(path: Path) -> list[Dialogue]:
    with lzma.open(path, "rt") as lines:
        return [Dialogue(**json.loads(line)) for line in lines]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repositories", type=Path, required=True)
    parser.add_argument("--questions", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    write(args.out, read_all(Repositories(args.repositories), args.questions, args.seed))


if __name__ == "__main__":
    main()
