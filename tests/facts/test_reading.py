"""The engine reads a long conversation by parts that fit CONTEXT_TOKENS, and none of it stays unread."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from keepsake.llm.client import Address, ChatModel, RemoteEndpoint
from keepsake.manager import MemoryManager
from keepsake.prompt.tokens import estimate
from keepsake.settings import load_settings
from tests.model_server import MODEL, ModelServer


@pytest.mark.parametrize("context_tokens", [500, 4000])
async def test_a_long_conversation_is_read_by_parts(data_dir: Path, context_tokens: int) -> None:
    settings = load_settings(data_dir=data_dir, embedding_model="none", context_tokens=context_tokens)
    with ModelServer() as server:
        model = ChatModel(
            RemoteEndpoint(Address(server.url, "any")),
            name=MODEL,
            timeout_seconds=10,
            retries=0,
            answer_tokens=100,
        )
        async with MemoryManager(settings, model=model) as memory:
            for number in range(12):
                await memory.save_message(7, "user", f"I have {number} cats. " + "So it is. " * number * 10)
            await memory.flush()
            engine = await memory.engine()
            unread = await engine.storage.unread_user_messages(7)
        asked = [request["messages"] for request in server.requests]
        shown = [int(id_) for turns in asked for id_ in re.findall(r"(?m)^\[(\d+)\]", turns[-1]["content"])]
    assert unread < settings.fact_extraction_every
    assert set(range(1, 13 - unread)) <= set(shown)
    assert all(sum(estimate(turn["content"]) for turn in turns) <= context_tokens for turns in asked)
