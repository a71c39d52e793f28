"""One chat model behind any OpenAI-compatible endpoint: streamed answers, and answers in a given form.

The openai package takes most of a second to import, so that happens at first use, in a thread.
"""

from __future__ import annotations

import asyncio
import codecs
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from keepsake.errors import ModelAnswerInvalid, ModelUnavailable
from keepsake.llm.failures import BrokenOff, RequestRefused, explain, silent
from keepsake.llm.form import FORM_MODES, FormMode, JsonSchema, form_note, json_object, response_format

if TYPE_CHECKING:
    import openai
    from openai.types.chat import ChatCompletionChunk

    Chunks = openai.AsyncStream[ChatCompletionChunk]

log = logging.getLogger(__name__)
T = TypeVar("T")

# Facts of a whole window as JSON take more room than an answer in a chat.
STRUCTURED_TOKENS = 1500
_CONNECT_SECONDS = 10.0
_BACKOFF_SECONDS = 0.5
_BACKOFF_MOST_SECONDS = 8.0
# Parameters that some endpoints do not know, with the words of such a refusal. `max_tokens` is renamed.
_OPTIONAL = {
    "stream_options": ("stream_options",),
    "temperature": ("temperature",),
    "max_tokens": ("max_tokens", "max_completion_tokens", "unsupported"),
}


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a request."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(slots=True)
class Usage:
    """What the endpoint counted; None where it does not say."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class _Request:
    turns: Sequence[Turn]
    max_tokens: int
    form: dict[str, Any] | None = None
    temperature: float | None = None


@dataclass(frozen=True, slots=True)
class Address:
    """Where requests go."""

    base_url: str
    api_key: str


class Endpoint(Protocol):
    """Something that serves chat completions. `open` may take seconds; both may be called again."""

    async def open(self) -> Address: ...

    async def close(self) -> None: ...


class RemoteEndpoint:
    """An endpoint that is there by itself."""

    def __init__(self, address: Address) -> None:
        self._address = address

    async def open(self) -> Address:
        return self._address

    async def close(self) -> None:
        return None


class Answer:
    """An answer as it comes: iterate over its pieces, once.

    `text` is what has come so far, also after an error; `usage` is filled at the end. Iterating raises
    ModelUnavailable or, where the model said nothing at all, ModelAnswerInvalid.
    """

    def __init__(self, pieces: Callable[[Answer], AsyncIterator[str]]) -> None:
        self.text = ""
        self.usage = Usage()
        self.finish_reason: str | None = None
        self._pieces = pieces

    def __aiter__(self) -> AsyncIterator[str]:
        return self._pieces(self)


class ChatModel:
    """A chat model. `weak`: the small embedded one.

    With no `name`, the first model that the endpoint lists is meant, and `name` is "" until first use.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        name: str | None,
        timeout_seconds: float,
        retries: int,
        answer_tokens: int,
        weak: bool = False,
    ) -> None:
        self.name = name or ""
        self.weak = weak
        self._endpoint = endpoint
        self._timeout_seconds = timeout_seconds
        self._retries = retries
        self._answer_tokens = answer_tokens
        self._client: openai.AsyncOpenAI | None = None
        self._life: AsyncGenerator[openai.AsyncOpenAI, None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._opening = asyncio.Lock()
        self._form_mode: FormMode = FORM_MODES[0]
        self._left_out: set[str] = set()

    async def warm_up(self) -> None:
        """Imports the openai package and opens the endpoint, off the event loop's thread.

        Raises ModelUnavailable where the endpoint cannot be opened.
        """
        await self._connected()

    def stream(self, turns: Sequence[Turn]) -> Answer:
        """The answer to `turns`; nothing is sent before it is iterated over."""
        return self._answer(_Request(turns, self._answer_tokens))

    async def structured(
        self, turns: Sequence[Turn], schema: JsonSchema, *, name: str, parse: Callable[[dict[str, Any]], T]
    ) -> T:
        """The answer as `parse` makes it from the JSON object that the model wrote.

        `schema` is a strict JSON Schema, `name` the name it is sent under. `parse` raises ValueError for
        what is not of the form; then, and where there is no JSON object, the model is asked once more.
        Raises ModelAnswerInvalid after that, and ModelUnavailable.
        """
        for again in (False, True):
            try:
                return parse(json_object(await self._form_text(turns, schema, name, again=again)))
            except (ValueError, ModelAnswerInvalid):
                log.info("the model's answer is not of the form %r%s", name, ", dropped" if again else "")
        raise ModelAnswerInvalid(f"The model's answer was not of the form {name!r}, twice.")

    async def close(self) -> None:
        """Closes connections and what serves the model. Idempotent; the next call opens anew."""
        self._client = None
        if self._life is not None and self._loop is asyncio.get_running_loop():
            await self._life.aclose()
        await self._endpoint.close()

    async def _form_text(self, turns: Sequence[Turn], schema: JsonSchema, name: str, *, again: bool) -> str:
        first = FORM_MODES.index(self._form_mode)
        for mode in FORM_MODES[first:]:
            note = form_note(mode, schema, again=again)
            last = replace(turns[-1], content=f"{turns[-1].content}\n\n{note}") if note else turns[-1]
            form = response_format(mode, name, schema)
            tokens = max(self._answer_tokens, STRUCTURED_TOKENS)
            answer = self._answer(_Request([*turns[:-1], last], tokens, form, temperature=0))
            try:
                async for _ in answer:
                    pass
            except RequestRefused as error:
                if mode == FORM_MODES[-1] or not _refuses_form(error):
                    raise
                continue
            self._form_mode = mode
            return answer.text
        raise AssertionError("the last mode returns or raises")

    def _answer(self, request: _Request) -> Answer:
        return Answer(lambda answer: self._tries(answer, request))

    async def _tries(self, answer: Answer, request: _Request) -> AsyncIterator[str]:
        for taken in range(self._retries + 1):
            try:
                async with aclosing(self._once(answer, request, self._retries - taken)) as pieces:
                    async for piece in pieces:
                        answer.text += piece
                        yield piece
                break
            except BrokenOff:
                # What was shown cannot be taken back: only an answer that has not begun is asked for again.
                if answer.text or taken == self._retries:
                    raise
                await asyncio.sleep(min(_BACKOFF_SECONDS * 2**taken, _BACKOFF_MOST_SECONDS))
        if not answer.text.strip():
            why = " within ANSWER_TOKENS" if answer.finish_reason == "length" else ""
            raise ModelAnswerInvalid(f"The model gave an empty answer{why}.")

    async def _once(self, answer: Answer, request: _Request, retries: int) -> AsyncGenerator[str, None]:
        stream = await self._open_stream(request, retries)
        characters = _Characters()
        try:
            while (chunk := await self._next_chunk(stream)) is not None:
                if piece := characters.of(_take(chunk, answer)):
                    yield piece
        finally:
            await stream.close()
        if answer.finish_reason is None:
            raise BrokenOff("The model's answer broke off, or its endpoint does not speak chat completions.")
        if piece := characters.end():
            yield piece

    async def _open_stream(self, request: _Request, retries: int) -> Chunks:
        client = (await self._connected()).with_options(max_retries=retries)
        while True:
            try:
                parameters = self._parameters(request)
                return await self._explained(client.chat.completions.create(**parameters, stream=True))
            except RequestRefused as refusal:
                if not self._leave_out(refusal):
                    raise

    async def _next_chunk(self, stream: Chunks) -> ChatCompletionChunk | None:
        try:
            # Keep-alive comments are bytes: the transport's own timeout does not notice a model that hangs.
            async with asyncio.timeout(self._timeout_seconds):
                return await self._explained(anext(stream, None))
        except TimeoutError:
            raise silent(self._timeout_seconds) from None

    async def _explained(self, call: Awaitable[T]) -> T:
        import openai

        try:
            return await call
        # A ValueError: what came was not JSON.
        except (openai.APIError, ValueError) as error:
            raise explain(error, model=self.name, timeout_seconds=self._timeout_seconds) from None

    def _parameters(self, request: _Request) -> dict[str, Any]:
        limit = "max_completion_tokens" if "max_tokens" in self._left_out else "max_tokens"
        parameters: dict[str, Any] = {
            "model": self.name,
            "messages": [{"role": turn.role, "content": turn.content} for turn in request.turns],
            limit: request.max_tokens,
            "stream_options": {"include_usage": True},
            "response_format": request.form,
            "temperature": request.temperature,
        }
        return {
            key: value for key, value in parameters.items() if value is not None and key not in self._left_out
        }

    def _leave_out(self, refusal: RequestRefused) -> bool:
        """Whether the request may go again without a parameter that this endpoint does not know."""
        if refusal.status not in (400, 422):
            return False
        for parameter, words in _OPTIONAL.items():
            if parameter not in self._left_out and all(word in refusal.says for word in words):
                self._left_out.add(parameter)
                return True
        return False

    async def _connected(self) -> openai.AsyncOpenAI:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            # Connections belong to the loop that opened them; a program may call asyncio.run several times.
            self._loop, self._client, self._life, self._opening = loop, None, None, asyncio.Lock()
        async with self._opening:
            if self._client is None:
                address = await self._endpoint.open()
                client = await asyncio.to_thread(
                    _make_client, address, timeout_seconds=self._timeout_seconds, retries=self._retries
                )
                self._life = _closed_with_its_loop(client)
                self._client = await anext(self._life)
            self.name = self.name or await self._first_listed(self._client)
            return self._client

    async def _first_listed(self, client: openai.AsyncOpenAI) -> str:
        page = await self._explained(client.models.list())
        if not page.data:
            raise ModelUnavailable("The endpoint lists no model: set OPENAI_MODEL.", retry=False)
        return page.data[0].id


def _make_client(address: Address, *, timeout_seconds: float, retries: int) -> openai.AsyncOpenAI:
    import openai

    timeout = openai.Timeout(timeout_seconds, connect=min(_CONNECT_SECONDS, timeout_seconds))
    return openai.AsyncOpenAI(
        base_url=address.base_url, api_key=address.api_key, timeout=timeout, max_retries=retries
    )


async def _closed_with_its_loop(client: openai.AsyncOpenAI) -> AsyncGenerator[openai.AsyncOpenAI, None]:
    """Yields the client once. asyncio.run closes open generators at its end, and this one its connections."""
    try:
        yield client
    finally:
        await client.close()


class _Characters:
    """Makes whole characters of pieces of text: JSON may bring surrogates, and a pair of them in two pieces.

    A pair becomes the character that it means, a lone one U+FFFD.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-16-le")("replace")

    def of(self, piece: str) -> str:
        """The piece, but for the first half of a pair at its end, which waits for the next one."""
        return self._decoder.decode(piece.encode("utf-16-le", "surrogatepass"))

    def end(self) -> str:
        """What still waits."""
        return self._decoder.decode(b"", final=True)


def _take(chunk: ChatCompletionChunk, answer: Answer) -> str:
    """The text of a chunk; its usage and finish reason go to `answer`. Endpoints leave out what they like."""
    usage = getattr(chunk, "usage", None)
    if usage is not None:
        answer.usage = Usage(usage.prompt_tokens, usage.completion_tokens)
    choices = getattr(chunk, "choices", None)
    if not choices:
        return ""
    answer.finish_reason = choices[0].finish_reason or answer.finish_reason
    delta = choices[0].delta
    return (delta.content or "") if delta is not None else ""


def _refuses_form(refusal: RequestRefused) -> bool:
    """Whether another response_format may help; a 400 is what most servers say, whatever their words."""
    return refusal.status == 400 or (refusal.status in (404, 422) and "response_format" in refusal.says)
