# /// script
# requires-python = ">=3.11"
# dependencies = ["tamis[attribution,train]"]
# ///
"""A gradient index by many processes: shard by shard in turn, byte for byte the index of one process.

Two processes on one machine's CPU, and all rows of Tulu 3 on the GPUs of one machine:

accelerate launch --config_file training/accelerate_configs/cpu_2.yaml training/embed_gradients.py \
    --dataset_name src/tamis/demo/pool.jsonl --model_name_or_path packaged --device cpu --output_dir run/index

accelerate launch --config_file training/accelerate_configs/multi_gpu.yaml training/embed_gradients.py \
    --dataset_name allenai/tulu-3-sft-mixture --batch_tokens 16384 --output_dir run/tulu-3

With `cpu_2.yaml` and `--device cuda:0`, two processes share one GPU: it works for one while the other renders.
The flags and `--config` are those of `tamis embed`. Where a process dies the launch fails; the same command goes
on from the shards that are there, with any number of processes, as does `tamis embed` itself. Several machines
need one folder that all of them see.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import timedelta

from accelerate import PartialState

from tamis import cli, verbs
from tamis.gradients.embed import embed
from tamis.recipe import EmbedRecipe

_PATIENCE = timedelta(days=7)  # for the slowest process, at the end; one that dies ends the launch at once


def shared(recipe: EmbedRecipe) -> verbs.Report | None:
    """This process's share of the work; what to print, in the first process."""
    if recipe.dry_run:
        return verbs.VERBS["embed"].run(recipe)
    # Where a device is named, all processes are on it: gloo joins them, as NCCL wants a GPU for each.
    state = PartialState(cpu=recipe.device != "auto", timeout=_PATIENCE)
    index = embed(recipe, state=state)
    report = verbs.report_embedded(index, recipe) if state.is_main_process else None
    state.destroy_process_group()
    return report


def main(argv: Sequence[str] | None = None) -> int:
    """Runs as `tamis embed` does; the same exit codes and messages."""
    return cli.main(["embed", *(sys.argv[1:] if argv is None else argv)], work=shared)


if __name__ == "__main__":
    raise SystemExit(main())
