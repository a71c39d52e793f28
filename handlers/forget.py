"""/forget: one fact, found by a few words, or the message that is replied to; for a while it can be undone."""

from __future__ import annotations

from keepsake.assistant import Assistant, Button, Chat
from keepsake.errors import ErasureHeld
from keepsake.facts.candidate import cut_at_word
from keepsake.forgetting.removal import Candidate, Forgotten
from keepsake.locales import translate
from keepsake.recall.snippet import snippet

_NAME = "forget"
_FACT, _MESSAGE, _UNDO, _KEEP = "f", "m", "u", "k"
_LETTERS = {"fact": _FACT}  # by the kind of a candidate
_LABEL_CHARACTERS = 60
_SNIPPET_CHARACTERS = 40
_MESSAGES_SHOWN = 3


async def handle_forget(app: Assistant, chat: Chat, args: str) -> None:
    """Shows what may be meant and asks; as a reply to a message it forgets that message."""
    if chat.said.replied is not None:
        await _forget_replied(app, chat)
        return
    if not args:
        await chat.send(translate(chat.language, "forget-usage"))
        return
    found = await (await app.memory.removal()).candidates(chat.user_id, args)
    keep = _button(chat, "forget-keep", _KEEP)
    if not found:
        await chat.send(translate(chat.language, "forget-nothing"))
    elif len(found) == 1:
        text = translate(chat.language, "forget-this", content=found[0].text)
        await chat.send(text, [_button(chat, "forget-yes", _of(found[0])), keep])
    else:
        choices = [Button(_label(one.text), _data(chat, _of(one))) for one in found]
        await chat.send(translate(chat.language, "forget-which"), [*choices, keep])


async def handle_forget_press(app: Assistant, chat: Chat, data: str) -> None:
    """Does what a button says. The press of another person does nothing."""
    what, _, rest = data.partition(":")
    whose, *named = rest.split(":")
    if whose != str(chat.user_id):
        return
    number = int(named[0]) if named and named[0].isascii() and named[0].isdigit() else 0
    if what == _KEEP:
        await _say(chat, "forget-kept")
    elif what == _UNDO and len(named) == 1:
        await _undo(app, chat, named[0])
    elif what == _FACT and number:
        await _forget(app, chat, fact_id=number)
    elif what == _MESSAGE and number and len(named) == 2:
        await _forget(app, chat, message_id=number, joining=named[1])
    else:
        await chat.send(translate(chat.language, "button-stale"))


def forget_button(chat: Chat, fact_id: int, label: str) -> Button:
    """A button that forgets one fact, for a while with a way back."""
    return Button(label, _data(chat, f"{_FACT}:{fact_id}"))


async def _forget_replied(app: Assistant, chat: Chat) -> None:
    assert chat.said.replied is not None
    removal = await app.memory.removal()
    message = await removal.replied(chat.user_id, chat.said.replied)
    if message is not None:
        await _forget(app, chat, message_id=message.id)
        return
    try:
        archived = await removal.forget_archived(chat.user_id, chat.said.replied)
    except ErasureHeld:
        await chat.send(translate(chat.language, "delete-me-held"))
        return
    await chat.send(translate(chat.language, "forget-message-done" if archived else "forget-not-here"))


async def _forget(
    app: Assistant,
    chat: Chat,
    *,
    fact_id: int | None = None,
    message_id: int | None = None,
    joining: str | None = None,
) -> None:
    fact_ids = [fact_id] if fact_id is not None else []
    message_ids = [message_id] if message_id is not None else []
    removal = await app.memory.removal()
    try:
        gone = await removal.forget(chat.user_id, fact_ids, message_ids, joining=joining)
    except ErasureHeld:
        await chat.send(translate(chat.language, "delete-me-held"))
        return
    app.states.forget(chat.user_id)  # read anew from the store
    if not gone.token:
        await _say(chat, "forget-gone")
        return
    seconds = round(app.settings.undo_seconds)
    buttons = [_button(chat, "forget-undo", f"{_UNDO}:{gone.token}")] if seconds else []
    buttons += await _sources(app, chat, gone)
    key = "forget-done" if fact_ids else "forget-message-done"
    lines = [translate(chat.language, key)]
    if seconds:
        lines.append(translate(chat.language, "forget-while", seconds=seconds))
    if gone.message_ids:
        lines.append(translate(chat.language, "forget-sources"))
    await chat.send("\n".join(lines), buttons, in_place=True)


async def _sources(app: Assistant, chat: Chat, gone: Forgotten) -> list[Button]:
    """Buttons that forget the messages which a fact came from."""
    shown = await app.memory.get_messages(chat.user_id, gone.message_ids[:_MESSAGES_SHOWN])
    return [
        Button(
            translate(
                chat.language,
                "forget-message",
                snippet=snippet(message.content, length=_SNIPPET_CHARACTERS).text,
            ),
            _data(chat, f"{_MESSAGE}:{message.id}:{gone.token}"),
        )
        for message in shown
    ]


async def _undo(app: Assistant, chat: Chat, token: str) -> None:
    back = await (await app.memory.removal()).undo(chat.user_id, token)
    if back:
        app.states.forget(chat.user_id)
    await _say(chat, "forget-undone" if back else "forget-late")


async def _say(chat: Chat, key: str) -> None:
    await chat.send(translate(chat.language, key), in_place=True)


def _of(candidate: Candidate) -> str:
    return f"{_LETTERS[candidate.kind]}:{candidate.id}"


def _button(chat: Chat, key: str, does: str) -> Button:
    return Button(translate(chat.language, key), _data(chat, does))


def _data(chat: Chat, does: str) -> str:
    """What a button carries: what it does, whose it is, to what."""
    what, *named = does.split(":")
    return ":".join([_NAME, what, str(chat.user_id), *named])


def _label(text: str) -> str:
    return cut_at_word(text, _LABEL_CHARACTERS)
