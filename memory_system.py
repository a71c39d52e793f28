"""The first door: memory over SQLite alone.

async with MemoryManager(settings) as memory:
    await memory.save_message(7, "user", "I live in Angarsk")
"""

from keepsake.manager import MemoryManager
from keepsake.models import DialogSession, Fact, Message
from keepsake.store.storage import SQLiteMemoryStorage

__all__ = ["DialogSession", "Fact", "MemoryManager", "Message", "SQLiteMemoryStorage"]
