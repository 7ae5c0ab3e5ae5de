"""Where the time of an embedding goes: torch's profile, summed up by the parts that one can name."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, record_function
from torch.utils.hooks import RemovableHandle
from transformers import PreTrainedModel

PARTS = {
    "bench.below": "blocks below",
    "tamis.head": "head",
    "bench.project": "projections",
    "tamis.rank_one": "rank one",
    "tamis.to_host": "copy to the host",
}
REST = "watched blocks"  # autograd's own thread does a half of it, and no name reaches there


def profile(
    model: PreTrainedModel, last_k: int, work: Callable[[], object], device: torch.device
) -> tuple[dict[str, float], float]:
    """Each part's share of the time that the device works, and that time in seconds.

    Args:
        model: A Qwen3 or a Llama that a `GradientCapture` watches.
        last_k: How many of its blocks are watched.
        work: Embeds all batches.
        device: Where the model is.
    """
    cuda = device.type == "cuda"
    hooks = _name_parts(model, last_k)
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if cuda else [])]
    with torch.profiler.profile(activities=activities) as profiler:
        work()
    for hook in hooks:
        hook.remove()
    spent = dict.fromkeys((REST, *PARTS.values()), 0.0)
    for event in profiler.events():
        part = event
        while part is not None and part.name not in PARTS:
            part = part.cpu_parent
        name = REST if part is None else PARTS[part.name]
        if not cuda:
            spent[name] += event.self_cpu_time_total
        elif event.device_type == DeviceType.CPU and not event.is_user_annotation:
            spent[name] += sum(kernel.duration for kernel in event.kernels)
    busy = sum(spent.values())
    return {name: round(time / busy, 4) for name, time in spent.items()}, busy / 1e6


def _name_parts(model: PreTrainedModel, last_k: int) -> list[RemovableHandle]:
    """Hooks around what `GradientCapture` does with no name of its own: fifty names a batch would cost it time."""
    blocks, below, project = model.model.layers, record_function("bench.below"), record_function("bench.project")

    def enter(*_: object) -> None:
        project.__enter__()

    def leave(*_: object) -> None:
        project.__exit__(None, None, None)

    def before(_module: nn.Module, _args: object, output: torch.Tensor) -> None:
        if not output.requires_grad:
            output.requires_grad_(True)  # as the capture does next
        output.register_hook(enter)
        enter()

    def after(_module: nn.Module, _args: object, output: torch.Tensor) -> None:
        leave()
        output.register_hook(leave)

    hooks = []
    for linear in (module for block in blocks[-last_k:] for module in block.modules()):
        if isinstance(linear, nn.Linear):
            hooks.append(linear.register_forward_hook(before, prepend=True))
            hooks.append(linear.register_forward_hook(after))
    if len(blocks) > last_k:
        hooks.append(blocks[0].register_forward_pre_hook(lambda *_: below.__enter__() and None))
        hooks.append(blocks[-last_k].register_forward_pre_hook(lambda *_: below.__exit__(None, None, None)))
    return hooks
