"""Judge a model: Recall@10 of the deep space alone and in the recipe, over whole scopes, for each set and kind.

`Sets` reads what sets.py made. A set whose name begins with dev is held out from training; it chooses, the others tell.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
import torch
from encoder import Encoder, embed

MANY_CHUNKS = 0.04  # as in recall/score.py
DEEP = (0.2, 0.5, 0.7, 0.8, 0.9, 1.0, 1.2, 1.5)
INSTANT = (0.0, 0.1, 0.2)
ANSWERS = {"answer", "part"}
TOP = 20


class Sets:
    def __init__(self, *paths: Path) -> None:
        self.scopes: dict[str, dict[str, np.ndarray]] = {}
        for path in paths:
            with np.load(path) as held:
                for name in held["names"].tolist():
                    keys = [key for key in held.files if key.startswith(f"{name}/")]
                    self.scopes[name] = {key.removeprefix(f"{name}/"): held[key] for key in keys}

    def judge(self, model: Encoder, device: str) -> dict:
        """Recall@10 by set, kind and weights; `short`: the most telling of it."""
        sums: dict[str, list[np.ndarray]] = defaultdict(list)
        for name, scope in self.scopes.items():
            for key, values in self._scope(model, scope, device).items():
                for kind, row in values:
                    sums[f"{_set_of(name, kind)}|{key}"].append(row)
                    if not name.startswith("dev"):
                        sums[f"{_set_of(name, kind)}:{kind}|{key}"].append(row)
        means = {key: [round(float(x), 4) for x in np.mean(rows, axis=0)] for key, rows in sums.items()}
        questions = {
            key: [round(float(row[1]), 3) for row in rows]
            for key, rows in sums.items()
            if key.endswith("|0.9+0") and ":" not in key and "dev" not in key
        }
        names = ("alone", "0.9+0", "1.0+0", "0.9+0.2", "fast")
        short = {
            f"{s} {n}": means[f"{s}|{n}"][1]
            for s in ("dev-people", "dev-answers", "locomo", "longmemeval")
            for n in names
            if f"{s}|{n}" in means
        }
        return {"short": short, "means": means, "questions": questions}

    def _scope(self, model: Encoder, scope: dict[str, np.ndarray], device: str) -> dict[str, list]:
        deep = deep_similarity(model, scope, device)
        rest = torch.from_numpy(scope["rest"].astype(np.float32)).to(device)
        near = torch.from_numpy(scope["near"].astype(np.float32) / 255).to(device)
        totals = {"alone": deep, "fast": rest + 0.2 * near}
        beside = _beside(scope, deep)
        for weight in DEEP:
            for instant in INSTANT:
                totals[f"{weight}+{instant:g}"] = rest + weight * deep.clamp_min(0) + instant * near
        for share in (0.1, 0.2, 0.3):
            totals[f"0.9+0 before {share}"] = rest + 0.9 * (
                (1 - share) * deep.clamp_min(0) + share * beside.clamp_min(0)
            )
            totals[f"0.9+0 max {share}"] = rest + 0.9 * torch.maximum(deep, (1 - share) * beside).clamp_min(0)
        kinds = [scope["kinds"].tolist()[number] for number in scope["kind"]]
        return {key: list(zip(kinds, recalls(scope, total), strict=True)) for key, total in totals.items()}


def _set_of(name: str, kind: str) -> str:
    if name.startswith("dev"):
        return "dev-answers" if kind in ANSWERS else "dev-people"
    return name.split("-", maxsplit=1)[0]


def _beside(scope: dict[str, np.ndarray], deep: torch.Tensor) -> torch.Tensor:
    """The similarity of the entry before, in the same conversation."""
    before = torch.zeros_like(deep)
    follows = (scope["talk"][1:] == scope["talk"][:-1]) & (scope["seq"][1:] == scope["seq"][:-1] + 1)
    places = torch.from_numpy(np.flatnonzero(follows) + 1).to(deep.device)
    before[:, places] = deep[:, places - 1]
    return before


def deep_similarity(model: Encoder, scope: dict[str, np.ndarray], device: str) -> torch.Tensor:
    chunks = np.split(scope["chunks"], scope["chunk_ends"][:-1])
    asked = np.split(scope["asked"], scope["asked_ends"][:-1])
    near = embed(model, asked) @ embed(model, chunks).t()
    owner = torch.from_numpy(scope["chunk_owner"].astype(np.int64)).to(device)
    count = torch.bincount(owner, minlength=len(scope["owner"]))
    best = torch.full((len(asked), len(scope["owner"])), -1.0, device=device)
    best.scatter_reduce_(1, owner[None].expand(len(asked), -1), near, "amax")
    return best - MANY_CHUNKS * torch.log2(count.clamp_min(1).float())


def recalls(scope: dict[str, np.ndarray], total: torch.Tensor) -> list[np.ndarray]:
    """Recall@5, @10 and @20 of each question, over distinct messages."""
    owner = torch.from_numpy(scope["owner"].astype(np.int64)).to(total.device)
    best = torch.full((len(total), int(owner.max()) + 1), -9.0, device=total.device)
    best.scatter_reduce_(1, owner[None].expand(len(total), -1), total.float(), "amax")
    left_out = torch.from_numpy(scope["left_out"].astype(np.int64)).to(total.device)
    rows = torch.nonzero(left_out >= 0)[:, 0]
    best[rows, left_out[rows]] = -9
    order = torch.sort(best, dim=1, descending=True, stable=True).indices[:, :TOP].cpu().numpy()
    golds = np.split(scope["evidence"], scope["evidence_ends"][:-1])
    return [
        np.array([len(set(ranked[:k].tolist()) & set(gold.tolist())) / len(gold) for k in (5, 10, 20)])
        for ranked, gold in zip(order, golds, strict=True)
    ]
