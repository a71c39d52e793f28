"""The bot against a real HTTP server that is as strict as Telegram."""

from __future__ import annotations

import asyncio
import logging

import pytest

from handlers import COMMANDS
from keepsake.errors import SettingError
from keepsake.locales import translate
from keepsake.manager import MemoryManager
from keepsake.settings import load_settings
from tests.handlers.fakes import FakeModel
from tests.telegram.tools import ANN, BOB, Gated, assistant, kept, listening, off_loop, talk
from tests.telegram_server import TelegramServer
from tests.telegram_server.rules import RefusedError


async def test_a_message_is_answered_and_kept(server: TelegramServer, memory: MemoryManager) -> None:
    async with listening(await assistant(server, memory, FakeModel())):
        server.push_text(ANN, "hello")
        (reply,) = await off_loop(server.wait_for_messages, ANN, 1)
    assert reply["text"] == "echo: hello"
    assert [message.content for message in await kept(memory)] == ["hello", "echo: hello"]


async def test_typing_is_shown_until_the_answer_is_there(
    server: TelegramServer, memory: MemoryManager
) -> None:
    model = Gated("hello")
    async with listening(await assistant(server, memory, model)):
        server.push_text(ANN, "hello")
        await off_loop(server.wait_for_call, "sendChatAction")
        assert server.state.actions == [(ANN, "typing")]
        assert server.messages(ANN) == []
        model.gate.set()
        await off_loop(server.wait_for_messages, ANN, 1)


async def test_the_menu_is_set_in_every_language(server: TelegramServer, memory: MemoryManager) -> None:
    async with listening(await assistant(server, memory, None)):
        await off_loop(server.wait_for_call, "getUpdates")
    assert set(server.state.menus) == {"", "en", "ru"}
    assert [entry["command"] for entry in server.state.menus["ru"]] == list(COMMANDS)
    assert server.state.menus["ru"][0]["description"] == translate("ru", "command-start")


@pytest.mark.limits
async def test_what_was_taken_is_confirmed_and_not_answered_again(
    server: TelegramServer, memory: MemoryManager
) -> None:
    for text in ("one", "two"):
        async with listening(await assistant(server, memory, FakeModel())):
            server.push_text(ANN, text)
            await off_loop(server.wait_for_messages, ANN, 1 if text == "one" else 2)
    assert [message["text"] for message in server.messages(ANN)] == ["echo: one", "echo: two"]


@pytest.mark.limits
async def test_messages_of_one_chat_are_answered_in_their_order(
    server: TelegramServer, memory: MemoryManager
) -> None:
    async with listening(await assistant(server, memory, FakeModel())):
        for number in range(10):
            server.push_text(ANN, str(number))
        replies = await off_loop(server.wait_for_messages, ANN, 10)
    assert [reply["text"] for reply in replies] == [f"echo: {number}" for number in range(10)]


async def test_a_slow_answer_holds_its_own_chat_only(server: TelegramServer, memory: MemoryManager) -> None:
    model = Gated("slow")
    async with listening(await assistant(server, memory, model)):
        server.push_text(ANN, "slow")
        server.push_text(ANN, "after it")
        server.push_text(BOB, "quick")
        await off_loop(server.wait_for_messages, BOB, 1)
        assert server.messages(ANN) == []
        model.gate.set()
        replies = await off_loop(server.wait_for_messages, ANN, 2)
    assert [reply["text"] for reply in replies] == ["echo: slow", "echo: after it"]


async def test_an_answer_in_work_is_finished_when_the_bot_is_stopped(
    server: TelegramServer, memory: MemoryManager
) -> None:
    model = Gated("slow")
    async with listening(await assistant(server, memory, model)) as stop:
        server.push_text(ANN, "slow")
        await model.reached.wait()
        stop.set()
        model.gate.set()
    assert [reply["text"] for reply in server.messages(ANN)] == ["echo: slow"]
    assert (await kept(memory))[-1].content == "echo: slow"


@pytest.mark.limits
async def test_a_long_answer_arrives_whole_with_its_formatting(
    server: TelegramServer, memory: MemoryManager
) -> None:
    lines = [f"**{number}** 😀 слово `x{number}`" for number in range(200)]
    server.push_text(ANN, "tell me all")
    async with listening(await assistant(server, memory, FakeModel(["\n\n".join(lines)], ["end"]))):
        server.push_text(ANN, "and then?")
        await off_loop(server.wait_for_text, ANN, "end")
    replies = server.messages(ANN)[:-1]
    texts = [reply["text"] for reply in replies]
    assert " ".join(texts).split() == " ".join(lines).replace("*", "").replace("`", "").split()
    kinds = [entity["type"] for reply in replies for entity in reply["entities"]]
    assert (kinds.count("bold"), kinds.count("code")) == (200, 200)


async def test_where_entities_are_refused_the_text_arrives_plain(
    server: TelegramServer, memory: MemoryManager
) -> None:
    server.state.refuse_next("sendMessage", RefusedError(400, "Bad Request: can't parse entities"))
    async with listening(await assistant(server, memory, FakeModel(["**bold**"]))):
        server.push_text(ANN, "hi")
        (reply,) = await off_loop(server.wait_for_messages, ANN, 1)
    assert reply["text"] == "bold"
    assert "entities" not in reply


@pytest.mark.limits
async def test_a_flood_limit_is_waited_for(server: TelegramServer, memory: MemoryManager) -> None:
    server.state.refuse_next("sendMessage", RefusedError(429, "Too Many Requests: retry after 1", 1))
    async with listening(await assistant(server, memory, FakeModel())):
        server.push_text(ANN, "hi")
        (reply,) = await off_loop(server.wait_for_messages, ANN, 1)
    assert reply["text"] == "echo: hi"


async def test_a_send_that_may_have_arrived_is_not_sent_again(
    server: TelegramServer, memory: MemoryManager
) -> None:
    server.state.refuse_next("sendMessage", RefusedError(502, "Bad Gateway"))
    async with listening(await assistant(server, memory, FakeModel())):
        server.push_text(ANN, "first")
        server.push_text(ANN, "second")
        (reply,) = await off_loop(server.wait_for_messages, ANN, 1)
    assert reply["text"] == "echo: second"
    assert len(server.wait_for_call("sendMessage")) == 2


async def test_buttons_are_pressed(server: TelegramServer, memory: MemoryManager) -> None:
    async with listening(await assistant(server, memory, None)):
        server.push_text(ANN, "/language")
        (question,) = await off_loop(server.wait_for_messages, ANN, 1)
        labels = [row[0]["text"] for row in question["reply_markup"]["inline_keyboard"]]
        assert labels == ["English", "Русский"]
        server.state.push_press(question, "language:ru")
        replies = await off_loop(server.wait_for_messages, ANN, 2)
    assert replies[1]["text"] == translate("ru", "language-set")
    assert await memory.language(ANN) == "ru"
    assert len(server.state.answered) == 1


async def test_texts_are_in_the_language_of_the_person(server: TelegramServer, memory: MemoryManager) -> None:
    async with listening(await assistant(server, memory, None)):
        server.push_text(ANN, "/start", language="ru")
        (reply,) = await off_loop(server.wait_for_messages, ANN, 1)
    assert reply["text"] == translate("ru", "start")


async def test_a_picture_gets_a_line_and_an_edit_gets_none(
    server: TelegramServer, memory: MemoryManager
) -> None:
    async with listening(await assistant(server, memory, FakeModel())):
        first = server.push_text(ANN, "hello")
        server.state.push_edit(first, "/stats")
        photo = {"file_id": "1", "file_unique_id": "1", "width": 1, "height": 1}
        server.state.push_message(ANN, {"photo": [photo]})
        replies = await off_loop(server.wait_for_messages, ANN, 2)
    assert [reply["text"] for reply in replies] == ["echo: hello", translate("en", "text-only")]


async def test_groups_get_silence(server: TelegramServer, memory: MemoryManager) -> None:
    group = {"id": -5, "type": "group", "title": "Friends"}
    async with listening(await assistant(server, memory, FakeModel())):
        server.state.push_message(ANN, {"text": "hello all"}, chat=group)
        server.push_text(ANN, "hello you")
        await off_loop(server.wait_for_messages, ANN, 1)
    assert len(server.wait_for_call("sendMessage")) == 1
    assert (await kept(memory))[0].content == "hello you"


async def test_a_forwarded_text_keeps_who_wrote_it_and_is_no_command(
    server: TelegramServer, memory: MemoryManager
) -> None:
    author = {"id": 99, "is_bot": False, "first_name": "Mallory"}
    origin = {"type": "user", "date": 1, "sender_user": author}
    async with listening(await assistant(server, memory, FakeModel())):
        server.push_text(ANN, "/stats", forward_origin=origin)
        await off_loop(server.wait_for_messages, ANN, 1)
    first = (await kept(memory))[0]
    assert (first.content, first.sender, first.sender_id) == ("/stats", "Mallory", "99")


async def test_a_stranger_gets_one_line_and_reaches_nobody(
    server: TelegramServer, memory: MemoryManager
) -> None:
    model = FakeModel()
    async with listening(await assistant(server, memory, model, allowed_user_ids=str(ANN))):
        server.push_text(BOB, "let me in")
        server.push_text(BOB, "/stats")
        replies = await off_loop(server.wait_for_messages, BOB, 2)
        server.push_text(ANN, "hi")
        await off_loop(server.wait_for_messages, ANN, 1)
        server.state.push_press(replies[0], "language:ru")
        server.push_text(BOB, "again")
        await off_loop(server.wait_for_messages, BOB, 3)
    assert {reply["text"] for reply in server.messages(BOB)} == {translate("en", "stranger")}
    assert {message.user_id for message in await kept(memory)} == {ANN}
    assert await memory.language(BOB) is None
    assert len(model.requests) == 1


async def test_the_first_who_sends_the_code_owns_the_bot(
    server: TelegramServer, capsys: pytest.CaptureFixture[str], memory: MemoryManager
) -> None:
    app = await assistant(server, memory, FakeModel(), allowed_user_ids="")
    async with listening(app):
        await off_loop(server.wait_for_call, "getUpdates")
        code = next(line for line in capsys.readouterr().err.splitlines() if "code" in line).split()[-1]
        server.push_text(BOB, "hello")
        await off_loop(server.wait_for_messages, BOB, 1)
        server.push_text(ANN, code.lower())
        await off_loop(server.wait_for_messages, ANN, 1)
        server.push_text(ANN, "hi")
        replies = await off_loop(server.wait_for_messages, ANN, 2)
        server.push_text(BOB, code)
        await off_loop(server.wait_for_messages, BOB, 2)
    assert [reply["text"] for reply in replies] == [translate("en", "owner-welcome"), "echo: hi"]
    assert await memory.owner() == ANN
    assert server.messages(BOB)[1]["text"] == translate("en", "stranger")


async def test_a_claimed_bot_prints_no_code(
    server: TelegramServer, capsys: pytest.CaptureFixture[str], memory: MemoryManager
) -> None:
    await memory.set_owner(ANN)
    async with listening(await assistant(server, memory, FakeModel(), allowed_user_ids="")):
        server.push_text(ANN, "hi")
        await off_loop(server.wait_for_messages, ANN, 1)
    assert "code" not in capsys.readouterr().err


async def test_a_rejected_token_is_one_clear_error(
    server: TelegramServer, caplog: pytest.LogCaptureFixture, memory: MemoryManager
) -> None:
    token = "4242:WRONG-token_of_nobody_at_all_0123456789ab"
    app = await assistant(server, memory, None, telegram_bot_token=token)
    with caplog.at_level(logging.INFO), pytest.raises(SettingError, match="TELEGRAM_BOT_TOKEN") as error:
        await talk(app, asyncio.Event())
    assert token not in str(error.value)
    assert error.value.__cause__ is None


async def test_a_token_that_is_revoked_meanwhile_ends_the_bot(
    server: TelegramServer, memory: MemoryManager
) -> None:
    running = asyncio.create_task(talk(await assistant(server, memory, None), asyncio.Event()))
    await off_loop(server.wait_for_call, "getUpdates")
    server.token = "4242:another"
    server.push_text(ANN, "this ends the poll that the old token began")
    with pytest.raises(SettingError, match="TELEGRAM_BOT_TOKEN"):
        await asyncio.wait_for(running, 20)


async def test_no_token_is_a_clear_error(server: TelegramServer, memory: MemoryManager) -> None:
    app = await assistant(server, memory, None, telegram_bot_token=None)
    with pytest.raises(SettingError, match="TELEGRAM_BOT_TOKEN"):
        await talk(app, asyncio.Event())


async def test_the_bot_waits_for_a_server_that_is_down(server: TelegramServer, memory: MemoryManager) -> None:
    server.state.refuse_next("getMe", RefusedError(502, "Bad Gateway"))
    server.state.refuse_next("deleteWebhook", RefusedError(502, "Bad Gateway"))
    server.state.refuse_next("getUpdates", RefusedError(502, "Bad Gateway"))
    server.state.refuse_next("setMyCommands", RefusedError(502, "Bad Gateway"))
    async with listening(await assistant(server, memory, FakeModel())):
        server.push_text(ANN, "hi")
        (reply,) = await off_loop(server.wait_for_messages, ANN, 1)
    assert reply["text"] == "echo: hi"


async def test_a_bot_that_never_connected_can_be_stopped(memory: MemoryManager) -> None:
    with TelegramServer() as gone:
        app = await assistant(gone, memory, None)
    stop = asyncio.Event()
    running = asyncio.create_task(talk(app, stop))
    await asyncio.sleep(0.2)
    assert not running.done()  # it tries again
    stop.set()
    await asyncio.wait_for(running, 5)
    assert gone.state.calls == []


async def test_the_block_of_many_lines_arrives_as_plain_text(server: TelegramServer) -> None:
    async with MemoryManager(load_settings(stm_size=400, context_tokens=100_000)) as memory:
        for number in range(400):
            await memory.save_message(ANN, "user", f"**note** _{number}_ with [brackets](x)")
        async with listening(await assistant(server, memory, None)):
            server.push_text(ANN, "/context note")
            server.push_text(ANN, "/cancel")
            await off_loop(server.wait_for_text, ANN, translate("en", "nothing-to-stop"))
    replies = server.messages(ANN)[:-1]
    assert len(replies) > 3
    whole = "\n".join(reply["text"] for reply in replies)
    assert "**note** _399_ with [brackets](x)" in whole
    assert whole.count("**note**") == 400
