"""Holds the archive against what memory.db says of it. Blocking; needs no event loop and changes nothing."""

from __future__ import annotations

from contextlib import closing

from keepsake.archive.parquet import ArchiveFile, require
from keepsake.archive.place import Place
from keepsake.errors import ArchiveError, ArchiveUnavailable
from keepsake.forgetting.ledger import KEY_NAME, Ledger
from keepsake.settings import Settings
from keepsake.store import archive as rows
from keepsake.store.archive import File
from keepsake.store.database import connect_reader
from keepsake.verify import FIX, Check

_SHOWN = 5  # names in a line
_RESTORE = (
    "put the files back, from a copy of the archive; with another ARCHIVE_URL they have to be moved along"
)


def check_archive(settings: Settings) -> Check | None:
    """Is each file there, can it be decrypted, does it hold its messages; and which are nobody's?

    None where there is no archive.
    """
    with closing(connect_reader(settings.database_path)) as connection:
        known, files = rows.names(connection), rows.files(connection)
        wanted = {
            file.name: (rows.key(connection, file.user_id), rows.ids_in(connection, file.id, wished=True))
            for file in files
        }
    try:
        place = place_of(settings)
        strays = [name for name in place.names() if name not in known]
        if not known and not strays:
            return None
        if files:
            require()
        bad = [fault for file in files if (fault := _fault(place, file, *wanted[file.name])) is not None]
    except ArchiveError as error:
        return Check("archive", False, str(error), "see that it can be reached, then verify again")
    told = [f"{len(files)} files", *bad[:_SHOWN], *(["…"] if len(bad) > _SHOWN else [])]
    if strays:
        told.append(f"{len(strays)} files that memory.db does not know ({', '.join(strays[:_SHOWN])})")
    return Check("archive", not bad and not strays, "; ".join(told), _RESTORE if bad else FIX)


def place_of(settings: Settings) -> Place:
    """The archive's place, without making the key that names this installation."""
    data_dir = settings.data_dir
    # Where there is no key yet, none of the files is of this installation.
    installation = Ledger(data_dir).installation() if (data_dir / KEY_NAME).is_file() else "none"
    return Place.make(settings.archive_url, data_dir, installation)


def _fault(place: Place, file: File, key: str | None, wanted: set[int]) -> str | None:
    if key is None:
        return f"the key of {file.name} is gone"
    try:
        held = ArchiveFile(place.read(file.name), key, file.name, file.user_id).ids()
    except ArchiveUnavailable:
        raise
    except ArchiveError as error:
        return str(error)
    return None if held == wanted else f"{file.name} does not hold the messages that it should"
