"""One chat model behind any OpenAI-compatible endpoint: streamed answers, and answers in a given form."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from keepsake.errors import ContextTooLong, ModelAnswerInvalid, ModelDeclined, ModelUnavailable
from keepsake.llm import account
from keepsake.llm.bounds import ANSWER_SECONDS, Bounds
from keepsake.llm.breaker import Breaker
from keepsake.llm.chunks import Characters, Usage, declines, finish_reason_of, text_of, usage_of
from keepsake.llm.connection import Address, Connection, Endpoint, RemoteEndpoint, Request, Turn
from keepsake.llm.failures import BrokenOff, EndpointFailed, RequestRefused
from keepsake.llm.form import FORM_MODES, FormMode, JsonSchema, form_note, json_object, response_format
from keepsake.models import Spent
from keepsake.prompt.tokens import estimate

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionChunk

__all__ = [
    "STRUCTURED_TOKENS",
    "Address",
    "Answer",
    "ChatModel",
    "Endpoint",
    "Formed",
    "Remake",
    "RemoteEndpoint",
    "Turn",
    "Usage",
]

log = logging.getLogger(__name__)
T = TypeVar("T")

# The request as it is for the model of that name: a shorter one where it refused the last as too long.
Remake = Callable[[str, ContextTooLong | None], Awaitable[Sequence[Turn]]]

# Facts of a whole window as JSON take more room than an answer in a chat.
STRUCTURED_TOKENS = 1500
_BACKOFF_SECONDS = 0.5
_BACKOFF_MOST_SECONDS = 8.0
# Nobody looks at a silent chat for longer; an endpoint that asks for more is left alone meanwhile.
_LONGEST_WAIT_SECONDS = 10.0


class Answer:
    """An answer as it comes: iterate over its pieces, once.

    `text` is what has come so far, also after an error; `model` the name of the one that was asked last, `usage` is
    filled at the end. Iterating raises ModelUnavailable, ModelDeclined, or, where the model said nothing at all or does
    not come to an end, ModelAnswerInvalid.
    """

    def __init__(self, pieces: Callable[[Answer], AsyncIterator[str]]) -> None:
        self.text = ""
        self.model = ""
        self.usage = Usage()
        self.finish_reason: str | None = None
        self.declined = False
        self._pieces = pieces

    def __aiter__(self) -> AsyncIterator[str]:
        return self._pieces(self)

    def take(self, chunk: ChatCompletionChunk) -> None:
        """Notes what a chunk says beside its text."""
        self.usage = usage_of(chunk) or self.usage
        self.finish_reason = finish_reason_of(chunk) or self.finish_reason
        self.declined = self.declined or declines(chunk)


@dataclass(frozen=True, slots=True)
class Formed(Generic[T]):
    """What a model answered in a given form, and the name of the model that did."""

    value: T
    model: str


class ChatModel:
    """A chat model. `weak`: the small embedded one.

    With no `name`, the first model that the endpoint lists is meant, and `name` is "" until first use. `fallback` is
    asked where this one is down; `settings_prefix` begins the names of the settings it comes from. What is asked is
    counted for whom `keepsake.llm.account` says.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        name: str | None,
        timeout_seconds: float,
        retries: int,
        answer_tokens: int,
        answer_seconds: float = ANSWER_SECONDS,
        weak: bool = False,
        fallback: ChatModel | None = None,
        breaker: Breaker | None = None,
        settings_prefix: str = "OPENAI",
    ) -> None:
        self.weak = weak
        self.breaker = breaker or Breaker()
        self._connection = Connection(
            endpoint, name=name, timeout_seconds=timeout_seconds, settings_prefix=settings_prefix
        )
        self._fallback = fallback
        self._retries = retries
        self._answer_tokens = answer_tokens
        self._answer_seconds = answer_seconds
        self._form_mode: FormMode = FORM_MODES[0]

    @property
    def name(self) -> str:
        return self._connection.name

    @property
    def names(self) -> tuple[str, ...]:
        """Those who may answer: this model, and its fallback."""
        return (self.name, *(self._fallback.names if self._fallback is not None else ()))

    async def warm_up(self) -> None:
        """Imports the openai package and opens the endpoint, off the event loop's thread.

        Raises ModelUnavailable where the endpoint cannot be opened.
        """
        await self._connection.connected()

    def stream(self, turns: Sequence[Turn], *, remake: Remake | None = None) -> Answer:
        """The answer to `turns`; nothing is sent before it is iterated over.

        With `remake`, a request that is too long is made again, once for each model, and the fallback gets its own.
        """
        request = Request(turns, self._answer_tokens)
        return Answer(lambda answer: self._here_or_there(answer, request, remake))

    async def formed(
        self, turns: Sequence[Turn], schema: JsonSchema, *, name: str, parse: Callable[[dict[str, Any]], T]
    ) -> Formed[T]:
        """The answer as `parse` makes it from the JSON object that a model wrote, and that model's name.

        `schema` is a strict JSON Schema, `name` the name it is sent under. `parse` raises ValueError for
        what is not of the form; then, and where there is no JSON object, the model is asked once more.
        Raises ModelAnswerInvalid after that, ModelDeclined and ModelUnavailable; ContextTooLong names the model whose
        room is too small.
        """
        await account.check()
        try:
            return await self._formed(turns, schema, name, parse)
        except ModelUnavailable as error:
            if not error.retry or self._fallback is None:
                raise
            down = error
        log.warning("the fallback is asked: %s", down)
        try:
            return await self._fallback._formed(turns, schema, name, parse)
        except ContextTooLong:
            raise  # who asked can do something about it
        except ModelUnavailable as error:
            log.warning("nor does the fallback answer: %s", error)
            raise down from None

    async def close(self) -> None:
        """Closes connections and what serves the model. Idempotent; the next call opens anew."""
        await self._connection.close()
        if self._fallback is not None:
            await self._fallback.close()

    async def _formed(
        self, turns: Sequence[Turn], schema: JsonSchema, name: str, parse: Callable[[dict[str, Any]], T]
    ) -> Formed[T]:
        for again in (False, True):
            try:
                answer = await self._form_answer(turns, schema, name, again=again)
                return Formed(parse(json_object(answer.text)), answer.model)
            except ModelDeclined:
                raise
            except (ValueError, ModelAnswerInvalid):
                log.info("the model's answer is not of the form %r%s", name, ", dropped" if again else "")
        raise ModelAnswerInvalid(f"The model's answer was not of the form {name!r}, twice.")

    async def _form_answer(
        self, turns: Sequence[Turn], schema: JsonSchema, name: str, *, again: bool
    ) -> Answer:
        first = FORM_MODES.index(self._form_mode)
        for mode in FORM_MODES[first:]:
            note = form_note(mode, schema, again=again)
            last = replace(turns[-1], content=f"{turns[-1].content}\n\n{note}") if note else turns[-1]
            form = response_format(mode, name, schema)
            tokens = max(self._answer_tokens, STRUCTURED_TOKENS)
            request = Request([*turns[:-1], last], tokens, form, temperature=0)
            answer = Answer(partial(self._tries, request=request))
            try:
                async for _ in answer:
                    pass
            except RequestRefused as error:
                if mode == FORM_MODES[-1] or not _refuses_form(error):
                    raise
                continue
            self._form_mode = mode
            return answer
        raise AssertionError("the last mode returns or raises")

    async def _here_or_there(
        self, answer: Answer, request: Request, remake: Remake | None
    ) -> AsyncIterator[str]:
        """The pieces from this endpoint, else from the fallback: what was shown already cannot be taken back."""
        await account.check()
        try:
            async with aclosing(self._fitted(answer, request, remake)) as pieces:
                async for piece in pieces:
                    yield piece
            return
        except ModelUnavailable as error:
            elsewhere = error.retry or (remake is not None and isinstance(error, ContextTooLong))
            if answer.text or not elsewhere or self._fallback is None:
                raise
            down = error
        log.warning("the fallback is asked: %s", down)
        if remake is not None:
            request = replace(request, turns=await remake(self._fallback.name, None))
        try:
            async with aclosing(self._fallback._fitted(answer, request, remake)) as pieces:
                async for piece in pieces:
                    yield piece
        except ModelUnavailable as error:
            if answer.text:
                raise
            log.warning("nor does the fallback answer: %s", error)
            raise down from None

    async def _fitted(
        self, answer: Answer, request: Request, remake: Remake | None
    ) -> AsyncGenerator[str, None]:
        """The pieces; a request that is too long for this endpoint is made again once."""
        try:
            async with aclosing(self._tries(answer, request)) as pieces:
                async for piece in pieces:
                    yield piece
            return
        except ContextTooLong as error:
            if answer.text or remake is None:
                raise
            refusal = error
        log.warning("%s It is asked again with less.", refusal)
        shorter = replace(request, turns=await remake(refusal.model, refusal))
        async with aclosing(self._tries(answer, shorter)) as pieces:
            async for piece in pieces:
                yield piece

    async def _tries(self, answer: Answer, request: Request) -> AsyncGenerator[str, None]:
        answer.model = self.name
        with self.breaker.request() as only_once:
            try:
                async with aclosing(
                    self._repeated(answer, request, 0 if only_once else self._retries)
                ) as pieces:
                    async for piece in pieces:
                        if not answer.text:
                            self.breaker.lives()
                        answer.text += piece
                        yield piece
            finally:
                if answer.text or answer.finish_reason is not None:
                    answer.usage, spent = await asyncio.to_thread(_spent, answer, request)
                    await account.charge(spent)
            if answer.declined:
                raise ModelDeclined("The model declined to answer, or a content filter stopped it.")
            if not answer.text.strip():
                why = " within ANSWER_TOKENS" if answer.finish_reason == "length" else ""
                raise ModelAnswerInvalid(f"The model gave an empty answer{why}.")

    async def _repeated(self, answer: Answer, request: Request, retries: int) -> AsyncGenerator[str, None]:
        for taken in range(retries + 1):
            try:
                async with aclosing(self._once(answer, request)) as pieces:
                    async for piece in pieces:
                        yield piece
                return
            except EndpointFailed as error:
                wait = min(_BACKOFF_SECONDS * 2**taken, _BACKOFF_MOST_SECONDS)
                wait = max(error.retry_after or 0.0, wait * random.uniform(0.75, 1))  # noqa: S311  (no secret)
                if answer.text or taken == retries or wait > _LONGEST_WAIT_SECONDS:
                    raise
                self.breaker.failed()
                await asyncio.sleep(wait)
                if self.breaker.is_open:  # others have found meanwhile that it is down
                    raise

    async def _once(self, answer: Answer, request: Request) -> AsyncGenerator[str, None]:
        stream = await self._connection.open_stream(request)
        answer.model, answer.usage, answer.finish_reason = self.name, Usage(), None
        characters, bounds = Characters(), Bounds(request.max_tokens, self._answer_seconds)
        try:
            while (chunk := await self._connection.next_chunk(stream)) is not None:
                answer.take(chunk)
                if piece := bounds.fit(characters.of(text_of(chunk))):
                    yield piece
                bounds.check()
        finally:
            await stream.close()
        if answer.finish_reason is None and not answer.declined:
            raise BrokenOff("The model's answer broke off, or its endpoint does not speak chat completions.")
        if piece := characters.end():
            yield piece


def _spent(answer: Answer, request: Request) -> tuple[Usage, Spent]:
    """What the endpoint counted, as far as it can be believed, and what the request took: so counted, else reckoned."""
    asked, said = sum(estimate(turn.content) for turn in request.turns), estimate(answer.text)
    # What a model thought counts as well, and is not seen.
    usage = answer.usage.believed(asked, said, most_said=max(said, request.max_tokens))
    prompt, completion = usage.prompt_tokens, usage.completion_tokens
    reckoned = (asked if prompt is None else 0) + (said if completion is None else 0)
    return usage, Spent(
        answer.model,
        asked if prompt is None else prompt,
        said if completion is None else completion,
        reckoned,
    )


def _refuses_form(refusal: RequestRefused) -> bool:
    """Whether another response_format may help; a 400 is what most servers say, whatever their words."""
    return refusal.status == 400 or (refusal.status in (404, 422) and "response_format" in refusal.says)
