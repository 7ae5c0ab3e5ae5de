"""A release through the real client: one pull request, read back, merged."""

from __future__ import annotations

import json
from pathlib import Path

from clients import run_client
from tamis.hub.loopback.process import LoopbackHub

RELEASE = """
import json
from huggingface_hub import CommitOperationAdd, HfApi

api, name = HfApi(), dict(repo_id="local/release", repo_type="dataset")
api.create_repo(**name)
parent = api.repo_info(**name).sha
files = {"data/a.parquet": b"PAR1" * 500, "README.md": b"---\\nlicense: mit\\n---\\n"}
add = [CommitOperationAdd(*one) for one in files.items()]
opened = api.create_commit(**name, operations=add, commit_message="v1", create_pr=True, parent_commit=parent)
before = api.list_repo_files(**name)
inside = api.list_repo_files(**name, revision=opened.pr_revision)
path = api.hf_hub_download(**name, filename="data/a.parquet", revision=opened.oid)
api.merge_pull_request(**name, discussion_num=opened.pr_num)
api.create_tag(**name, tag="v1")
print(json.dumps([before, inside, open(path).read() == "PAR1" * 500, api.list_repo_files(**name, revision="v1"),
                  api.get_discussion_details(**name, discussion_num=1).status]))
"""


def test_a_pull_request_changes_main_only_when_it_is_merged(hub: LoopbackHub, tmp_path: Path) -> None:
    before, inside, read_back, after, status = json.loads(run_client(hub, RELEASE, tmp_path / "home").stdout)
    assert before == [".gitattributes"]
    assert inside == after == [".gitattributes", "README.md", "data/a.parquet"]
    assert read_back and status == "merged"
