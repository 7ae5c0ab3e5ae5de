"""The language-model head at the response tokens only: the loss and its gradient, in chunks."""

from __future__ import annotations

import torch
from torch import nn
from torch.profiler import record_function
from transformers import PreTrainedModel

from tamis.errors import UsageError

CHUNK_LOGITS = 1 << 22
"""Logits that stand in memory at once (16 MiB in float32), though never fewer than `CHUNK_TOKENS` tokens'
worth."""

CHUNK_TOKENS = 128

GPU_CHUNK_TOKENS = 512
"""The same on a GPU, where a chunk waits for the head's weights unless it has some hundreds of operations to do
with each that it reads: as many as it has tokens."""


class ResponseHead:
    """Final hidden states and target tokens to losses and the gradient of the hidden states.

    The gradient of a summed cross-entropy is `softmax(z) - onehot`, times the head. A logit scale (Granite,
    Cohere) and soft-capping (Gemma 2) stand between the head and `z`. Any other step that a model puts there would
    be a wrong gradient without a sign of it, so one is looked for: the constructor compares its logits with the
    model's own.

    Raises:
        UsageError: The model's logits are not those of its head.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        config = model.config.get_text_config()
        self._head = model.get_output_embeddings()
        if type(self._head) is not nn.Linear:
            raise UsageError(
                f"{type(model).__name__}: its head is a {type(self._head).__name__}, not a linear layer"
            )
        least = CHUNK_TOKENS if model.device.type == "cpu" else GPU_CHUNK_TOKENS
        self._chunk = max(least, CHUNK_LOGITS // len(self._head.weight))
        self._buffer = torch.empty(0)
        self._cap: float | None = getattr(config, "final_logit_softcapping", None)
        self._scale = float(getattr(config, "logit_scale", None) or 1.0) / float(
            getattr(config, "logits_scaling", None) or 1.0
        )
        with torch.no_grad():
            ids = torch.arange(4, device=model.device)[None] % config.vocab_size
            hidden = model.base_model(input_ids=ids, use_cache=False)[0]
            expected = model(input_ids=ids, use_cache=False).logits[0].float()
            if not torch.allclose(
                self._logits(hidden[0]), expected, rtol=1e-2, atol=1e-2 * float(expected.abs().max())
            ):
                raise UsageError(f"{type(model).__name__} changes its logits in a way that is not known here")

    def _logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """`[tokens, vocabulary]` float32 logits, in a buffer that the next call overwrites."""
        weight, bias = self._head.weight, self._head.bias
        if len(self._buffer) == 0:
            # Allocated once: first touches of fresh memory cost as much as half of this product.
            self._buffer = torch.empty(self._chunk, len(weight), dtype=weight.dtype, device=weight.device)
        z = torch.mm(hidden, weight.t(), out=self._buffer[: len(hidden)])
        if bias is not None:
            z += bias
        z = z.float()
        if self._scale != 1.0:
            z *= self._scale
        return z if self._cap is None else z.div_(self._cap).tanh_().mul_(self._cap)

    @torch.no_grad()
    @record_function("tamis.head")
    def __call__(
        self, hidden: torch.Tensor, targets: torch.Tensor, rows: torch.Tensor, n_rows: int
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The hidden states' gradient divided by each row's scale, the rows' summed losses, and the scales.

        Args:
            hidden: `[tokens, hidden]`, after the final norm, at the positions that predict a response token.
            targets: `[tokens]` int64, the tokens to predict.
            rows: `[tokens]` int64, ascending: the row of each token.
            n_rows: The number of rows.

        Returns:
            `[tokens, hidden]` in the model's dtype; `[rows]` float32; `[rows]` float32 powers of two.
        """
        gradient = torch.empty(hidden.shape, dtype=torch.float32, device=hidden.device)
        losses = torch.empty(len(targets), dtype=torch.float32, device=hidden.device)
        weight = self._head.weight
        for at in range(0, len(targets), self._chunk):
            chunk = slice(at, at + self._chunk)
            z = self._logits(hidden[chunk])
            capped = None if self._cap is None else z / self._cap
            top, picked = z.amax(1), z.gather(1, targets[chunk, None]).squeeze(1)
            torch.softmax(z, 1, out=z)
            losses[chunk] = top - z.amax(1).log() - picked  # the logsumexp, from the largest probability
            z.scatter_add_(1, targets[chunk, None], z.new_full((len(z), 1), -1.0))
            if capped is not None:
                z.mul_(1 - capped.square_())
            gradient[chunk] = (z.to(weight.dtype) @ weight).float() * self._scale
        largest = torch.zeros(n_rows, device=hidden.device).scatter_reduce_(
            0, rows, gradient.abs().amax(1), "amax"
        )
        # The power of two above it, by the exponent bits of a float32 alone: exact on every device.
        power = 2 * (largest.view(torch.int32) & 0x7F800000).view(torch.float32)
        scale = torch.where(power > 0, power, 1.0)
        loss = torch.zeros(n_rows, device=hidden.device).index_add_(0, rows, losses)
        return (gradient / scale[rows, None]).to(hidden.dtype), loss, scale
