"""Captured gradients are those of plain autograd, projected: on every architecture, at every batch size."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from transformers import (
    AutoModelForCausalLM,
    MambaConfig,
    MixtralConfig,
    PreTrainedConfig,
    PreTrainedModel,
    Qwen3MoeConfig,
)
from transformers.pytorch_utils import Conv1D

import tiny
from tamis.chat import Example
from tamis.errors import UsageError
from tamis.gradients.capture import GradientCapture
from tamis.gradients.project import gaussian

PROJ = 8


def examples(n: int = 5, seed: int = 0) -> list[Example]:
    """Random rows of different lengths; the mask has gaps, as several assistant turns leave them."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        length = int(rng.integers(6, 30))
        mask = rng.random(length) < 0.5
        mask[0], mask[rng.integers(1, length)] = i % 2 == 0, True
        rows.append(Example(rng.integers(0, tiny.VOCAB, length).tolist(), mask.tolist()))
    return rows


def by_autograd(model: PreTrainedModel, example: Example, modules: tuple[str, ...]) -> tuple[torch.Tensor, float]:
    """The projection of the whole weight gradient: what the capture must equal."""
    model.requires_grad_(True)
    model.zero_grad()
    ids = torch.tensor([example.input_ids])
    labels = torch.where(torch.tensor([example.response_mask]), ids, -100)[:, 1:]
    logits = model(input_ids=ids).logits[:, :-1].float()
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100, reduction="sum")
    loss.backward()
    projected = []
    for name in modules:
        module = model.get_submodule(name)
        gradient = module.weight.grad.T if isinstance(module, Conv1D) else module.weight.grad
        out, into = (
            torch.from_numpy(gaussian(0, name, s, n, PROJ))
            for s, n in zip(("out", "in"), gradient.shape, strict=True)
        )
        projected.append(out.T @ gradient @ into)
    return torch.stack(projected).detach(), loss.item()


def relative_error(actual: torch.Tensor, expected: torch.Tensor) -> float:
    return float((actual - expected).norm() / expected.norm())


def whole(gradients) -> torch.Tensor:  # type: ignore[no-untyped-def]
    return gradients.matrices * gradients.scale.float()[:, None, None, None]


@pytest.mark.parametrize("kind", tiny.CONFIGS)
def test_equal_to_autograd_then_projection(kind: str) -> None:
    model = tiny.model(kind)
    rows = examples()
    with GradientCapture(model, last_k=2, proj_dim=PROJ) as capture:
        captured = capture(rows)
        per_block = {"gpt2": 4, "gpt_neox": 4, "bloom": 4, "phi3": 4, "phi": 6, "gpt_neo": 6, "opt": 6}.get(
            kind, 7
        )
        assert len(capture.modules) == 2 * per_block
    for row, example in enumerate(rows):
        expected, loss = by_autograd(model, example, capture.modules)
        assert relative_error(whole(captured)[row], expected) < 1e-5
        assert float(captured.loss[row]) == pytest.approx(loss, rel=1e-5)


@pytest.mark.parametrize("kind", ["llama", "gemma2", "gpt2", "opt"])
def test_same_at_every_batch_size_and_order(kind: str) -> None:
    rows = examples(6)
    with GradientCapture(tiny.model(kind), last_k=2, proj_dim=PROJ) as capture:
        together = whole(capture(rows))
        for size in (1, 2, 4):
            parts = torch.cat([whole(capture(rows[i : i + size])) for i in range(0, 6, size)])
            assert max(relative_error(a, b) for a, b in zip(parts, together, strict=True)) < 1e-5
        backwards = whole(capture(rows[::-1])).flip(0)
        assert relative_error(backwards, together) < 1e-5


def test_what_follows_the_last_answer_changes_nothing() -> None:
    row = examples(1)[0]
    longer = Example([*row.input_ids, 7, 7, 7], [*row.response_mask, False, False, False])
    with GradientCapture(tiny.model(), last_k=2, proj_dim=PROJ) as capture:
        assert torch.equal(whole(capture([row])), whole(capture([longer])))


def test_all_blocks_and_too_many() -> None:
    model = tiny.model()
    with GradientCapture(model, last_k=3, proj_dim=PROJ) as capture:
        captured = whole(capture(examples(1)))[0]
    assert relative_error(captured, by_autograd(model, examples(1)[0], capture.modules)[0]) < 1e-5
    with pytest.raises(UsageError, match="--last_k 4: LlamaForCausalLM has 3 blocks"):
        GradientCapture(model, last_k=4)


def test_activation_checkpointing_and_dropout_are_off() -> None:
    rows = examples(2)
    with GradientCapture(tiny.model("gpt2"), last_k=2, proj_dim=PROJ) as capture:
        expected = whole(capture(rows))
    model = tiny.model("gpt2").train()
    model.config.resid_pdrop = 0.5
    model.activation_checkpointing_enable()
    with GradientCapture(model, last_k=2, proj_dim=PROJ) as capture:
        assert torch.equal(whole(capture(rows)), expected)
    assert model.training and all(p.requires_grad for p in model.parameters())


def test_the_model_is_given_back_as_it_was() -> None:
    model = tiny.model()
    ids = torch.tensor([[1, 2, 3]])
    before = model(ids).logits
    with GradientCapture(model, last_k=2, proj_dim=PROJ) as capture:
        capture(examples(2))
    assert torch.equal(model(ids).logits, before) and model(ids).logits.requires_grad
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


class _Experts(nn.Module):
    """As fused mixture-of-experts layers hold them: one tensor for all experts."""

    def __init__(self) -> None:
        super().__init__()
        self.gate_up_proj = nn.Parameter(torch.zeros(4, 32, 48))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


class _Quantized(nn.Linear):
    """A subclass with its own idea of a weight."""


def _broken(kind: str) -> PreTrainedModel:
    model = tiny.model()
    block = model.model.layers[-1]
    if kind == "experts":
        block.mlp = _Experts()
    elif kind == "subclass":
        block.mlp.up_proj = _Quantized(32, 48)
    elif kind == "integer":
        block.self_attn.q_proj.weight = nn.Parameter(torch.zeros(32, 32, dtype=torch.int8), requires_grad=False)
    elif kind == "embedding":
        block.self_attn.relative = nn.Embedding(4, 4)
    elif kind == "bare":
        block.extra = nn.ParameterList([nn.Parameter(torch.zeros(3, 3))])
    return model


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("experts", "model.layers.2.mlp (_Experts)"),
        ("subclass", "model.layers.2.mlp.up_proj (_Quantized)"),
        ("integer", "model.layers.2.self_attn.q_proj (Linear)"),
        ("embedding", "model.layers.2.self_attn.relative (Embedding)"),
        ("bare", "model.layers.2.extra (ParameterList)"),
    ],
)
def test_a_weight_that_would_be_left_out_is_named(kind: str, name: str) -> None:
    with pytest.raises(UsageError) as error:
        GradientCapture(_broken(kind), last_k=2)
    assert name in str(error.value)


@pytest.mark.parametrize(
    "config", [MixtralConfig, Qwen3MoeConfig, MambaConfig], ids=lambda config: config.model_type
)
def test_real_models_with_other_weights_are_refused_by_name(config: type[PreTrainedConfig]) -> None:
    model = AutoModelForCausalLM.from_config(config(vocab_size=64, hidden_size=32, num_hidden_layers=2))
    with pytest.raises(UsageError, match=r"would be left out: .*(experts|mixer)"):
        GradientCapture(model, last_k=1)


def test_a_peft_model_is_refused() -> None:
    peft = pytest.importorskip("peft")
    wrapped = peft.get_peft_model(tiny.model(), peft.LoraConfig(target_modules=["q_proj"], r=2))
    for model in (wrapped, wrapped.base_model.model):
        with pytest.raises(UsageError, match=r"adapter|LoraLayer|lora"):
            GradientCapture(model, last_k=2)
    merged = wrapped.merge_and_unload()
    with GradientCapture(merged, last_k=2, proj_dim=PROJ) as capture:
        assert len(capture.modules) == 14


def test_an_unknown_step_between_head_and_logits_is_refused() -> None:
    model = tiny.model()
    plain = type(model).forward

    class Odd(type(model)):  # type: ignore[misc]
        def forward(self, *args, **kwargs):  # type: ignore[no-untyped-def]
            output = plain(self, *args, **kwargs)
            output.logits = output.logits.sin()
            return output

    model.__class__ = Odd
    with pytest.raises(UsageError, match="changes its logits"):
        GradientCapture(model, last_k=2)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_tiny_low_precision_gradients_survive(dtype: torch.dtype) -> None:
    """A model that is nearly certain of its answer: p - onehot is near the end of float16's range."""
    model = tiny.model("llama", spread=1.0)
    rows = [Example([5, 6, 7, 8], [False, False, True, True])]
    with torch.no_grad():
        model.lm_head.weight.zero_()
        hidden = model.model(torch.tensor([[5, 6, 7]]))[0][0]
        for position, token in ((1, 7), (2, 8)):
            model.lm_head.weight[token] = 14 * hidden[position] / hidden[position].norm() ** 2 * 1.5
    with GradientCapture(model, last_k=2, proj_dim=PROJ) as capture:
        expected = whole(capture(rows))
    with GradientCapture(model.to(dtype), last_k=2, proj_dim=PROJ) as capture:
        captured = capture(rows)
    assert 0 < float(captured.scale) < 1e-3
    actual = whole(captured)
    assert torch.isfinite(actual).all()
    cosine = torch.nn.functional.cosine_similarity(actual.flatten(), expected.flatten(), dim=0)
    assert float(cosine) > 0.98
