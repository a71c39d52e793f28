"""Who there is to talk to: people, groups with their topics, and who does not want to hear the bot any more."""

from __future__ import annotations

from typing import Any

from tests.telegram_server.rules import Entities, Parameters, RefusedError, bad, whole

Json = dict[str, Any]
BOT: Json = {"id": 4242, "is_bot": True, "first_name": "Keepsake", "username": "keepsake_test_bot"}
_AT_BOT = f"@{BOT['username']}"


class Chats:
    """Where the bot may write. Everything is called with the state's lock held."""

    def __init__(self) -> None:
        self.people: dict[int, Json] = {}
        self.blocked: set[int] = set()
        self.removed: set[int] = set()
        self._groups: dict[int, Json] = {}
        self._private: set[int] = set()  # groups in which the bot is in privacy mode
        self._threads: dict[int, set[int]] = {}
        self._moved: dict[int, int] = {}

    def add_person(self, user_id: int, language: str) -> Json:
        name = f"User {user_id}"
        person = {"id": user_id, "is_bot": False, "first_name": name, "language_code": language}
        self.people[user_id] = person
        return person

    def add_group(self, chat_id: int, title: str, privacy: bool, topics: bool) -> Json:
        assert chat_id < 0, "groups have negative ids"
        large = topics or str(chat_id).startswith("-100")
        chat: Json = {"id": chat_id, "type": "supergroup" if large else "group", "title": title}
        if topics:
            chat["is_forum"] = True
        if privacy:
            self._private.add(chat_id)
        self._groups[chat_id] = chat
        return chat

    def upgrade(self, old: int, new: int) -> Json:
        """The supergroup that a group has become."""
        self._moved[old] = new
        chat = self.add_group(new, self._groups[old]["title"], old in self._private, topics=False)
        chat["type"] = "supergroup"
        return chat

    def private(self, user_id: int) -> Json:
        return {"id": user_id, "type": "private", "first_name": f"User {user_id}"}

    def enter(self, chat: Json, content: Json) -> Json:
        """A person's message in a chat, with what the server adds. Its topic is known from now on."""
        if chat["type"] != "private":
            self._groups.setdefault(chat["id"], chat)
        if (thread := content.get("message_thread_id")) is None:
            return content
        if chat.get("is_forum") or chat["type"] == "private":
            self._threads.setdefault(chat["id"], set()).add(thread)
            return {"is_topic_message": True, **content}
        return content

    def hears(self, message: Json) -> bool:
        """Is a message shown to the bot?"""
        if message["chat"]["id"] not in self._private:
            return True
        if message.get("reply_to_message", {}).get("from", {}).get("id") == BOT["id"]:
            return True
        return _speaks_to_bot(message.get("text", ""), message.get("entities", []))

    def writable(self, parameters: Parameters) -> Json:
        """The chat that a call names, with `message_thread_id` where it names a topic."""
        number = whole(parameters, "chat_id")
        if number in self._moved:
            raise RefusedError(
                400,
                "Bad Request: group chat was upgraded to a supergroup chat",
                migrate_to=self._moved[number],
                foreseeable=False,
            )
        if number in self.removed:
            raise RefusedError(400, "Bad Request: chat not found", foreseeable=False)
        if number in self.blocked:
            raise RefusedError(403, "Forbidden: bot was blocked by the user", foreseeable=False)
        if number not in self._groups and number not in self.people:
            raise bad("chat not found")
        thread = whole(parameters, "message_thread_id")
        if thread and thread not in self._threads.get(number, ()):
            raise bad("message thread not found")
        return self._groups.get(number) or self.private(number)


def _speaks_to_bot(text: str, entities: Entities) -> bool:
    units = text.encode("utf-16-le")
    for entity in entities:
        start, length = entity["offset"], entity["length"]
        word = units[2 * start : 2 * (start + length)].decode("utf-16-le").lower()
        if entity["type"] == "mention" and word == _AT_BOT:
            return True
        if entity["type"] == "text_mention" and entity["user"]["id"] == BOT["id"]:
            return True
        if entity["type"] == "bot_command" and (word.endswith(_AT_BOT) or "@" not in word):
            return True
    return False
