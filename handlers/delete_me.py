"""/delete_me: forgets the one who asks, after a second tap."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keepsake.assistant import Assistant, Button, Chat
from keepsake.errors import ErasureHeld
from keepsake.locales import translate

EXPIRES_SECONDS = 300
_NAME = "delete_me"
_YES, _NO = "yes", "no"


async def handle_delete_me(app: Assistant, chat: Chat, _args: str) -> None:
    """Says what will go and what cannot be reached, and asks once more."""
    stats = await app.memory.get_memory_stats(chat.user_id)
    held = [
        translate(chat.language, f"stats-{what}", count=stats[f"total_{what}"])
        for what in ("messages", "sessions", "facts")
    ]
    until = int(app.clock().timestamp()) + EXPIRES_SECONDS
    buttons = [
        Button(translate(chat.language, "delete-me-yes"), f"{_NAME}:{_YES}:{chat.user_id}:{until}"),
        Button(translate(chat.language, "delete-me-no"), f"{_NAME}:{_NO}:{chat.user_id}:{until}"),
    ]
    minutes = EXPIRES_SECONDS // 60
    await chat.send(
        translate(chat.language, "delete-me-asks", held=", ".join(held), minutes=minutes), buttons
    )


async def handle_delete_me_press(app: Assistant, chat: Chat, data: str) -> None:
    """Has everything erased. The press of another person does nothing, a late one says so."""
    choice, whose, until = _read(data)
    if whose != chat.user_id:
        return
    if choice == _NO:
        await chat.send(translate(chat.language, "delete-me-kept"))
    elif not 0 <= until - app.clock().timestamp() <= EXPIRES_SECONDS:
        await chat.send(translate(chat.language, "delete-me-late"))
    else:
        await _erase(app, chat)


async def _erase(app: Assistant, chat: Chat) -> None:
    await chat.send(translate(chat.language, "delete-me-begun"))
    app.turns.leave()  # the erasure would end what is being handled for this person
    try:
        erasure = await app.memory.begin_erasure(chat.user_id, chat.receipt_to)
    except ErasureHeld:
        await chat.send(translate(chat.language, "delete-me-held"))
        return
    if erasure is not None and chat.receipt_to is None:
        await chat.send(receipt_text(chat.language, await app.memory.erased(erasure)))


def receipt_text(language: str, receipt: Mapping[str, Any]) -> str:
    """What the person reads at the end. `receipt`: as `Receipt.as_dict`, empty where nothing was held."""
    if "seq" not in receipt:
        return translate(language, "delete-me-nothing")
    text = translate(language, "delete-me-done", seq=str(receipt["seq"]), sha256=str(receipt["sha256"]))
    if receipt["left"]:
        text += "\n" + translate(language, "delete-me-left", count=receipt["left"])
    return text


def _read(data: str) -> tuple[str, int | None, int]:
    """What a button says: choice, whose it is, until when."""
    choice, *numbers = data.split(":")
    try:
        whose, until = (int(number) for number in numbers)
    except ValueError:
        return choice, None, 0
    return choice, whose, until
