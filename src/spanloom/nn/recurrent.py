"""Contextual levels above the trunk: stacked bidirectional LSTM or GRU (SpanRel, equation 2).

On a CPU an LSTM reads padded runs of similar lengths, each direction by itself: for these torch
has one fused kernel a direction, for packed runs a dozen small ones a word. With its backward pass
that takes about half of the time for sentences and a quarter for windows. A GRU has no such kernel;
its backward pass is our own (``nn.gru``), which takes two thirds to three quarters of torch's time.
"""

from collections.abc import Sequence
from typing import Literal

import torch
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor, nn

from spanloom.config.options import Options as _Options
from spanloom.nn.dropout import Dropout
from spanloom.nn.gather import gather_rows
from spanloom.nn.gru import read_packed
from spanloom.nn.initialization import INITIALIZERS, Initialization
from spanloom.nn.padding import pack, pad, padded_groups, unpack

_GROUP = 1 << 14  # padded words read at once
_MAX_PADDING = 0.35  # of a run: more costs time, less makes too many groups

CELLS: dict[str, type[nn.LSTM] | type[nn.GRU]] = {"lstm": nn.LSTM, "gru": nn.GRU}


class Options(_Options):
    """``{name: context, rnn: lstm, num_layers: 3, hidden_size: 256}``."""

    rnn: Literal["lstm", "gru"] = Field("lstm", description="lstm | gru: its cells")
    num_layers: int = Field(1, ge=1, le=16, description="recurrent layers, one on another")
    hidden_size: int = Field(256, ge=1, le=8192, description="units per direction")
    dropout: float = Field(0.3, ge=0, lt=1, description="dropout before and between its layers")
    input_dropout: float | None = Field(
        None, ge=0, lt=1, description="dropout before its layers; null: as dropout"
    )
    output_dropout: float = Field(0.0, ge=0, lt=1, description="dropout after its last layer")
    initialization: Initialization = Field(
        "default", description="start values of its weights: default | xavier"
    )


class Recurrent(nn.Module):
    """Bidirectional RNN over flat words; each run (sentence or window) is read by itself."""

    def __init__(
        self,
        cell: type[nn.LSTM] | type[nn.GRU],
        dim: int,
        *,
        hidden_size: int,
        num_layers: int,
        dropout: float,
        input_dropout: float | None = None,
        output_dropout: float = 0.0,
    ) -> None:
        """``hidden_size`` is per direction, so output vectors have ``2 * hidden_size``.

        ``dropout`` is between layers and, unless ``input_dropout`` is given, before them.
        """
        super().__init__()
        self.rnn = cell(
            dim,
            hidden_size,
            num_layers,
            batch_first=True,
            dropout=dropout if num_layers > 1 else 0.0,
            bidirectional=True,
        )
        self.dropout = Dropout(dropout if input_dropout is None else input_dropout)
        self.output_dropout = Dropout(output_dropout)
        self.dim = 2 * hidden_size

    def forward(
        self, words: Float[Tensor, "word dim"], runs: Int[Tensor, "run 2"]
    ) -> Float[Tensor, "word out"]:
        """Return contextual vectors; ``runs`` cover the words without gaps, in order."""
        words = self.dropout(words)
        with torch.autocast(words.device.type, enabled=False):
            if isinstance(self.rnn, nn.LSTM) and words.device.type == "cpu":
                output = self._read_padded(words.float(), runs)
            else:
                output = self._read_packed(words.float(), runs)
        vectors: Tensor = self.output_dropout(output)
        return vectors

    def _read_packed(
        self, words: Float[Tensor, "word dim"], runs: Int[Tensor, "run 2"]
    ) -> Float[Tensor, "word out"]:
        lengths = (runs[:, 1] - runs[:, 0]).cpu()
        packed = pack(words, lengths)
        if isinstance(self.rnn, nn.GRU) and words.device.type == "cpu" and torch.is_grad_enabled():
            return unpack(read_packed(self.rnn, packed), lengths)
        return unpack(self.rnn(packed)[0], lengths)

    def _read_padded(
        self, words: Float[Tensor, "word dim"], runs: Int[Tensor, "run 2"]
    ) -> Float[Tensor, "word out"]:
        rows, row_of = [], torch.empty(len(words), dtype=torch.long)
        start = 0
        for index, lengths in padded_groups(runs, _GROUP, max_padding=_MAX_PADDING):
            is_word = torch.arange(index.shape[1]) < lengths[:, None]
            rows.append(self._read_group(pad(words, index), lengths).flatten(0, 1))
            row_of[index[is_word]] = start + is_word.flatten().nonzero().squeeze(1)
            start += index.numel()
        return gather_rows(torch.cat(rows), row_of)

    def _read_group(
        self, inputs: Float[Tensor, "run width dim"], lengths: Int[Tensor, " run"]
    ) -> Float[Tensor, "run width out"]:
        """Return the vectors of padded runs; those of the padding have no meaning."""
        mirror = _mirror(lengths, inputs.shape[1])
        for layer in range(self.rnn.num_layers):
            if layer > 0:
                inputs = nn.functional.dropout(inputs, self.rnn.dropout, self.training)
            forwards, backwards = self.rnn.all_weights[2 * layer : 2 * layer + 2]
            last_to_first = self._read_direction(_reorder(inputs, mirror), backwards)
            inputs = torch.cat(
                [self._read_direction(inputs, forwards), _reorder(last_to_first, mirror)], dim=-1
            )
        return inputs

    def _read_direction(
        self, inputs: Float[Tensor, "run width dim"], weights: Sequence[Tensor]
    ) -> Float[Tensor, "run width hidden"]:
        state = inputs.new_zeros(1, len(inputs), self.rnn.hidden_size)
        options = (True, 1, 0.0, self.training, False, True)  # biases, layers, …, batch first
        return torch.lstm(inputs, (state, state), tuple(weights), *options)[0]


def _mirror(lengths: Int[Tensor, " run"], width: int) -> Int[Tensor, " row"]:
    """Return, for each word of padded runs, the row of the word that stands there from the end."""
    step = torch.arange(width)
    mirrored = torch.where(step < lengths[:, None], lengths[:, None] - 1 - step, step)
    return (mirrored + width * torch.arange(len(lengths))[:, None]).flatten()


def _reorder(
    padded: Float[Tensor, "run width dim"], rows: Int[Tensor, " row"]
) -> Float[Tensor, "run width dim"]:
    return gather_rows(padded.flatten(0, 1), rows).view_as(padded)


def build(options: Options, dim: int) -> Recurrent:
    """Build the level that a recipe describes, for input vectors of size ``dim``."""
    level = Recurrent(
        CELLS[options.rnn],
        dim,
        hidden_size=options.hidden_size,
        num_layers=options.num_layers,
        dropout=options.dropout,
        input_dropout=options.input_dropout,
        output_dropout=options.output_dropout,
    )
    INITIALIZERS[options.initialization](level)
    return level
