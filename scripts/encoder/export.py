"""Write tuned weights as the ONNX file that is shipped: int8, and computed in int8.

    python scripts/encoder/export.py --base base.onnx --weights joined.npz --out model.onnx

The graph is that of the base file. Rows of the embedding tables are taken out as int8 and scaled one by one, so that
no session unfolds a table; products with weights become MatMulInteger (dynamic QInt8, one scale for each column,
without reduce_range, which cost .02 of Recall@10).
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
from pathlib import Path

import numpy as np
import onnx
from encoder import load
from onnx import helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

MAX_BYTES = 24_000_000


def with_weights(model: onnx.ModelProto, weights: dict[str, np.ndarray]) -> onnx.ModelProto:
    """The graph with float matrices in place of unfolded int8 ones, and with scaled rows for the tables."""
    graph = model.graph
    makers = {name: node for node in graph.node for name in node.output}
    values = dict(_matrices(graph, makers, weights))
    tables = {
        f"inner.{name}": one
        for name, one in weights.items()
        if name.endswith(("word_embeddings.weight", "position_embeddings.weight"))
    }
    dropped = {id(makers[name]) for name in (*values, *tables)}
    dropped |= {id(makers[one]) for name in (*values, *tables) for one in makers[name].input if one in makers}
    nodes = []
    for node in graph.node:
        if id(node) in dropped:
            continue
        if node.op_type == "Gather" and node.input[0] in tables:
            nodes += _scaled_rows(node)
        else:
            nodes.append(node)
    plain = {f"inner.{name}": one for name, one in weights.items()}
    held = [one for one in graph.initializer if not one.name.endswith(("_q", "_scale"))]
    kept = [
        numpy_helper.from_array(plain[one.name].astype(np.float32), one.name) if one.name in plain else one
        for one in held
    ]
    kept += [numpy_helper.from_array(one, name) for name, one in values.items()]
    for name, table in tables.items():
        scale = np.maximum(np.abs(table).max(axis=1, keepdims=True) / 127, 1e-12).astype(np.float32)
        kept += [
            numpy_helper.from_array(np.rint(table / scale).astype(np.int8), f"{name}_q"),
            numpy_helper.from_array(scale, f"{name}_scale"),
        ]
    made = helper.make_graph(nodes, graph.name, graph.input, graph.output, kept)
    return helper.make_model(made, opset_imports=model.opset_import, ir_version=model.ir_version)


def _matrices(graph: onnx.GraphProto, makers: dict, weights: dict[str, np.ndarray]) -> list[tuple[str, np.ndarray]]:
    """The name in the graph of each matrix; it is known by the bias that is added to its product."""
    found = []
    for node in graph.node:
        maker = makers.get(node.input[1]) if node.op_type == "MatMul" else None
        if maker and maker.op_type == "Mul" and any(one.endswith("_scale") for one in maker.input):
            added = next(one for one in graph.node if one.op_type == "Add" and node.output[0] in one.input)
            bias = next(one for one in added.input if one.endswith(".bias"))
            name = bias.removeprefix("inner.").removesuffix("bias") + "weight"
            found.append((node.input[1], weights[name].astype(np.float32)))
    return found


def _scaled_rows(node: onnx.NodeProto) -> list[onnx.NodeProto]:
    table, places = node.input
    made = node.output[0]
    return [
        helper.make_node("Gather", [f"{table}_q", places], [f"{made}_int8"]),
        helper.make_node("Gather", [f"{table}_scale", places], [f"{made}_row_scale"]),
        helper.make_node("Cast", [f"{made}_int8"], [f"{made}_float"], to=onnx.TensorProto.FLOAT),
        helper.make_node("Mul", [f"{made}_float", f"{made}_row_scale"], [made]),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "plain.onnx"
        onnx.save(with_weights(onnx.load(args.base), load(args.weights)), plain)
        quantize_dynamic(
            plain, args.out, op_types_to_quantize=["MatMul"], per_channel=True, weight_type=QuantType.QInt8
        )
    size = args.out.stat().st_size
    if size > MAX_BYTES:
        raise SystemExit(f"{args.out} has {size:,} bytes, more than {MAX_BYTES:,}")
    print(f"{args.out} {size:,} bytes sha256 {hashlib.sha256(args.out.read_bytes()).hexdigest()}")


if __name__ == "__main__":
    main()
