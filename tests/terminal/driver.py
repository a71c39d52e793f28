"""The terminal chat as a process of its own, over a memory in RAM; tells at the end what was kept."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from typing import Any

from keepsake.terminal import run_terminal
from tests.handlers.fakes import FakeAnswer, FakeMemory, FakeModel, an_assistant


class Endless(FakeAnswer):
    """Begins, and never ends by itself."""

    async def __aiter__(self) -> AsyncIterator[str]:
        self.text = "Once upon"
        yield self.text
        await asyncio.Event().wait()


class Telling(FakeModel):
    def stream(self, turns: Any, *, remake: Any = None) -> FakeAnswer:
        answer = super().stream(turns)
        return Endless([]) if turns[-1].content == "endless" else answer


async def main() -> None:
    memory = FakeMemory()
    await run_terminal(an_assistant(memory, Telling(weak=True)), 7)
    kept = [message.content for message in memory.messages]
    sys.stderr.write(f"KEPT {json.dumps([kept, memory.flushed])}\n")


if __name__ == "__main__":
    asyncio.run(main())
