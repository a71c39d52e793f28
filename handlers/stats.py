"""/stats: how much is remembered of the one who asks and which tokens that took, and for an admin, of all together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keepsake.assistant import Assistant, Chat
from keepsake.locales import translate


async def handle_stats(app: Assistant, chat: Chat, _args: str) -> None:
    """Shows counts, never contents."""
    stats = await app.memory.get_memory_stats(chat.user_id)
    lines = [
        translate(chat.language, f"stats-{what}", count=stats[f"total_{what}"])
        for what in ("messages", "sessions", "facts")
    ]
    if stats["hybrid_mode"]:
        model = str(stats["vector_model"])
        lines.append(translate(chat.language, "stats-vectors", count=stats["vector_documents"], model=model))
    else:
        lines.append(translate(chat.language, "stats-keyword-only"))
    lines += _tokens(chat.language, stats)
    mode = app.privacy.mode(chat.user_id)
    if mode is not None:
        lines.append(translate(chat.language, f"stats-{mode}"))
    if app.access.is_admin(chat.user_id):
        totals = await app.memory.get_totals()
        people = translate(chat.language, "stats-people", count=totals["users"])
        held = [
            translate(chat.language, f"stats-{what}", count=totals[what]) for what in ("messages", "facts")
        ]
        lines.append(translate(chat.language, "stats-all", counts=", ".join([people, *held])))
        lines.append(
            translate(
                chat.language,
                "stats-all-tokens",
                today=totals["tokens_today"],
                month=totals["tokens_this_month"],
            )
        )
    await chat.send("\n".join([translate(chat.language, "stats-title"), *(f"• {line}" for line in lines)]))


def _tokens(language: str, stats: Mapping[str, Any]) -> list[str]:
    today, month = stats["tokens_today"], stats["tokens_this_month"]
    lines = [translate(language, "stats-tokens", today=today, month=month)]
    if stats["tokens_estimated"]:
        lines.append(translate(language, "stats-tokens-estimated", count=stats["tokens_estimated"]))
    if stats["daily_tokens"]:
        lines.append(translate(language, "stats-tokens-limit", count=stats["daily_tokens"]))
    return lines
