"""Run an encoder and the mix of its layers in onnxruntime, some matrix products in integers.

The graph is traced from the loaded encoder in about a second and stays in memory. No model folder
holds one, so none has to be trusted, and quantized models work, too. The TorchScript exporter needs
a tenth of the time of ``torch.export``.
"""

import io
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor, nn

from spanloom.embedders._bert import Bert
from spanloom.embedders._encoder_check import Encoder
from spanloom.errors import ModelError, PackageMissing

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, TensorProto
    from onnxruntime import InferenceSession

Inputs = Mapping[str, Tensor]

_MASK, _TOKEN_TYPES, _VECTORS = "attention_mask", "token_type_ids", "inputs_embeds"
_OPSET = 17  # the first with LayerNormalization
MAX_BYTES = 2**31 - 1  # of a graph, in protobuf
_TOLERANCE = 1e-3  # between torch and a correct graph, relative to vectors of about 1


class Runtime:
    """The runtime of a ``Transformer``: returns one vector per piece; not for training."""

    def __init__(self, graph: "ModelProto", pieces: nn.Embedding) -> None:
        """``pieces`` are the piece embeddings, on the CPU; their vectors are the graph's input."""
        self._session = _session(graph)
        self._names = [get_input.name for get_input in self._session.get_inputs()]
        self._pieces = pieces

    def __call__(self, inputs: Inputs) -> Float[Tensor, "some longest dim"]:
        """Return the mixed layers for an encoder's inputs."""
        values = _graph_inputs(inputs, self._pieces)
        feed = {name: values[name].detach().numpy() for name in self._names}
        return torch.from_numpy(self._session.run(None, feed)[0])


class _MixedEncoder(nn.Module):
    """An encoder and the mix of its layers, with positional inputs."""

    def __init__(self, encoder: Encoder, layers: nn.Module, names: Sequence[str]) -> None:
        super().__init__()
        self.encoder, self.layers, self.names = encoder, layers, names

    def forward(self, *values: Tensor) -> Tensor:
        inputs = dict(zip(self.names, values, strict=True))
        output = self.encoder(output_hidden_states=True, **inputs)
        mixed: Tensor = self.layers(output.hidden_states)
        return mixed


def runtime(
    encoder: Encoder, layers: nn.Module, quantized: tuple[str, ...], weight_bits: int = 7
) -> Runtime:
    """Trace an encoder in evaluation mode on the CPU, and the mix of its layers.

    Linear layers whose names end in one of ``quantized`` multiply integers: weights have 7 bits, or
    8 where the processor adds up such products in 32 bits (VNNI; AVX2 adds two in 16), and a scale
    per column, activations 8 bits and a scale per call. Piece embeddings are left out of
    the graph. That of our own BERT attends by one operator, which reads no mask. The graph is
    compared with the encoder on windows of another shape. Raises ``PackageMissing``, and
    ``ModelError`` for an encoder that is too large or cannot be traced.
    """
    PackageMissing.check("precision onnx", "onnx", "onnx", "onnxruntime")
    names = (_VECTORS, _MASK, *((_TOKEN_TYPES,) if _has_token_types(encoder) else ()))
    pieces = _pieces(encoder)
    mixed = _MixedEncoder(encoder, layers, names).eval()
    graph = _trace(mixed, pieces)
    _check(Runtime(graph, pieces), mixed, pieces)
    _quantize(graph, quantized, weight_bits)
    return Runtime(graph, pieces)


def _has_token_types(encoder: Encoder) -> bool:
    return int(getattr(encoder.config, "type_vocab_size", 0)) > 1


def _pieces(encoder: Encoder) -> nn.Embedding:
    """Return the piece embeddings."""
    pieces = encoder.get_input_embeddings()
    assert isinstance(pieces, nn.Embedding), "an encoder of text has a table of its pieces"
    return pieces


def _windows(encoder: Encoder, count: int, longest: int) -> dict[str, Tensor]:
    """Return example windows; the last is half as long where the graph reads a mask."""
    mask = torch.ones(count, longest, dtype=torch.long)
    if not isinstance(encoder, Bert):
        mask[-1, longest // 2 :] = 0
    ids = torch.arange(1, count * longest + 1).view(count, longest)
    return {_MASK: mask, "input_ids": ids % len(_pieces(encoder).weight)}


def _graph_inputs(inputs: Inputs, pieces: nn.Embedding) -> dict[str, Tensor]:
    """Return all possible inputs of a graph: vectors, mask, token types (default 0)."""
    vectors = inputs.get(_VECTORS)
    return {
        _VECTORS: pieces(inputs["input_ids"]) if vectors is None else vectors,
        _MASK: inputs[_MASK],
        _TOKEN_TYPES: inputs.get(_TOKEN_TYPES, torch.zeros_like(inputs[_MASK])),
    }


def _trace(mixed: _MixedEncoder, pieces: nn.Embedding) -> "ModelProto":
    """Return a graph for any number and length of windows; raises ``ModelError``."""
    import onnx

    size = sum(parameter.nbytes for parameter in mixed.parameters()) - pieces.weight.nbytes
    if size > MAX_BYTES:
        raise ModelError(f"onnx: expected an encoder of under 2 GB, got {size} bytes; use fp32")
    inputs = _graph_inputs(_windows(mixed.encoder, 2, 7), pieces)
    buffer = io.BytesIO()
    with warnings.catch_warnings(), torch.enable_grad():
        # it is deprecated, and warns of every constant; the caller compares results
        warnings.simplefilter("ignore")
        try:
            torch.onnx.export(
                mixed,
                tuple(inputs[name].detach() for name in mixed.names),
                buffer,  # type: ignore[arg-type]  # streams work, too
                input_names=list(mixed.names),
                output_names=["mixed"],
                dynamic_axes={name: {0: "window", 1: "piece"} for name in (*mixed.names, "mixed")},
                opset_version=_OPSET,
                dynamo=False,
            )
        except RuntimeError as error:  # an operator that ONNX does not have
            first = str(error).strip().splitlines()[0]
            raise ModelError(f"onnx: this encoder cannot be traced: {first}; use fp32") from error
    return onnx.load_from_string(buffer.getvalue())


def _check(run: Runtime, mixed: _MixedEncoder, pieces: nn.Embedding) -> None:
    """Raise ``ModelError`` if tracing has made something constant that varies."""
    inputs = _windows(mixed.encoder, 3, 5)
    values = _graph_inputs(inputs, pieces)
    with torch.no_grad():
        expected = mixed(*(values[name] for name in mixed.names))
    actual = run(inputs)
    atol = _TOLERANCE * max(1.0, float(expected.abs().max()))
    if actual.shape != expected.shape or not torch.allclose(actual, expected, rtol=0, atol=atol):
        raise ModelError("onnx: this encoder computes otherwise when traced; use fp32")


def _quantize(model: "ModelProto", names: tuple[str, ...], weight_bits: int) -> None:
    """Replace some matrix products by products of integers."""
    from onnx.helper import make_opsetid

    graph = model.graph
    weights = {weight.name: weight for weight in graph.initializer}
    products = list(_products(graph.node, weights, names))
    biases = {node.input[1]: node for node in graph.node if node.op_type == "Add"}
    for name in dict.fromkeys(node.input[1] for node in products):  # ALBERT's layers share weights
        graph.initializer.extend(quantize_weight(weights[name], weight_bits))
    for node in products:
        node.op_type, node.domain = "DynamicQuantizeMatMul", "com.microsoft"
        node.input.extend([f"{node.input[1]}.scale", ""])
        node.input[1] += ".quantized"
        bias = biases.get(node.output[0])
        if bias is not None and bias.input[0] in weights:
            node.input.append(bias.input[0])
            node.output[0] = bias.output[0]
            graph.node.remove(bias)
    used = {name for node in graph.node for name in node.input}
    for name in weights.keys() - used:
        graph.initializer.remove(weights[name])
    model.opset_import.append(make_opsetid("com.microsoft", 1))


def _products(
    nodes: Sequence["NodeProto"], weights: Mapping[str, object], names: tuple[str, ...]
) -> Iterator["NodeProto"]:
    """Yield the matrix products of layers by the ends of their names; nodes have module paths."""
    for node in nodes:
        module = node.name.removesuffix("/MatMul").replace("/", ".")
        if node.op_type == "MatMul" and node.input[1] in weights and module.endswith(names):
            yield node


def quantize_weight(weight: "TensorProto", bits: int) -> list["TensorProto"]:
    """Return a matrix (in, out) as integers, and the scale of each column."""
    import numpy as np
    from onnx.numpy_helper import from_array, to_array

    numbers = to_array(weight)
    scale = np.abs(numbers).max(0) / np.float32(2 ** (bits - 1) - 1)
    steps = np.rint(numbers / np.maximum(scale, np.finfo(np.float32).tiny))
    integers = from_array(steps.astype(np.int8), f"{weight.name}.quantized")
    return [integers, from_array(scale, f"{weight.name}.scale")]


def _session(graph: "ModelProto") -> "InferenceSession":
    """Return a session with as many threads as torch."""
    from onnxruntime import InferenceSession, SessionOptions

    options = SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors only
    serialized = graph.SerializeToString()
    return InferenceSession(serialized, options, providers=["CPUExecutionProvider"])
