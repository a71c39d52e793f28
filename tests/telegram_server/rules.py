"""What the Bot API server refuses in one call. Pure checks, with Telegram's own words for what is wrong."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.telegram_server import judge

LONGEST = 4096
MOST_ENTITIES = 100
ACTIONS = frozenset(("typing", "upload_photo", "record_video", "upload_document", "choose_sticker"))
# TDLib takes the first of two that overlap, and says nothing.
_NEVER_OVERLAP = frozenset(("text_link", "text_mention", "custom_emoji", "pre"))

Parameters = dict[str, str]
Entities = list[dict[str, Any]]


class RefusedError(Exception):
    """An answer that is not ok. `retry_after` is in seconds.

    `foreseeable` is false where a bot could not have known: a person who has just blocked it, a group that moved.
    """

    def __init__(
        self,
        status: int,
        description: str,
        retry_after: int | None = None,
        *,
        migrate_to: int | None = None,
        foreseeable: bool = True,
    ) -> None:
        super().__init__(description)
        self.status = status
        self.description = description
        self.foreseeable = foreseeable
        told = {"retry_after": retry_after, "migrate_to_chat_id": migrate_to}
        self.parameters = {name: value for name, value in told.items() if value is not None}


def bad(description: str) -> RefusedError:
    return RefusedError(400, f"Bad Request: {description}")


def utf16(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def parsed(parameters: Parameters, name: str, default: Any = None) -> Any:
    """A parameter that is sent as JSON."""
    try:
        return json.loads(parameters[name]) if name in parameters else default
    except ValueError:
        raise bad(f"can't parse {name}") from None


def whole(parameters: Parameters, name: str, default: int = 0) -> int:
    """A parameter that is a whole number."""
    try:
        return int(parameters.get(name, default))
    except ValueError:
        raise bad(f'field "{name}" must be of type Number') from None


def checked_content(parameters: Parameters, *, may_be_empty: bool = False) -> tuple[str, Entities]:
    """A message's text and entities as Telegram would show them."""
    text, entities = _marked(parameters)
    _check_size(text, entities, may_be_empty)
    try:
        return _trimmed(*judge.canonical(text, entities))
    except judge.JudgedWrong as wrong:
        raise bad(str(wrong)) from None


def checked_text(parameters: Parameters) -> str:
    """The text alone, with the white space around it."""
    text, _ = _marked({name: value for name, value in parameters.items() if name != "entities"})
    _check_size(text, [], may_be_empty=False)
    return text


def checked_entities(text: str, parameters: Parameters) -> Entities:
    """The entities alone, as Telegram would show them."""
    entities = _listed(text, parameters)
    _check_size(text, entities, may_be_empty=True)
    try:
        return judge.canonical(text, entities)[1]
    except judge.JudgedWrong as wrong:
        raise bad(str(wrong)) from None


def _marked(parameters: Parameters) -> tuple[str, Entities]:
    text = parameters.get("text", "")
    if mode := parameters.get("parse_mode"):
        try:
            return judge.parse(text, mode)
        except judge.JudgedWrong as wrong:
            raise bad(str(wrong)) from None
    return text, _listed(text, parameters)


def _check_size(text: str, entities: Entities, may_be_empty: bool) -> None:
    if not text.strip() and not may_be_empty:
        raise bad("message text is empty")
    if utf16(text) > LONGEST:
        raise bad("message is too long")
    if len(entities) > MOST_ENTITIES:
        raise bad("too many entities")


def _listed(text: str, parameters: Parameters) -> Entities:
    entities: Entities = parsed(parameters, "entities", [])
    for entity in entities:
        _check_entity(text, entity)
    for kind in _NEVER_OVERLAP:
        ends = 0
        for entity in sorted((e for e in entities if e["type"] == kind), key=lambda e: int(e["offset"])):
            if entity["offset"] < ends:
                raise bad(f"can't parse MessageEntity: {kind} inside of {kind}")
            ends = entity["offset"] + entity["length"]
    return entities


def _check_entity(text: str, entity: dict[str, Any]) -> None:
    kind, offset, length = entity.get("type"), entity.get("offset"), entity.get("length")
    if kind not in judge.ENTITY_TYPES:
        raise bad("can't parse MessageEntity: unsupported type")
    if not isinstance(offset, int) or not isinstance(length, int) or offset < 0 or length < 1:
        raise bad("can't parse MessageEntity: wrong bounds")
    if offset + length > utf16(text):
        raise bad("entity ends after the end of the text")
    units = text.encode("utf-16-le")
    for at in (offset, offset + length):
        if units[2 * at + 1 : 2 * at + 2] and 0xDC <= units[2 * at + 1] <= 0xDF:
            raise bad("entity begins or ends inside of a UTF-16 pair")
    if kind == "text_link" and not str(entity.get("url", "")).strip():
        raise bad("can't parse MessageEntity: text_link needs a url")
    if kind == "text_mention" and not isinstance(entity.get("user", {}).get("id"), int):
        raise bad("can't parse MessageEntity: text_mention needs a user")
    if kind == "custom_emoji" and not str(entity.get("custom_emoji_id", "")).isdigit():
        raise bad("can't parse MessageEntity: custom_emoji needs custom_emoji_id")


def _trimmed(text: str, entities: Entities) -> tuple[str, Entities]:
    """Without white space at the end, nor at the beginning before the first entity."""
    lead = len(text) - len(text.lstrip())  # white space is one UTF-16 unit a character
    lead = min([lead, *(entity["offset"] for entity in entities)])
    text = text[lead:].rstrip()
    end, kept = utf16(text), []
    for entity in entities:
        offset = entity["offset"] - lead
        if (length := min(entity["length"], end - offset)) > 0:
            kept.append({**entity, "offset": offset, "length": length})
    return text, kept


def checked_markup(parameters: Parameters) -> dict[str, Any] | None:
    markup: dict[str, Any] | None = parsed(parameters, "reply_markup")
    for row in (markup or {}).get("inline_keyboard", []):
        for button in row:
            if not button.get("text"):
                raise bad("inline keyboard button text is empty")
            if not 1 <= len(str(button.get("callback_data", "")).encode()) <= 64:
                raise bad("BUTTON_DATA_INVALID")
    return markup


def checked_commands(parameters: Parameters) -> list[dict[str, str]]:
    commands: list[dict[str, str]] = parsed(parameters, "commands", [])
    if len(commands) > 100:
        raise bad("too many commands")
    for command in commands:
        if not re.fullmatch(r"[a-z0-9_]{1,32}", command.get("command", "")):
            raise bad("BOT_COMMAND_INVALID")
        if not 1 <= len(command.get("description", "")) <= 256:
            raise bad("BOT_COMMAND_DESCRIPTION_INVALID")
    return commands
