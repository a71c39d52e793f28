from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from handlers import COMMANDS, press, receive, turn_away
from handlers.dispatch import parse_command
from handlers.facts import SHOWN
from keepsake.assistant import Said
from keepsake.locales import translate
from keepsake.models import Category, Fact, Reason
from tests.handlers.fakes import FakeMemory, FakeModel, RecordingChat, an_assistant

DAY = datetime(2026, 3, 11, tzinfo=UTC)


def a_fact(number: int, content: str, category: Category = "personal") -> Fact:
    return Fact(
        id=number,
        user_id=7,
        content=content,
        category=category,
        type="fact",
        status="active",
        origin="extracted",
        importance=0.5,
        confidence=0.92,
        vital=False,
        hits=0,
        created_at=DAY,
        updated_at=DAY,
        recorded_from=DAY,
    )


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("/stats", ("stats", "")),
        ("  /Stats@keepsake_bot ", ("stats", "")),
        ("/search two\nwords ", ("search", "two\nwords")),
        ("/usr/bin/env", None),
        ("/ hm", None),
        ("//", None),
        ("what is /stats", None),
        ("/12", None),
        ("", None),
    ],
)
def test_what_is_a_command(text: str, command: tuple[str, str] | None) -> None:
    assert parse_command(text) == command


async def shown(text: str, memory: FakeMemory | None = None, chat: RecordingChat | None = None) -> str:
    chat = chat or RecordingChat()
    await receive(an_assistant(memory or FakeMemory(), FakeModel()), chat, text)
    return "\n".join(chat.shown)


@pytest.mark.parametrize("language", ["en", "ru"])
@pytest.mark.parametrize("name", COMMANDS)
async def test_every_command_answers_in_every_language_and_is_never_kept(name: str, language: str) -> None:
    memory = FakeMemory()
    memory.languages[7] = language
    assert await shown(f"/{name}", memory)
    assert translate(language, "something-went-wrong") not in await shown(f"/{name}", memory)
    assert memory.messages == []


async def test_help_lists_every_command_with_a_line() -> None:
    text = await shown("/help")
    for name in COMMANDS:
        assert f"/{name} — {translate('en', f'command-{name}')}" in text
    assert "/exit" not in text
    assert "/exit" in await shown("/help", chat=RecordingChat(kind="terminal"))


async def test_an_unknown_command_gets_a_line_and_reaches_nobody() -> None:
    memory = FakeMemory()
    assert await shown("/dance now", memory) == "I do not know /dance. /help lists what I know."
    assert memory.messages == []


async def test_what_somebody_else_wrote_is_no_command() -> None:
    memory, chat = FakeMemory(), RecordingChat()
    chat.said = Said(sender="Mallory")
    await shown("/stats", memory, chat)
    assert memory.messages[0].content == "/stats"


async def test_stats_counts_what_is_remembered() -> None:
    memory = FakeMemory()
    await memory.save_message(7, "user", "hi")
    assert await shown("/stats", memory) == (
        "What is remembered:\n• 1 message\n• 1 conversation\n• 0 facts\n• 1 vector (tiny)\n"
        "• language model: 14 tokens today, 140 this month (UTC)"
    )


async def test_stats_says_what_is_an_estimate_and_what_the_limit_is() -> None:
    memory = FakeMemory()
    memory.tokens_estimated, memory.daily_tokens = 20, 5000
    assert (await shown("/stats", memory)).splitlines()[-2:] == [
        "• of this month’s tokens 20 are an estimate: the endpoint does not count them",
        "• at most 5,000 tokens a day",
    ]


async def test_stats_shows_an_admin_the_whole_bots_counts() -> None:
    memory = FakeMemory()
    await memory.save_message(8, "user", "somebody else's words")
    app = an_assistant(memory, None, allowed_user_ids="7,8", admin_user_ids="7")
    for person, sees in ((7, True), (8, False)):
        chat = RecordingChat(person)
        await receive(app, chat, "/stats")
        assert ("the whole bot: 1 person, 1 message, 0 facts" in chat.shown[-1]) is sees
        assert ("the whole bot: 1,400 tokens today, 14,000 this month" in chat.shown[-1]) is sees


async def test_context_shows_the_block_for_the_last_message() -> None:
    memory = FakeMemory()
    await memory.save_message(7, "user", "I like tea")
    chat = RecordingChat()
    await receive(an_assistant(memory, None), chat, "/context")
    block, tokens = chat.shown
    assert block == "BLOCK\nI like tea"
    assert tokens.splitlines() == [
        "The request has 212 of 4,000 tokens:",
        "• my instructions: 200",
        "• recent messages: 12",
    ]
    await receive(an_assistant(memory, None), chat, "/context tea")
    assert chat.shown[-1].splitlines()[::3] == [
        "The request has 217 of 4,000 tokens:",
        "• your message: 5",
    ]
    assert await shown("/context", FakeMemory()) == translate("en", "context-empty")


async def test_search_lists_date_speaker_and_beginning() -> None:
    memory = FakeMemory()
    await memory.save_message(7, "user", "green tea " * 40)
    await memory.save_message(7, "assistant", "coffee")
    text = await shown("/search tea", memory)
    assert text.startswith("What I found:\n• 2026-03-01, you: green tea green")
    assert text.endswith("…")
    assert await shown("/search", memory) == translate("en", "search-usage")
    assert await shown("/search bicycles", memory) == translate("en", "search-nothing")


async def test_the_floor_and_the_limit_of_a_search() -> None:
    memory = FakeMemory()
    for _ in range(60):
        await memory.save_message(7, "user", "tea")
    assert (await shown("/search tea", memory)).startswith("What I found, 1 to 5 of 50:\n")
    memory.floor = 0.95
    app, chat = an_assistant(memory, FakeModel()), RecordingChat()
    await receive(app, chat, "/search tea")
    assert chat.shown == [translate("en", "search-nothing")]


async def test_facts_stand_under_their_category() -> None:
    memory = FakeMemory()
    memory.known_facts = [a_fact(1, "Lives in Angarsk"), a_fact(2, "Uses vim", "technical")]
    memory.known_facts.append(a_fact(3, "Has a cat"))
    assert await shown("/facts", memory) == (
        "What I know about you:\n[personal]\n"
        "1. Lives in Angarsk (confidence 0.92, updated 2026-03-11)\n"
        "2. Has a cat (confidence 0.92, updated 2026-03-11)\n"
        "[technical]\n3. Uses vim (confidence 0.92, updated 2026-03-11)"
    )


async def test_many_facts_are_shown_by_pages() -> None:
    memory, chat = FakeMemory(), RecordingChat()
    memory.known_facts = [a_fact(number, f"Fact {number}.") for number in range(2 * SHOWN + 1)]
    app = an_assistant(memory, FakeModel())
    await receive(app, chat, "/facts")
    assert [button.label for button in chat.buttons] == [
        *(f"{number + 1}. Fact {number}." for number in range(SHOWN)),
        "Page 2 of 3",
    ]
    await press(app, chat, chat.buttons[-1].data)
    assert [button.label for button in chat.buttons[-2:]] == ["Page 1 of 3", "Page 3 of 3"]
    await receive(app, chat, "/facts 99")
    text = "\n".join(chat.shown)
    seen = [number for number in range(2 * SHOWN + 1) if f"{number + 1}. Fact {number}. " in text]
    assert seen == list(range(2 * SHOWN + 1))


async def test_facts_of_a_category_stand_together_over_all_pages() -> None:
    memory = FakeMemory()
    memory.known_facts = [
        a_fact(n, f"Fact {n}.", "technical" if n % 2 else "personal") for n in range(2 * SHOWN)
    ]
    pages = [await shown(f"/facts {page}", memory) for page in (1, 2)]
    assert ["[personal]" in page for page in pages] == [True, False]
    assert ["[technical]" in page for page in pages] == [False, True]


async def test_why_shows_score_confidence_date_and_source() -> None:
    memory = FakeMemory()
    said = await memory.save_message(7, "user", "I live in Angarsk now")
    fact = a_fact(1, "Lives in Angarsk")
    memory.reasons = [
        Reason(0.831, fact, (said,)),
        Reason(0.5, None, (said,)),
        Reason(0.4, replace(fact, origin="by_hand"), ()),
    ]
    assert await shown("/why", memory) == (
        "What my last answer was given from memory, with how well each fits:\n"
        "[0.83] Lives in Angarsk (confidence 0.92, updated 2026-03-11)\n"
        "    • 2026-03-01, you: I live in Angarsk now\n"
        "[0.50] • 2026-03-01, you: I live in Angarsk now\n"
        "[0.40] Lives in Angarsk (confidence 0.92, updated 2026-03-11)\n"
        "    • you asked me to remember it\n" + translate("en", "why-confidence")
    )


async def test_why_without_an_answer_or_without_memories() -> None:
    memory = FakeMemory()
    assert await shown("/why", memory) == translate("en", "why-no-answer")
    memory.reasons = []
    assert await shown("/why", memory) == translate("en", "why-nothing")


async def test_the_language_is_offered_chosen_and_kept() -> None:
    memory, chat = FakeMemory(), RecordingChat()
    app = an_assistant(memory, FakeModel())
    await receive(app, chat, "/language")
    assert [(button.label, button.data) for button in chat.buttons] == [
        ("English", "language:en"),
        ("Русский", "language:ru"),
    ]
    await press(app, chat, "language:ru")
    assert memory.languages == {7: "ru"}
    assert chat.shown[-1] == "Теперь я пишу по-русски."
    later = RecordingChat()
    await receive(app, later, "/dance")
    assert later.shown == ["Команды /dance я не знаю. Все команды — в /help."]


async def test_a_language_that_is_not_known_is_told_and_the_others_are_offered() -> None:
    chat = RecordingChat()
    await receive(an_assistant(FakeMemory(), FakeModel()), chat, f"/language {'klingon ' * 9}")
    first, question = chat.shown[0].splitlines()
    assert first == f"I do not write in “{('klingon ' * 9)[:40]}”."
    assert question == translate("en", "language-question")
    assert len(chat.buttons) == 2


@pytest.mark.parametrize("data", ["language:xx", "nothing:1", "", "language", "\ud800"])
async def test_a_press_that_means_nothing_changes_nothing(data: str) -> None:
    memory, chat = FakeMemory(), RecordingChat()
    await press(an_assistant(memory, FakeModel()), chat, data)
    assert chat.shown == [translate("en", "button-stale")]
    assert memory.languages == {}


async def test_a_stranger_gets_one_line_and_reaches_nobody() -> None:
    memory, model, chat = FakeMemory(), FakeModel(), RecordingChat()
    app = an_assistant(memory, model, allowed_user_ids="1")
    for text in ("hello", "/start", "/stats", "\ud800"):
        await turn_away(app, chat, text, "ru-RU")
    assert chat.shown == [translate("ru", "stranger")] * 4
    assert (memory.messages, memory.loads, model.requests, memory.the_owner) == ([], [], [], None)


@pytest.mark.parametrize("prefix", ["", "/start "])
async def test_the_code_makes_its_sender_the_owner(prefix: str) -> None:
    memory, chat = FakeMemory(), RecordingChat()
    app = an_assistant(memory, FakeModel())
    codes: list[str] = []
    app.access.offer_code(codes.append)
    await turn_away(app, chat, "hello", None)
    assert chat.shown == [translate("en", "stranger-code")]
    await turn_away(app, chat, prefix + codes[0], None)
    assert chat.shown[-1] == translate("en", "owner-welcome")
    assert memory.the_owner == 7
    assert app.access.allows(7)
