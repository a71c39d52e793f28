"""What the server knows: people, chats, updates that wait, and everything that the bot did."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from tests.telegram_server import judge
from tests.telegram_server.chats import BOT, Chats
from tests.telegram_server.limits import SendingLimits
from tests.telegram_server.rules import (
    ACTIONS,
    Parameters,
    RefusedError,
    bad,
    checked_commands,
    checked_content,
    checked_markup,
    parsed,
    whole,
)
from tests.telegram_server.script import Fault, Script
from tests.telegram_server.updates import Updates

Json = dict[str, Any]
_NOT_MODIFIED = (
    "message is not modified: specified new message content and reply markup are exactly the same "
    "as a current content and reply markup of the message"
)


class State:
    """All of it behind one condition: requests come from several threads.

    `calls` holds each call that arrived, refused and dropped ones too; `rejected` those that broke a rule, as
    method, status and description. `drafts` are chat, draft id, text, and the time by `clock`, in seconds.
    """

    def __init__(self, *, limits: bool = True, clock: Callable[[], float] = time.monotonic) -> None:
        self.changed = threading.Condition()
        self.updates = Updates(self.changed)
        self.messages: list[Json] = []
        self.drafts: list[tuple[int, int, str, float]] = []
        self.deleted: list[tuple[int, int]] = []
        self.actions: list[tuple[int, str]] = []
        self.calls: list[tuple[str, Parameters]] = []
        self.rejected: list[tuple[str, int, str]] = []
        self.menus: dict[str, list[dict[str, str]]] = {}
        self.answered: list[str] = []
        self._clock = clock
        self._limits = SendingLimits() if limits else None
        self._chats = Chats()
        self._script = Script()
        self._heard: dict[tuple[int, int], Json] = {}
        self._queries: set[str] = set()
        self._last = {"message": 0, "query": 0}
        self._methods: dict[str, Callable[[Parameters], Any]] = {
            "getMe": lambda _: {**BOT, "can_join_groups": True, "can_read_all_group_messages": False},
            "getUpdates": self.updates.get,
            "setWebhook": self.updates.set_webhook,
            "deleteWebhook": self.updates.delete_webhook,
            "getWebhookInfo": self.updates.webhook_info,
            "sendMessage": self._send_message,
            "sendMessageDraft": self._send_message_draft,
            "editMessageText": self._edit_message_text,
            "deleteMessage": self._delete_message,
            "sendChatAction": self._send_chat_action,
            "setMyCommands": self._set_my_commands,
            "answerCallbackQuery": self._answer_callback_query,
        }

    def call(self, method: str, parameters: Parameters, gone: Callable[[], bool] = lambda: False) -> Any:
        """The result of a method. `gone` tells whether the caller still waits. Raises RefusedError."""
        with self.changed:
            self.arrive(method, parameters)
            if (refusal := self._script.refusal(method)) is not None:
                raise refusal
            try:
                if method not in self._methods:
                    raise RefusedError(404, "Not Found: method not found")
                return self._methods[method](parameters)
            except RefusedError as refused:
                if refused.foreseeable and not (refused.status == 409 and gone()):
                    self.rejected.append((method, refused.status, refused.description))
                raise
            finally:
                self.changed.notify_all()

    def arrive(self, method: str, parameters: Parameters) -> None:
        """Writes a call down."""
        with self.changed:
            self.calls.append((method, parameters))
            self.changed.notify_all()

    # What a test has the server do.

    def refuse_next(self, method: str, refusal: RefusedError) -> None:
        """The next call of this method is refused so; further ones queue up behind."""
        with self.changed:
            self._script.refuse(method, refusal)

    def lose_answer(self, method: str, times: int = 1) -> None:
        """The next calls of this method have their effect, then the connection ends without an answer."""
        self._fail(method, Fault(dropped_after=True), times)

    def drop(self, method: str, times: int = 1) -> None:
        """The connections of the next calls of this method end before they have any effect."""
        self._fail(method, Fault(dropped_before=True), times)

    def slow(self, method: str, seconds: float, times: int = 1) -> None:
        """The next calls of this method have their effect at once, and their answer after `seconds`."""
        self._fail(method, Fault(late_seconds=seconds), times)

    def _fail(self, method: str, fault: Fault, times: int) -> None:
        with self.changed:
            self._script.fail(method, fault, times)

    def fault(self, method: str) -> Fault:
        """Takes what the next call of this method suffers."""
        with self.changed:
            return self._script.fault(method)

    def add_group(self, chat_id: int, title: str, *, privacy: bool = True, topics: bool = False) -> Json:
        """A group with the bot in it; a supergroup where its id begins with -100 or it has topics."""
        with self.changed:
            return self._chats.add_group(chat_id, title, privacy, topics)

    def upgrade_group(self, old: int, new: int, *, tell: bool = False) -> Json:
        """The group gets another id. With `tell`, the bot gets Telegram's two service messages about it."""
        with self.changed:
            before, after = self._chats.writable({"chat_id": str(old)}), self._chats.upgrade(old, new)
            if tell:
                for chat, told in (
                    (before, {"migrate_to_chat_id": new}),
                    (after, {"migrate_from_chat_id": old}),
                ):
                    envelope = {
                        "message_id": self._next("message"),
                        "date": _now(),
                        "chat": chat,
                        "from": BOT,
                    }
                    self.updates.push({"message": {**envelope, **told}})
            return after

    def block(self, user_id: int) -> None:
        """The person does not want to hear the bot any more."""
        with self.changed:
            self._chats.blocked.add(user_id)

    def unblock(self, user_id: int) -> None:
        with self.changed:
            self._chats.blocked.discard(user_id)

    def remove_chat(self, chat_id: int) -> None:
        """The chat is gone."""
        with self.changed:
            self._chats.removed.add(chat_id)

    def push_text(
        self, user_id: int, text: str, *, language: str = "en", chat: Json | None = None, **more: Any
    ) -> Json:
        """A person writes to the bot, by default in their private chat. `more` goes into the message."""
        return self.push_message(user_id, {"text": text, **more}, language=language, chat=chat)

    def push_message(
        self, user_id: int, content: Json, *, language: str = "en", chat: Json | None = None
    ) -> Json:
        """Any message of a person. Where privacy mode keeps it from the bot, what returns has no update_id.

        A `message_thread_id` in it makes that topic known.
        """
        with self.changed:
            person = self._chats.add_person(user_id, language)
            where = chat or self._chats.private(user_id)
            envelope = {"message_id": self._next("message"), "date": _now(), "chat": where, "from": person}
            message = {**envelope, **self._chats.enter(where, content)}
            if "text" in message and "entities" not in message and (found := judge.found(message["text"])):
                message["entities"] = found
            self._heard[where["id"], message["message_id"]] = message
            update = {"message": message}
            return self.updates.push(update) if self._chats.hears(message) else update

    def push_edit(self, update: Json, text: str) -> Json:
        """The person changes what they wrote."""
        edited = {**update["message"], "text": text, "edit_date": _now()}
        edited.pop("entities", None)
        if found := judge.found(text):
            edited["entities"] = found
        return self.push_raw({"edited_message": edited})

    def push_press(self, message: Json, data: str, user_id: int | None = None) -> Json:
        """A person presses a button under one of the bot's messages."""
        with self.changed:
            query = str(self._next("query"))
            self._queries.add(query)
            person = self._chats.people[user_id or message["chat"]["id"]]
            press = {"id": query, "from": person, "chat_instance": "1", "message": message, "data": data}
            return self.updates.push({"callback_query": press})

    def push_raw(self, fields: Json) -> Json:
        """Any JSON as an update; the server gives it its update_id."""
        with self.changed:
            return self.updates.push(fields)

    def redeliver(self, update_id: int) -> None:
        """An update comes once more although it was confirmed, as Telegram does now and then."""
        with self.changed:
            self.updates.redeliver(update_id)

    # What the bot calls.

    def _next(self, what: str) -> int:
        self._last[what] += 1
        return self._last[what]

    def _admit(self, method: str, chat_id: int) -> None:
        if self._limits is not None:
            self._limits.admit(method, chat_id, self._clock())

    def _send_message(self, parameters: Parameters) -> Json:
        chat = self._chats.writable(parameters)
        text, entities = checked_content(parameters)
        markup, replied = checked_markup(parameters), self._replied(chat["id"], parameters)
        self._admit("sendMessage", chat["id"])
        message = {
            "message_id": self._next("message"),
            "date": _now(),
            "chat": chat,
            "from": BOT,
            "text": text,
        }
        if thread := whole(parameters, "message_thread_id"):
            message |= {"message_thread_id": thread, "is_topic_message": True}
        if replied:
            message["reply_to_message"] = replied
        if entities:
            message["entities"] = entities
        if markup:
            message["reply_markup"] = markup
        self.messages.append(message)
        return message

    def _replied(self, chat_id: int, parameters: Parameters) -> Json | None:
        reply = parsed(parameters, "reply_parameters")
        if not reply:
            return None
        number = reply.get("message_id")
        found = self._sent(chat_id, number) or self._heard.get((chat_id, number))
        if found is None and not reply.get("allow_sending_without_reply"):
            raise bad("message to be replied not found")
        return {name: value for name, value in (found or {}).items() if name != "reply_to_message"}

    def _sent(self, chat_id: int, message_id: int) -> Json | None:
        of_bot = (m for m in self.messages if m["chat"]["id"] == chat_id and m["message_id"] == message_id)
        return next(of_bot, None)

    def _send_message_draft(self, parameters: Parameters) -> bool:
        chat = self._chats.writable(parameters)
        if chat["type"] != "private":
            raise bad("drafts can be sent to private chats only")
        draft = whole(parameters, "draft_id")
        if draft == 0:
            raise bad("draft_id must be non-zero")
        text, _ = checked_content(parameters, may_be_empty=True)
        self.drafts.append((chat["id"], draft, text, self._clock()))
        return True

    def _edit_message_text(self, parameters: Parameters) -> Json:
        chat = self._chats.writable(parameters)
        text, entities = checked_content(parameters)
        markup, number = checked_markup(parameters), whole(parameters, "message_id")
        message = self._sent(chat["id"], number)
        if message is None:
            heard = (chat["id"], number) in self._heard
            raise bad("message can't be edited" if heard else "message to edit not found")
        before = (message["text"], message.get("entities", []), message.get("reply_markup"))
        if before == (text, entities, markup):
            raise bad(_NOT_MODIFIED)
        self._admit("editMessageText", chat["id"])
        message.pop("reply_markup", None)
        message.update(text=text, entities=entities, edit_date=_now())
        if markup:
            message["reply_markup"] = markup
        return message

    def _delete_message(self, parameters: Parameters) -> bool:
        chat, number = self._chats.writable(parameters), whole(parameters, "message_id")
        if (message := self._sent(chat["id"], number)) is not None:
            self.messages.remove(message)
        elif (chat["id"], number) not in self._heard:
            raise bad("message to delete not found")
        elif chat["type"] != "private":
            raise bad("message can't be deleted")
        self._heard.pop((chat["id"], number), None)
        self.deleted.append((chat["id"], number))
        return True

    def _send_chat_action(self, parameters: Parameters) -> bool:
        action = parameters.get("action", "")
        if action not in ACTIONS:
            raise bad("wrong parameter action in request")
        self.actions.append((self._chats.writable(parameters)["id"], action))
        return True

    def _set_my_commands(self, parameters: Parameters) -> bool:
        self.menus[parameters.get("language_code", "")] = checked_commands(parameters)
        return True

    def _answer_callback_query(self, parameters: Parameters) -> bool:
        query = parameters.get("callback_query_id", "")
        if query not in self._queries:
            raise bad("query is too old and response timeout expired or query ID is invalid")
        self._queries.remove(query)
        self.answered.append(query)
        return True


def _now() -> int:
    return int(time.time())
