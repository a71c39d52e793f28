"""What speaks for each candidate of one question. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from keepsake.recall.ranking import Evidence, Match
from keepsake.recall.timeline import Bools, Float, Int64, Timeline

_BEST = 3  # of a session
_AROUND = 2  # so many messages before and after


def weigh(
    timeline: Timeline,
    candidates: Int64,
    hits: Int64,
    words: Float,
    meaning: Float,
    *,
    matches: Sequence[Match] = (),
    weight: float = 0.0,
    named: Collection[str] = (),
    said_then: Bools | None = None,
) -> Evidence:
    """What speaks for the messages at the places `candidates` (c,).

    `words` and `meaning` (n,): shares, 0–1, of each message of the timeline, 0 where not known; `hits`: the places of
    what the routes brought, without neighbours; `matches` and `weight` as `ByWords` has them; `named`: speakers whom
    the question names; `said_then` (n,): what was said in a time that it names.
    """
    rows = timeline.rows[candidates]
    before, after = (timeline.beside(candidates, step) for step in (-1, 1))
    around, in_session = _held_nearby(timeline, candidates, matches, weight)
    nothing = np.zeros(len(candidates))

    def of(values: Float, side: tuple[Int64, Bools]) -> Float:
        there, same = side
        return np.where(same, values[there], 0.0)

    return Evidence(
        meaning=meaning[candidates],
        words=words[candidates],
        meaning_beside=np.maximum(of(meaning, before), of(meaning, after)),
        meaning_of_session=_of_session(timeline, rows["session"], hits, meaning),
        words_around=around,
        words_in_session=in_session,
        answers_words=of(words * timeline.rows["asks"], before),
        speaker_is_named=timeline.said_by(named)[candidates] if named else nothing,
        in_period=said_then[candidates] if said_then is not None else nothing,
        by_user=rows["by_user"],
        length=rows["length"],
        asks=rows["asks"],
    )


def _held_nearby(
    timeline: Timeline, candidates: Int64, matches: Sequence[Match], weight: float
) -> tuple[Float, Float]:
    """For each candidate the share of a question's words that stand around it in its session, and anywhere in it."""
    begin, end = timeline.sessions(candidates)
    first, behind = np.maximum(candidates - _AROUND, begin), np.minimum(candidates + _AROUND + 1, end)
    around, in_session = np.zeros(len(candidates)), np.zeros(len(candidates))
    for ids, of_term in matches:
        found, here = timeline.find(ids)
        places = np.sort(found[here])
        around += of_term * (np.searchsorted(places, behind) > np.searchsorted(places, first))
        in_session += of_term * (np.searchsorted(places, end) > np.searchsorted(places, begin))
    return around / max(weight, 1e-9), in_session / max(weight, 1e-9)


def _of_session(timeline: Timeline, asked: Int64, hits: Int64, scores: Float) -> Float:
    """For each of the sessions `asked` the mean of its three best hits; where there are fewer, the others count 0."""
    if not len(hits):
        return np.zeros(len(asked))
    session, score = timeline.rows["session"][hits], scores[hits]
    order = np.lexsort((-score, session))
    session, score = session[order], score[order]
    sessions, first = np.unique(session, return_index=True)
    rank_inside = np.arange(len(session)) - np.repeat(first, np.diff([*first, len(session)]))
    sums = np.add.reduceat(np.where(rank_inside < _BEST, score, 0.0), first)
    place = np.minimum(np.searchsorted(sessions, asked), len(sessions) - 1)
    return np.where(sessions[place] == asked, sums[place] / _BEST, 0.0)
