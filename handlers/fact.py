"""One fact of /facts: where it comes from, what it was before, and what may be done with it."""

from __future__ import annotations

from handlers.fact_places import CORRECT, KEEP, Place
from handlers.forget import forget_button
from handlers.pause import refused
from handlers.search import found_line
from keepsake.assistant import Assistant, Button, Chat
from keepsake.facts.held import life_of
from keepsake.locales import translate
from keepsake.models import Fact, FactChange
from keepsake.recall.snippet import snippet

_CHANGES_SHOWN = 20
_SOURCES_SHOWN = 5
_SOURCE_CHARACTERS = 500


async def handle_fact(app: Assistant, chat: Chat, place: Place) -> None:
    """Shows the fact that a button is about, or does what it says. One that is gone meanwhile says so."""
    known = await app.memory.get_facts(chat.user_id, all_statuses=True)
    fact = next((one for one in known if one.id == place.fact_id and one.status != "forgotten"), None)
    if fact is None:
        await chat.send(translate(chat.language, "fact-gone"))
    elif place.doing == CORRECT and fact.status == "active":
        await _ask_for_wording(app, chat, place, fact)
    else:
        if place.doing == KEEP:
            await chat.send(translate(chat.language, "correct-dropped"))
        await _show(app, chat, place, fact)


async def handle_correction(app: Assistant, chat: Chat, fact_id: int, text: str) -> None:
    """Stores the wording that was asked for."""
    if not text.strip():
        await chat.send(translate(chat.language, "correct-dropped"))
        return
    if await refused(app, chat):
        return
    corrected = await app.memory.correct(chat.user_id, fact_id, text)
    if corrected == "secret":
        await chat.send(translate(chat.language, "remember-secret"))
    elif corrected == "gone":
        await chat.send(translate(chat.language, "fact-gone"))
    else:
        await chat.send(translate(chat.language, "correct-done", content=corrected.content))


async def _ask_for_wording(app: Assistant, chat: Chat, place: Place, fact: Fact) -> None:
    if await refused(app, chat):
        return
    app.awaited.expect(chat.user_id, chat.place, fact.id, app.clock())
    cancel = Button(translate(chat.language, "fact-cancel"), place.of(fact.id, KEEP).data())
    await chat.send(translate(chat.language, "correct-asks", content=fact.content), [cancel])


async def _show(app: Assistant, chat: Chat, place: Place, fact: Fact) -> None:
    buttons = [Button(translate(chat.language, "fact-back"), place.back().data())]
    if fact.status == "active":
        correct = Button(translate(chat.language, "fact-correct"), place.of(fact.id, CORRECT).data())
        delete = forget_button(chat, fact.id, translate(chat.language, "fact-delete"))
        buttons = [correct, delete, Button(buttons[0].label, buttons[0].data, beside=True)]
    await chat.send(await _described(app, chat, fact), buttons, in_place=True)


async def _described(app: Assistant, chat: Chat, fact: Fact) -> str:
    language = chat.language
    sources = await app.memory.get_messages(chat.user_id, fact.message_ids[-_SOURCES_SHOWN:])
    life = life_of(fact.id, await app.memory.get_fact_history(chat.user_id))
    lines = [
        fact.content,
        translate(
            language,
            "fact-about",
            category=translate(language, f"category-{fact.category}"),
            confidence=f"{fact.confidence:.2f}",
            date=fact.updated_at.date().isoformat(),
        ),
    ]
    if fact.status != "active":
        lines.append(translate(language, f"fact-status-{fact.status}"))
    lines.append(translate(language, "fact-sources"))
    lines += [found_line(language, message, (), _SOURCE_CHARACTERS).text for message in sources]
    if not sources:
        lines.append(translate(language, "why-by-hand" if fact.origin == "by_hand" else "fact-source-gone"))
    lines.append(translate(language, "fact-history"))
    lines += [_change(language, change, fact.id) for change in life[-_CHANGES_SHOWN:]]
    return "\n".join(lines)


def _change(language: str, change: FactChange, fact_id: int) -> str:
    """A line of history: when, what, and the wording then where it was another one."""
    what = translate(language, f"change-{change.what}")
    by_hand = change.made_by == "hand" and change.what in ("learned", "agreed", "returned", "corrected")
    if by_hand:
        what = f"{what} {translate(language, 'change-by-hand')}"
    text = snippet(change.from_value or change.to_value or "").text
    if change.fact_id == fact_id and change.from_value and change.to_value:
        text = f"{text} → {snippet(change.to_value).text}"
    return translate(
        language, "change-line", date=change.recorded_at.date().isoformat(), what=what, text=text
    )
