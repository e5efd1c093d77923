"""all-MiniLM-L6-v2 as Keepword runs it (the same file, pooling and batches), for systems in other environments."""

import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read when it is imported
import onnxruntime as ort
from tokenizers import Encoding, Tokenizer

DIMENSIONS = 384
MAX_TOKENS = 256
RUN_TEXTS = 8
RUN_TOKENS = 256
_DATA = Path(__file__).parents[2] / "src/keepword/embedding/data"
_TOKENIZER = _DATA / "minilm-tokenizer.json"
_MODEL = _DATA / "minilm-conversation-v1.onnx"


class Embedder:
    """One thread, as Keepword gives a query. `known` are vectors made earlier: for filling, never for what is timed."""

    def __init__(self) -> None:
        self.known: dict[str, np.ndarray] = {}

    @cached_property
    def _session(self) -> ort.InferenceSession:
        options = ort.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        return ort.InferenceSession(str(_MODEL), options, providers=["CPUExecutionProvider"])

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        made = Tokenizer.from_file(str(_TOKENIZER))
        made.enable_truncation(MAX_TOKENS)
        made.no_padding()
        return made

    def embed(self, texts: Sequence[str]) -> list[np.ndarray]:
        if self.known and all(text in self.known for text in texts):
            return [self.known[text] for text in texts]
        encodings = self._tokenizer.encode_batch(list(texts))
        found: list[np.ndarray] = [np.empty(0)] * len(texts)
        for run in _runs([len(encoding) for encoding in encodings]):
            for place, vector in zip(run, self._run([encodings[place] for place in run]), strict=True):
                found[place] = vector
        return found

    def one(self, text: str) -> np.ndarray:
        return self.embed([text])[0]

    def _run(self, encodings: Sequence[Encoding]) -> np.ndarray:
        ids = np.zeros((len(encodings), max(map(len, encodings))), np.int64)
        mask = np.zeros_like(ids)
        for row, encoding in enumerate(encodings):
            ids[row, : len(encoding)] = encoding.ids
            mask[row, : len(encoding)] = 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        (hidden,) = self._session.run(None, feed)
        total = np.einsum("ijk,ij->ik", np.asarray(hidden, np.float32), mask.astype(np.float32))
        return total / np.linalg.norm(total, axis=1, keepdims=True)


def _runs(lengths: Sequence[int]) -> Iterator[list[int]]:
    run: list[int] = []
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        if run and (len(run) == RUN_TEXTS or (len(run) + 1) * lengths[place] > RUN_TOKENS):
            yield run
            run = []
        run.append(place)
    if run:
        yield run
