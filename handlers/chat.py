"""A message and its answer: restore, save, recall, ask, stream, save."""

from __future__ import annotations

import asyncio
import logging
import time
from datetime import timedelta

from bot_models.user_state import UserState
from handlers.asking import Asking
from handlers.offer import offers
from handlers.search import SHOWN, find, found_page
from keepsake.assistant import AnswerStopped, AnswerStream, Assistant, Chat
from keepsake.errors import ModelAnswerInvalid, ModelDeclined, ModelError, ModelUnavailable, TokensUsedUp
from keepsake.locales import translate
from keepsake.models import AnswerEvent, Message
from keepsake.recall.snippet import query_terms

log = logging.getLogger(__name__)

_STOPPED = "stopped"


async def handle_text_message(app: Assistant, chat: Chat, text: str) -> None:
    """Keeps what the user said, then answers it. It is durable before the model is asked."""
    if not text.strip():
        await chat.send(translate(chat.language, "message-empty"))
        return
    restored = app.states.is_history_loaded(chat.user_id)
    question = await app.memory.save_message(
        chat.user_id,
        "user",
        text,
        created_at=chat.said.at,
        sender=chat.said.sender,
        sender_id=chat.said.sender_id,
        key=chat.said.key,
    )
    state = await restored_state(app, chat.user_id)
    if restored:  # else it was read from the store with what was said before
        state.add("user", question.content)
        every = app.settings.fact_extraction_every
        state.messages_since_fact_extract = (state.messages_since_fact_extract + 1) % every
    await handle_ai_task(app, chat, question)


async def handle_ai_task(app: Assistant, chat: Chat, question: Message) -> None:
    """Answers a message that is already kept, from memory alone where there is no model to ask."""
    started = time.monotonic()
    async with chat.typing():
        if app.model is None:
            await _answer_from_memory(app, chat, translate(chat.language, "model-none"), question)
            return
        asking = Asking(app.memory, app.model, question, chat.language)
        await asking.prepare()
        await note_weak_model(app, chat)
        failure: ModelError | None = None
        error = None
        try:
            await chat.stream(aiter(asking.answer))
        except ModelError as raised:
            log.warning("no answer: %s", raised)
            failure, error = raised, type(raised).__name__
        except AnswerStopped:
            error = _STOPPED
        except asyncio.CancelledError:
            if chat.said.key is None:
                # Its beginning may have been read, so it is kept as said; this task itself is to end now.
                done = _keep(app, chat, asking, started, _STOPPED)
                app.tasks.start(done, "keep a stopped answer")
            raise  # with a key it is answered anew at the next start
        await _keep(app, chat, asking, started, error)
        await chat.deliver()
        if failure is not None:
            await _explain(app, chat, failure, asking.answer, question)


async def restored_state(app: Assistant, user_id: int) -> UserState:
    """The user's state, with the last messages read from the store once."""
    state = app.states.get_state(user_id)
    if not app.states.is_history_loaded(user_id):
        await app.memory.load_history_to_state(user_id, state, app.states)
        app.states.mark_history_loaded(user_id)
    return state


async def note_weak_model(app: Assistant, chat: Chat) -> None:
    """Says once a run that a weak local model answers."""
    state = app.states.get_state(chat.user_id)
    if app.model is not None and app.model.weak and not state.weak_note_shown:
        state.weak_note_shown = True
        await chat.note(translate(chat.language, "weak-model-note", model=app.model.name))


async def _explain(
    app: Assistant, chat: Chat, failure: ModelError, answer: AnswerStream, question: Message
) -> None:
    if answer.text.strip():
        declined = isinstance(failure, ModelDeclined)
        await chat.send(translate(chat.language, "model-declined-midway" if declined else "model-cut-short"))
    else:
        await _answer_from_memory(app, chat, _why(failure, chat.language), question)


def _why(failure: ModelError, language: str) -> str:
    match failure:
        case TokensUsedUp():
            until = f"{failure.until:%Y-%m-%d %H:%M} UTC"
            return translate(language, "tokens-used-up", count=failure.limit, until=until)
        case ModelDeclined():
            return translate(language, "model-declined")
        case ModelAnswerInvalid():
            return translate(language, "model-said-nothing")
        case ModelUnavailable() if not failure.retry:
            return translate(language, "model-down-refused")
        case _:
            return translate(language, "model-down-later")


async def _answer_from_memory(app: Assistant, chat: Chat, why: str, question: Message) -> None:
    found = await find(app, chat.user_id, question.content, SHOWN, before=question.id)
    title = translate(chat.language, "memory-has" if found else "memory-has-nothing")
    title = f"{why}\n{title}"
    terms = query_terms(question.content)
    shown = await asyncio.to_thread(found_page, chat.language, title, found, terms)
    await chat.send(shown.text, offers(chat, question), bold=shown.marks)


async def _keep(app: Assistant, chat: Chat, asking: Asking, started: float, error: str | None) -> None:
    """Keeps what the assistant said, if it said anything, and what the answer cost."""
    question, answer = asking.question, asking.answer
    latency_ms = round((time.monotonic() - started) * 1000)
    reply = None
    if answer.text.strip():
        key = f"{chat.said.key}:answer" if chat.said.key else None
        reply = await app.memory.save_answer(
            question,
            answer.text,
            # Beside its question also where that had waited: one conversation, whenever it is handled.
            created_at=question.created_at + timedelta(milliseconds=latency_ms) if chat.said.at else None,
            key=key,
            # Formatting a long one takes a while.
            also=await asyncio.to_thread(chat.posting, answer.text, offers(chat, question)),
        )
        if reply is None:  # the person was erased while the answer was made
            return
        app.states.get_state(chat.user_id).add("assistant", reply.content)
    event = AnswerEvent(
        user_id=chat.user_id,
        question_id=question.id,
        answer_id=reply.id if reply else None,
        model=asking.answered_by,
        latency_ms=latency_ms,
        prompt_tokens=answer.usage.prompt_tokens,
        completion_tokens=answer.usage.completion_tokens,
        error=error,
        memories=asking.recalled.memories,
        counted_tokens=await asyncio.to_thread(asking.counted) if answer.usage.prompt_tokens else None,
    )
    app.tasks.start(app.memory.record_answer(event), "record an answer")
