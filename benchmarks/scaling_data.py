"""What `scaling.py` embeds: chats of a given length, for a random model with one token a word."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

TINY = LlamaConfig(
    vocab_size=512,
    hidden_size=32,
    intermediate_size=64,
    num_hidden_layers=1,
    num_attention_heads=2,
    tie_word_embeddings=True,
)
SHARE = 0.6
BEGIN, END = "<|im_start|>", "<|im_end|>"
TEMPLATE = f"{{% for m in messages %}}{BEGIN} {{{{ m.role }}}} {{{{ m.content }}}} {END} {{% endfor %}}"


def save_model(folder: Path, config: LlamaConfig) -> None:
    """Writes a random model and a tokenizer for which every word is a token."""
    torch.manual_seed(0)
    LlamaForCausalLM(config).save_pretrained(folder)
    words = [BEGIN, END, "user", "assistant"]
    words += [f"word{i:06d}" for i in range(config.vocab_size - len(words))]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token=END))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END, pad_token=END)
    wrapped.chat_template = TEMPLATE
    wrapped.save_pretrained(folder)


def save_rows(file: Path, rows: int, tokens: int, words: int) -> None:
    """Writes chats of so many tokens, the larger part of them in the answer."""
    rng = np.random.default_rng(0)
    answer = round(SHARE * tokens) - 1
    with file.open("w") as stream:
        for i in range(rows):
            text = [f"word{word:06d}" for word in rng.integers(0, words - 4, tokens - 6)]
            parts = {"prompt": " ".join(text[:-answer]), "completion": " ".join(text[-answer:])}
            stream.write(json.dumps({"id": f"row-{i:09d}", "source": "random", **parts}) + "\n")
