"""Per-example gradients of the response loss, projected on both sides while the backward pass runs.

The gradient of a linear layer's weight is `G^T X`: the layer's output gradients against its input activations,
summed over tokens. The projected gradient `(G P_out)^T (X P_in)` needs neither that matrix nor a gradient of any
weight, so the model's weights stay frozen and only activations have gradients. The graph begins at the outputs of
the first layers that are watched: below the last K blocks the model runs a plain forward, and nothing is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from torch import nn
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

from tamis.chat import Example
from tamis.errors import UsageError
from tamis.gradients.head import ResponseHead
from tamis.gradients.project import checksum, gaussian


class Gradients(NamedTuple):
    """What one batch gives.

    Attributes:
        matrices: `[rows, modules, proj_dim, proj_dim]` float32: `(G P_out)^T (X P_in)` of every module, divided by
            the row's `scale`.
        scale: `[rows]` float32, a power of two: multiply by it to get the gradient itself. It keeps tiny gradients
            of a low-precision model from becoming zero on their way down.
        loss: `[rows]` float32, the loss in nats, summed over the response tokens.
    """

    matrices: torch.Tensor
    scale: torch.Tensor
    loss: torch.Tensor


class GradientCapture:
    """Turns examples into projected gradients of the last K blocks' linear layers.

    Freezes the model's weights and puts it into eval mode (so that dropout and activation checkpointing are off),
    for as long as the capture is open. Use it as a context manager, or call `close`.

    Source: SimpleLoRIF (arXiv 2610.37481): the last K blocks, the loss of the response tokens, no curvature term.

    Args:
        model: A causal language model of transformers.
        last_k: How many of the last blocks are watched.
        proj_dim: Columns of either projection.
        seed: The projections' seed.

    Raises:
        UsageError: The model holds a weight that this capture would have to leave out; the message lists them.
    """

    def __init__(self, model: PreTrainedModel, *, last_k: int = 4, proj_dim: int = 32, seed: int = 0) -> None:
        self._body, blocks = _find_blocks(model)
        if not 1 <= last_k <= len(blocks):
            raise UsageError(f"--last_k {last_k}: {type(model).__name__} has {len(blocks)} blocks")
        linears = _watched_linears(model, list(blocks)[-last_k:])
        self.modules: tuple[str, ...] = tuple(linears)
        self.proj_dim = proj_dim
        self.device = model.device
        self._model, self._was_training = model, model.training
        model.eval()
        try:
            self._head = ResponseHead(model)
        except UsageError:
            model.train(self._was_training)
            raise
        self._grads = [p for p in model.parameters() if p.requires_grad]
        model.requires_grad_(False)

        outs = [gaussian(seed, name, "out", _features(linear)[1], proj_dim) for name, linear in linears.items()]
        ins = [gaussian(seed, name, "in", _features(linear)[0], proj_dim) for name, linear in linears.items()]
        self.projection_checksum = checksum([*outs, *ins])
        self._hooks = [
            linear.register_forward_hook(self._watch(i, self._put(outs[i]), self._put(ins[i])))
            for i, linear in enumerate(linears.values())
        ]
        self._rows_only = _RowsOnly(list(blocks)[-1])
        self._matrices = torch.empty(0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Takes the hooks off and gives the model back as it was."""
        for hook in [*self._hooks, *self._rows_only.hooks]:
            hook.remove()
        for parameter in self._grads:
            parameter.requires_grad_(True)
        self._model.train(self._was_training)

    def __call__(self, examples: Sequence[Example]) -> Gradients:
        """The projected gradients of a batch, each row as if it were alone.

        Rows are padded on the right and masked by length: in a causal model no position sees a later one, so
        neither an attention mask nor the padding token's id matters.
        """
        # The last supervised token is predicted and never read; what comes after it cannot reach the loss.
        stops = [len(e.response_mask) - 1 - e.response_mask[::-1].index(True) for e in examples]
        ids = torch.zeros(len(examples), max(stops), dtype=torch.long)
        targets = torch.full_like(ids, -1)
        for row, (example, stop) in enumerate(zip(examples, stops, strict=True)):
            tokens = torch.tensor(example.input_ids[: stop + 1])
            ids[row, :stop] = tokens[:-1]
            supervised = torch.tensor(example.response_mask[1 : stop + 1])
            targets[row, :stop] = torch.where(supervised, tokens[1:], -1)
        # What can be worked out on the host is: asking the device would wait for all that is queued on it.
        wanted = targets >= 0
        self._rows_only.keep(wanted, self.device)
        rows, positions = torch.nonzero(wanted, as_tuple=True)
        ids, labels, rows, positions = (t.to(self.device) for t in (ids, targets[wanted], rows, positions))

        self._matrices = torch.zeros(
            len(examples), len(self.modules), self.proj_dim, self.proj_dim, device=self.device, dtype=torch.float32
        )
        with torch.enable_grad():
            hidden = self._body(input_ids=ids, use_cache=False)[0]
            answer = hidden[rows, positions]
        gradient, losses, scale = self._head(answer.detach(), labels, rows, len(examples))
        answer.backward(gradient)
        matrices, self._matrices = self._matrices, torch.empty(0)
        return Gradients(matrices, scale, losses)

    def _put(self, matrix: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(matrix).to(self.device)

    def _watch(self, i: int, p_out: torch.Tensor, p_in: torch.Tensor) -> Callable[..., None]:
        """A forward hook that projects module `i`'s inputs now and its output gradients when they come."""

        def forward_hook(_module: nn.Module, args: tuple[torch.Tensor], output: torch.Tensor) -> None:
            rows = len(self._matrices)
            with torch.no_grad():  # some models flatten rows and positions into one axis before their MLP
                x = (args[0].detach().float() @ p_in).view(rows, -1, self.proj_dim)

            def project(g: torch.Tensor) -> None:
                self._matrices[:, i] += (g.float() @ p_out).view_as(x).mT @ x

            if not output.requires_grad:
                output.requires_grad_(True)
            output.register_hook(project)  # type: ignore[no-untyped-call]

        return forward_hook


class _RowsOnly:
    """Runs the last block's MLP at the positions that the loss reads, and nowhere else.

    After the last block nothing mixes positions, so the MLP's output (and gradient) at any other position is
    neither read nor non-zero. Rows are packed to `[rows, most supervised positions, hidden]`. An MLP that takes
    more than the hidden states is left as it is.
    """

    def __init__(self, block: nn.Module) -> None:
        mlp = getattr(block, "mlp", None)
        self.hooks = []
        self._packed = False
        if isinstance(mlp, nn.Module):
            self.hooks = [mlp.register_forward_pre_hook(self._pack), mlp.register_forward_hook(self._unpack)]

    def keep(self, wanted: torch.Tensor, device: torch.device) -> None:
        """Sets the positions for the next forward on the device, `[rows, tokens]` bool on the CPU."""
        self._shape, self._all = wanted.shape, bool(wanted.all())
        counts = wanted.sum(1)
        index = torch.argsort(~wanted, dim=1, stable=True)[:, : int(counts.max()), None]
        self._index = index.to(device)
        self._valid = (torch.arange(index.shape[1])[:, None] < counts[:, None, None]).to(device)

    def _pack(self, _module: nn.Module, args: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
        self._packed = len(args) == 1 and args[0].shape[:-1] == self._shape and not self._all
        return (torch.take_along_dim(args[0], self._index, dim=1),) if self._packed else args

    def _unpack(self, _module: nn.Module, _args: Any, output: torch.Tensor) -> torch.Tensor:
        if not self._packed:
            return output
        full = output.new_zeros(*self._shape, output.shape[-1])
        return full.scatter(1, self._index.expand_as(output), output * self._valid)


def _features(linear: nn.Module) -> tuple[int, int]:
    """Input and output features."""
    if isinstance(linear, Conv1D):
        return linear.nx, linear.nf
    assert isinstance(linear, nn.Linear)
    return linear.in_features, linear.out_features


def _find_blocks(model: PreTrainedModel) -> tuple[nn.Module, nn.ModuleList]:
    """The model without its head, and the list of its decoder blocks."""
    if hasattr(model, "peft_config"):
        raise UsageError(
            f"{type(model).__name__} carries a peft adapter: merge it first (model.merge_and_unload())"
        )
    body = model.base_model
    depth = model.config.get_text_config().num_hidden_layers
    lists = [m for m in body.modules() if isinstance(m, nn.ModuleList) and len(m) == depth]
    if body is model or model.get_output_embeddings() is None or len(lists) != 1:
        raise UsageError(
            f"{type(model).__name__}: not a decoder with one list of blocks and a language-model head"
        )
    return body, lists[0]


def _watched_linears(model: PreTrainedModel, blocks: Sequence[nn.Module]) -> dict[str, nn.Module]:
    """Every linear layer of the blocks by its full name, in the model's own order."""
    inside = {id(module) for block in blocks for module in block.modules()}
    linears: dict[str, nn.Module] = {}
    strange: list[str] = []
    for name, module in model.named_modules():
        if id(module) not in inside:
            continue
        weights = [p for p in module.parameters(recurse=False) if p.ndim >= 2]
        integers = [
            b for b in module.buffers(recurse=False) if not b.is_floating_point() and b.dtype != torch.bool
        ]
        weights += [b for b in integers if b.ndim >= 2]  # as quantised layers keep theirs
        if type(module) in (nn.Linear, Conv1D) and all(w.is_floating_point() for w in weights):
            linears[name] = module
        elif weights:
            strange.append(f"{name} ({type(module).__name__})")
    if strange:
        raise UsageError(
            f"{type(model).__name__} holds weights that are not plain linear layers, and would be left out: "
            + ", ".join(strange)
        )
    return linears
