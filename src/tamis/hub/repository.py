"""One release to one repository on the Hub, whole or not at all.

What is new goes into a pull request; every config is loaded back from it and every checksum compared; only then
is it merged, and the version tagged last. A failure before that leaves `main` as it was, and the same command goes
on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tamis.errors import UsageError, WorkError
from tamis.hub.bundle import Bundle, checksums
from tamis.hub.calls import ConflictError, NotThereError, about, api, asked
from tamis.hub.check import check_configs
from tamis.hub.configs import config_names, merged
from tamis.hub.front_matter import CARD, split
from tamis.recipe import PublishRecipe

_ROUNDS = 12
_FILES_A_COMMIT = 200
_OPENED = "tamis publishes"


@dataclass(frozen=True)
class Done:
    """What came of it: the commit with the release, the files sent and deleted, and the card as it is there."""

    commit: str
    sent: list[str]
    deleted: list[str]
    card: str


class Release:
    """One release to one repository, which is opened, and made if need be, at once.

    Args:
        recipe: Where it goes, and how.
        bundle: What the repository will hold.

    Attributes:
        repo_id: The repository's name, as the Hub says it.

    Raises:
        UsageError: The token may not write, or the repository is not one that this release may go to.
    """

    def __init__(self, recipe: PublishRecipe, bundle: Bundle) -> None:
        self._recipe, self._bundle = recipe, bundle
        self._api = api()
        self.repo_id = recipe.repo_id
        self.repo_id = self._opened()

    @property
    def _where(self) -> dict[str, str]:
        return {"repo_id": self.repo_id, "repo_type": self._recipe.repo_type}

    def run(self) -> Done:
        """Sends, checks, merges and tags."""
        for _ in range(_ROUNDS):
            try:
                done = self._round()
                self._tag(done)
                return done
            except ConflictError as conflict:
                last = conflict
        raise WorkError(f"{last}; others published at the same time, {_ROUNDS} times; {self.repo_id} is as it was")

    def _opened(self) -> str:
        """The repository's own name; it is made where it is not there.

        Raises:
            UsageError: The token may not write, or the repository is not one that this release may go to.
        """
        recipe, bundle = self._recipe, self._bundle
        try:
            there = self._about()
        except NotThereError:
            self._may_write_new()
            refuse_open(bundle, recipe, there=None)
            sdk = {"space_sdk": bundle.metadata.get("sdk")} if recipe.repo_type == "space" else {}
            create = self._api.create_repo
            asked(recipe.repo_id, create, **self._where, private=recipe.private, exist_ok=True, **sdk)
            there = self._about()
        else:
            self.repo_id = there.id
            asked(there.id, self._api.auth_check, **self._where, write=True)
            refuse_open(bundle, recipe, there=there)
        self.repo_id = str(there.id)
        change: dict[str, Any] = {"gated": recipe.gated} if recipe.gated and there.gated != recipe.gated else {}
        change |= {"private": True} if recipe.private and not there.private else {}
        if change or recipe.revision != "main":  # never in a repository that is somebody else's
            self._card_on(there.sha, self._tree(there.sha))
        if change:
            asked(self.repo_id, self._api.update_repo_settings, **self._where, **change)
        if recipe.revision != "main":
            asked(self.repo_id, self._api.create_branch, **self._where, branch=recipe.revision, exist_ok=True)
        return self.repo_id

    def _about(self, revision: str | None = None) -> Any:
        return about(self.repo_id, self._recipe.repo_type, revision)

    def _may_write_new(self) -> None:
        """Refuses a token that only reads, before anything is made."""
        me = asked(self.repo_id, self._api.whoami)
        role = me.get("auth", {}).get("accessToken", {}).get("role")
        if role == "read":
            raise UsageError(f"{self.repo_id}: the token only reads; give one with the right to write")

    def _round(self) -> Done:
        """One try on top of the commit that is there now.

        Raises:
            ConflictError: Somebody else's commit came in between.
        """
        recipe = self._recipe
        head = str(self._about(recipe.revision).sha)
        there = self._tree(head)
        card = self._card_on(head, there)
        operations, sent, deleted = self._operations(card, there)
        if not operations:
            return Done(head, [], [], card)
        if recipe.tag and recipe.tag in self._tags():
            raise UsageError(f"{self.repo_id}: the tag {recipe.tag} is there, of another content; name a new one")
        if recipe.revision == "main":
            commit = self._through_pull_request(operations, head, card)
        else:
            commit = self._on_branch(operations, head, card)
        return Done(commit, sent, deleted, card)

    def _through_pull_request(self, operations: list[Any], head: str, card: str) -> str:
        title = f"{_OPENED} {self._bundle.digest}"
        first, *rest = [operations[i : i + _FILES_A_COMMIT] for i in range(0, len(operations), _FILES_A_COMMIT)]
        opened = self._commit(first, title, create_pr=True, parent_commit=head)
        commit = opened.oid
        try:
            for part in rest:
                commit = self._commit(part, title, revision=opened.pr_revision, parent_commit=commit).oid
            self._check(commit, card)
            if self._about("main").sha != head:
                raise ConflictError(f"{self.repo_id}: main moved")
            self._merge(opened.pr_num)
        except BaseException:
            self._close(opened.pr_num)
            raise
        merged_at = str(self._about("main").sha)
        if self._differing(card, self._tree(merged_at)):
            raise ConflictError(f"{self.repo_id}: main moved while the release was merged")
        self._close_earlier(opened.pr_num)
        return merged_at

    def _merge(self, number: int) -> None:
        try:
            asked(self.repo_id, self._api.merge_pull_request, discussion_num=number, **self._where)
        except WorkError:  # merged all the same, where only the answer was lost
            details = self._api.get_discussion_details
            if asked(self.repo_id, details, discussion_num=number, **self._where).status != "merged":
                raise

    def _on_branch(self, operations: list[Any], head: str, card: str) -> str:
        if len(operations) > _FILES_A_COMMIT:
            raise UsageError(
                f"{self.repo_id}: {len(operations)} files do not go into one commit on {self._recipe.revision}; "
                "publish to main, or in parts"
            )
        title, revision = f"{_OPENED} {self._bundle.digest}", self._recipe.revision
        commit = str(self._commit(operations, title, revision=revision, parent_commit=head).oid)
        self._check(commit, card)
        return commit

    def _commit(self, operations: list[Any], title: str, **how: Any) -> Any:
        return asked(
            self.repo_id,
            self._api.create_commit,
            operations=operations,
            commit_message=title,
            **self._where,
            **how,
        )

    def _tree(self, revision: str) -> dict[str, tuple[str, bool]]:
        """Each file's SHA-256, or its git id where it is no large file, and which of the two it is."""

        def listed() -> list[Any]:
            return list(self._api.list_repo_tree(**self._where, recursive=True, revision=revision))

        entries = [entry for entry in asked(self.repo_id, listed) if hasattr(entry, "blob_id")]
        return {entry.path: (entry.lfs.sha256, True) if entry.lfs else (entry.blob_id, False) for entry in entries}

    def _card_on(self, head: str, there: Mapping[str, Any]) -> str:
        """The card to be published: ours, with the configs of others that share the repository.

        Raises:
            UsageError: The repository holds something that tamis did not make.
        """
        if CARD not in there:
            if {*there} - {".gitattributes"} and not self._recipe.replace:
                raise _not_ours(self.repo_id)
            return self._bundle.card
        path = asked(self.repo_id, self._api.hf_hub_download, filename=CARD, revision=head, **self._where)
        old = Path(path).read_text(encoding="utf-8")
        try:
            by_tamis = "tamis" in (split(old)[0].get("tags") or [])
        except ValueError:
            by_tamis = False
        if not by_tamis and not self._recipe.replace:
            raise _not_ours(self.repo_id)
        return merged(self._bundle.card, old, _folders(self._bundle.files)) if by_tamis else self._bundle.card

    def _operations(
        self, card: str, there: Mapping[str, tuple[str, bool]]
    ) -> tuple[list[Any], list[str], list[str]]:
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete

        sent = self._differing(card, there)
        mine = {*self._bundle.files, CARD}
        deleted = sorted(path for path in there if path not in mine and _replaced(path, self._bundle.files))
        content: dict[str, Path | bytes] = {CARD: card.encode(), **self._bundle.files}
        add = [CommitOperationAdd(path_in_repo=path, path_or_fileobj=content[path]) for path in sent]
        return [*add, *(CommitOperationDelete(path_in_repo=path) for path in deleted)], sent, deleted

    def _differing(self, card: str, there: Mapping[str, tuple[str, bool]]) -> list[str]:
        """Our files that are not there as they are here."""
        sums = {**self._bundle.sums, CARD: checksums(card.encode())}
        return sorted(
            path
            for path, (sha256, git) in sums.items()
            if path not in there or there[path][0] != (sha256 if there[path][1] else git)
        )

    def _check(self, commit: str, card: str) -> None:
        """Reads the release back.

        Raises:
            WorkError: A file is not what was sent, or a config does not load as it did here.
        """
        if wrong := self._differing(card, self._tree(commit)):
            raise WorkError(f"{self.repo_id}: {wrong[0]} came back with another checksum; nothing was released")
        if self._recipe.repo_type == "dataset":
            from huggingface_hub import HfFileSystem

            root = f"datasets/{self.repo_id}@{commit}"
            ours = config_names(self._bundle.metadata)
            check_configs(self.repo_id, card, HfFileSystem(), root, only=ours, revision=commit)

    def _close(self, number: int) -> None:
        """Closes a pull request that will not be merged; where that fails too, the next release does it."""
        from huggingface_hub.utils import httpx

        try:
            self._api.change_discussion_status(discussion_num=number, new_status="closed", **self._where)
        except (OSError, httpx.HTTPError):
            return

    def _close_earlier(self, number: int) -> None:
        """Closes what a killed run of this release left open."""

        def found() -> list[Any]:
            return list(self._api.get_repo_discussions(**self._where))

        title = f"{_OPENED} {self._bundle.digest}"
        for one in asked(self.repo_id, found):
            if one.is_pull_request and one.status == "open" and one.title == title and one.num < number:
                self._close(one.num)

    def _tags(self) -> set[str]:
        return {tag.name for tag in asked(self.repo_id, self._api.list_repo_refs, **self._where).tags}

    def _tag(self, done: Done) -> None:
        """Tags the version, last of all; a tag that is there already is of this very content."""
        tag = self._recipe.tag
        if tag and tag not in self._tags():
            asked(self.repo_id, self._api.create_tag, **self._where, tag=tag, revision=done.commit)


def refuse_open(bundle: Bundle, recipe: PublishRecipe, there: Any) -> None:
    """Refuses to show removed rows to everybody."""
    closed = recipe.private or recipe.gated or (there is not None and (there.private or there.gated))
    if bundle.shows_removed_rows and not closed:
        raise UsageError(
            f"{recipe.folder}: has configs with removed rows: give --gated auto, --gated manual or --private, or "
            "export it with --leave_out_removed"
        )


def _not_ours(repo_id: str) -> UsageError:
    return UsageError(f"{repo_id}: holds something that tamis did not make; give --replace, or name another repo")


def _folders(files: Iterable[str]) -> set[str]:
    return {path.rpartition("/")[0] for path in files}


def _replaced(path: str, files: Iterable[str]) -> bool:
    """Whether a file of an earlier release goes with this one: it lies in one of its folders."""
    folder = path.rpartition("/")[0]
    return folder in _folders(files) and (folder != "" or path.endswith(".safetensors"))
