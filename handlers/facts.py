"""/facts: what is known about the one who asks."""

from __future__ import annotations

from keepsake.assistant import Assistant, Chat
from keepsake.locales import translate
from keepsake.models import Fact

SHOWN = 50


async def handle_facts(app: Assistant, chat: Chat, _args: str) -> None:
    """Lists the active facts by category, at most 50 of them."""
    facts = await app.memory.get_facts(chat.user_id)
    if not facts:
        await chat.send(translate(chat.language, "facts-empty"))
        return
    lines = [translate(chat.language, "facts-title"), *fact_lines(chat.language, facts[:SHOWN])]
    if len(facts) > SHOWN:
        lines.append(translate(chat.language, "facts-more", count=len(facts) - SHOWN))
    await chat.send("\n".join(lines))


def fact_lines(language: str, facts: list[Fact]) -> list[str]:
    """One line a fact under its category's name."""
    lines: list[str] = []
    for category in dict.fromkeys(fact.category for fact in facts):
        lines.append(f"[{translate(language, f'category-{category}')}]")
        lines += [_line(language, fact) for fact in facts if fact.category == category]
    return lines


def _line(language: str, fact: Fact) -> str:
    date = fact.updated_at.date().isoformat()
    grade = translate(language, "fact-confidence", confidence=f"{fact.confidence:.2f}", date=date)
    return f"• {fact.content} {grade}"
