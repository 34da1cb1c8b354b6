"""Contextual levels above the trunk: stacked bidirectional LSTM or GRU (SpanRel, equation 2)."""

from typing import Literal

import torch
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor, nn

from spanloom.config.options import Options as _Options
from spanloom.nn.dropout import Dropout
from spanloom.nn.initialization import INITIALIZERS, Initialization
from spanloom.nn.padding import pack, unpack

CELLS: dict[str, type[nn.LSTM] | type[nn.GRU]] = {"lstm": nn.LSTM, "gru": nn.GRU}


class Options(_Options):
    """``{name: context, rnn: lstm, num_layers: 3, hidden_size: 256}``."""

    rnn: Literal["lstm", "gru"] = Field("lstm", description="lstm | gru")
    num_layers: int = Field(1, ge=1, le=16, description="how many, one on another")
    hidden_size: int = Field(256, ge=1, le=8192, description="units a direction")
    dropout: float = Field(0.3, ge=0, lt=1, description="before and between its layers")
    input_dropout: float | None = Field(
        None, ge=0, lt=1, description="before its layers; null: as dropout"
    )
    output_dropout: float = Field(0.0, ge=0, lt=1, description="after its last layer")
    initialization: Initialization = Field("default", description="default | xavier")


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
        lengths = (runs[:, 1] - runs[:, 0]).cpu()
        packed = pack(self.dropout(words), lengths)
        with torch.autocast(words.device.type, enabled=False):
            output, _ = self.rnn(packed._replace(data=packed.data.float()))
        vectors: Tensor = self.output_dropout(unpack(output, lengths))
        return vectors


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
