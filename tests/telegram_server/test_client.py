"""What the server answers is what python-telegram-bot takes it for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from telegram import Bot, MessageEntity
from telegram.error import BadRequest, ChatMigrated, Conflict, Forbidden, NetworkError, RetryAfter

from tests.telegram_server import TelegramServer

ANN = 7


@pytest.fixture
def server() -> Iterator[TelegramServer]:
    with TelegramServer(expect_rejected=True) as running:
        running.push_text(ANN, "see /help")
        yield running


@pytest.fixture
async def bot(server: TelegramServer, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bot]:
    monkeypatch.setenv("PTB_TIMEDELTA", "1")
    async with Bot(server.token, base_url=f"{server.url}/bot") as bot:
        yield bot


async def test_it_reads_and_writes(server: TelegramServer, bot: Bot) -> None:
    (update,) = await bot.get_updates()
    assert update.message is not None
    assert [entity.type for entity in update.message.entities] == ["bot_command"]
    sent = await bot.send_message(ANN, "<b>a</b> b", parse_mode="HTML")
    assert (sent.text, sent.entities) == ("a b", (MessageEntity("bold", 0, 1),))
    assert await bot.send_message_draft(ANN, 1, "gro", entities=[MessageEntity("bold", 0, 3)])
    assert await bot.delete_message(ANN, sent.message_id)
    assert server.messages(ANN) == []


async def test_it_knows_each_refusal(server: TelegramServer, bot: Bot) -> None:
    state = server.state
    state.add_group(-5, "Friends")
    await bot.send_message(ANN, "one")
    with pytest.raises(RetryAfter):
        await bot.send_message(ANN, "two")
    with pytest.raises(BadRequest, match="can't find end"):
        await bot.send_message(-5, "*a", parse_mode="MarkdownV2")
    state.upgrade_group(-5, -1005)
    with pytest.raises(ChatMigrated) as moved:
        await bot.send_message(-5, "hi")
    assert moved.value.new_chat_id == -1005
    state.block(ANN)
    with pytest.raises(Forbidden):
        await bot.send_message(ANN, "hi")
    state.drop("sendMessage")
    with pytest.raises(NetworkError):
        await bot.send_message(-1005, "hi")


async def test_it_sets_a_webhook(server: TelegramServer, bot: Bot) -> None:
    url = "http://127.0.0.1:9/hook"
    assert await bot.set_webhook(
        url, secret_token="s", allowed_updates=["message"], drop_pending_updates=True
    )
    info = await bot.get_webhook_info()
    assert (info.url, info.allowed_updates, info.pending_update_count) == (url, ("message",), 0)
    with pytest.raises(Conflict, match="webhook is active"):
        await bot.get_updates()
    assert await bot.delete_webhook()
    assert (await bot.get_webhook_info()).url == ""
