"""/context: the very block that the model would be given, and what each part of the request takes."""

from __future__ import annotations

from handlers.chat import restored_state
from keepsake.assistant import Assistant, Chat, Recalled
from keepsake.locales import translate

_USER_LINE = "User: "


async def handle_context(app: Assistant, chat: Chat, args: str) -> None:
    """Shows the block for the words after the command, without any for the user's last message."""
    session = app.privacy.session(chat.user_id)
    said = tuple(session.said) if session is not None else ()
    incognito = app.privacy.mode(chat.user_id) == "incognito"
    query = args or next((one.content for one in reversed(said) if one.role == "user"), "")
    if not query and not incognito:
        query = _last_said((await restored_state(app, chat.user_id)).ai_chat_history)
    model = app.model.name if app.model is not None else None
    recalled = (
        await app.memory.recall(
            chat.user_id, query, before=None, model=model or None, said=said, remembered=not incognito
        )
        if query
        else None
    )
    if recalled is None or not recalled.block.strip():
        await chat.send(translate(chat.language, "context-empty"))
        return
    await chat.send(recalled.block)
    await chat.send(_tokens(chat.language, recalled, asked=bool(args)))


def _tokens(language: str, recalled: Recalled, *, asked: bool) -> str:
    """A line for each part of the request; a new message is one of them where one was `asked`."""
    sections = [(name, tokens) for name, tokens in recalled.sections if asked or name != "message"]
    total = sum(tokens for _, tokens in sections)
    title = translate(language, "context-tokens", total=total, most=recalled.budget.tokens)
    lines = [
        translate(language, "context-section", name=translate(language, f"section-{name}"), tokens=tokens)
        for name, tokens in sections
    ]
    return "\n".join([title, *lines])


def _last_said(lines: list[str]) -> str:
    said = (line.removeprefix(_USER_LINE) for line in reversed(lines) if line.startswith(_USER_LINE))
    return next(said, "")
