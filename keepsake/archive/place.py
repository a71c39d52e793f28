"""Where the files of the archive lie: a folder under DATA_DIR, or whatever an fsspec URL reaches. Blocking."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from keepsake.errors import ArchiveMissing, ArchiveUnavailable, SettingError
from keepsake.forgetting.durable import sync_folder, write_durably

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

FOLDER = "archive"  # under DATA_DIR, where no URL is given

# Which installation it is of, a random part that lasts, and how often it was written anew.
_NAME = re.compile(r"(?P<stem>[0-9a-f]{12}-[0-9a-f]{32})\.(?P<revision>\d+)\.parquet")
_INSTALLATION = 12


class Place:
    """The files of one installation; others may share the URL. Every method but `make` may raise ArchiveUnavailable."""

    def __init__(self, files: AbstractFileSystem | None, root: str, installation: str, shown: str) -> None:
        self._files = files  # None: a folder of this machine, written durably
        self._root = root.rstrip("/")
        self._installation = installation[:_INSTALLATION]
        self.shown = shown

    @classmethod
    def make(cls, url: str | None, data_dir: Path, installation: str) -> Place:
        """The place of a setting; nothing is made there yet. Raises SettingError for a URL that cannot be."""
        if url is None:
            return cls(None, str(data_dir / FOLDER), installation, "DATA_DIR/archive")
        from fsspec.core import url_to_fs

        shown = url.partition("://")[0] + "://…"  # a URL may hold a password
        try:
            files, root = url_to_fs(url, use_listings_cache=False)
        except (ImportError, ValueError, OSError) as error:
            raise SettingError(f"ARCHIVE_URL {shown} cannot be used ({_told(error)})") from error
        local = files.protocol == "file" or "file" in files.protocol
        return cls(None if local else files, root, installation, shown)

    def new_name(self) -> str:
        return f"{self._installation}-{secrets.token_hex(16)}.0.parquet"

    @staticmethod
    def next_name(name: str) -> str:
        """The name of a file that is written in the place of another."""
        found = _NAME.fullmatch(name)
        assert found is not None
        return f"{found['stem']}.{int(found['revision']) + 1}.parquet"

    @staticmethod
    def takes_place_of(name: str, other: str) -> bool:
        """Was a file written anew in the place of another?"""
        new, old = _NAME.fullmatch(name), _NAME.fullmatch(other)
        return (
            new is not None
            and old is not None
            and new["stem"] == old["stem"]
            and int(new["revision"]) > int(old["revision"])
        )

    def write(self, name: str, content: bytes) -> None:
        """Writes a file; it is on the disk when this returns, as far as the place can say."""
        with self._reaching():
            if self._files is None:
                folder = Path(self._root)
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                write_durably(folder / name, content)
                sync_folder(folder.parent)
            else:
                self._files.makedirs(self._root, exist_ok=True)
                self._files.pipe_file(f"{self._root}/{name}", content)

    def read(self, name: str) -> bytes:
        """A whole file. Raises ArchiveMissing too."""
        with self._reaching():
            try:
                if self._files is None:
                    return (Path(self._root) / name).read_bytes()
                found = self._files.cat_file(f"{self._root}/{name}")
            except FileNotFoundError as error:
                raise ArchiveMissing(f"{name} is not in the archive ({self.shown})") from error
            assert isinstance(found, bytes)
            return found

    def delete(self, name: str) -> None:
        """Deletes a file, and what a kill may have left of it, where it is there."""
        with self._reaching():
            if self._files is None:
                for path in (Path(self._root) / name, Path(self._root) / f"{name}.part"):
                    path.unlink(missing_ok=True)
                if Path(self._root).is_dir():
                    sync_folder(Path(self._root))
            else:
                with suppress(FileNotFoundError):
                    self._files.rm_file(f"{self._root}/{name}")

    def names(self) -> list[str]:
        """The files of this installation, in order of their revisions."""
        with self._reaching():
            if self._files is None:
                folder = Path(self._root)
                found = [path.name for path in folder.iterdir()] if folder.is_dir() else []
            else:
                try:
                    paths = self._files.ls(self._root, detail=False)
                except FileNotFoundError:
                    paths = []
                found = [str(path).rpartition("/")[2] for path in paths]
        own = [name for name in found if _NAME.fullmatch(name) and name.startswith(f"{self._installation}-")]
        return sorted(own, key=lambda name: int(name.split(".")[1]))

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        try:
            yield
        except (ArchiveMissing, AssertionError):
            raise
        except Exception as error:  # whatever an fsspec plug-in raises
            raise ArchiveUnavailable(
                f"the archive ({self.shown}) cannot be read or written ({_told(error)})"
            ) from error


def _told(error: Exception) -> str:
    """What went wrong, without what a plug-in may say of addresses and keys."""
    return (error.strerror if isinstance(error, OSError) else None) or type(error).__name__
