"""/facts: what is known about the one who asks, or was held true at some time, a page at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from handlers.fact import handle_fact
from handlers.fact_places import SEARCH, Place, parse_place
from keepsake.assistant import Assistant, Button, Chat
from keepsake.facts.held import Held, held_in, looks_like_a_date, matching, parse_period
from keepsake.index.terms import analyse
from keepsake.locales import translate
from keepsake.models import CATEGORIES, Category, Fact
from keepsake.recall.snippet import query_terms, snippet

SHOWN = 10
_LONGEST_PAGE_NUMBER = 6  # digits; Python refuses to read thousands of them
_YEAR_DIGITS = 4
_LABEL_CHARACTERS = 40


@dataclass(frozen=True, slots=True)
class Listing:
    """What a page is taken from. `lines`: what is said of each fact; `empty`: what is said where there is none."""

    title: str
    facts: Sequence[Fact]
    lines: Sequence[str]
    empty: str


async def handle_facts(app: Assistant, chat: Chat, args: str) -> None:
    """Lists the active facts by category.

    `/facts 2` shows the second page, `/facts 2026-03` what was held true then, `/facts WORDS` what is about them.
    """
    place = Place(chat.user_id)
    if looks_like_a_date(args):
        period = parse_period(args)
        if period is None:
            await chat.send(translate(chat.language, "facts-no-date", date=args[:_LABEL_CHARACTERS]))
            return
        if period.begin > app.clock():
            await chat.send(translate(chat.language, "facts-yet-to-come", date=period.name))
            return
        await _show(app, chat, Place(chat.user_id, only=period.name))
    elif args.isdecimal() and len(args) <= _LONGEST_PAGE_NUMBER:
        await _show(app, chat, place.at(int(args)))
    elif args:
        await _look_for(app, chat, args)
    else:
        await _show(app, chat, place)


async def handle_facts_press(app: Assistant, chat: Chat, data: str) -> None:
    """Shows the page or the fact of a button, or does with that fact what the button says."""
    place = parse_place(data)
    if place is None:
        await chat.send(translate(chat.language, "button-stale"))
    elif place.user_id != chat.user_id:
        await chat.send(translate(chat.language, "button-not-yours"))
    elif place.fact_id is not None:
        await handle_fact(app, chat, place)
    else:
        await _show(app, chat, place)


async def _look_for(app: Assistant, chat: Chat, words: str) -> None:
    """What was found is held in RAM under a name, since words do not fit into a button."""
    terms = query_terms(words)
    name = app.searches.begin(chat.user_id, terms)
    known = in_order(await app.memory.get_facts(chat.user_id))
    category = _category(chat.language, words)
    found = await asyncio.to_thread(
        lambda: matching(
            [(fact, analyse(f"{fact.content} {_label(chat.language, fact)}")) for fact in known],
            terms,
            category,
        )
    )
    app.searches.finish(name, [fact.id for fact in found])
    await _show(app, chat, Place(chat.user_id, only=f"{SEARCH}{name}"))


async def _show(app: Assistant, chat: Chat, place: Place) -> None:
    listing = await _listing(app, chat, place)
    if listing is None:
        await chat.send(translate(chat.language, "facts-search-again"))
        return
    if not listing.facts:
        await chat.send(listing.empty, in_place=True)
        return
    pages = -(-len(listing.facts) // SHOWN)
    place = place.at(min(max(place.page, 1), pages))
    begin = (place.page - 1) * SHOWN
    shown = range(begin, min(begin + SHOWN, len(listing.facts)))
    buttons = [
        Button(f"{at + 1}. {_short(listing.facts[at])}", place.of(listing.facts[at].id).data())
        for at in shown
    ]
    others = [number for number in (place.page - 1, place.page + 1) if 1 <= number <= pages]
    buttons += [
        Button(
            translate(chat.language, "facts-page", page=number, pages=pages),
            place.at(number).data(),
            beside=number > place.page > 1,
        )
        for number in others
    ]
    text = "\n".join([listing.title, *_by_category(chat.language, listing, shown)])
    await chat.send(text, buttons, in_place=True)


async def _listing(app: Assistant, chat: Chat, place: Place) -> Listing | None:
    """None where the search that the place names is not held any more."""
    language = chat.language
    if place.only.startswith(SEARCH):
        search = app.searches.get(place.only.removeprefix(SEARCH))
        if search is None or search.user_id != chat.user_id:
            return None
        known = {fact.id: fact for fact in await app.memory.get_facts(chat.user_id)}
        facts = [known[one] for one in search.found if one in known]
        title, empty = "facts-found", "facts-not-found"
    elif place.only:
        return await _held_then(app, chat, place.only)
    else:
        facts = in_order(await app.memory.get_facts(chat.user_id))
        title, empty = "facts-title", "facts-empty"
    lines = [f"{fact.content} {noted(language, fact)}" for fact in facts]
    return Listing(translate(language, title), facts, lines, translate(language, empty))


async def _held_then(app: Assistant, chat: Chat, date: str) -> Listing | None:
    period = parse_period(date)
    if period is None:
        return None
    held = held_in(await app.memory.get_facts(chat.user_id, all_statuses=True), period)
    held.sort(key=lambda one: (CATEGORIES.index(one.fact.category), one.fact.id))
    return Listing(
        translate(chat.language, "facts-held-then", date=period.name),
        [one.fact for one in held],
        [_as_of(chat.language, one) for one in held],
        translate(chat.language, "facts-none-then", date=period.name),
    )


def _as_of(language: str, held: Held) -> str:
    """A fact with the days between which it held, and what is to be known of that."""
    fact = held.fact
    if held.known == "taken_back":
        since = fact.recorded_from.date().isoformat()
        until = fact.recorded_until.date().isoformat() if fact.recorded_until else ""
        return f"{fact.content} {translate(language, 'fact-taken-back', since=since, until=until)}"
    since = (fact.valid_from or fact.created_at).date().isoformat()
    if held.until is None:
        span = translate(language, "fact-holds-since", since=since)
    else:
        span = translate(language, "fact-held", since=since, until=held.until.date().isoformat())
    if held.known == "learned_later":
        learned = translate(language, "fact-learned-later", date=fact.recorded_from.date().isoformat())
        span = f"{span} {learned}"
    return f"{fact.content} {span}"


def in_order(facts: Sequence[Fact]) -> list[Fact]:
    """By category, in each the oldest first."""
    return sorted(facts, key=lambda fact: (CATEGORIES.index(fact.category), fact.id))


def _by_category(language: str, listing: Listing, shown: range) -> list[str]:
    """One numbered line a fact under its category's name."""
    lines: list[str] = []
    for at in shown:
        heading = f"[{_label(language, listing.facts[at])}]"
        if at == shown.start or listing.facts[at].category != listing.facts[at - 1].category:
            lines.append(heading)
        lines.append(f"{at + 1}. {listing.lines[at]}")
    return lines


def noted(language: str, fact: Fact) -> str:
    """How sure it is, and since when."""
    date = fact.updated_at.date().isoformat()
    sure = translate(language, "fact-confidence", confidence=f"{fact.confidence:.2f}", date=date)
    archived = bool(fact.archived_ids) and fact.archived_ids == fact.message_ids
    return f"{sure} ({translate(language, 'archived')})" if archived else sure


def _label(language: str, fact: Fact) -> str:
    return translate(language, f"category-{fact.category}")


def _category(language: str, words: str) -> Category | None:
    """The category that is named, by its own name or as it is shown."""
    wanted = words.casefold()
    return next(
        (one for one in CATEGORIES if wanted in (one, translate(language, f"category-{one}").casefold())),
        None,
    )


def _short(fact: Fact) -> str:
    return snippet(fact.content, length=_LABEL_CHARACTERS).text
