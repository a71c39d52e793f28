"""What the fit of the weights does on cases whose answer is plain."""

from __future__ import annotations

import random

import numpy as np

from benchmarks.dated_chats import Asked
from benchmarks.tuning import Case, fit, held_out, ranked
from keepsake.recall.ranking import PARTS


def case(user_id: int, chance: random.Random) -> Case:
    """Five candidates of which the one with most meaning is right; its `words` and `asks` say the opposite."""
    meaning = [chance.random() for _ in range(5)]
    evidence = np.zeros((5, len(PARTS)))
    evidence[:, PARTS.index("meaning")] = meaning
    evidence[:, PARTS.index("words")] = evidence[:, PARTS.index("asks")] = [1 - one for one in meaning]
    ids = np.arange(1, 6) + 10 * user_id
    right = int(np.argmax(meaning))
    asked = Asked(user_id, "?", ((int(ids[right]),),), ("made up", f"user {user_id}"))
    return Case(asked, ids, evidence, (np.array([right]),))


def test_what_tells_the_right_ones_gets_the_weight() -> None:
    chance = random.Random(3)
    known = [case(user, chance) for user in range(10) for _ in range(6)]
    weights = dict(zip(PARTS, fit(known, PARTS), strict=True))
    assert weights["meaning"] > 1
    assert weights["words"] < weights["meaning"] / 10
    assert weights["asks"] < 0
    assert all(ranked(one, PARTS, np.array([*weights.values()]))[0] == one.asked.needs[0][0] for one in known)


def test_held_out_every_question_is_judged_once() -> None:
    chance = random.Random(4)
    known = [case(user, chance) for user in range(7) for _ in range(3)]
    found = held_out(known, PARTS)
    assert len(found["made up"]) == len(known)
    assert np.mean(found["made up"], axis=0)[2] > 0.9
