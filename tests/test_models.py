"""Decoders are loaded from where they lie, told apart by what they hold, and refused in one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

import tiny
from tamis.chat import ChatRenderer
from tamis.errors import UsageError
from tamis.models import folder_revision, load_decoder, packaged_decoder, resolve_device


def test_a_folder_is_told_from_another_by_weights_template_and_nothing_else(tmp_path: Path) -> None:
    one, same, other = (
        Path(tiny.saved(tmp_path / name, seed=seed)) for name, seed in (("a", 0), ("b", 0), ("c", 1))
    )
    assert folder_revision(one) == folder_revision(same) != folder_revision(other)
    (one / "README.md").write_text("a note")
    assert folder_revision(one) == folder_revision(same)
    changed = tiny.tokenizer("{{ messages[0]['content'] }}")
    changed.save_pretrained(same)
    assert folder_revision(one) != folder_revision(same)


def test_a_loaded_decoder_is_in_eval_mode_and_of_the_type_asked_for(tmp_path: Path) -> None:
    decoder = load_decoder(tiny.saved(tmp_path / "m"), dtype="bfloat16", device="cpu")
    assert not decoder.model.training and decoder.model.dtype is torch.bfloat16
    assert load_decoder(str(tmp_path / "m")).model.dtype is torch.float32


def test_products_of_float32_are_float32(tmp_path: Path) -> None:
    """TF32 is what "high" means on a GPU; NVIDIA's containers set it without being asked."""
    torch.set_float32_matmul_precision("high")
    load_decoder(tiny.saved(tmp_path / "m"))
    assert torch.get_float32_matmul_precision() == "highest"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"name": "./nowhere"}, "./nowhere"),
        ({"name": "no-such/model-on-the-hub"}, "no-such/model-on-the-hub"),
        ({"dtype": "int8"}, "--dtype int8"),
        ({"dtype": "nonsense"}, "--dtype nonsense"),
        ({"device": "abacus"}, "--device abacus"),
    ],
)
def test_what_cannot_be_loaded_is_named_in_one_sentence(
    tmp_path: Path, options: dict[str, str], named: str
) -> None:
    name = options.pop("name", None) or tiny.saved(tmp_path / "m")
    with pytest.raises(UsageError) as error:
        load_decoder(name, **options)  # type: ignore[arg-type]
    assert named in str(error.value) and "\n" not in str(error.value)


def test_weights_that_are_not_safetensors_are_refused(tmp_path: Path) -> None:
    folder = Path(tiny.saved(tmp_path / "m"))
    (folder / "model.safetensors").unlink()
    torch.save(tiny.model().state_dict(), folder / "pytorch_model.bin")
    with pytest.raises(UsageError, match="safetensors"):
        load_decoder(str(folder))


def test_auto_is_a_device_of_this_machine() -> None:
    assert resolve_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.packaged
def test_the_packaged_decoder_is_a_plain_float32_model_that_knows_english() -> None:
    folder = packaged_decoder()
    saved = [key for file in folder.glob("*config.json") for key in json.loads(file.read_text())]
    assert saved and not {*saved} & {"is_local", "local_files_only", "transformers_version"}
    assert not list(folder.parent.glob("*.partial"))
    decoder = load_decoder("packaged")
    assert decoder.model.dtype is torch.float32 and decoder.model.config.num_hidden_layers == 30
    assert "quantization_config" not in decoder.model.config.to_dict()
    assert decoder.revision == load_decoder(str(folder)).revision

    def loss(answer: str) -> float:
        turns = [
            {"role": "user", "content": "What is the capital of France?"},
            {"role": "assistant", "content": answer},
        ]
        example = ChatRenderer(decoder.tokenizer).render(turns)
        assert (
            decoder.tokenizer.decode(
                [token for token, mine in zip(example.input_ids, example.response_mask, strict=True) if mine]
            )
            == f"{answer}<|im_end|>"
        )
        ids = torch.tensor([example.input_ids])
        labels = torch.where(torch.tensor([example.response_mask]), ids, -100)
        with torch.no_grad():
            return float(decoder.model(ids, labels=labels).loss)

    assert loss("The capital of France is Paris.") < 1 < loss("The capital of France is banana stapler.")
