"""An encoder and the mix of its layers in onnxruntime, some of its products in whole numbers.

The graph is traced from the loaded encoder in about a second and stays in memory: no model folder
holds one, so none has to be trusted, and a packed model has it as any other. It is traced by the
exporter of TorchScript, which needs a tenth of the time of that of ``torch.export``.
"""

import io
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor, nn

from spanloom.embedders._config_check import Encoder
from spanloom.errors import ModelError, PackageMissing

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, TensorProto
    from onnxruntime import InferenceSession

Read = Mapping[str, Tensor]

_MASK, _SEGMENTS, _VECTORS = "attention_mask", "token_type_ids", "inputs_embeds"
_OPSET = 17  # the first with LayerNormalization
_LARGEST = 2**31 - 1  # bytes of a graph, as protobuf counts them
_TOP = 63  # 7 bits: sums of two products of 8 bits by 7 fit the 16 bits that AVX2 adds them in
_NEAR = 1e-3  # between torch and a graph that is traced right, beside vectors of about 1


class Runtime:
    """Windows in, one vector a piece out, as ``Transformer`` asks for it; not for training."""

    def __init__(self, graph: "ModelProto", pieces: nn.Embedding) -> None:
        """``pieces`` makes the vectors of pieces, which a graph is given; it is on the CPU."""
        self._session = _session(graph)
        self._names = [get_input.name for get_input in self._session.get_inputs()]
        self._pieces = pieces

    def __call__(self, read: Read) -> Float[Tensor, "some longest dim"]:
        """Return the mixed layers of windows, given as an encoder is given them."""
        given = _given(read, self._pieces)
        feed = {name: given[name].detach().numpy() for name in self._names}
        return torch.from_numpy(self._session.run(None, feed)[0])


class _Mixed(nn.Module):
    """The positional form of an encoder, which a graph has inputs by."""

    def __init__(self, encoder: Encoder, layers: nn.Module, names: Sequence[str]) -> None:
        super().__init__()
        self.encoder, self.layers, self.names = encoder, layers, names

    def forward(self, *given: Tensor) -> Tensor:
        read = dict(zip(self.names, given, strict=True))
        mixed: Tensor = self.layers(self.encoder(output_hidden_states=True, **read).hidden_states)
        return mixed


def runtime(encoder: Encoder, layers: nn.Module, rounded: tuple[str, ...]) -> Runtime:
    """Trace an encoder in use, on the CPU, and the mix of its layers.

    Linear layers whose names end in one of ``rounded`` multiply whole numbers: weights have 7 bits
    and a scale a column, what they multiply 8 bits and one scale a call. Tables of pieces are left
    out of the graph. Raises ``PackageMissing``, and ``ModelError`` for an encoder that is too large
    or cannot be traced: a graph is compared with it on windows of another shape.
    """
    PackageMissing.check("precision onnx", "onnx", "onnx", "onnxruntime")
    names = (_VECTORS, _MASK, *((_SEGMENTS,) if _has_segments(encoder) else ()))
    pieces = _pieces(encoder)
    mixed = _Mixed(encoder, layers, names).eval()
    graph = _traced(mixed, pieces)
    _check(Runtime(graph, pieces), mixed, pieces)
    _round(graph, rounded)
    return Runtime(graph, pieces)


def _has_segments(encoder: Encoder) -> bool:
    return int(getattr(encoder.config, "type_vocab_size", 0)) > 1


def _pieces(encoder: Encoder) -> nn.Embedding:
    """The table of its pieces' vectors."""
    pieces = encoder.get_input_embeddings()
    assert isinstance(pieces, nn.Embedding), "an encoder of text has a table of its pieces"
    return pieces


def _windows(encoder: Encoder, count: int, longest: int) -> dict[str, Tensor]:
    """Some windows of any pieces, the last of them shorter."""
    mask = torch.ones(count, longest, dtype=torch.long)
    mask[-1, longest // 2 :] = 0
    ids = torch.arange(1, count * longest + 1).view(count, longest)
    return {_MASK: mask, "input_ids": ids % len(_pieces(encoder).weight)}


def _given(read: Read, pieces: nn.Embedding) -> dict[str, Tensor]:
    """What a graph may ask for: vectors of pieces, mask, segments (0 where nobody told any)."""
    vectors = read.get(_VECTORS)
    return {
        _VECTORS: pieces(read["input_ids"]) if vectors is None else vectors,
        _MASK: read[_MASK],
        _SEGMENTS: read.get(_SEGMENTS, torch.zeros_like(read[_MASK])),
    }


def _traced(mixed: _Mixed, pieces: nn.Embedding) -> "ModelProto":
    """The graph of any number of windows of any length; raises ``ModelError``."""
    import onnx

    size = sum(parameter.nbytes for parameter in mixed.parameters()) - pieces.weight.nbytes
    if size > _LARGEST:
        raise ModelError(f"onnx: expected an encoder of under 2 GB, got {size} bytes; use fp32")
    given = _given(_windows(mixed.encoder, 2, 7), pieces)
    said = io.BytesIO()
    with warnings.catch_warnings(), torch.enable_grad():
        # old, and it warns of each number that it takes for granted: the caller compares
        warnings.simplefilter("ignore")
        try:
            torch.onnx.export(
                mixed,
                tuple(given[name].detach() for name in mixed.names),
                said,  # type: ignore[arg-type]  # it takes streams, too
                input_names=list(mixed.names),
                output_names=["mixed"],
                dynamic_axes={name: {0: "window", 1: "piece"} for name in (*mixed.names, "mixed")},
                opset_version=_OPSET,
                dynamo=False,
            )
        except RuntimeError as error:  # an operator that ONNX does not have
            first = str(error).strip().splitlines()[0]
            raise ModelError(f"onnx: this encoder cannot be traced: {first}; use fp32") from error
    return onnx.load_from_string(said.getvalue())


def _check(run: Runtime, mixed: _Mixed, pieces: nn.Embedding) -> None:
    """Raise ``ModelError`` where tracing has taken something for granted that changes."""
    read = _windows(mixed.encoder, 3, 5)
    given = _given(read, pieces)
    with torch.no_grad():
        expected = mixed(*(given[name] for name in mixed.names))
    found = run(read)
    near = _NEAR * max(1.0, float(expected.abs().max()))
    if found.shape != expected.shape or not torch.allclose(found, expected, rtol=0, atol=near):
        raise ModelError("onnx: this encoder computes otherwise when traced; use fp32")


def _round(model: "ModelProto", rounded: tuple[str, ...]) -> None:
    """Put whole numbers in place of the weights of some products."""
    from onnx.helper import make_opsetid

    graph = model.graph
    weights = {each.name: each for each in graph.initializer}
    chosen = list(_products(graph.node, weights, rounded))
    biases = {each.input[1]: each for each in graph.node if each.op_type == "Add"}
    for name in dict.fromkeys(node.input[1] for node in chosen):  # ALBERT's layers share theirs
        graph.initializer.extend(_whole(weights[name]))
    for node in chosen:
        node.op_type, node.domain = "DynamicQuantizeMatMul", "com.microsoft"
        node.input.extend([f"{node.input[1]}.scale", ""])
        node.input[1] += ".whole"
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
    nodes: Sequence["NodeProto"], weights: Mapping[str, object], rounded: tuple[str, ...]
) -> Iterator["NodeProto"]:
    """Yield the products of layers whose names end so; a node's says where its module stands."""
    for node in nodes:
        module = node.name.removesuffix("/MatMul").replace("/", ".")
        if node.op_type == "MatMul" and node.input[1] in weights and module.endswith(rounded):
            yield node


def _whole(weight: "TensorProto") -> list["TensorProto"]:
    """A matrix [in, out] as whole numbers, and the scale of each column."""
    import numpy as np
    from onnx.numpy_helper import from_array, to_array

    numbers = to_array(weight)
    scale = np.abs(numbers).max(0) / np.float32(_TOP)
    steps = np.rint(numbers / np.maximum(scale, np.finfo(np.float32).tiny))
    whole = from_array(steps.astype(np.int8), f"{weight.name}.whole")
    return [whole, from_array(scale, f"{weight.name}.scale")]


def _session(graph: "ModelProto") -> "InferenceSession":
    """Make a session of as many threads as torch has."""
    from onnxruntime import InferenceSession, SessionOptions

    options = SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors alone
    said = graph.SerializeToString()
    return InferenceSession(said, options, providers=["CPUExecutionProvider"])
