"""What speaks for each candidate of one question. Pure."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from keepsake.recall.ranking import Evidence
from keepsake.recall.timeline import Float, Int64, Timeline

_BEST = 3  # of a session


def weigh(
    timeline: Timeline,
    candidates: Int64,
    hits: Int64,
    words: Float,
    meaning: Float,
    named: Collection[str] = (),
) -> Evidence:
    """What speaks for the messages at the places `candidates` (c,).

    `words` and `meaning` (n,): shares, 0–1, of each message of the timeline, 0 where not known; `hits`: the places of
    what the routes brought, without neighbours; `named`: speakers whom the question names.
    """
    rows = timeline.rows[candidates]
    beside = [timeline.beside(candidates, step) for step in (-1, 1)]
    # Two steps away counts only where the step between is of the same session too; a session is never interrupted.
    near = [timeline.beside(candidates, step) for step in (-2, 2)]

    def of(values: Float, sides: list[tuple[Int64, NDArray[np.bool_]]]) -> Float:
        return np.stack([np.where(same, values[there], 0.0) for there, same in sides])

    return Evidence(
        meaning=meaning[candidates],
        words=words[candidates],
        meaning_beside=of(meaning, beside).max(axis=0),
        words_beside=of(words, beside).max(axis=0),
        words_near=of(words, near).sum(axis=0) / 2,
        meaning_of_session=_of_session(timeline, rows["session"], hits, meaning),
        words_of_session=_of_session(timeline, rows["session"], hits, words),
        speaker_is_named=timeline.said_by(named)[candidates] if named else np.zeros(len(candidates)),
        by_user=rows["by_user"],
        length=rows["length"],
        asks=rows["asks"],
    )


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
