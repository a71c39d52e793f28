"""What the Bot API server refuses. Pure checks, with Telegram's own words for what is wrong."""

from __future__ import annotations

import json
import re
from typing import Any

LONGEST = 4096
MOST_ENTITIES = 100
ENTITY_TYPES = frozenset(
    (
        *("mention", "hashtag", "cashtag", "bot_command", "url", "email", "phone_number", "text_link"),
        *("bold", "italic", "underline", "strikethrough", "spoiler", "blockquote", "expandable_blockquote"),
        *("code", "pre", "text_mention", "custom_emoji"),
    )
)
ACTIONS = frozenset(("typing", "upload_photo", "record_video", "upload_document", "choose_sticker"))


class RefusedError(Exception):
    """An answer that is not ok. `retry_after` is in seconds."""

    def __init__(self, status: int, description: str, retry_after: int | None = None) -> None:
        super().__init__(description)
        self.status = status
        self.description = description
        self.retry_after = retry_after


def bad(description: str) -> RefusedError:
    return RefusedError(400, f"Bad Request: {description}")


def utf16(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def parsed(parameters: dict[str, str], name: str, default: Any = None) -> Any:
    """A parameter that is sent as JSON."""
    try:
        return json.loads(parameters[name]) if name in parameters else default
    except ValueError:
        raise bad(f"can't parse {name}") from None


def checked_text(parameters: dict[str, str]) -> str:
    text = parameters.get("text", "")
    if "parse_mode" in parameters:
        raise bad("this server takes entities only, no parse_mode")
    if not text.strip():
        raise bad("message text is empty")
    if utf16(text) > LONGEST:
        raise bad("message is too long")
    return text


def checked_entities(text: str, parameters: dict[str, str]) -> list[dict[str, Any]]:
    entities: list[dict[str, Any]] = parsed(parameters, "entities", [])
    if len(entities) > MOST_ENTITIES:
        raise bad("too many entities")
    for entity in entities:
        _check_entity(text, entity)
    return entities


def _check_entity(text: str, entity: dict[str, Any]) -> None:
    offset, length = entity.get("offset"), entity.get("length")
    if entity.get("type") not in ENTITY_TYPES:
        raise bad("can't parse MessageEntity: unsupported type")
    if not isinstance(offset, int) or not isinstance(length, int) or offset < 0 or length < 1:
        raise bad("can't parse MessageEntity: wrong bounds")
    if offset + length > utf16(text):
        raise bad("entity ends after the end of the text")
    units = text.encode("utf-16-le")
    for at in (offset, offset + length):
        if units[2 * at + 1 : 2 * at + 2] and 0xDC <= units[2 * at + 1] <= 0xDF:
            raise bad("entity begins or ends inside of a UTF-16 pair")
    if entity["type"] == "text_link" and not str(entity.get("url", "")).strip():
        raise bad("can't parse MessageEntity: text_link needs a url")


def checked_markup(parameters: dict[str, str]) -> dict[str, Any] | None:
    markup: dict[str, Any] | None = parsed(parameters, "reply_markup")
    for row in (markup or {}).get("inline_keyboard", []):
        for button in row:
            if not button.get("text"):
                raise bad("inline keyboard button text is empty")
            if not 1 <= len(str(button.get("callback_data", "")).encode()) <= 64:
                raise bad("BUTTON_DATA_INVALID")
    return markup


def checked_commands(parameters: dict[str, str]) -> list[dict[str, str]]:
    commands: list[dict[str, str]] = parsed(parameters, "commands", [])
    if len(commands) > 100:
        raise bad("too many commands")
    for command in commands:
        if not re.fullmatch(r"[a-z0-9_]{1,32}", command.get("command", "")):
            raise bad("BOT_COMMAND_INVALID")
        if not 1 <= len(command.get("description", "")) <= 256:
            raise bad("BOT_COMMAND_DESCRIPTION_INVALID")
    return commands
