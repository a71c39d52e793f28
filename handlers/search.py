"""/search: what memory holds about something, a few at a time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from bot_models.searches import Search
from keepsake.assistant import Assistant, Button, Chat
from keepsake.errors import ArchiveError
from keepsake.locales import translate
from keepsake.models import Message
from keepsake.recall.snippet import LENGTH, Span, query_terms, snippet

log = logging.getLogger(__name__)

SHOWN = 5  # on a page
FOUND_MAX = 50
FOUND_IN_ARCHIVE = 10
_ARCHIVE = ("--archive", "—archive", "–archive")  # phones make one dash of two
_NAME_MAX = 64  # characters of a speaker's name


@dataclass(frozen=True, slots=True)
class Shown:
    """A text to be shown, and where in it words stand that were looked for."""

    text: str
    marks: tuple[Span, ...] = ()


async def handle_search(app: Assistant, chat: Chat, args: str) -> None:
    """Shows the first page of what is found above the floor, best first; `--archive WORDS`: in the archive."""
    first, _, words = args.partition(" ")
    if first in _ARCHIVE and words.strip():
        await _search_archive(app, chat, words.strip())
        return
    if not args or first in _ARCHIVE:
        await chat.send(translate(chat.language, "search-usage"))
        return
    terms = query_terms(args)
    name = app.searches.begin(chat.user_id, terms)
    found = await find(app, chat.user_id, args, FOUND_MAX)
    ids = tuple(message.id for message in found)
    app.searches.finish(name, ids)
    if len(found) <= SHOWN:
        app.searches.drop(name)
    if not found:
        await chat.send(translate(chat.language, "search-nothing"))
        return
    await _show(chat, Search(chat.user_id, terms, ids), name, 0, found[:SHOWN])


async def _search_archive(app: Assistant, chat: Chat, words: str) -> None:
    """Shows the best of the archive, without pages: each look reads it as a whole."""
    try:
        found = await app.memory.search_archive(chat.user_id, words, FOUND_IN_ARCHIVE)
    except ArchiveError as error:
        log.warning("%s", error)
        await chat.send(translate(chat.language, "search-archive-closed"))
        return
    if not found:
        await chat.send(translate(chat.language, "search-nothing"))
        return
    title = translate(chat.language, "search-archive-title")
    texts = [message for message, _ in found]
    shown = await asyncio.to_thread(found_page, chat.language, title, texts, query_terms(words))
    await chat.send(shown.text, bold=shown.marks)


async def handle_search_press(app: Assistant, chat: Chat, data: str) -> None:
    """Shows another page; `data`: asker, name of the search, page. Of somebody else's search nothing."""
    asker, _, rest = data.partition(":")
    name, _, page = rest.partition(":")
    if asker != str(chat.user_id):
        return
    search = app.searches.get(name)
    number = int(page) if page.isascii() and page.isdigit() else 0
    messages: Sequence[Message] = ()
    if search is not None and search.user_id == chat.user_id:
        wanted = search.found[number * SHOWN : (number + 1) * SHOWN]
        messages = await app.memory.get_messages(chat.user_id, wanted)
    if search is None or not messages:
        await chat.send(translate(chat.language, "search-again"))
        return
    await _show(chat, search, name, number, messages)


async def find(
    app: Assistant, user_id: int, query: str, limit: int, *, before: int | None = None
) -> list[Message]:
    """At most `limit` messages about `query`, best first; `before`: only those older than that id.

    The newest too, unlike recall for the context, which leaves out what stands there in STM and LTM.
    """
    return [message for message, _ in await app.memory.find(user_id, query, limit, before=before)]


def found_page(language: str, title: str, messages: Iterable[Message], terms: Collection[str]) -> Shown:
    """The title, and a line for each message: its date, who said it, and a snippet with what matches."""
    text, marks = title, list[Span]()
    for message in messages:
        line = found_line(language, message, terms)
        marks += [(at + len(text) + 1, end + len(text) + 1) for at, end in line.marks]
        text = f"{text}\n{line.text}"
    return Shown(text, tuple(marks))


async def _show(chat: Chat, search: Search, name: str, page: int, messages: Sequence[Message]) -> None:
    title, buttons = translate(chat.language, "search-title"), list[Button]()
    begin, count = page * SHOWN, len(search.found)
    if count > SHOWN:
        last = min(begin + SHOWN, count)
        title = translate(chat.language, "search-title-page", first=begin + 1, last=last, count=count)
        turns = [("search-back", page - 1)] if begin else []
        turns += [("search-next", page + 1)] if last < count else []
        buttons = [
            Button(translate(chat.language, key), f"search:{chat.user_id}:{name}:{to}", beside=True)
            for key, to in turns
        ]
    # Messages may be megabytes, and the words are looked for in all of them.
    shown = await asyncio.to_thread(found_page, chat.language, title, messages, search.terms)
    await chat.send(shown.text, buttons, bold=shown.marks, in_place=True)


def found_line(language: str, message: Message, terms: Collection[str], length: int = LENGTH) -> Shown:
    """A message's date, who said it, and a snippet of `length` characters with what matches."""
    part = snippet(message.content, terms, length)
    line = translate(
        language,
        "found-line",
        date=message.created_at.date().isoformat(),
        who=_who(language, message),
        snippet=part.text,
    )
    at = line.rindex(part.text)
    return Shown(line, tuple((at + begin, at + end) for begin, end in part.marks))


def _who(language: str, message: Message) -> str:
    if message.sender:
        return snippet(message.sender, length=_NAME_MAX).text
    return translate(language, "you" if message.role == "user" else "assistant")
