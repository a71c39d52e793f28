"""A message that is answered and not kept: in a pause, or in a conversation incognito."""

from __future__ import annotations

from handlers.asking import Asking
from handlers.chat import note_weak_model
from keepsake.assistant import AnswerStopped, Assistant, Chat
from keepsake.errors import ModelDeclined, ModelError, TokensUsedUp
from keepsake.locales import translate
from keepsake.models import Message
from keepsake.privacy import Session


async def handle_private_message(app: Assistant, chat: Chat, text: str) -> None:
    """Answers from RAM, and in a pause from what was kept before it. Nothing of it reaches memory.db.

    Where a conversation incognito has ended by itself, the message is neither answered nor kept: who wrote it thought
    that it would not be.
    """
    if not text.strip():
        await chat.send(translate(chat.language, "message-empty"))
        return
    session = app.privacy.session(chat.user_id)
    if session is None:
        await app.privacy.tell_of_end(chat.user_id)
        await chat.send(translate(chat.language, "incognito-over"))
        return
    if not session.told:
        session.told = True
        await chat.note(translate(chat.language, "pause-goes-on"))
    before = tuple(session.said)
    question = session.add(
        chat.user_id, "user", text, chat.said.at or app.clock(), chat.said.sender, chat.said.sender_id
    )
    await _answer(app, chat, session, question, before)


async def _answer(
    app: Assistant, chat: Chat, session: Session, question: Message, before: tuple[Message, ...]
) -> None:
    async with chat.typing():
        if app.model is None:
            await chat.send(translate(chat.language, "private-no-model"))
            return
        remembered = session.mode == "paused"
        asking = Asking(app.memory, app.model, question, chat.language, said=before, remembered=remembered)
        await asking.prepare()
        await note_weak_model(app, chat)
        failure: ModelError | None = None
        try:
            await chat.stream(aiter(asking.answer))
        except ModelError as raised:
            failure = raised
        except AnswerStopped:
            pass
        if asking.answer.text.strip():
            session.add(chat.user_id, "assistant", asking.answer.text, app.clock())
            session.memories = asking.recalled.memories
            await chat.answer(asking.answer.text)
    if failure is not None:
        await chat.send(_why(failure, chat.language, begun=bool(asking.answer.text.strip())))


def _why(failure: ModelError, language: str, *, begun: bool) -> str:
    if begun:
        declined = isinstance(failure, ModelDeclined)
        return translate(language, "model-declined-midway" if declined else "model-cut-short")
    if isinstance(failure, TokensUsedUp):
        until = f"{failure.until:%Y-%m-%d %H:%M} UTC"
        return translate(language, "private-tokens-used-up", count=failure.limit, until=until)
    return translate(language, "private-no-answer")
