"""Models and tokenizers small enough to make in memory, one of each kind that tamis has to get right."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import (
    AutoModelForCausalLM,
    BertConfig,
    BertModel,
    BloomConfig,
    CohereConfig,
    Gemma2Config,
    Gemma3TextConfig,
    GPT2Config,
    GPTNeoConfig,
    GPTNeoXConfig,
    GraniteConfig,
    LlamaConfig,
    MistralConfig,
    Olmo2Config,
    OPTConfig,
    Phi3Config,
    PhiConfig,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Qwen3Config,
)

VOCAB = 384
CHATML = (
    "{% for message in messages %}"
    "<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
    "{% endfor %}"
)  # fmt: skip

_SIZE = {"vocab_size": VOCAB, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3}
_HEADS = {"num_attention_heads": 4, "num_key_value_heads": 2}
_IDS = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0}
CONFIGS: dict[str, PreTrainedConfig] = {
    "llama": LlamaConfig(**_SIZE, **_HEADS, **_IDS),
    "llama-tied": LlamaConfig(**_SIZE, **_HEADS, **_IDS, tie_word_embeddings=True),
    "llama-bias": LlamaConfig(**_SIZE, **_HEADS, **_IDS, attention_bias=True, mlp_bias=True),
    "qwen3": Qwen3Config(**_SIZE, **_HEADS, **_IDS, head_dim=128),
    "mistral": MistralConfig(**_SIZE, **_HEADS, **_IDS, sliding_window=8),
    "olmo2": Olmo2Config(**_SIZE, **_HEADS, **_IDS),
    "gemma2": Gemma2Config(
        **_SIZE,
        **_HEADS,
        **_IDS,
        head_dim=16,
        sliding_window=8,
        final_logit_softcapping=3.0,
        attn_logit_softcapping=5.0,
    ),
    "gemma3": Gemma3TextConfig(
        **_SIZE,
        **_HEADS,
        **_IDS,
        head_dim=16,
        layer_types=["sliding_attention", "sliding_attention", "full_attention"],
    ),
    "phi": PhiConfig(**_SIZE, num_attention_heads=4, **_IDS),
    "phi3": Phi3Config(**_SIZE, **_HEADS, **_IDS),
    "granite": GraniteConfig(**_SIZE, **_HEADS, **_IDS, logits_scaling=4.0),
    "cohere": CohereConfig(**_SIZE, **_HEADS, **_IDS, logit_scale=0.5),
    "gpt_neox": GPTNeoXConfig(**_SIZE, num_attention_heads=4, **_IDS),
    "gpt_neo": GPTNeoConfig(
        vocab_size=VOCAB, hidden_size=32, num_layers=3, attention_types=[[["global"], 3]], num_heads=4, **_IDS
    ),
    "bloom": BloomConfig(vocab_size=VOCAB, hidden_size=32, n_layer=3, n_head=4, **_IDS),
    "opt": OPTConfig(
        vocab_size=VOCAB,
        hidden_size=32,
        ffn_dim=48,
        num_hidden_layers=3,
        num_attention_heads=4,
        max_position_embeddings=256,
        word_embed_proj_dim=32,
        **_IDS,
    ),
    "gpt2": GPT2Config(vocab_size=VOCAB, n_embd=32, n_inner=48, n_layer=3, n_head=4, n_positions=256, **_IDS),
}


def model(kind: str = "llama", seed: int = 0, spread: float = 4.0) -> PreTrainedModel:
    """A model with random weights, larger than at initialisation so that its predictions are far from uniform."""
    torch.manual_seed(seed)
    made = AutoModelForCausalLM.from_config(CONFIGS[kind])
    with torch.no_grad():
        for parameter in made.parameters():
            if parameter.ndim >= 2:
                parameter.mul_(spread)
    return made.eval()


def tokenizer(
    template: str | None = CHATML, specials: tuple[str, ...] = ("<|im_start|>", "<|im_end|>")
) -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer with a few merges; BOS and EOS are the first and second special token."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB,
        special_tokens=list(specials),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train_from_iterator(_text(), trainer)
    made = PreTrainedTokenizerFast(
        tokenizer_object=bpe, bos_token=specials[0], eos_token=specials[1], pad_token=specials[1]
    )
    made.chat_template = template
    return made


def saved(folder: Path, kind: str = "llama", seed: int = 0) -> str:
    """A folder with a model and a tokenizer in it."""
    model(kind, seed).save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return str(folder)


def _text() -> Iterator[str]:
    yield from (
        "user assistant system tool content",
        "the answer is yes and the question was no",
        "what is this?\n\n",
    ) * 4


def saved_encoder(folder: Path, seed: int = 0) -> str:
    """A folder with a BERT and its fast word-piece tokenizer, uncased as MiniLM's, of letters and digits."""
    letters = "abcdefghijklmnopqrstuvwxyz0123456789@.,'!?-+=*/()<>|:_[]"
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters)]
    made = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    specials = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    PreTrainedTokenizerFast(tokenizer_object=made, **specials).save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(pieces),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=130,
    )
    torch.manual_seed(seed)
    BertModel(config).save_pretrained(folder)
    return str(folder)
