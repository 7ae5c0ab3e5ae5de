"""One run at a time in a folder: a lock that the kernel takes back when its process dies, however it dies."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from tamis.errors import UsageError
from tamis.provenance import LOCK


class FolderLock:
    """Holds `.lock` in a folder, alone or together with the other processes of one run.

    The file is removed on release. Somebody may have opened it just before: whoever gets a lock on a file that is
    no longer the one in the folder tries again.

    Args:
        folder: The folder.
        shared: Together with others that share it, and with nobody who wants it alone.

    Raises:
        UsageError: Another process holds it.
        OSError: The folder cannot be written.
    """

    def __init__(self, folder: Path, *, shared: bool = False) -> None:
        self._path = folder / LOCK
        self._shared = shared
        while True:
            self._stream = self._path.open("ab")
            self._take()
            try:
                if os.path.samestat(os.fstat(self._stream.fileno()), self._path.stat()):
                    return
            except FileNotFoundError:
                pass
            self._stream.close()

    def share(self) -> None:
        """Lets others share it."""
        self._shared = True
        self._take()

    def release(self, *, last: bool = False) -> None:
        """Gives it up; a shared one leaves the file, unless this is the last process that needs it."""
        if self._stream.closed:
            return
        if last or not self._shared:
            self._path.unlink(missing_ok=True)
        self._stream.close()

    def _take(self) -> None:
        try:
            fcntl.flock(self._stream, (fcntl.LOCK_SH if self._shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._stream.close()
            raise UsageError(
                f"{self._path.parent}: another process is writing there; wait for it, or name another --output_dir"
            ) from error
