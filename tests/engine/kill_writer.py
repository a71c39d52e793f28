"""Run as a process: writes messages of three users without an end, and says which are acknowledged."""

from __future__ import annotations

import asyncio
import sys

import vector_memory


async def main(begin: int) -> None:
    number = begin
    while True:
        user_id = number % 3 + 1
        content = f"I live in Town{number} and keep {number} bees"
        saved = await vector_memory.save_message(user_id, "user", content)
        sys.stdout.write(f"{user_id} {saved.id} {content}\n")
        sys.stdout.flush()
        number += 1
        if number % 4 == 0:
            await asyncio.sleep(0.02)  # so that indexing and extraction get their turn in the middle


asyncio.run(main(int(sys.argv[1])))
