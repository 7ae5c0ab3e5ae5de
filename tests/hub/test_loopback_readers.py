"""The clients that people load with: datasets, transformers and HfFileSystem, each against the real server."""

from __future__ import annotations

from pathlib import Path

import tiny
from clients import VERSIONS, make, run_client, shown
from tamis.hub.loopback.process import LoopbackHub

DATASETS = """
import os
from datasets import Dataset, load_dataset
from huggingface_hub import HfApi, HfFileSystem

api, name = HfApi(), "local/rows-VERSION"
rows = Dataset.from_dict({"n": list(range(500)), "text": ["word " * 40] * 500})
rows.push_to_hub(name, "drop-20", split="train", num_shards=2)
rows.push_to_hub(name, "all", split="train")
loaded = load_dataset(name, "drop-20", split="train")
assert loaded["n"][:] == list(range(500))
streamed = [row["n"] for row in load_dataset(name, "all", split="train", streaming=True)]
few = load_dataset(name, "all", split="train", streaming=True, filters=[("n", "<", 3)])
api.create_tag(name, tag="v1", repo_type="dataset")
rows.select(range(5)).push_to_hub(name, "all", split="train")
old = load_dataset(name, "all", split="train", revision="v1")
new = load_dataset(name, "all", split="train", revision=api.repo_info(name, repo_type="dataset").sha)
rows.select(range(7)).push_to_hub(name, "other", split="train", revision="side")
side = load_dataset(name, "other", split="train", revision="side")

fs = HfFileSystem()
paths = sorted(fs.glob(f"datasets/{name}@v1/**/*.parquet"))
with fs.open(paths[0], "rb", block_size=100, cache_type="none") as stream:
    stream.seek(-4, 2)
    tail = stream.read(4).decode()
with fs.open(f"datasets/{name}/new.txt", "wb") as stream:
    stream.write(b"written")
written = fs.cat(f"datasets/{name}/new.txt").decode()
show([len(streamed), [row["n"] for row in few], len(old), len(new), len(side), len(paths), tail, written,
      [os.path.basename(path) for path in api.list_repo_files(name, repo_type="dataset")]])
"""


@VERSIONS
def test_datasets_pushes_loads_and_streams(version: str, hub: LoopbackHub, tmp_path: Path) -> None:
    hub.configure(page_size=2)
    done = run_client(hub, DATASETS.replace("VERSION", version), tmp_path / "home", version=version)
    streamed, few, old, new, side, paths, tail, written, files = shown(done)
    assert (streamed, few, old, new, side, paths) == (500, [0, 1, 2], 500, 5, 7, 3)
    assert (tail, written) == ("PAR1", "written")
    assert files == [".gitattributes", "README.md", *files[2:5], "new.txt"] and len(files) == 6
    log = hub.requests()
    tails = [one for one in log if one["status"] == 206 and one["sent"] == 4]
    assert tails and all(one["range"] for one in tails), "the last four bytes were to be asked for alone"
    parents = [one["parent_commit"] for one in log if "/commit/main" in one["path"]]
    assert sum(parent is not None for parent in parents) >= 3
    assert sum("/tree/" in one["path"] and "cursor=" in one["query"] for one in log) > 0


MODEL = """
from transformers import AutoModelForCausalLM, AutoTokenizer
name = "local/tiny"
AutoTokenizer.from_pretrained("model").push_to_hub(name, private=True)
AutoModelForCausalLM.from_pretrained("model").push_to_hub(name)
tokens = AutoTokenizer.from_pretrained(name)("a word")["input_ids"]
model = AutoModelForCausalLM.from_pretrained(name)
same = AutoModelForCausalLM.from_pretrained("model")
show([tokens == AutoTokenizer.from_pretrained("model")("a word")["input_ids"],
      all((a == b).all().item() for a, b in zip(model.parameters(), same.parameters(), strict=True))])
"""


def test_transformers_pushes_and_loads(hub: LoopbackHub, tmp_path: Path) -> None:
    tiny.saved(tmp_path / "model")
    done = run_client(hub, MODEL, tmp_path / "home")
    assert shown(done) == [True, True]
    large = [
        one for one in hub.requests() if one["path"].endswith("/model.safetensors") and one["method"] == "GET"
    ]
    assert [one["status"] for one in large] == [200]


def test_a_snapshot_comes_whole_and_a_second_one_sends_no_file_again(hub: LoopbackHub, tmp_path: Path) -> None:
    sha = make(hub, "local/snapshot", {f"d/{i}.txt": str(i).encode() for i in range(9)})
    hub.configure(page_size=4)
    code = """
    import pathlib
    from huggingface_hub import HfApi, snapshot_download
    folder = snapshot_download("local/snapshot", repo_type="dataset")
    snapshot_download("local/snapshot", repo_type="dataset")
    found = HfApi().verify_repo_checksums("local/snapshot", repo_type="dataset")
    show([pathlib.Path(folder).name, sorted(path.name for path in pathlib.Path(folder, "d").iterdir()),
          found.checked_count, found.mismatches, found.missing_paths])
    """
    names = [f"{i}.txt" for i in range(9)]
    assert shown(run_client(hub, code, tmp_path / "home")) == [sha, names, 10, [], []]
    gets = [one["path"] for one in hub.requests() if one["method"] == "GET" and "/resolve/" in one["path"]]
    assert len(gets) == len({*gets}) == 10
