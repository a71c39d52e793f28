"""A row that cannot be read is told as such, and only whoever it belongs to notices."""

from __future__ import annotations

import logging

import pytest

from handlers import receive
from keepsake.assistant import Said
from keepsake.errors import RowDamaged
from keepsake.locales import translate
from tests.handlers.fakes import RecordingChat
from tests.handlers.talking import talking
from tests.model_server import ModelServer


async def test_a_time_that_cannot_be_is_one_persons_trouble(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    with ModelServer() as server:
        async with talking(server.url) as talk:
            for user in (7, 8):
                await talk.memory.save_message(user, "user", "my cat is called Pixel")
            database = (await talk.memory.engine()).storage.database
            await database.write(
                lambda connection: connection.execute(
                    "UPDATE messages SET created_at = ? WHERE user_id = 7", (10**18,)
                )
            )
            with pytest.raises(RowDamaged, match=r"messages row 1 .*verify"):
                await talk.memory.get_context(7, "who is Pixel?")
            chat = RecordingChat(7)
            chat.said = Said(key="telegram:1")  # what is not handled to its end would come again and again
            await receive(talk.app, chat, "who is Pixel?")
            assert chat.shown == [translate("en", "memory-unusable")]
            assert "Pixel" in await talk.memory.get_context(8, "who is Pixel?")
            assert (await talk.say("who is Pixel?", user=8))[0] != translate("en", "memory-unusable")
    assert "messages row 1" in caplog.text and "Pixel" not in caplog.text
