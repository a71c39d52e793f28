"""What the server knows: people, chats, updates that wait, and everything that the bot did."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from tests.telegram_server.rules import (
    ACTIONS,
    RefusedError,
    bad,
    checked_commands,
    checked_entities,
    checked_markup,
    checked_text,
    parsed,
)

Json = dict[str, Any]
BOT = {"id": 4242, "is_bot": True, "first_name": "Keepsake", "username": "keepsake_test_bot"}


class State:
    """All of it behind one condition: requests come from several threads."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.messages: list[Json] = []
        self.actions: list[tuple[int, str]] = []
        self.calls: list[tuple[str, dict[str, str]]] = []
        self.menus: dict[str, list[dict[str, str]]] = {}
        self.answered: list[str] = []
        self._people: dict[int, Json] = {}
        self._updates: deque[Json] = deque()
        self._queries: set[str] = set()
        self._refusals: dict[str, deque[RefusedError]] = {}
        self._last = {"update": 1000, "message": 0, "query": 0, "poll": 0}
        self._methods: dict[str, Callable[[dict[str, str]], Any]] = {
            "getMe": lambda _: BOT,
            "getUpdates": self._get_updates,
            "sendMessage": self._send_message,
            "editMessageText": self._edit_message_text,
            "sendChatAction": self._send_chat_action,
            "setMyCommands": self._set_my_commands,
            "deleteWebhook": lambda _: True,
            "answerCallbackQuery": self._answer_callback_query,
        }

    def call(self, method: str, parameters: dict[str, str]) -> Any:
        """The result of a method. Raises Refused."""
        with self.changed:
            self.calls.append((method, parameters))
            self.changed.notify_all()
            if self._refusals.get(method):
                raise self._refusals[method].popleft()
            if method not in self._methods:
                raise RefusedError(404, "Not Found: method not found")
            result = self._methods[method](parameters)
            self.changed.notify_all()
            return result

    def refuse_next(self, method: str, refusal: RefusedError) -> None:
        """The next call of this method is refused so; further ones queue up behind."""
        with self.changed:
            self._refusals.setdefault(method, deque()).append(refusal)

    def push_text(self, user_id: int, text: str, *, language: str = "en", **more: Any) -> Json:
        """A person writes to the bot in a private chat. `more` goes into the message."""
        return self.push_message(user_id, {"text": text, **more}, language=language)

    def push_message(
        self, user_id: int, content: Json, *, language: str = "en", chat: Json | None = None
    ) -> Json:
        """Any message of a person, by default in their private chat."""
        with self.changed:
            name = f"User {user_id}"
            person = {"id": user_id, "is_bot": False, "first_name": name, "language_code": language}
            self._people[user_id] = person
            where = chat or {"id": user_id, "type": "private", "first_name": name}
            envelope = {"message_id": self._next("message"), "date": _now(), "chat": where, "from": person}
            return self._push({"message": {**envelope, **content}})

    def push_edit(self, update: Json, text: str) -> Json:
        """The person changes what they wrote."""
        with self.changed:
            return self._push({"edited_message": {**update["message"], "text": text, "edit_date": _now()}})

    def push_press(self, message: Json, data: str, user_id: int | None = None) -> Json:
        """A person presses a button under one of the bot's messages."""
        with self.changed:
            query = str(self._next("query"))
            self._queries.add(query)
            person = self._people[user_id or message["chat"]["id"]]
            press = {"id": query, "from": person, "chat_instance": "1", "message": message, "data": data}
            return self._push({"callback_query": press})

    def _push(self, update: Json) -> Json:
        update = {"update_id": self._next("update"), **update}
        self._updates.append(update)
        self.changed.notify_all()
        return update

    def _next(self, what: str) -> int:
        self._last[what] += 1
        return self._last[what]

    def _get_updates(self, parameters: dict[str, str]) -> list[Json]:
        offset = int(parameters.get("offset", 0))
        while self._updates and offset > 0 and self._updates[0]["update_id"] < offset:
            self._updates.popleft()
        while offset < 0 and len(self._updates) > -offset:
            self._updates.popleft()
        mine = self._next("poll")
        self.changed.notify_all()
        wanted = parsed(parameters, "allowed_updates") or []
        self.changed.wait_for(
            lambda: self._updates or self._last["poll"] != mine, timeout=float(parameters.get("timeout", 0))
        )
        if self._last["poll"] != mine:
            raise RefusedError(409, "Conflict: terminated by other getUpdates request")
        found = [u for u in self._updates if not wanted or any(kind in u for kind in wanted)]
        return found[: int(parameters.get("limit", 100))]

    def _chat(self, parameters: dict[str, str]) -> Json:
        number = parameters.get("chat_id", "")
        if not number.lstrip("-").isdigit() or int(number) not in self._people:
            raise bad("chat not found")
        return {"id": int(number), "type": "private", "first_name": self._people[int(number)]["first_name"]}

    def _send_message(self, parameters: dict[str, str]) -> Json:
        chat, text = self._chat(parameters), checked_text(parameters)
        message = {
            "message_id": self._next("message"),
            "date": _now(),
            "chat": chat,
            "from": BOT,
            "text": text,
        }
        if entities := checked_entities(text, parameters):
            message["entities"] = entities
        if markup := checked_markup(parameters):
            message["reply_markup"] = markup
        self.messages.append(message)
        return message

    def _edit_message_text(self, parameters: dict[str, str]) -> Json:
        chat, text = self._chat(parameters), checked_text(parameters)
        entities = checked_entities(text, parameters)
        sought = (chat["id"], parameters.get("message_id"))
        for message in self.messages:
            if (message["chat"]["id"], str(message["message_id"])) == sought:
                if (message["text"], message.get("entities", [])) == (text, entities):
                    raise bad("message is not modified")
                message.update(text=text, entities=entities, edit_date=_now())
                return message
        raise bad("message to edit not found")

    def _send_chat_action(self, parameters: dict[str, str]) -> bool:
        action = parameters.get("action", "")
        if action not in ACTIONS:
            raise bad("wrong parameter action in request")
        self.actions.append((self._chat(parameters)["id"], action))
        return True

    def _set_my_commands(self, parameters: dict[str, str]) -> bool:
        self.menus[parameters.get("language_code", "")] = checked_commands(parameters)
        return True

    def _answer_callback_query(self, parameters: dict[str, str]) -> bool:
        query = parameters.get("callback_query_id", "")
        if query not in self._queries:
            raise bad("query is too old and response timeout expired or query ID is invalid")
        self._queries.remove(query)
        self.answered.append(query)
        return True


def _now() -> int:
    return int(time.time())
