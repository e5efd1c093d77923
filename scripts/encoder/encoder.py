"""The encoder in PyTorch: six layers of BERT, the mean of the last as a vector of length 1; and its weights as files."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

LAYERS, HEADS, WIDTH = 6, 12, 384
CLS, SEP = 101, 102
DROPOUT = 0.1


def base_weights(path: Path) -> dict[str, np.ndarray]:
    """The weights of a weight-only int8 ONNX file of all-MiniLM-L6-v2, by the names of PyTorch; matrices (in, out)."""
    import onnx  # noqa: PLC0415 - only whoever starts from the file needs it
    from onnx import numpy_helper  # noqa: PLC0415

    graph = onnx.load(path).graph
    held = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    makers = {name: node for node in graph.node for name in node.output}
    found = {}
    for name, array in held.items():
        if name.startswith("inner.") and array.dtype == np.float32 and not name.endswith("_scale"):
            found[name.removeprefix("inner.")] = array
    for table in ("word", "position"):
        name = f"inner.embeddings.{table}_embeddings.weight"
        found[name.removeprefix("inner.")] = held[f"{name}_q"].astype(np.float32) * held[f"{name}_scale"]
    for node in graph.node:
        maker = makers.get(node.input[1]) if node.op_type == "MatMul" else None
        scales = [one for one in maker.input if one.endswith("_scale")] if maker and maker.op_type == "Mul" else []
        if scales:
            weight = scales[0].removesuffix("_scale")
            added = next(one for one in graph.node if one.op_type == "Add" and node.output[0] in one.input)
            bias = next(one for one in added.input if one.endswith(".bias")).removeprefix("inner.")
            found[bias.removesuffix("bias") + "weight"] = (
                held[f"{weight}_q"].astype(np.float32) * held[f"{weight}_scale"]
            )
    return found


class Encoder(nn.Module):
    def __init__(self, weights: dict[str, np.ndarray]) -> None:
        super().__init__()
        self._names = list(weights)
        self._values = nn.ParameterList(
            nn.Parameter(torch.tensor(np.asarray(one, np.float32))) for one in weights.values()
        )
        self.as_int8 = False

    def weights(self) -> dict[str, np.ndarray]:
        named = zip(self._names, self._values, strict=True)
        return {name: one.detach().float().cpu().numpy() for name, one in named}

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Vectors of texts; 0 pads."""
        held = dict(zip(self._names, self._values, strict=True))
        mask = tokens != 0
        count, length = tokens.shape
        drop = DROPOUT if self.training else 0.0

        def norm(x: torch.Tensor, name: str) -> torch.Tensor:
            return functional.layer_norm(x, (WIDTH,), held[f"{name}.weight"], held[f"{name}.bias"], 1e-12)

        def linear(x: torch.Tensor, name: str) -> torch.Tensor:
            weight = held[f"{name}.weight"]
            if self.as_int8:
                x, weight = _rounded_activations(x), _rounded_columns(weight)
            return functional.linear(x, weight.t(), held[f"{name}.bias"])

        def heads(x: torch.Tensor) -> torch.Tensor:
            return x.view(count, length, HEADS, WIDTH // HEADS).transpose(1, 2)

        words = held["embeddings.word_embeddings.weight"]
        if self.as_int8:
            words = _rounded_columns(words.t()).t()
        x = words[tokens] + held["embeddings.position_embeddings.weight"][:length]
        x = norm(x + held["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        x = functional.dropout(x, drop)
        for layer in range(LAYERS):
            name = f"encoder.layer.{layer}"
            query, key, value = (
                heads(linear(x, f"{name}.attention.self.{part}")) for part in ("query", "key", "value")
            )
            seen = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask[:, None, None, :])
            seen = linear(seen.transpose(1, 2).reshape(count, length, WIDTH), f"{name}.attention.output.dense")
            x = norm(x + functional.dropout(seen, drop), f"{name}.attention.output.LayerNorm")
            inner = functional.gelu(linear(x, f"{name}.intermediate.dense"))
            inner = linear(inner, f"{name}.output.dense")
            x = norm(x + functional.dropout(inner, drop), f"{name}.output.LayerNorm")
        return functional.normalize((x.float() * mask[:, :, None]).sum(1), dim=-1)


def _rounded_columns(weight: torch.Tensor) -> torch.Tensor:
    """As int8 with one scale for each output; the gradient passes as if nothing was rounded."""
    scale = weight.detach().abs().amax(dim=0, keepdim=True).clamp_min(1e-12) / 127
    return weight + (torch.round(weight / scale) * scale - weight).detach()


def _rounded_activations(x: torch.Tensor) -> torch.Tensor:
    """As uint8 with one scale for all, as dynamic quantisation does."""
    seen = x.detach().float()
    low, high = seen.amin().clamp_max(0), seen.amax().clamp_min(0)
    scale = ((high - low) / 255).clamp_min(1e-12)
    return x + (torch.round(seen / scale) * scale - seen).to(x.dtype).detach()


def padded(texts: list[np.ndarray], multiple: int = 8) -> np.ndarray:
    longest = max(map(len, texts)) + 2
    made = np.zeros((len(texts), -(-longest // multiple) * multiple), np.int64)
    for row, text in enumerate(texts):
        made[row, 0], made[row, 1 : len(text) + 1], made[row, len(text) + 1] = CLS, text, SEP
    return made


@torch.no_grad()
def embed(model: Encoder, texts: list[np.ndarray], batch: int = 512) -> torch.Tensor:
    model.eval()
    device = next(model.parameters()).device
    order = np.argsort([len(text) for text in texts], kind="stable")
    made = torch.empty(len(texts), WIDTH, device=device)
    with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
        for start in range(0, len(order), batch):
            some = order[start : start + batch]
            made[torch.from_numpy(some).to(device)] = model(
                torch.from_numpy(padded([texts[i] for i in some])).to(device)
            )
    return made


def save(path: Path, weights: dict[str, np.ndarray], dtype: type = np.float16) -> str:
    np.savez(path, **{name: one.astype(dtype) for name, one in weights.items()})
    return hashlib.sha256(path.read_bytes()).hexdigest()


def load(path: Path) -> dict[str, np.ndarray]:
    with np.load(path) as held:
        return {name: held[name].astype(np.float32) for name in held.files}
