"""/why: which memories the last answer was given, and where each comes from."""

from __future__ import annotations

from handlers.facts import noted
from handlers.search import found_line
from keepsake.assistant import Assistant, Chat
from keepsake.locales import translate
from keepsake.models import Reason


async def handle_why(app: Assistant, chat: Chat, _args: str) -> None:
    """Lists the memories behind the last answer with their scores, dates and sources, best first."""
    session = app.privacy.session(chat.user_id)
    given = session.memories if session is not None else None
    reasons = None if session is not None and given is None else await app.memory.why(chat.user_id, given)
    if reasons is None:
        await chat.send(translate(chat.language, "why-no-answer"))
        return
    if not reasons:
        await chat.send(translate(chat.language, "why-nothing"))
        return
    lines = [translate(chat.language, "why-title")]
    for reason in reasons:
        lines += reason_lines(chat.language, reason)
    if any(reason.fact is not None for reason in reasons):
        lines.append(translate(chat.language, "why-confidence"))
    await chat.send("\n".join(lines))


def reason_lines(language: str, reason: Reason) -> list[str]:
    """A fact with the messages it comes from below it; a message on a line of its own."""
    score = f"[{reason.score:.2f}]"
    sources = [
        translate(language, "why-archived", date=source.said_at.date().isoformat())
        for source in reason.archived
    ]
    sources += [found_line(language, message, ()).text for message in reason.messages]
    if reason.fact is None:
        return [f"{score} {line}" for line in sources]
    by_hand = reason.fact.origin == "by_hand"
    below = [translate(language, "why-by-hand")] if by_hand and not sources else sources
    return [
        f"{score} {reason.fact.content} {noted(language, reason.fact)}",
        *(f"    {line}" for line in below),
    ]
