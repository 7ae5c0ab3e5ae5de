"""Writing through the real client, both major versions: commits, pull requests, references, large files."""

from __future__ import annotations

from pathlib import Path

from clients import VERSIONS, run_client, shown
from tamis.hub.loopback.process import LoopbackHub

RELEASE = """
from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi

api, name = HfApi(), dict(repo_id="local/release-VERSION", repo_type="dataset")
url = api.create_repo(**name)
assert api.create_repo(**name, exist_ok=True).repo_id == url.repo_id
api.auth_check(**name)
parent = api.repo_info(**name).sha
add = {"data/a.parquet": b"PAR1" * 500, "README.md": b"---\\nlicense: mit\\n---\\n"}
opened = api.create_commit(
    **name,
    operations=[CommitOperationAdd(*one) for one in add.items()],
    commit_message="v1",
    create_pr=True,
    parent_commit=parent,
)
before = api.list_repo_files(**name)
inside = api.list_repo_files(**name, revision=opened.pr_revision)
path = api.hf_hub_download(**name, filename="data/a.parquet", revision=opened.oid)
read_back = open(path, "rb").read() == add["data/a.parquet"]
details = api.get_discussion_details(**name, discussion_num=opened.pr_num)
assert (details.status, details.conflicting_files, details.merge_commit_oid) == ("open", [], None)
api.comment_discussion(**name, discussion_num=1, comment="checked")
api.merge_pull_request(**name, discussion_num=opened.pr_num, comment="done")
api.create_tag(**name, tag="v1")
after = api.get_discussion_details(**name, discussion_num=1)
comments = [event.content for event in after.events if event.type == "comment"]
show([before, inside, read_back, api.list_repo_files(**name, revision="v1"), after.status, comments])
"""


@VERSIONS
def test_a_pull_request_changes_main_only_when_it_is_merged(
    version: str, hub: LoopbackHub, tmp_path: Path
) -> None:
    code = RELEASE.replace("VERSION", version)
    before, inside, read_back, after, status, comments = shown(
        run_client(hub, code, tmp_path / "home", version=version)
    )
    assert before == [".gitattributes"]
    assert inside == after == [".gitattributes", "README.md", "data/a.parquet"]
    assert read_back and status == "merged" and comments == ["", "checked", "done"]
    parents = [one["parent_commit"] for one in hub.requests() if "/commit/" in one["path"]]
    assert len(parents) == 1 and len(parents[0]) == 40


FOLDER = """
import pathlib
from huggingface_hub import CommitOperationDelete, HfApi
from huggingface_hub.errors import BadRequestError, EntryNotFoundError, HfHubHTTPError

api, name = HfApi(), dict(repo_id="local/folder-VERSION", repo_type="model")
api.create_repo(**name, private=True)
for path in ("a.txt", "deep/er/b.txt", "deep/c.safetensors", "big.bin", "empty.bin"):
    pathlib.Path("here", path).parent.mkdir(parents=True, exist_ok=True)
    pathlib.Path("here", path).write_text("" if "empty" in path else path * 1000 + "VERSION")
first = api.upload_folder(**name, folder_path="here")
again = api.upload_folder(**name, folder_path="here")
assert first.oid == again.oid, "a commit without a change"
pathlib.Path("here/a.txt").write_text("changed")
pathlib.Path("here/deep/er/b.txt").unlink()
proposed = api.upload_folder(**name, folder_path="here", delete_patterns="deep/*", create_pr=True)
api.merge_pull_request(**name, discussion_num=1)
files = api.list_repo_files(**name)
commits = [one.title for one in api.list_repo_commits(**name)]
checked = api.verify_repo_checksums(**name, local_dir="here")
ok = [checked.checked_count, checked.mismatches, checked.missing_paths, sorted(checked.extra_paths)]

errors = []
def tried(call, *args, **kwargs):
    try:
        call(*args, **name, **kwargs)
    except HfHubHTTPError as error:
        errors.append([type(error).__name__, error.response.status_code])
    except ValueError as error:
        errors.append([type(error).__name__, str(error).splitlines()[0]])
tried(api.create_commit, operations=[], commit_message="none", parent_commit=first.oid)
tried(api.create_commit, operations=[CommitOperationDelete("a.txt")], commit_message="x", parent_commit=first.oid)
tried(api.create_commit, operations=[CommitOperationDelete("no.txt")], commit_message="x")
tried(api.upload_file, path_or_fileobj=b"---\\na: [\\n---\\n", path_in_repo="README.md")
tried(api.merge_pull_request, discussion_num=1)
tried(api.create_tag, tag="v1", revision="nowhere")
tried(api.create_branch, branch="refs/pr/9")
api.create_branch(**name, branch="side", revision=first.oid)
tried(api.create_branch, branch="side")
api.create_tag(**name, tag="v1", revision="side")
tried(api.create_tag, tag="v1")
api.delete_tag(**name, tag="v1")
tried(api.delete_tag, tag="v1")
api.upload_file(**name, path_or_fileobj=b"1", path_in_repo="only/on/side.txt", revision="side")
assert api.file_exists(**name, filename="only/on/side.txt", revision="side")
assert not api.file_exists(**name, filename="only/on/side.txt")
api.upload_file(**name, path_or_fileobj=b"2", path_in_repo="more.txt", revision="refs/pr/1")
api.create_discussion("local/folder-VERSION", title="Why", repo_type="model")
draft = api.create_pull_request("local/folder-VERSION", title="A draft", repo_type="model")
drafted = draft.status
tried(api.merge_pull_request, discussion_num=draft.num)
api.change_discussion_status(**name, discussion_num=draft.num, new_status="closed", comment="no")
talks = [[d.num, d.title, d.status, d.is_pull_request] for d in api.get_repo_discussions("local/folder-VERSION")]
closed = [d.num for d in api.get_repo_discussions("local/folder-VERSION", discussion_status="closed")]
refs = api.list_repo_refs(**name, include_pull_requests=True)
named = [sorted(ref.ref for ref in group) for group in (refs.branches, refs.tags, refs.pull_requests)]
api.delete_branch(**name, branch="side")
tried(api.repo_info, revision="side")
api.delete_repo(**name)
tried(api.repo_info)
show([files, commits, ok, errors, drafted, talks, closed, named])
"""


@VERSIONS
def test_folders_references_and_discussions(version: str, hub: LoopbackHub, tmp_path: Path) -> None:
    hub.configure(part_size=10_000)
    done = run_client(hub, FOLDER.replace("VERSION", version), tmp_path / "home", version=version)
    files, commits, checked, errors, drafted, talks, closed, refs = shown(done)
    assert files == [".gitattributes", "a.txt", "big.bin", "deep/c.safetensors", "empty.bin"]
    assert commits[-1] == "initial commit" and len(commits) == 3 and commits[0].endswith("(#1)")
    assert checked == [4, [], [".gitattributes"], []]
    assert errors == [
        ["HfHubHTTPError", 412],
        ["RemoteEntryNotFoundError", 404],
        ["ValueError", "Invalid metadata in README.md."],
        ["BadRequestError", 400],
        ["RevisionNotFoundError", 404],
        ["BadRequestError", 400],
        ["HfHubHTTPError", 409],
        ["HfHubHTTPError", 409],
        ["RevisionNotFoundError", 404],
        ["BadRequestError", 400],
        ["RevisionNotFoundError", 404],
        ["RepositoryNotFoundError", 404],
    ]
    assert drafted == "draft" and closed == [3]
    assert talks == [
        [3, "A draft", "closed", True],
        [2, "Why", "open", False],
        [1, talks[2][1], "merged", True],
    ]
    assert refs == [["refs/heads/main", "refs/heads/side"], [], ["refs/pr/1", "refs/pr/3"]]
    sent = [one["path"].split("/")[2] for one in hub.requests() if one["path"].startswith("/_lfs/")]
    assert {"part-1", "part-2", "complete", "whole", "verify"} <= {*sent}, "both ways of sending were to be seen"
