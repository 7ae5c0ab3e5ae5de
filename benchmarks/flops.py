"""What embedding a row costs in floating-point operations, beside the model's own forward pass, part by part.

    python benchmarks/flops.py

Counted from the shapes of a Qwen3 or a Llama: a multiplication and an addition are two, and only matrix products
count. Attention counts its whole square, as `torch.utils.flop_counter` does; a kernel that leaves the masked half
out does less, and one that computes the scores again on its way back does more.
"""

from __future__ import annotations

from transformers import PreTrainedConfig, Qwen3Config

from tamis.gradients.factor import HALF_STEPS

QWEN3 = Qwen3Config(
    vocab_size=151936,
    hidden_size=1024,
    intermediate_size=3072,
    num_hidden_layers=28,
    num_attention_heads=16,
    num_key_value_heads=8,
    head_dim=128,
    tie_word_embeddings=True,
)
"""The architecture of Qwen/Qwen3-0.6B."""

PEAK_TFLOPS = {
    "NVIDIA H200": {"bfloat16": 989, "float16": 989, "float32": 67},
    "NVIDIA H100 80GB HBM3": {"bfloat16": 989, "float16": 989, "float32": 67},
    "NVIDIA A100-SXM4-80GB": {"bfloat16": 312, "float16": 312, "float32": 19.5},
}
"""Of dense products, as NVIDIA's data sheets give them."""


def linears(config: PreTrainedConfig) -> dict[str, tuple[int, int]]:
    """Input and output features of each linear layer of a block."""
    hidden, inner = config.hidden_size, config.intermediate_size
    queries, keys = (config.head_dim * n for n in (config.num_attention_heads, config.num_key_value_heads))
    return {
        "q": (hidden, queries),
        "k": (hidden, keys),
        "v": (hidden, keys),
        "o": (queries, hidden),
        "gate": (hidden, inner),
        "up": (hidden, inner),
        "down": (inner, hidden),
    }


def forward(config: PreTrainedConfig, tokens: int) -> int:
    """Of the model's own forward pass of one row, with a logit for every token and word."""
    head = 2 * tokens * config.hidden_size * config.vocab_size
    return config.num_hidden_layers * _block(config, tokens, tokens) + head


def embedding(
    config: PreTrainedConfig, tokens: int, labelled: int, last_k: int = 4, proj_dim: int = 32
) -> dict[str, int]:
    """Of one embedded row, by part; its last `labelled` tokens are an answer, at most all but the first.

    The last token is predicted and never read. The last block's MLP runs at the positions that predict a label.
    The graph begins at the outputs of the first watched block's q, k and v, whose inputs have no gradient.
    """
    tokens -= 1
    sizes = linears(config)
    mlp_tokens = [tokens] * (last_k - 1) + [labelled]
    watched = sum(_block(config, tokens, some) for some in mlp_tokens)
    attention = last_k * _attention(config, tokens)
    no_gradient = 2 * tokens * sum(a * b for a, b in (sizes[name] for name in "qkv"))
    project = sum(
        2 * (some if name in ("gate", "up", "down") else tokens) * proj_dim * (a + b + proj_dim)
        for some in mlp_tokens
        for name, (a, b) in sizes.items()
    )
    return {
        "blocks below": (config.num_hidden_layers - last_k) * _block(config, tokens, tokens),
        "watched blocks, forward": watched,
        "watched blocks, backward": watched + attention - no_gradient,
        "head": 4 * labelled * config.hidden_size * config.vocab_size,
        "projections": project,
        "rank one": last_k * len(sizes) * HALF_STEPS * 2 * proj_dim**2,
    }


def ratio(config: PreTrainedConfig, tokens: int, share: float) -> float:
    """Of an embedded row, this share of its tokens an answer, to the forward pass."""
    labelled = min(round(share * tokens), tokens - 1)
    return sum(embedding(config, tokens, labelled).values()) / forward(config, tokens)


def _block(config: PreTrainedConfig, tokens: int, mlp_tokens: int) -> int:
    sizes = linears(config)
    mlp = sum(a * b for a, b in (sizes[name] for name in ("gate", "up", "down")))
    other = sum(a * b for a, b in (sizes[name] for name in "qkvo"))
    return 2 * (tokens * other + mlp_tokens * mlp) + _attention(config, tokens)


def _attention(config: PreTrainedConfig, tokens: int) -> int:
    """Of the scores and of the sum that they weigh; backward, each of the two has two products."""
    return 4 * tokens**2 * config.num_attention_heads * config.head_dim


def main() -> None:
    """Prints Qwen3-0.6B's, at 700 tokens."""
    tokens = 700
    print(f"{'plain forward pass':<28} {forward(QWEN3, tokens) / 1e9:8.1f} GFLOP")
    for share in (0.6, 1.0):
        print(f"\n{share:.0%} labelled: {ratio(QWEN3, tokens, share):.3f} of it")
        for name, count in embedding(QWEN3, tokens, min(round(share * tokens), tokens - 1)).items():
            print(f"  {name:<26} {count / 1e9:8.1f} GFLOP")


if __name__ == "__main__":
    main()
