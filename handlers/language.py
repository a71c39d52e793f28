"""/language: the language in which the assistant's own texts are written."""

from __future__ import annotations

from keepsake.assistant import Assistant, Button, Chat
from keepsake.locales import translate
from keepsake.settings import LANGUAGES

_SHOWN = 40  # characters of a name that is not known


async def handle_language(app: Assistant, chat: Chat, args: str) -> None:
    """Offers the languages as buttons; `/language ru` sets one at once."""
    if args.lower() in LANGUAGES:
        await handle_language_press(app, chat, args.lower())
        return
    question = translate(chat.language, "language-question")
    if args:
        question = f"{translate(chat.language, 'language-unknown', name=args[:_SHOWN])}\n{question}"
    buttons = [Button(translate(code, "language-name"), f"language:{code}") for code in LANGUAGES]
    await chat.send(question, buttons)


async def handle_language_press(app: Assistant, chat: Chat, code: str) -> None:
    """Keeps the choice."""
    if code not in LANGUAGES:
        await chat.send(translate(chat.language, "button-stale"))
        return
    await app.memory.set_language(chat.user_id, code)
    chat.language = code
    await chat.send(translate(code, "language-set"))
