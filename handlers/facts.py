"""/facts: what is known about the one who asks."""

from __future__ import annotations

from collections.abc import Sequence

from keepsake.assistant import Assistant, Button, Chat
from keepsake.locales import translate
from keepsake.models import CATEGORIES, Fact

SHOWN = 15
_LONGEST_PAGE_NUMBER = 6  # digits; Python refuses to read thousands of them


async def handle_facts(app: Assistant, chat: Chat, args: str) -> None:
    """Lists the active facts by category, a page at a time; `/facts 2` shows the second page."""
    await _show(app, chat, int(args) if args.isdecimal() and len(args) <= _LONGEST_PAGE_NUMBER else 1)


async def handle_facts_press(app: Assistant, chat: Chat, page: str) -> None:
    """Shows the page of a button."""
    await handle_facts(app, chat, page)


async def _show(app: Assistant, chat: Chat, page: int) -> None:
    facts = in_order(await app.memory.get_facts(chat.user_id))
    if not facts:
        await chat.send(translate(chat.language, "facts-empty"))
        return
    pages = -(-len(facts) // SHOWN)
    page = min(max(page, 1), pages)
    shown = facts[(page - 1) * SHOWN : page * SHOWN]
    lines = [translate(chat.language, "facts-title"), *fact_lines(chat.language, shown)]
    others = [number for number in (page - 1, page + 1) if 1 <= number <= pages]
    buttons = [
        Button(translate(chat.language, "facts-page", page=number, pages=pages), f"facts:{number}")
        for number in others
    ]
    await chat.send("\n".join(lines), buttons)


def in_order(facts: Sequence[Fact]) -> list[Fact]:
    """By category, in each the oldest first."""
    return sorted(facts, key=lambda fact: (CATEGORIES.index(fact.category), fact.id))


def fact_lines(language: str, facts: Sequence[Fact]) -> list[str]:
    """One line a fact under its category's name."""
    lines: list[str] = []
    for category in dict.fromkeys(fact.category for fact in facts):
        lines.append(f"[{translate(language, f'category-{category}')}]")
        lines += [f"• {fact.content} {noted(language, fact)}" for fact in facts if fact.category == category]
    return lines


def noted(language: str, fact: Fact) -> str:
    """How sure it is, and since when."""
    date = fact.updated_at.date().isoformat()
    sure = translate(language, "fact-confidence", confidence=f"{fact.confidence:.2f}", date=date)
    archived = bool(fact.archived_ids) and fact.archived_ids == fact.message_ids
    return f"{sure} ({translate(language, 'archived')})" if archived else sure
