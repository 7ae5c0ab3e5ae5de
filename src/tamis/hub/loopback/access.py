"""Who asks, and what they may see and change."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from tamis.hub.loopback.refusal import Refusal
from tamis.hub.loopback.store import Repo

OWNER = "local"
STRANGER = "stranger"
"""Somebody else with an account: owns the namespace `stranger`, and nothing besides."""
TOKENS = "tokens.json"


@dataclass(frozen=True)
class Account:
    """A token's user, and whether the token may write."""

    name: str
    role: str

    def owns(self, namespace: str) -> bool:
        """Whether a namespace is the user's: `stranger` is the stranger's, all others are the owner's."""
        return self.name == (STRANGER if namespace == STRANGER else OWNER)


@dataclass(frozen=True)
class Tokens:
    """The three tokens of a folder: the owner's two, and the stranger's, which may write too."""

    write: str
    read: str
    stranger: str

    def account(self, authorization: str | None) -> Account | None:
        """The account behind an `Authorization` header; None without one.

        Raises:
            Refusal: The token is unknown.
        """
        if not authorization:
            return None
        token = authorization.removeprefix("Bearer ")
        accounts = (
            (self.write, Account(OWNER, "write")),
            (self.read, Account(OWNER, "read")),
            (self.stranger, Account(STRANGER, "write")),
        )
        for known, account in accounts:
            if secrets.compare_digest(token.encode(), known.encode()):
                return account
        raise Refusal(401, "Invalid credentials in Authorization header")


def tokens_of(root: Path) -> Tokens:
    """The tokens that a folder keeps, made at the first start; only its owner may read the file."""
    path = root / TOKENS
    if not path.is_file():
        made = {name: f"hf_{secrets.token_urlsafe(24)}" for name in ("write", "read", "stranger")}
        partial = path.with_name(f".{TOKENS}.partial")
        partial.unlink(missing_ok=True)
        with os.fdopen(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as stream:
            json.dump(made, stream)
        partial.replace(path)
    return Tokens(**json.loads(path.read_bytes()))


def check_namespace(account: Account | None, namespace: str) -> None:
    """Refuses to write in a namespace that is not the account's.

    Raises:
        Refusal: Nobody is named, the token only reads, or the namespace is somebody else's.
    """
    if account is None:
        raise Refusal(401, "Invalid username or password.")
    if account.role != "write":
        raise Refusal(403, "You don't have the rights to write: the token has role read")
    if not account.owns(namespace):
        raise Refusal(403, f'You don\'t have the rights to write under the namespace "{namespace}"')


def can_read(account: Account | None, repo: Repo) -> bool:
    """Whether a repository may be seen at all."""
    return not repo.state["private"] or _owns(account, repo)


def check_content(account: Account | None, repo: Repo) -> None:
    """Refuses the content of a gated repository to whom it was not granted.

    Raises:
        Refusal: It is gated, and the account is neither its owner's nor granted.
    """
    if not repo.state["gated"] or _owns(account, repo):
        return
    if account is None or account.name not in repo.state["granted"]:
        sentence = f"Access to {repo.kind[:-1]} {repo.name} is restricted and you are not in the authorized list."
        raise Refusal(401 if account is None else 403, sentence, "GatedRepo")


def check_write(account: Account | None, repo: Repo, *, propose: bool = False) -> None:
    """Refuses to change a repository that is not the account's.

    Args:
        account: Who asks.
        repo: The repository.
        propose: A pull request or a discussion only, which everybody may open who may read the content.

    Raises:
        Refusal: Nobody is named, the token only reads, or the repository is somebody else's.
    """
    if not propose:
        check_namespace(account, repo.name.partition("/")[0])
        return
    check_namespace(account, account.name if account else "")
    check_content(account, repo)


def _owns(account: Account | None, repo: Repo) -> bool:
    return account is not None and account.owns(repo.name.partition("/")[0])
