"""The chat model's client against a real server over a socket."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from keepsake.errors import ContextTooLong, ModelAnswerInvalid, ModelUnavailable
from keepsake.llm.bounds import most_characters
from keepsake.llm.client import Address, Answer, ChatModel, RemoteEndpoint, Turn
from tests.model_server import MODEL, ModelServer

PROJECT = Path(__file__).parent.parent.parent
KEY = "sk-secret-key"
SECRET = "my secret diary"
TURNS = [
    Turn("system", "You remember. The cat is called Pixel."),
    Turn("user", f"How is my cat called? {SECRET}"),
]
SCHEMA = {
    "type": "object",
    "properties": {"facts": {"type": "array", "items": {"type": "string"}}},
    "required": ["facts"],
    "additionalProperties": False,
}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(key=KEY) as server:
        yield server


@asynccontextmanager
async def model_at(
    url: str, *, key: str = KEY, name: str | None = MODEL, timeout: float = 10, retries: int = 2, **more: Any
) -> AsyncIterator[ChatModel]:
    endpoint = RemoteEndpoint(Address(url, key))
    model = ChatModel(endpoint, name=name, timeout_seconds=timeout, retries=retries, answer_tokens=50, **more)
    try:
        yield model
    finally:
        await model.close()


async def whole(answer: Answer) -> list[str]:
    return [piece async for piece in answer]


def facts(answer: dict[str, Any]) -> list[Any]:
    if not isinstance(answer.get("facts"), list):
        raise ValueError("no facts")
    return list(answer["facts"])


async def test_streams_in_pieces_with_usage(server: ModelServer) -> None:
    server.script({"do": "text", "text": "He is called Pixel."})
    async with model_at(server.url) as model:
        answer = model.stream(TURNS)
        assert server.requests == []
        pieces = await whole(answer)
    assert len(pieces) == 4
    assert "".join(pieces) == answer.text == "He is called Pixel."
    assert answer.usage.completion_tokens == 4
    assert answer.usage.prompt_tokens == sum(len(turn.content.split()) for turn in TURNS)
    body = server.requests[0]
    assert body["messages"] == [{"role": turn.role, "content": turn.content} for turn in TURNS]
    assert (body["model"], body["max_tokens"]) == (MODEL, 50)


@asynccontextmanager
async def endpoint_saying(pieces: list[str]) -> AsyncIterator[str]:
    """The URL of an endpoint that answers with exactly these pieces, whatever they break apart."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        for piece in pieces:
            chunk = {"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]}
            writer.write(f"data: {json.dumps(chunk)}\n\n".encode())
        end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
        writer.write(f"data: {json.dumps(end)}\n\ndata: [DONE]\n\n".encode())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        (["a \ud83d", "\ude00 b"], "a 😀 b"),
        (["\ud83d", "", "\ude00"], "😀"),
        (["a \ud83d\ude00 b"], "a 😀 b"),
        (["a \ud83d b", "\ude00 c"], "a \ufffd b\ufffd c"),
        (["a \ud83d", "\ud83d", "\ude00"], "a \ufffd😀"),
        (["a \ud83d"], "a \ufffd"),
        (["a \0", "b"], "a \ufffdb"),
    ],
)
async def test_surrogates_become_characters(pieces: list[str], text: str) -> None:
    async with endpoint_saying(pieces) as url, model_at(url) as model:
        answer = model.stream(TURNS)
        shown = await whole(answer)
    assert "".join(shown) == answer.text == text
    assert all(piece.encode() for piece in shown)


async def test_first_piece_comes_before_the_last_is_made(server: ModelServer) -> None:
    server.script({"do": "hang", "text": "one two three four", "pieces": 1})
    async with model_at(server.url) as model:
        answer = model.stream(TURNS)
        pieces = answer.__aiter__()
        assert await anext(pieces) == "one "
        await pieces.aclose()  # type: ignore[attr-defined]
    # Who stops reading hangs up, so that the server stops generating.
    assert await asyncio.to_thread(server.hung_up.wait, 5)


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_retries_before_the_first_piece(server: ModelServer, status: int) -> None:
    server.script({"do": "status", "status": status, "retry_after": 0.01})
    async with model_at(server.url) as model:
        assert await whole(model.stream(TURNS))
    assert len(server.requests) == 2


async def test_retry_after_is_honoured(server: ModelServer) -> None:
    server.script({"do": "status", "status": 429, "retry_after": 1.2})
    async with model_at(server.url) as model:
        begin = time.monotonic()
        assert await whole(model.stream(TURNS))
    # The backoff of its own would be at most half a second.
    assert time.monotonic() - begin >= 1.2


@pytest.mark.parametrize("do", ["drop", "broken", "ended", "error"])
async def test_a_connection_lost_before_the_first_piece_is_tried_again(server: ModelServer, do: str) -> None:
    server.script({"do": do, "pieces": 0}, {"do": "text", "text": "here I am"})
    async with model_at(server.url) as model:
        answer = model.stream(TURNS)
        await whole(answer)
    assert answer.text == "here I am"
    assert len(server.requests) == 2


@pytest.mark.parametrize("do", ["broken", "ended", "error"])
async def test_a_stream_broken_in_the_middle_keeps_what_came_and_is_not_repeated(
    server: ModelServer, do: str
) -> None:
    server.script({"do": do, "text": "one two three four"})
    async with model_at(server.url) as model:
        answer = model.stream(TURNS)
        with pytest.raises(ModelUnavailable) as failure:
            await whole(answer)
    assert failure.value.retry
    assert answer.text == "one two "
    assert len(server.requests) == 1


async def test_gives_up_after_the_retries(server: ModelServer) -> None:
    server.script(*[{"do": "status", "status": 503, "retry_after": 0.01}] * 5)
    async with model_at(server.url, retries=2) as model:
        with pytest.raises(ModelUnavailable, match="503") as failure:
            await whole(model.stream(TURNS))
    assert failure.value.retry
    assert len(server.requests) == 3


async def test_silence_between_pieces_is_bounded_although_comments_arrive(server: ModelServer) -> None:
    server.script({"do": "hang", "text": "one two three four", "pieces": 2})
    async with model_at(server.url, timeout=0.4) as model:
        answer = model.stream(TURNS)
        with pytest.raises(ModelUnavailable, match="MODEL_TIMEOUT_SECONDS") as failure:
            await whole(answer)
    assert failure.value.retry
    assert answer.text == "one two "


@pytest.mark.parametrize("text", ["again and again " * 50, " " * 800, "x" * 100_000])
async def test_an_answer_without_end_is_cut_short(server: ModelServer, text: str) -> None:
    server.script({"do": "endless", "text": text})
    async with model_at(server.url) as model:
        answer = model.stream(TURNS)
        with pytest.raises(ModelAnswerInvalid, match="cut short"):
            await whole(answer)
    assert answer.text == (text * 1000)[: most_characters(50)]
    assert len(server.requests) == 1
    assert await asyncio.to_thread(server.hung_up.wait, 5)


@pytest.mark.parametrize("text", ["a ", ""])
async def test_an_answer_that_drips_for_ever_is_cut_short(text: str) -> None:
    with ModelServer(piece_seconds=0.1) as server:
        server.script({"do": "endless", "text": text})
        async with model_at(server.url, answer_seconds=0.3) as model:
            with pytest.raises(ModelAnswerInvalid, match="ANSWER_SECONDS"):
                await whole(model.stream(TURNS))


async def test_a_model_that_only_thinks_for_ever_is_cut_short(server: ModelServer) -> None:
    server.script({"do": "endless", "text": ""})
    async with model_at(server.url) as model:
        with pytest.raises(ModelAnswerInvalid, match="cut short"):
            await whole(model.stream(TURNS))


async def test_a_form_without_end_is_tried_once_more_then_dropped(server: ModelServer) -> None:
    server.script({"do": "endless", "text": " " * 1000}, {"do": "endless", "text": "[" * 1000})
    async with model_at(server.url) as model:
        with pytest.raises(ModelAnswerInvalid, match="twice"):
            await model.formed(TURNS, SCHEMA, name="facts", parse=facts)
        assert (await model.formed(TURNS, SCHEMA, name="facts", parse=facts)).value == []
    assert len(server.requests) == 3


async def test_texts_of_a_form_can_be_stored(server: ModelServer) -> None:
    server.script({"do": "json", "value": {"facts": ["a \ud83d b", {"\ud83d": ["\0"]}, "\ud83d\ude00"]}})
    async with model_at(server.url) as model:
        found = (await model.formed(TURNS, SCHEMA, name="facts", parse=facts)).value
    assert found == ["a \ufffd b", {"\ufffd": ["\ufffd"]}, "😀"]


@pytest.mark.parametrize("name", ["bad \ud83d", "bad \0", 7, None])
async def test_a_listed_name_that_cannot_be_stored_is_none(name: Any) -> None:
    with ModelServer(models=[name]) as server:
        async with model_at(server.url, name=None) as model:
            with pytest.raises(ModelUnavailable, match="OPENAI_MODEL"):
                await model.warm_up()


async def test_slow_but_steady_is_not_silence() -> None:
    with ModelServer(piece_seconds=0.2, answer=lambda body: "a b c d e f") as server:
        async with model_at(server.url, timeout=0.8) as model:
            assert len(await whole(model.stream(TURNS))) == 6


@pytest.mark.parametrize(
    ("behaviour", "variable"),
    [
        ({"do": "status", "status": 401, "message": f"bad key {KEY} for {SECRET}"}, "OPENAI_API_KEY"),
        ({"do": "status", "status": 404, "message": SECRET}, "OPENAI_MODEL"),
        ({"do": "status", "status": 400, "message": f"context_length_exceeded {SECRET}"}, "CONTEXT_TOKENS"),
        ({"do": "status", "status": 418, "message": SECRET}, "OPENAI_BASE_URL"),
    ],
)
async def test_a_refusal_is_one_line_naming_the_setting_and_leaks_nothing(
    server: ModelServer, behaviour: dict[str, Any], variable: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    server.script(behaviour)
    async with model_at(server.url) as model:
        with pytest.raises(ModelUnavailable, match=variable) as failure:
            await whole(model.stream(TURNS))
    assert not failure.value.retry
    assert len(server.requests) == 1
    for text in (str(failure.value), repr(failure.value), caplog.text):
        assert KEY not in text
        assert SECRET not in text
    assert "\n" not in str(failure.value)


async def test_a_wrong_key_and_a_wrong_model_at_a_strict_server(server: ModelServer) -> None:
    async with model_at(server.url, key="other") as model:
        with pytest.raises(ModelUnavailable, match="OPENAI_API_KEY"):
            await whole(model.stream(TURNS))
    async with model_at(server.url, name="no-such") as model:
        with pytest.raises(ModelUnavailable, match=r"no-such.*OPENAI_MODEL"):
            await whole(model.stream(TURNS))


async def test_nobody_listens() -> None:
    with ModelServer() as gone:
        url = gone.url
    async with model_at(url, retries=0) as model:
        with pytest.raises(ModelUnavailable, match="OPENAI_BASE_URL") as failure:
            await whole(model.stream(TURNS))
    assert failure.value.retry


@pytest.mark.parametrize("do", ["empty", "garbage"])
async def test_an_answer_of_nothing_is_an_error(server: ModelServer, do: str) -> None:
    server.script({"do": do})
    async with model_at(server.url, retries=0) as model:
        with pytest.raises(ModelAnswerInvalid if do == "empty" else ModelUnavailable):
            await whole(model.stream(TURNS))


async def test_an_unnamed_model_is_the_first_that_is_listed() -> None:
    with ModelServer(models=["first", "second"]) as server:
        async with model_at(server.url, name=None) as model:
            await whole(model.stream(TURNS))
            assert model.name == "first"
        assert server.requests[0]["model"] == "first"
    with ModelServer(models=[]) as server:
        async with model_at(server.url, name=None) as model:
            with pytest.raises(ModelUnavailable, match="OPENAI_MODEL"):
                await model.warm_up()


@pytest.mark.parametrize("refused", ["stream_options", "max_tokens"])
async def test_a_parameter_that_the_endpoint_does_not_know_is_left_out(refused: str) -> None:
    with ModelServer(refuses=[refused]) as server:
        async with model_at(server.url) as model:
            assert await whole(model.stream(TURNS))
            assert await whole(model.stream(TURNS))
        assert len(server.requests) == 3
        assert refused not in server.requests[-1]
        if refused == "max_tokens":
            assert server.requests[-1]["max_completion_tokens"] == 50


async def test_structured_sends_the_schema(server: ModelServer) -> None:
    server.script({"do": "json", "value": {"facts": ["a"]}})
    async with model_at(server.url) as model:
        assert (await model.formed(TURNS, SCHEMA, name="facts", parse=facts)).value == ["a"]
    form = server.requests[0]["response_format"]
    assert form["json_schema"] == {"name": "facts", "strict": True, "schema": SCHEMA}
    assert server.requests[0]["temperature"] == 0


@pytest.mark.parametrize(
    ("refuses", "status", "modes"),
    [
        (["json_schema"], 400, ["json_schema", "json_object", "json_object"]),
        (["json_schema"], 422, ["json_schema", "json_object", "json_object"]),
        (["json_schema", "json_object"], 400, ["json_schema", "json_object", None, None]),
    ],
)
async def test_falls_back_where_a_form_is_refused_and_remembers_it(
    refuses: list[str], status: int, modes: list[str | None]
) -> None:
    with ModelServer(refuses=refuses, refuse_status=status, facts=lambda body: {"facts": ["a"]}) as server:
        async with model_at(server.url) as model:
            for _ in range(2):
                assert (await model.formed(TURNS, SCHEMA, name="facts", parse=facts)).value == ["a"]
        asked = [body.get("response_format", {}).get("type") for body in server.requests]
        assert asked == modes
        # A server that is not given the schema reads it.
        assert '"additionalProperties"' in server.requests[-1]["messages"][-1]["content"]


async def test_a_refusal_that_no_form_helps_does_not_change_the_form(server: ModelServer) -> None:
    server.script(*[{"do": "status", "status": 400, "message": "not today"}] * 3)
    async with model_at(server.url) as model:
        with pytest.raises(ModelUnavailable, match="refuses the request"):
            await model.formed(TURNS, SCHEMA, name="facts", parse=facts)
        await model.formed(TURNS, SCHEMA, name="facts", parse=facts)
    assert server.requests[-1]["response_format"]["type"] == "json_schema"


async def test_a_request_that_is_too_long_is_not_tried_in_other_forms(server: ModelServer) -> None:
    server.script({"do": "status", "status": 400, "message": "context length exceeded"})
    async with model_at(server.url) as model:
        with pytest.raises(ContextTooLong, match="CONTEXT_TOKENS"):
            await model.formed(TURNS, SCHEMA, name="facts", parse=facts)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "text",
    [
        'Sure! Here it is:\n```json\n{"facts": ["a"]}\n```\nAnything else?',
        '<think>{"facts": ["no"]} or so</think>\n{"facts": ["a"]}',
        'I use {braces} a lot: {"facts": ["a"]}',
    ],
)
async def test_reads_json_out_of_prose(server: ModelServer, text: str) -> None:
    server.script({"do": "text", "text": text})
    async with model_at(server.url) as model:
        assert (await model.formed(TURNS, SCHEMA, name="facts", parse=facts)).value == ["a"]
    assert len(server.requests) == 1


@pytest.mark.parametrize("bad", ["no JSON at all", '{"facts": 3}', '{"facts": ["cut', "[]", '{"a":' * 3000])
async def test_what_is_not_of_the_form_is_asked_for_once_more(server: ModelServer, bad: str) -> None:
    server.script({"do": "text", "text": bad}, {"do": "json", "value": {"facts": ["a"]}})
    async with model_at(server.url) as model:
        assert (await model.formed(TURNS, SCHEMA, name="facts", parse=facts)).value == ["a"]
    assert len(server.requests) == 2
    assert server.requests[0]["messages"] != server.requests[1]["messages"]


@pytest.mark.parametrize("bad", [{"do": "text", "text": f"no {SECRET}"}, {"do": "empty"}])
async def test_twice_not_of_the_form_is_an_error_without_contents(
    server: ModelServer, bad: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    server.script(bad, bad)
    async with model_at(server.url) as model:
        with pytest.raises(ModelAnswerInvalid) as failure:
            await model.formed(TURNS, SCHEMA, name="facts", parse=facts)
    assert len(server.requests) == 2
    assert SECRET not in str(failure.value) + caplog.text


def test_works_across_several_loops_and_after_close(server: ModelServer) -> None:
    endpoint = RemoteEndpoint(Address(server.url, KEY))
    model = ChatModel(endpoint, name=MODEL, timeout_seconds=5, retries=0, answer_tokens=50)

    async def ask(*, close: bool) -> None:
        assert await whole(model.stream(TURNS))
        if close:
            await model.close()
            await model.close()

    asyncio.run(ask(close=True))
    asyncio.run(ask(close=True))
    asyncio.run(ask(close=False))
    asyncio.run(ask(close=True))
    assert len(server.requests) == 4


def _imported(code: str, module: str) -> bool:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; {code}; print({module!r} in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        cwd=PROJECT,
    )
    return done.stdout.strip() == "True"


@pytest.mark.parametrize("module", ["openai", "xllamacpp", "tqdm"])
def test_nothing_heavy_is_imported_before_the_first_use(module: str) -> None:
    assert not _imported("import keepsake.llm.factory, keepsake.facts.extract", module)


async def test_the_loop_is_not_held_by_warming_up() -> None:
    code = """
import asyncio, sys, threading
from keepsake.llm.client import Address, ChatModel, RemoteEndpoint

class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == "openai":
            print("main" if threading.current_thread() is threading.main_thread() else "other")
        return None

sys.meta_path.insert(0, Watch())
endpoint = RemoteEndpoint(Address("http://127.0.0.1:9/v1", "k"))
model = ChatModel(endpoint, name="m", timeout_seconds=1, retries=0, answer_tokens=16)
asyncio.run(model.warm_up())
"""
    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=PROJECT
    )
    assert done.stdout.split() == ["other"]
