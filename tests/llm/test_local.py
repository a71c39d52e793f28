"""The embedded local model itself: about 2 GB of RAM and a minute. `make soak` fetches it first."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from keepsake.facts.asking import EXTRACTION_SCHEMA
from keepsake.facts.extract import extract
from keepsake.llm.client import ChatModel, Turn
from keepsake.llm.factory import open_model
from keepsake.llm.local import LocalServer, installed
from keepsake.llm.weights import weights_path
from keepsake.models import Message
from keepsake.settings import LOCAL_MODEL, load_settings

pytestmark = [pytest.mark.soak, pytest.mark.timeout(600)]

# Read before a fixture gives each test a home of its own.
WEIGHTS = weights_path()
INSTALLED = installed()
NOW = datetime(2026, 3, 11, 12, tzinfo=UTC)


@pytest.fixture
async def model() -> AsyncIterator[ChatModel]:
    assert INSTALLED, "needs the extra `local` and `python -m keepsake.llm.local fetch`"
    server = LocalServer(WEIGHTS, slot_tokens=4600)
    model = ChatModel(server, name=LOCAL_MODEL, timeout_seconds=300, retries=0, answer_tokens=60, weak=True)
    yield model
    await model.close()


async def test_streams_an_answer_from_memory(model: ChatModel) -> None:
    system = "You remember:\n- The user's cat is called Pixel.\n- The user lives in Angarsk."
    answer = model.stream([Turn("system", system), Turn("user", "What is my cat called?")])
    pieces = [piece async for piece in answer]
    assert len(pieces) > 1
    assert "Pixel" in answer.text
    assert answer.usage.prompt_tokens
    assert answer.usage.completion_tokens


async def test_keeps_to_a_strict_schema(model: ChatModel) -> None:
    turns = [Turn("user", "Note one fact: I live in Angarsk. Answer as JSON.")]
    value = (await model.formed(turns, EXTRACTION_SCHEMA, name="facts", parse=dict)).value
    assert set(value) == {"facts"}
    required = EXTRACTION_SCHEMA["properties"]["facts"]["items"]["required"]
    assert all(set(fact) == set(required) for fact in value["facts"])


async def test_what_it_extracts_is_grounded(model: ChatModel) -> None:
    said = "I live in Angarsk and I work as a system administrator. My cat is called Pixel."
    window = [Message(1, 1, "user", said, NOW, 1)]
    extraction = await extract(model, window, now=NOW, terms=lambda text: text.casefold().split())
    assert all(draft.message_ids == (1,) and draft.confidence == 0.6 for draft in extraction.drafts)


async def test_a_chat_begins_while_an_extraction_runs(model: ChatModel) -> None:
    await model.warm_up()
    long = asyncio.create_task(
        model.formed(
            [Turn("user", "Write twenty facts about the sea as JSON.")],
            {
                "type": "object",
                "properties": {"text": {"type": "string", "minLength": 1500}},
                "required": ["text"],
            },
            name="sea",
            parse=dict,
        )
    )
    await asyncio.sleep(2)
    pieces = aiter(model.stream([Turn("user", "Say hello.")]))
    assert await anext(pieces)
    assert not long.done()
    long.cancel()
    await asyncio.gather(long, return_exceptions=True)
    await pieces.aclose()  # type: ignore[attr-defined]


async def test_others_on_the_machine_cannot_use_it() -> None:
    server = LocalServer(WEIGHTS, slot_tokens=600)
    address = await server.open()
    assert address.base_url.startswith("http://127.0.0.1:")
    assert await server.open() == address

    def ask() -> int:
        body = json.dumps({"messages": [{"role": "user", "content": "hi"}]}).encode()
        request = urllib.request.Request(f"{address.base_url}/chat/completions", body)
        try:
            with urllib.request.urlopen(request) as response:
                return int(response.status)
        except urllib.error.HTTPError as error:
            with error:
                return error.code

    assert await asyncio.to_thread(ask) == 401
    await server.close()
    await server.close()


def test_the_settings_choose_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(WEIGHTS.parent.parent.parent))
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_MODEL", "LOCAL_MODEL"):
        monkeypatch.delenv(name, raising=False)
    model = open_model(load_settings(_env_file=None))
    assert model is not None
    assert (model.weak, model.name) == (True, LOCAL_MODEL)
