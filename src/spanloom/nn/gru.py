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
    input_weights, state_weights, input_biases, state_biases = zip(*weights, strict=True)
    inputs = nn.functional.linear(vectors, torch.cat(input_weights), torch.cat(input_biases))
    forwards, backwards = inputs.chunk(2, dim=1)
    both = torch.stack((forwards, gather_rows(backwards, mirror)))
    apply: Any = _Steps.apply
    states: Tensor = apply(both, torch.stack(state_weights), torch.stack(state_biases), sizes)
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
        states, previous, recurrent = (
            inputs.new_empty(2, inputs.shape[1], hidden) for _ in range(3)
        )
        state = inputs.new_zeros(2, sizes[0], hidden)
        end = 0
        for size in sizes:
            start, end = end, end + size
            state = state[:, :size]
            previous[:, start:end] = state
            product = torch.baddbmm(biases[:, None], state, weights.transpose(1, 2))
            recurrent[:, start:end] = product[..., 2 * hidden :]
            reset, update, candidate = gates[:, start:end].split(hidden, dim=2)
            for gate, column in ((reset, 0), (update, hidden)):
                columns = slice(column, column + hidden)
                torch.add(product[..., columns], inputs[:, start:end, columns], out=gate)
                gate.sigmoid_()
            candidate_inputs = inputs[:, start:end, 2 * hidden :]
            torch.addcmul(candidate_inputs, reset, recurrent[:, start:end], out=candidate).tanh_()
            state = torch.lerp(candidate, state, update, out=states[:, start:end])
        ctx.save_for_backward(weights, gates, previous, recurrent)
        ctx.sizes = sizes
        return states

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, gradient: Float[Tensor, "2 row hidden"]
    ) -> tuple[Tensor, Tensor, Tensor, None]:
        """Return the gradients of inputs, weights and biases."""
        weights, gates, previous, recurrent = ctx.saved_tensors
        hidden = weights.shape[2]
        reset, update, candidate = gates.split(hidden, dim=2)
        update_slope = (previous - candidate).mul_(update).mul_(1 - update)
        candidate_slope = (1 - update).mul_(1 - candidate * candidate)
        reset_slope = (recurrent * reset).mul_(1 - reset)
        grad_gates = torch.empty_like(gates)
        grad_candidate = torch.empty_like(recurrent)
        grad_previous = gradient[:, :0]
        start = gradient.shape[1]
        for size in reversed(ctx.sizes):
            end, start = start, start - size
            rows = slice(start, end)
            grad_state = gradient[:, rows].clone()
            grad_state[:, : grad_previous.shape[1]] += grad_previous
            grad_step = grad_gates[:, rows]
            torch.mul(grad_state, candidate_slope[:, rows], out=grad_candidate[:, rows])
            torch.mul(grad_candidate[:, rows], reset_slope[:, rows], out=grad_step[..., :hidden])
            torch.mul(grad_state, update_slope[:, rows], out=grad_step[..., hidden : 2 * hidden])
            torch.mul(grad_candidate[:, rows], reset[:, rows], out=grad_step[..., 2 * hidden :])
            grad_previous = torch.baddbmm(grad_state * update[:, rows], grad_step, weights)
        grad_weights = torch.bmm(grad_gates.transpose(1, 2), previous)
        grad_biases = grad_gates.sum(1)
        grad_gates[..., 2 * hidden :] = grad_candidate  # no reset gate for the inputs' part
        return grad_gates, grad_weights, grad_biases, None
