"""What a model's own counts teach about ours, and what a refusal teaches about its room. Pure.

The endpoint says after an answer how many tokens the request had. The factor follows the highest of those ratios at
once and comes down slowly: too many tokens counted cost a memory, too few a refusal.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from keepsake.models import LearnedModel

SAFETY = 1.03  # of what was seen: the next request has another mixture of languages
_DESCENT = 0.02  # of the way down, an answer: what was seen once is forgotten after about a hundred
_LEAST_FACTOR, _MOST_FACTOR = 0.75, 4.0
_LEAST_TOKENS = 50  # smaller requests are mostly what the server adds by itself
_SHRINK = 0.5  # of a request that was too long, where the endpoint does not say what fits
_NEARLY = 0.95  # of what should fit
LEAST_CONTEXT = 500
FORGET_LIMIT = timedelta(days=7)  # the name may stand for another model by then


def calibrated(learned: LearnedModel, counted: int, said: int, *, exact: bool) -> LearnedModel:
    """After an answer: `counted` tokens by the table alone, `said` by the endpoint.

    `exact`: the table is the model's own, so that a smaller count of the endpoint's (some leave out what their cache
    holds) is not believed.
    """
    if counted < _LEAST_TOKENS or said <= 0:
        return learned
    seen = min(max(said / counted * SAFETY, 1.0 if exact else _LEAST_FACTOR), _MOST_FACTOR)
    down = learned.factor - _DESCENT * (learned.factor - seen)
    return replace(learned, factor=max(seen, down), answers=learned.answers + 1)


def shrunk(
    learned: LearnedModel,
    *,
    requested: int,
    limit: int | None,
    asked: int | None,
    answer_tokens: int,
    now: datetime,
) -> LearnedModel:
    """After a refusal of a request of `requested` tokens (as we count them) for being too long.

    `limit` is what the endpoint says its context holds, answer and all, `asked` what it counted.
    """
    room = requested * _SHRINK
    if limit is not None:
        ours = min(requested / asked, 1.0) if asked else 1.0
        room = min((limit - answer_tokens) * ours * _NEARLY, requested * _NEARLY)
    return replace(learned, limit=max(int(room), LEAST_CONTEXT), limited_at=now)


def context_tokens(learned: LearnedModel, setting: int, now: datetime) -> int:
    """The tokens that a request to this model may have."""
    if learned.limit is None or learned.limited_at is None or now - learned.limited_at > FORGET_LIMIT:
        return setting
    return min(setting, learned.limit)
