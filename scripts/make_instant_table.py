"""Make the table of the instant space by distilling the deep model.

Each WordPiece token is run alone through the deep model ([CLS] token [SEP], mean over the three positions), the
vectors are centred, turned by PCA to 256 dimensions, half whitened (each component divided by the square root of its
standard deviation) and weighted by how rare the token is (SIF, a = 1e-3, its probability guessed by Zipf's law from
its rank in the vocabulary, which BERT ordered by frequency). The vector of a text is then the sum of the rows of its
distinct tokens, scaled to length one; the rows scaled to length one serve to compare single words.
Deterministic for one version of onnxruntime and numpy.

    python make_instant_table.py --model model.onnx --tokenizer minilm-tokenizer.json --out instant-v1.npz
"""

from __future__ import annotations

import argparse
import hashlib
import io
import zipfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from keepword.embedding.runtime import ort

Floats = NDArray[np.float32]

DIMENSIONS = 256
SIF_A = 1e-3
WHITENING = 0.5  # 0: none, 1: full
BATCH = 256  # fixed: int8 activations are scaled per batch, so the batch size is part of the recipe
FIRST_CHARACTER = 999  # ids below are [PAD], [unused], [CLS] and the like
FIRST_WORD = 1996  # ids from here on are words and word pieces, most frequent first ("the")


def token_vectors(model: Path, size: int, threads: int) -> Floats:
    """The deep model's vector of every token of the vocabulary, alone."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    session = ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    names = {i.name for i in session.get_inputs()}
    vectors = np.zeros((size, 384), np.float32)
    for start in range(0, size, BATCH):
        tokens = np.arange(start, min(start + BATCH, size), dtype=np.int64)
        ids = np.stack([np.full_like(tokens, 101), tokens, np.full_like(tokens, 102)], axis=1)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        hidden = session.run(None, {k: v for k, v in feed.items() if k in names})[0]
        vectors[start : start + len(tokens)] = hidden.mean(axis=1)
    return vectors


def sif_weights(size: int) -> Floats:
    """a / (a + p) with p by Zipf's law over the rank; 0 for special tokens."""
    ids = np.arange(size)
    rank = np.where(ids >= FIRST_WORD, ids - FIRST_WORD + 1, 1).astype(np.float64)
    p = (1.0 / rank) / np.sum(1.0 / np.arange(1, size - FIRST_WORD + 1))
    weights = SIF_A / (SIF_A + p)
    weights[:FIRST_CHARACTER] = 0.0
    return weights.astype(np.float32)


def principal(vectors: Floats, dimensions: int, whitening: float = 0.0) -> Floats:
    """Centred and projected on the first principal components, their signs fixed, partly whitened."""
    centred = (vectors - vectors.mean(axis=0)).astype(np.float64)
    values, axes = np.linalg.eigh(centred.T @ centred / len(centred))
    first = np.argsort(values)[::-1][:dimensions]
    values, axes = values[first], axes[:, first]
    axes *= np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
    return np.asarray((centred @ axes) * values ** (-whitening / 2), np.float32)


def make_table(raw: Floats) -> Floats:
    size = len(raw)
    table = np.zeros((size, DIMENSIONS), np.float32)
    table[FIRST_CHARACTER:] = principal(raw[FIRST_CHARACTER:], DIMENSIONS, WHITENING)
    return table * sif_weights(size)[:, None]


def quantize(table: Floats) -> tuple[NDArray[np.int8], NDArray[np.float16]]:
    """int8 with one scale per token, so that light (frequent) tokens keep their direction."""
    scale = (np.abs(table).max(axis=1) / 127.0).astype(np.float16)
    divisor = np.where(scale > 0, scale, np.float16(1)).astype(np.float32)
    return np.clip(np.rint(table / divisor[:, None]), -127, 127).astype(np.int8), scale


def write_npz(path: Path, arrays: dict[str, NDArray[np.generic]]) -> str:
    """An .npz whose bytes depend on its content alone (no times); returns its sha256."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, array, allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), buffer.getvalue())
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--raw", type=Path, help="keep (or reuse) the deep vectors of the tokens here")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    size = Tokenizer.from_file(str(args.tokenizer)).get_vocab_size()
    if args.raw and args.raw.exists():
        raw = np.load(args.raw)
    else:
        raw = token_vectors(args.model, size, args.threads)
        if args.raw:
            np.save(args.raw, raw)
    table, scale = quantize(make_table(raw))
    digest = write_npz(args.out, {"table": table, "scale": scale})
    args.out.with_suffix(".sha256").write_text(f"{digest}  {args.out.name}\n")
    print(f"{args.out} {args.out.stat().st_size} bytes sha256 {digest}")


if __name__ == "__main__":
    main()
