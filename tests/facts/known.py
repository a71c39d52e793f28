"""Facts as they stand in the store, made in a line."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from keepsake.facts.normalise import normalise
from keepsake.models import Fact, FactDraft

NOW = datetime(2026, 3, 11, 12, tzinfo=UTC)


def draft(content: str, *message_ids: int, **fields: Any) -> FactDraft:
    """A normalised draft from these messages; confidence 0.9."""
    return normalise(FactDraft(content, message_ids, **{"confidence": 0.9, **fields}))


def fact(number: int, content: str, *message_ids: int, **fields: Any) -> Fact:
    """A normalised fact from these messages, active since NOW unless `fields` say otherwise."""
    made = draft(
        content,
        *message_ids,
        **{key: fields.pop(key) for key in ("predicate", "object", "subject") if key in fields},
    )
    settled: dict[str, Any] = {
        "status": "active",
        "origin": "extracted",
        "importance": 0.5,
        "confidence": 0.9,
        "vital": made.vital,
        "hits": 0,
        "created_at": NOW,
        "updated_at": NOW,
        "recorded_from": NOW,
    } | fields
    return Fact(
        id=number,
        user_id=1,
        content=content,
        category=made.category,
        type=made.type,
        subject=made.subject,
        predicate=made.predicate,
        object=made.object,
        message_ids=message_ids,
        **settled,
    )
