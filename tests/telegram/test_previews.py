"""What comes of a preview that fails: the answer arrives, and other answers' previews are as they were."""

from __future__ import annotations

import pytest

from keepsake.manager import MemoryManager
from keepsake.telegram import preview
from tests.engine.test_event_loop import calls_on_this_thread
from tests.telegram.test_telegram_mail import Growing, texts
from tests.telegram.tools import ANN, BOB, assistant, listening, off_loop
from tests.telegram_server import TelegramServer
from tests.telegram_server.rules import RefusedError, bad

WHOLE = "One two three four"


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preview, "DRAFT_SECONDS", 0.2)
    monkeypatch.setattr(preview, "EDIT_SECONDS", 0.2)


async def grow(server: TelegramServer, memory: MemoryManager, *people: int) -> None:
    """Each of the people in turn asks, and is answered in pieces."""
    async with listening(await assistant(server, memory, Growing(0.5))):
        for person in people:
            server.push_text(person, "tell me")
            await off_loop(server.wait_for_text, person, WHOLE)


def called(server: TelegramServer, method: str) -> int:
    return sum(name == method for name, _ in server.state.calls)


def drafts(server: TelegramServer, person: int) -> int:
    return sum(draft[0] == person for draft in server.state.drafts)


@pytest.mark.parametrize("how", ["drop", "server error"])
async def test_after_a_network_error_the_next_draft_is_tried(
    server: TelegramServer, memory: MemoryManager, how: str
) -> None:
    if how == "drop":
        server.state.drop("sendMessageDraft")
    else:
        server.state.refuse_next("sendMessageDraft", RefusedError(502, "Bad Gateway"))
    await grow(server, memory, ANN)
    assert drafts(server, ANN) >= 2
    assert called(server, "editMessageText") == 0


async def test_a_draft_whose_formats_are_refused_is_shown_plain(
    server: TelegramServer, memory: MemoryManager
) -> None:
    server.state.refuse_next("sendMessageDraft", bad("can't parse entities: wrong bounds"))
    await grow(server, memory, ANN)
    first, second = [call for name, call in server.state.calls if name == "sendMessageDraft"][:2]
    assert first["text"] == second["text"]
    assert "entities" in first and "entities" not in second
    assert called(server, "editMessageText") == 0


async def test_a_draft_that_is_refused_otherwise_changes_this_answer_only(
    server: TelegramServer, memory: MemoryManager
) -> None:
    server.state.refuse_next("sendMessageDraft", bad("TEXTDRAFT_PEER_INVALID"))
    await grow(server, memory, ANN, BOB)
    assert drafts(server, ANN) == 0
    assert called(server, "editMessageText") >= 1
    assert drafts(server, BOB) >= 2


async def test_who_does_not_want_to_hear_it_is_shown_no_more_of_this_answer(
    server: TelegramServer, memory: MemoryManager
) -> None:
    server.state.refuse_next("sendMessageDraft", RefusedError(403, "Forbidden: bot was blocked by the user"))
    await grow(server, memory, ANN)
    assert (drafts(server, ANN), called(server, "editMessageText")) == (0, 0)
    await grow(server, memory, BOB)
    assert drafts(server, BOB) >= 2


async def test_a_server_that_does_not_know_drafts_is_asked_once(
    server: TelegramServer, memory: MemoryManager
) -> None:
    server.state.refuse_next("sendMessageDraft", RefusedError(404, "Not Found"))
    await grow(server, memory, ANN, BOB)
    assert called(server, "sendMessageDraft") == 1
    assert texts(server, ANN) == texts(server, BOB) == [WHOLE]
    assert called(server, "editMessageText") >= 2


@pytest.mark.parametrize("drafts_known", [True, False])
async def test_nothing_is_formatted_on_the_thread_that_serves_everybody(
    server: TelegramServer, memory: MemoryManager, drafts_known: bool
) -> None:
    if not drafts_known:
        server.state.refuse_next("sendMessageDraft", RefusedError(404, "Not Found"))
    with calls_on_this_thread(("pyromark", "telegramify_markdown")) as found:
        await grow(server, memory, ANN)
    assert called(server, "sendMessageDraft" if drafts_known else "editMessageText") >= 2
    assert found == set()
