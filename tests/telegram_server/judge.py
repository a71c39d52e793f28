"""Telegram's own parser as the judge of a text with its formatting: TDLib, without login or network.

`parseTextEntities` is what the real Bot API server calls for a parse_mode. Entity lists have no request of their
own; `parseMarkdown` puts them through the same checks as a message's, and into the order and nesting that is
shown, which tells what Telegram would drop without a word. Markdown signs in the text are hidden from it meanwhile.
TDLib takes entities of no length, unknown types and nested links without a word: `rules` looks at those.
"""

from __future__ import annotations

import json
from typing import Any

from tdjson import td_execute

Json = dict[str, Any]

_OWN = {
    "bold": "Bold",
    "italic": "Italic",
    "underline": "Underline",
    "strikethrough": "Strikethrough",
    "spoiler": "Spoiler",
    "blockquote": "BlockQuote",
    "expandable_blockquote": "ExpandableBlockQuote",
    "code": "Code",
    "pre": "Pre",
    "text_link": "TextUrl",
    "text_mention": "MentionName",
    "custom_emoji": "CustomEmoji",
}
# What Telegram finds by itself: sent by a bot, it is passed over.
_FOUND = {
    "mention": "Mention",
    "hashtag": "Hashtag",
    "cashtag": "Cashtag",
    "bot_command": "BotCommand",
    "url": "Url",
    "email": "EmailAddress",
    "phone_number": "PhoneNumber",
}
ENTITY_TYPES = frozenset((*_OWN, *_FOUND))
# What TDLib cuts where another format begins or ends; shown, the pieces are one.
_CUT = frozenset(("bold", "italic", "underline", "strikethrough", "spoiler"))
_BACK = {name: kind for kind, name in (_OWN | _FOUND).items()} | {"PreCode": "pre"}
_PREFIX = "textEntityType"
_MODES: dict[str, Json] = {
    "markdownv2": {"@type": "textParseModeMarkdown", "version": 2},
    "markdown": {"@type": "textParseModeMarkdown", "version": 1},
    "html": {"@type": "textParseModeHTML"},
}
_SIGNS = "*_~|`[]"
_HIDDEN = "".join(chr(0xF8F0 + at) for at in range(len(_SIGNS)))  # of one UTF-16 unit too, and private
_HIDE, _SHOW = str.maketrans(_SIGNS, _HIDDEN), str.maketrans(_HIDDEN, _SIGNS)


class JudgedWrong(Exception):
    """What Telegram would refuse, in its words."""


def parse(text: str, mode: str) -> tuple[str, list[Json]]:
    """The text and the entities that a parse_mode makes of it."""
    if mode.lower() not in _MODES:
        raise JudgedWrong("unsupported parse_mode")
    return _back(_ask("parseTextEntities", text=text, parse_mode=_MODES[mode.lower()]))


def canonical(text: str, entities: list[Json]) -> tuple[str, list[Json]]:
    """The text and the entities as Telegram would show them.

    Raises JudgedWrong for what it would refuse, and where it would show other formatting than was sent.
    """
    own = [entity for entity in entities if entity["type"] in _OWN]
    sent = {
        "@type": "formattedText",
        "text": text.translate(_HIDE),
        "entities": [_forth(entity) for entity in own],
    }
    shown, kept = _back(_ask("parseMarkdown", text=sent))
    shown = shown.translate(_SHOW)
    if shown == text and (lost := _first_difference(text, own, kept)) is not None:
        raise JudgedWrong(f"the entities at UTF-16 offset {lost} cannot be nested so")
    return shown, _joined(kept)


def found(text: str) -> list[Json]:
    """The mentions, commands, links and such that Telegram marks in a person's text."""
    _, entities = _back({"text": text, **_ask("getTextEntities", text=text)})
    return entities


def _first_difference(text: str, sent: list[Json], kept: list[Json]) -> int | None:
    before, after = _formats(text, sent), _formats(text, kept)
    units = text.encode("utf-16-le")
    for at, (one, other) in enumerate(zip(before, after, strict=True)):
        if one != other and not units[2 * at : 2 * at + 2].decode("utf-16-le", "replace").isspace():
            return at
    return None


def _joined(entities: list[Json]) -> list[Json]:
    whole: list[Json] = []
    for entity in sorted(entities, key=lambda e: int(e["offset"])):
        last = next((e for e in reversed(whole) if e["type"] == entity["type"]), None)
        if last and entity["type"] in _CUT and last["offset"] + last["length"] == entity["offset"]:
            last["length"] += entity["length"]
        else:
            whole.append(entity)
    return sorted(whole, key=lambda e: (e["offset"], -e["length"]))


def _formats(text: str, entities: list[Json]) -> list[set[tuple[str, str]]]:
    """What each UTF-16 unit is shown in. Links go without their address, which TDLib rewrites.

    A link to a tg://user comes back as a text_mention.
    """
    units: list[set[tuple[str, str]]] = [set() for _ in range(len(text.encode("utf-16-le")) // 2)]
    for entity in entities:
        detail = str(entity.get("language") or entity.get("custom_emoji_id") or "")
        kind = "text_link" if entity["type"] == "text_mention" else entity["type"]
        for unit in units[entity["offset"] : entity["offset"] + entity["length"]]:
            unit.add((kind, detail))
    return units


def _forth(entity: Json) -> Json:
    kind: Json = {"@type": _PREFIX + _OWN[entity["type"]]}
    if entity.get("language"):
        kind = {"@type": f"{_PREFIX}PreCode", "language": entity["language"]}
    elif entity["type"] == "text_link":
        kind["url"] = entity["url"]
    elif entity["type"] == "text_mention":
        kind["user_id"] = entity["user"]["id"]
    elif entity["type"] == "custom_emoji":
        kind["custom_emoji_id"] = entity["custom_emoji_id"]
    return {"@type": "textEntity", "offset": entity["offset"], "length": entity["length"], "type": kind}


def _back(answer: Json) -> tuple[str, list[Json]]:
    entities = []
    for entity in answer["entities"]:
        name = entity["type"]["@type"].removeprefix(_PREFIX)
        if name not in _BACK:  # times in a video and the like, which the Bot API does not tell of
            continue
        more = {key: value for key, value in entity["type"].items() if key != "@type"}
        if "user_id" in more:
            more = {"user": {"id": more["user_id"], "is_bot": False, "first_name": f"User {more['user_id']}"}}
        entities.append({"type": _BACK[name], "offset": entity["offset"], "length": entity["length"], **more})
    return answer["text"], entities


def _ask(request: str, **parameters: Any) -> Json:
    answer: Json = json.loads(td_execute(json.dumps({"@type": request, **parameters}).encode()) or b"{}")
    if answer.get("@type") == "error":
        message = str(answer["message"])
        raise JudgedWrong(message[:1].lower() + message[1:])
    return answer


_ask("setLogStream", log_stream={"@type": "logStreamEmpty"})
_ask("setLogVerbosityLevel", new_verbosity_level=0)
