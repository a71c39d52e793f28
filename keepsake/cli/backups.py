"""Commands for backups: backup, restore."""

from __future__ import annotations

import asyncio
from pathlib import Path

from keepsake.cli.out import DONE, say
from keepsake.cli.readers import require_memory
from keepsake.clock import system_clock
from keepsake.lock import FolderLock
from keepsake.manager import HybridMemoryManager
from keepsake.portability.backup import back_up, look_at, put_back
from keepsake.settings import Settings


async def backup(settings: Settings, file: Path, *, replace: bool = False) -> int:
    """Writes a copy of memory.db, beside a running bot or without one. `replace`: over an older copy."""
    require_memory(settings)
    made = await asyncio.to_thread(back_up, settings.database_path, file, now=system_clock(), replace=replace)
    say(f"{file}: {made.people} people, {made.messages} messages")
    return DONE


async def restore(settings: Settings, file: Path) -> int:
    """Puts a copy in the place of memory.db, and forgets again whom the ledger says was erased since."""
    await asyncio.to_thread(look_at, file)  # before anything is made or locked
    lock = FolderLock(settings.data_dir)
    await asyncio.to_thread(lock.acquire)
    try:
        copy = await asyncio.to_thread(put_back, file, settings.database_path)
        async with HybridMemoryManager(settings, lock=lock) as memory:
            again = (await memory.engine()).forgetting.erased_again
    finally:
        lock.release()
    of = f" of {copy.made_at:%Y-%m-%d %H:%M} UTC" if copy.made_at else ""
    say(f"restored the backup{of}: {copy.people} people, {copy.messages} messages")
    if again:
        say(f"{again} of these people had been erased since and were erased again")
    say("the memory that was here before is removed")
    return DONE
