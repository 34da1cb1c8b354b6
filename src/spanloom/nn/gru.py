"""Train bidirectional GRU layers on a CPU: the numbers of ``torch.nn.GRU``, sooner.

Its own backward pass makes a gradient of all recurrent weights at each step and adds these up,
which moves more memory than it computes. Here the steps only keep the gradients of their gates, and
one product at the end gives those of the weights; both directions take a step at once. A step is
one word of every run that is long enough.
"""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.utils.rnn import PackedSequence

from spanloom.nn.gather import gather_rows


def read_packed(gru: nn.GRU, packed: PackedSequence) -> PackedSequence:
    """Return what a bidirectional GRU with biases makes of packed runs; the gradient is exact."""
    sizes = packed.batch_sizes.tolist()
    mirror = _mirror(packed.batch_sizes)
    vectors = packed.data
    for layer in range(gru.num_layers):
        if layer > 0:
            vectors = nn.functional.dropout(vectors, gru.dropout, gru.training)
        weights = gru.all_weights[2 * layer : 2 * layer + 2]
        vectors = _read_layer(vectors, weights, sizes, mirror)
    return packed._replace(data=vectors)


def _mirror(batch_sizes: Int[Tensor, " step"]) -> Int[Tensor, " row"]:
    """Return, for each row, that of the word which stands there when its run is read backwards."""
    starts = batch_sizes.cumsum(0) - batch_sizes
    step = torch.arange(len(batch_sizes)).repeat_interleave(batch_sizes)
    run = torch.arange(len(step)) - starts[step]
    length = torch.bincount(run)[run]
    return starts[length - 1 - step] + run


def _read_layer(
    vectors: Float[Tensor, "row dim"],
    weights: Sequence[Sequence[Tensor]],
    sizes: Sequence[int],
    mirror: Int[Tensor, " row"],
) -> Float[Tensor, "row out"]:
    """Return the states of both directions, whose weights are those of ``nn.GRU.all_weights``."""
    of_input, of_state, input_bias, state_bias = zip(*weights, strict=True)
    inputs = nn.functional.linear(vectors, torch.cat(of_input), torch.cat(input_bias))
    forwards, backwards = inputs.chunk(2, dim=1)
    both = torch.stack((forwards, gather_rows(backwards, mirror)))
    apply: Any = _Steps.apply
    states: Tensor = apply(both, torch.stack(of_state), torch.stack(state_bias), sizes)
    return torch.cat((states[0], gather_rows(states[1], mirror)), dim=1)


class _Steps(torch.autograd.Function):
    """The steps of two directions over packed rows; gates stand in torch's order: r, z, n."""

    @staticmethod
    def forward(
        ctx: Any,
        inputs: Float[Tensor, "2 row gates"],
        weights: Float[Tensor, "2 gates hidden"],
        biases: Float[Tensor, "2 gates"],
        sizes: Sequence[int],
    ) -> Float[Tensor, "2 row hidden"]:
        """Return the state after each row."""
        hidden = weights.shape[2]
        gates = torch.empty_like(inputs)
        states, before, of_state = (inputs.new_empty(2, inputs.shape[1], hidden) for _ in range(3))
        state = inputs.new_zeros(2, sizes[0], hidden)
        end = 0
        for size in sizes:
            start, end = end, end + size
            state = state[:, :size]
            before[:, start:end] = state
            product = torch.baddbmm(biases[:, None], state, weights.transpose(1, 2))
            of_state[:, start:end] = product[..., 2 * hidden :]
            switch, update, new = gates[:, start:end].split(hidden, dim=2)
            for gate, column in ((switch, 0), (update, hidden)):
                columns = slice(column, column + hidden)
                torch.add(product[..., columns], inputs[:, start:end, columns], out=gate)
                gate.sigmoid_()
            candidate = inputs[:, start:end, 2 * hidden :]
            torch.addcmul(candidate, switch, of_state[:, start:end], out=new).tanh_()
            state = torch.lerp(new, state, update, out=states[:, start:end])
        ctx.save_for_backward(weights, gates, before, of_state)
        ctx.sizes = sizes
        return states

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, gradient: Float[Tensor, "2 row hidden"]
    ) -> tuple[Tensor, Tensor, Tensor, None]:
        """Return the gradients of inputs, weights and biases."""
        weights, gates, before, of_state = ctx.saved_tensors
        hidden = weights.shape[2]
        switch, update, new = gates.split(hidden, dim=2)
        to_update = (before - new).mul_(update).mul_(1 - update)
        to_new = (1 - update).mul_(1 - new * new)
        to_switch = (of_state * switch).mul_(1 - switch)
        of_gates = torch.empty_like(gates)
        of_new = torch.empty_like(of_state)
        carried = gradient[:, :0]
        start = gradient.shape[1]
        for size in reversed(ctx.sizes):
            end, start = start, start - size
            rows = slice(start, end)
            of_rows = gradient[:, rows].clone()
            of_rows[:, : carried.shape[1]] += carried
            product = of_gates[:, rows]
            torch.mul(of_rows, to_new[:, rows], out=of_new[:, rows])
            torch.mul(of_new[:, rows], to_switch[:, rows], out=product[..., :hidden])
            torch.mul(of_rows, to_update[:, rows], out=product[..., hidden : 2 * hidden])
            torch.mul(of_new[:, rows], switch[:, rows], out=product[..., 2 * hidden :])
            carried = torch.baddbmm(of_rows * update[:, rows], product, weights)
        of_weights = torch.bmm(of_gates.transpose(1, 2), before)
        of_biases = of_gates.sum(1)
        of_gates[..., 2 * hidden :] = of_new  # the inputs' part of n is not switched
        return of_gates, of_weights, of_biases, None
