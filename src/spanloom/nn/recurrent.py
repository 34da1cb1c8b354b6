"""Contextual layers above the trunk: stacked bidirectional LSTM or GRU (SpanRel, equation 2)."""

from typing import Literal

import torch
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor, nn

from spanloom.config.options import Options as _Options
from spanloom.nn.dropout import Dropout
from spanloom.nn.padding import pack, unpack

CELLS: dict[str, type[nn.LSTM] | type[nn.GRU]] = {"lstm": nn.LSTM, "gru": nn.GRU}


class Options(_Options):
    """``{name: context, rnn: lstm, layers: 3, size: 256}``."""

    rnn: Literal["lstm", "gru"] = Field("lstm", description="lstm | gru")
    layers: int = Field(1, ge=1, le=16, description="how many, one on another")
    size: int = Field(256, ge=1, le=8192, description="units a direction")
    dropout: float = Field(0.3, ge=0, lt=1, description="before and between its layers")


class Recurrent(nn.Module):
    """Flat words in, flat words out; each run of words is read by itself, in both directions."""

    def __init__(
        self,
        cell: type[nn.LSTM] | type[nn.GRU],
        dim: int,
        *,
        size: int,
        layers: int,
        dropout: float,
    ) -> None:
        """``size`` units a direction, so vectors of ``2 * size`` come out."""
        super().__init__()
        inner = dropout if layers > 1 else 0.0
        self.rnn = cell(dim, size, layers, batch_first=True, dropout=inner, bidirectional=True)
        self.dropout = Dropout(dropout)
        self.dim = 2 * size

    def forward(
        self, words: Float[Tensor, "word dim"], runs: Int[Tensor, "run 2"]
    ) -> Float[Tensor, "word out"]:
        """``runs`` (sentences or windows) cover the words without gaps, in order."""
        lengths = (runs[:, 1] - runs[:, 0]).cpu()
        packed = pack(self.dropout(words), lengths)
        with torch.autocast(words.device.type, enabled=False):
            out, _ = self.rnn(packed._replace(data=packed.data.float()))
        return unpack(out, lengths)


def build(options: Options, dim: int) -> Recurrent:
    """Make the layer that a recipe describes, over vectors of size ``dim``."""
    cell, size, layers = CELLS[options.rnn], options.size, options.layers
    return Recurrent(cell, dim, size=size, layers=layers, dropout=options.dropout)
