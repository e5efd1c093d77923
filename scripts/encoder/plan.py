"""Run the plan on one machine with a GPU: make the data, tune several variants at once, then seeds of the best, and join.

    python plan.py first  --input FOLDER --work FOLDER --out FOLDER      data, and one seed of each variant
    python plan.py second --input FOLDER --work FOLDER --out FOLDER      more seeds of the one that dev likes best, averaged

FOLDER of --input: base.onnx, dialogues.jsonl.xz (sources.py), and LoCoMo's and LongMemEval's files for measuring.
Weights that shall be kept are left in --out as parts of at most 15 MiB: cat name.npz.* > name.npz.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import torch
from encoder import Encoder, load, save
from judge import Sets

HERE = Path(__file__).parent
PART = 15 * 2**20
VARIANTS = {
    "plain": [],
    "words": ["--words", "0.5"],
    "words-hard": ["--words", "0.5", "--hard", "0.5"],
    "words-int8": ["--words", "0.5", "--int8-from", "0.6"],
}
SEEDS = (1, 2, 3)


def script(name: str, *arguments: object, env: dict[str, str] | None = None) -> subprocess.Popen:
    command = [sys.executable, "-u", str(HERE / name), *map(str, arguments)]
    return subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1", **(env or {})})


def make_data(args: argparse.Namespace) -> None:
    args.work.mkdir(parents=True, exist_ok=True)
    shutil.copy(args.input / "base.onnx", args.work / "base.onnx")
    bench = script("sets.py", "--data", args.input, "--out", args.work / "sets-bench.npz")
    if script("prepare.py", "--dialogues", args.input / "dialogues.jsonl.xz", "--out", args.work).wait():
        sys.exit("prepare.py failed")
    dev = script("sets.py", "--dev", args.work / "dev.json", "--out", args.work / "sets-dev.npz")
    if dev.wait() or bench.wait():
        sys.exit("sets.py failed")


def train(args: argparse.Namespace, runs: dict[str, list], began: float) -> None:
    left = args.seconds - (time.time() - began) - 75
    print("training for", round(left), "s", flush=True)
    working = [
        script(
            "train.py",
            "--data",
            args.work,
            "--out",
            args.work,
            "--name",
            name,
            "--seconds",
            left,
            "--steps",
            args.steps,
            *options,
        )
        for name, options in runs.items()
    ]
    for one in working:
        one.wait()


def liked(judged: dict) -> float:
    """What dev says: the mean over both kinds of chat."""
    means = judged["means"]
    return (means["dev-people|0.9+0"][1] + means["dev-answers|0.9+0"][1]) / 2


def results(args: argparse.Namespace) -> dict[str, dict]:
    return {path.stem: json.loads(path.read_text()) for path in sorted(args.work.glob("*.json")) if path.stem != "dev"}


def join(args: argparse.Namespace, name: str, names: list[str]) -> dict:
    """Average the weights of several runs, and judge that."""
    held = [load(args.work / f"{one}.npz") for one in names]
    weights = {key: np.mean([one[key] for one in held], axis=0) for key in held[0]}
    save(args.work / f"{name}.npz", weights)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Encoder(weights).to(device)
    judged = Sets(*sorted(args.work.glob("sets-*.npz"))).judge(model, device)
    model.as_int8 = True
    as_int8 = Sets(*sorted(args.work.glob("sets-*.npz"))).judge(model, device)["short"]
    (args.work / f"{name}.json").write_text(json.dumps(judged | {"of": names, "as_int8": as_int8}))
    print(name, names, json.dumps(judged["short"]), "as int8", json.dumps(as_int8), flush=True)
    return judged


def keep(args: argparse.Namespace, name: str) -> None:
    raw = (args.work / f"{name}.npz").read_bytes()
    for number, start in enumerate(range(0, len(raw), PART)):
        (args.out / f"{name}.npz.{number}").write_bytes(raw[start : start + PART])


def main() -> None:
    began = time.time()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stage", choices=("first", "second"))
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=570)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--variant", help="of the second stage; else the one that dev likes best")
    args = parser.parse_args()
    if not (args.work / "sets-dev.npz").exists():
        make_data(args)
        print("data made in", round(time.time() - began), "s", flush=True)
    if args.stage == "first":
        train(args, VARIANTS, began)
        every = results(args)
        best = max(every, key=lambda name: liked(every[name]))
    else:
        known = {name: one for name, one in results(args).items() if name in VARIANTS}
        chosen = args.variant or max(known, key=lambda name: liked(known[name]))
        print("variant", chosen, flush=True)
        train(args, {f"{chosen}-{seed}": [*VARIANTS[chosen], "--seed", seed] for seed in SEEDS}, began)
        seeds = [f"{chosen}-{seed}" for seed in SEEDS if (args.work / f"{chosen}-{seed}.npz").exists()]
        join(args, "joined", seeds)
        best = "joined"
    print("best by dev:", best, flush=True)
    (args.out / "results.json").write_text(
        json.dumps({name: {**one, "dev": liked(one)} for name, one in results(args).items()})
    )
    keep(args, best)


if __name__ == "__main__":
    main()
