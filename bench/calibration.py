"""How far scores are chances: fits the curves of `best` and `fast`, and measures them on LoCoMo and LongMemEval.

    make bench-calibration DATA=folder

Scores whole scopes with recall/score.py, outside the service; writes docs/calibration.svg. VECTORS=file.npz keeps the
deep vectors there. A result is right if it is evidence, or says the same word by word.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import sets

from _plot import reliability
from keepword.embedding.onnx import Model
from keepword.recall.calibration import MIN_WEIGHT
from keepword.recall.question import ask
from keepword.recall.recipe import RECIPES
from keepword.recall.score import nearest_chunks, score

FIRST = 20
EDGES = np.array([0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 1.01])
OUT = Path(__file__).parents[1] / "docs" / "calibration.svg"


@dataclass
class Results:
    """Of each result its sum, what its question's words weigh, and whether it is right."""

    totals: np.ndarray
    weights: np.ndarray
    right: np.ndarray

    @property
    def features(self) -> np.ndarray:
        logs = np.log(np.maximum(self.weights, MIN_WEIGHT))
        return np.c_[self.totals, logs, np.ones(len(self.totals))]


class _Here:
    """A pool of this process alone."""

    @staticmethod
    def map(do: Callable[[Any], Any], values: list[Any], _: int) -> list[Any]:
        return [do(value) for value in values]


def vectors(name: str, texts: list[str], kept: dict[str, np.ndarray]) -> np.ndarray:
    if name not in kept:
        kept[name] = np.array(Model(os.cpu_count() or 1).embed(texts), np.float16)
    return kept[name].astype(np.float32)


def results_of(
    judged: sets.Judged, kept: dict[str, np.ndarray]
) -> Iterator[tuple[str, list[float], float, list[bool]]]:
    """Yield the first results of each question and recipe: their sums, the words' weight, and which are right."""
    candidates, texts, instants, owners = sets.entries(judged, _Here())
    chunks = [(row, chunk) for row, text in enumerate(texts) for chunk in sets.split_chunks(text)]
    deep = vectors(f"{judged.name}/chunks", [chunk for _, chunk in chunks], kept)
    asked = vectors(f"{judged.name}/asked", [one.text for one in judged.questions], kept)
    chunk_owners = np.array([row for row, _ in chunks])
    table = sets.indexer().table
    for one, vector in zip(judged.questions, asked, strict=True):
        question = ask(one.text, table)
        deeps = nearest_chunks(candidates.ids, chunk_owners, deep @ vector)
        near = np.asarray(instants @ question.vector, np.float32)
        here = replace(candidates, instants=near, deeps=deeps, named=sets.said_by_named(judged, owners, question))
        evidence = {texts[row].lower() for row in np.flatnonzero(np.isin(owners, one.evidence))}
        for name in ("best", "fast"):
            scored = score(here, question, RECIPES[name], table)
            first = np.argsort(-scored.total, kind="stable")[:FIRST]
            right = [texts[row].lower() in evidence for row in first]
            yield name, (scored.total[first] - scored.lift).tolist(), float(scored.idfs.sum()), right


def fit(groups: list[Results]) -> np.ndarray:
    """Fit a logistic curve by Newton's method; each group counts alike."""
    rows = np.concatenate([group.features for group in groups])
    right = np.concatenate([group.right for group in groups])
    share = np.concatenate([np.full(len(group.right), 1 / len(group.right)) for group in groups])
    curve = np.array([0.0, 0.0, -3.0])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-rows @ curve))
        slope = rows.T @ (share * (chance - right))
        bend = (rows * (share * chance * (1 - chance))[:, None]).T @ rows
        curve -= np.linalg.solve(bend, slope)
    return curve


def brier(group: Results, curve: np.ndarray) -> float:
    return float(np.mean((1 / (1 + np.exp(-group.features @ curve)) - group.right) ** 2))


def bins(group: Results, curve: np.ndarray) -> list[tuple[float, float, int]]:
    chance = 1 / (1 + np.exp(-group.features @ curve))
    places = np.digitize(chance, EDGES)
    return [
        (
            float(chance[places == place].mean()),
            float(group.right[places == place].mean()),
            int((places == place).sum()),
        )
        for place in range(1, len(EDGES))
        if (places == place).sum() >= 20
    ]


def read(data: Path, vector_file: str | None) -> dict[tuple[str, str], Results]:
    """Return the results of both recipes on both sets."""
    path = Path(vector_file) if vector_file else None
    kept = dict(np.load(path)) if path and path.exists() else {}
    known = len(kept)
    found: dict[tuple[str, str], list[tuple[list[float], float, list[bool]]]] = {}
    for judged in sets.of_bench(data):
        set_ = judged.name.split("-", maxsplit=1)[0]
        for name, totals, weight, right in results_of(judged, kept):
            found.setdefault((name, set_), []).append((totals, weight, right))
    if path and len(kept) > known:
        np.savez(path, **kept)
    return {
        key: Results(
            np.concatenate([totals for totals, _, _ in rows]),
            np.concatenate([np.full(len(totals), weight) for totals, weight, _ in rows]),
            np.concatenate([right for _, _, right in rows]).astype(float),
        )
        for key, rows in found.items()
    }


def main() -> None:
    groups = read(Path(os.environ.get("DATA", "../shared/data")), os.environ.get("VECTORS"))
    curves = {}
    for name in ("best", "fast"):
        ours = {set_: group for (recipe, set_), group in groups.items() if recipe == name}
        fitted, shipped = fit(list(ours.values())), RECIPES[name].calibration
        print(f"\n{name}: fitted {fitted.round(3).tolist()}, shipped {shipped}\n")
        print(
            "| set | results | right | Brier, shipped | the share alone | fitted on the other set |\n"
            + "| --- " * 6
            + "|"
        )
        used = np.array([shipped.total, shipped.weight, shipped.offset])
        for set_, group in ours.items():
            share = group.right.mean()
            other = fit([one for key, one in ours.items() if key != set_]) if len(ours) > 1 else fitted
            cells = (brier(group, used), share * (1 - share), brier(group, other))
            print(
                f"| {set_} | {len(group.right)} | {share:.4f} | " + " | ".join(f"{cell:.4f}" for cell in cells) + " |"
            )
            curves[f"{name}, {set_}"] = bins(group, used)
    for label, points in curves.items():
        print(label, ", ".join(f"{chance:.3f}: {share:.3f} of {count}" for chance, share, count in points))
    OUT.write_text(reliability("How often results of a score are answers", curves))


if __name__ == "__main__":
    main()
