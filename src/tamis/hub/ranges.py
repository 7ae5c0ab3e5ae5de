"""Files of a data set, on the Hub at one commit or in a folder: only the bytes that are asked for are read."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path

from tamis.errors import UsageError, WorkError
from tamis.hub.calls import api, asked


class HubFiles:
    """The files of a data set on the Hub.

    Args:
        name: The data set.
        commit: A commit, so that all that is read belongs together.

    Attributes:
        fetched: Bytes that the Hub sent.
    """

    def __init__(self, name: str, commit: str) -> None:
        self.name, self.commit = name, commit
        self.fetched = 0

    def sizes(self, paths: Iterable[str]) -> dict[str, int]:
        """The bytes of each file.

        Raises:
            UsageError: One is not there, or must not be read.
        """
        wanted = [*paths]
        where = {"repo_type": "dataset", "revision": self.commit}
        entries = asked(self.name, api().get_paths_info, self.name, wanted, **where)
        found = {entry.path: int(entry.size) for entry in entries if hasattr(entry, "blob_id")}
        return {path: found[path] for path in _all_there(self.name, wanted, found)}

    def read(self, path: str, start: int, end: int) -> bytes:
        """The bytes from `start` up to `end`, and no others.

        Raises:
            WorkError: The Hub cannot be reached, or something in between does not serve ranges.
        """
        content = asked(f"{self.name}/{path}", self._get, path, start, end)
        self.fetched += len(content)
        if len(content) != end - start:
            raise WorkError(f"{self.name}/{path}: {end - start} bytes were asked for, and {len(content)} came")
        return content

    def _get(self, path: str, start: int, end: int) -> bytes:
        from huggingface_hub import constants, get_session, hf_hub_url
        from huggingface_hub.utils import build_hf_headers, hf_raise_for_status

        url = hf_hub_url(self.name, path, repo_type="dataset", revision=self.commit)
        headers = {**build_hf_headers(), "Range": f"bytes={start}-{end - 1}", "Accept-Encoding": "identity"}
        answer = get_session().get(url, headers=headers, timeout=constants.HF_HUB_DOWNLOAD_TIMEOUT)
        hf_raise_for_status(answer)
        return bytes(answer.content)


class FolderFiles:
    """The files of a data set in a folder.

    Args:
        name: The folder.

    Attributes:
        fetched: Bytes that were read.
    """

    commit = None

    def __init__(self, name: str) -> None:
        self.name = name
        self.fetched = 0

    def sizes(self, paths: Iterable[str]) -> dict[str, int]:
        """The bytes of each file.

        Raises:
            UsageError: One is not there, or lies outside the folder.
        """
        wanted = [*paths]
        inside = {path: Path(self.name) / path for path in wanted if not {"", "..", "/"} & {*Path(path).parts}}
        found = {path: file.stat().st_size for path, file in inside.items() if file.is_file()}
        return {path: found[path] for path in _all_there(self.name, wanted, found)}

    def read(self, path: str, start: int, end: int) -> bytes:
        """The bytes from `start` up to `end`."""
        with (Path(self.name) / path).open("rb") as stream:
            stream.seek(start)
            content = stream.read(end - start)
        self.fetched += len(content)
        return content


Files = HubFiles | FolderFiles


def text_of(files: Files, path: str) -> str:
    """A whole file's text.

    Raises:
        UsageError: There is no such file, or it is not text.
    """
    try:
        return files.read(path, 0, files.sizes([path])[path]).decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{files.name}: its {path} is not text") from error


def _all_there(name: str, wanted: list[str], found: Iterable[str]) -> list[str]:
    for path in wanted:
        if path not in found:
            raise UsageError(f"{name}: there is no {path} in it")
    return wanted


class Ranged(io.RawIOBase):
    """A file of `files` that pyarrow reads: a read is one range, nothing is read ahead, and the end but once."""

    def __init__(self, files: Files, path: str, size: int) -> None:
        self._files, self._path, self._size = files, path, size
        self._at = 0
        self._end, self._end_at = b"", size

    def readable(self) -> bool:
        """Yes."""
        return True

    def seekable(self) -> bool:
        """Yes."""
        return True

    def tell(self) -> int:
        """Where the next read begins."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Moves there."""
        self._at = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence] + offset
        return self._at

    def read(self, size: int = -1) -> bytes:
        """That many bytes, fewer at the end; all that is left, if negative."""
        start, end = self._at, self._size if size < 0 else min(self._at + size, self._size)
        before = min(end, self._end_at)
        content = self._files.read(self._path, start, before) if start < before else b""
        content += self._end[max(start - self._end_at, 0) : max(end - self._end_at, 0)]
        if start < end == self._size and start < self._end_at:  # pyarrow looks there first, for the footer
            self._end, self._end_at = content, start
        self._at = max(start, end)
        return content
