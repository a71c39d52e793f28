"""One connection to a chat completions endpoint: opens it, words requests as it wants them, explains its errors.

The openai package takes most of a second to import, so that happens at first use, in a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from keepsake.errors import ModelUnavailable
from keepsake.llm.failures import RequestRefused, explain, silent
from keepsake.text import storable

if TYPE_CHECKING:
    import openai
    from openai.types.chat import ChatCompletionChunk

    Chunks = openai.AsyncStream[ChatCompletionChunk]

T = TypeVar("T")

_CONNECT_SECONDS = 10.0
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


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for: an answer, or where `form` is given one as that `response_format` says."""

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


class Connection:
    """The connection to `endpoint`, opened at first use and anew in another event loop.

    `name`: the model's; None: the first one that the endpoint lists, "" until then. `settings_prefix` begins the names
    of the settings it comes from.
    """

    def __init__(
        self, endpoint: Endpoint, *, name: str | None, timeout_seconds: float, settings_prefix: str
    ) -> None:
        self.name = name or ""
        self._endpoint = endpoint
        self._timeout_seconds = timeout_seconds
        self._prefix = settings_prefix
        self._client: openai.AsyncOpenAI | None = None
        self._life: AsyncGenerator[openai.AsyncOpenAI, None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._opening = asyncio.Lock()
        self._left_out: set[str] = set()

    async def close(self) -> None:
        """Closes connections and what serves the model. Idempotent; the next call opens anew."""
        self._client = None
        if self._life is not None and self._loop is asyncio.get_running_loop():
            await self._life.aclose()
        await self._endpoint.close()

    async def open_stream(self, request: Request) -> Chunks:
        client = await self.connected()
        while True:
            try:
                parameters = self._parameters(request)
                return await self._explained(client.chat.completions.create(**parameters, stream=True))
            except RequestRefused as refusal:
                if not self._leave_out(refusal):
                    raise

    async def next_chunk(self, stream: Chunks) -> ChatCompletionChunk | None:
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
            raise explain(
                error, model=self.name, timeout_seconds=self._timeout_seconds, prefix=self._prefix
            ) from None

    def _parameters(self, request: Request) -> dict[str, Any]:
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

    async def connected(self) -> openai.AsyncOpenAI:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            # Connections belong to the loop that opened them; a program may call asyncio.run several times.
            self._loop, self._client, self._life, self._opening = loop, None, None, asyncio.Lock()
        async with self._opening:
            if self._client is None:
                address = await self._endpoint.open()
                client = await asyncio.to_thread(_make_client, address, self._timeout_seconds)
                self._life = _closed_with_its_loop(client)
                self._client = await anext(self._life)
            client = self._client
        # Not while the others wait: an endpoint that hangs would keep them one after the other.
        self.name = self.name or await self._first_listed(client)
        return client

    async def _first_listed(self, client: openai.AsyncOpenAI) -> str:
        page = await self._explained(client.models.list())
        names = [model.id for model in page.data or ()]
        if not names or not isinstance(names[0], str) or names[0] != storable(names[0]):
            raise ModelUnavailable(f"The endpoint lists no model: set {self._prefix}_MODEL.", retry=False)
        return names[0]


def _make_client(address: Address, timeout_seconds: float) -> openai.AsyncOpenAI:
    import openai

    timeout = openai.Timeout(timeout_seconds, connect=min(_CONNECT_SECONDS, timeout_seconds))
    # Its own tries know nothing of ours: together they would be the product of both.
    return openai.AsyncOpenAI(
        base_url=address.base_url, api_key=address.api_key, timeout=timeout, max_retries=0
    )


async def _closed_with_its_loop(client: openai.AsyncOpenAI) -> AsyncGenerator[openai.AsyncOpenAI, None]:
    """Yields the client once. asyncio.run closes open generators at its end, and this one its connections."""
    try:
        yield client
    finally:
        await client.close()
