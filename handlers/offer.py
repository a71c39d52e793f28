"""After a correction: a button that keeps the corrected sentence for good, as /remember does."""

from __future__ import annotations

from handlers.remember import handle_remember
from keepsake.assistant import Assistant, Button, Chat
from keepsake.facts.signals import corrected
from keepsake.locales import translate
from keepsake.models import Message
from keepsake.recall.snippet import snippet

_NAME = "remember"
_LABEL_CHARACTERS = 48
_ID_DIGITS = 19


def offers(chat: Chat, question: Message) -> list[Button]:
    """The button for what the user has just corrected, none where they have not or it is no sentence."""
    sentence = corrected(question.content) if question.sender is None else None
    if sentence is None:
        return []
    label = translate(
        chat.language, "remember-this", content=snippet(sentence, length=_LABEL_CHARACTERS).text
    )
    return [Button(label, f"{_NAME}:{chat.user_id}:{question.id}")]


async def handle_offer_press(app: Assistant, chat: Chat, data: str) -> None:
    """Stores the sentence of the message that the button names, as it reads now."""
    whose, _, number = data.partition(":")
    if not (number.isascii() and number.isdigit() and len(number) <= _ID_DIGITS):
        await chat.send(translate(chat.language, "button-stale"))
        return
    if whose != str(chat.user_id):
        await chat.send(translate(chat.language, "button-not-yours"))
        return
    said = await app.memory.get_messages(chat.user_id, [int(number)])
    sentence = corrected(said[0].content) if said and said[0].role == "user" else None
    if sentence is None:
        await chat.send(translate(chat.language, "button-stale"))
    else:
        await handle_remember(app, chat, sentence)
