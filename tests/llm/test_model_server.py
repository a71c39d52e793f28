"""The fake endpoint as a process of its own, as tests of the whole program use it."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from keepsake.llm.client import Address, ChatModel, RemoteEndpoint, Turn
from tests.model_server import MODEL

PROJECT = Path(__file__).parent.parent.parent


@pytest.fixture
def url() -> Iterator[str]:
    command = [sys.executable, "-m", "tests.model_server"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=PROJECT) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.kill()


def call(url: str, body: object = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data)) as response:
        return json.load(response)


async def test_is_driven_over_http(url: str) -> None:
    root = url.removesuffix("/v1")
    assert call(f"{url}/models")["data"][0]["id"] == MODEL
    waiting = call(
        f"{root}/_script", [{"do": "json", "value": {}, "for": "structured"}, {"do": "text", "text": "A B"}]
    )
    assert waiting == {"waiting": 2}
    model = ChatModel(
        RemoteEndpoint(Address(url, "k")), name=MODEL, timeout_seconds=5, retries=0, answer_tokens=20
    )
    answer = model.stream([Turn("user", "hello")])
    assert [piece async for piece in answer] == ["A ", "B"]
    # The other one still waits for what it is meant for.
    assert (await model.formed([Turn("user", "x")], {}, name="x", parse=dict)).value == {}
    await model.close()
    assert [body["messages"][0]["content"] for body in call(f"{root}/_requests")] == ["hello", "x"]


async def test_recalls_from_the_system_message(url: str) -> None:
    model = ChatModel(
        RemoteEndpoint(Address(url, "k")), name=MODEL, timeout_seconds=5, retries=0, answer_tokens=20
    )
    answer = model.stream(
        [Turn("system", "- Lives in Angarsk\n- Cat is Pixel"), Turn("user", "where is my cat?")]
    )
    text = "".join([piece async for piece in answer])
    assert text == "I remember: - Cat is Pixel"
    await model.close()
