"""What scores mean for each embedding model: how its cosines are stretched, and where the floor lies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from keepsake.recall.question import Understood
from keepsake.recall.ranking import CosineScale

# Of the best score so much is asked of the others.
RELATIVE = 0.7
# A question of one or two words is a look-up: what does not hold them has to mean the same.
LOOK_UP_TERMS = 2
SAME_MEANING = 0.65


def above(
    floor: float,
    ranked: Sequence[tuple[int, float]],
    asked: Understood,
    words: Mapping[int, float],
    cosines: Mapping[int, float],
    scale: CosineScale,
) -> list[tuple[int, float]]:
    """Those of a ranking, best first, that are worth showing. `words` (shares, 0–1) and `cosines` by message."""
    if not ranked:
        return []
    least = max(floor, RELATIVE * ranked[0][1])
    same = scale.nothing + SAME_MEANING * (scale.match - scale.nothing)
    looked_up = 0 < len(asked.terms) <= LOOK_UP_TERMS and not asked.earlier_terms and not asked.named
    return [
        (one, score)
        for one, score in ranked
        if score >= least
        and (not looked_up or words.get(one, 0.0) > 0 or cosines.get(one, scale.nothing) >= same)
    ]


@dataclass(frozen=True, slots=True)
class Calibration:
    """`floor`: a score under it is not worth showing to anybody (RAG_FLOOR overrides it)."""

    scale: CosineScale
    floor: float


# The ends are about the 1 % and 99.9 % quantiles of question against message. The floors lie where dated chats in
# Russian, Vietnamese, Chinese and English lose some hundredths of what is found among the first five.
_BY_MODEL = {"multilingual-e5-small": Calibration(CosineScale(nothing=0.35, match=0.75), floor=0.35)}
_OTHERS = Calibration(CosineScale(nothing=0.0, match=1.0), floor=0.25)
_KEYWORD_ONLY = Calibration(CosineScale(), floor=0.13)


def calibration(model: str | None) -> Calibration:
    """The calibration of a model by the name that stands beside its vectors; None: keyword only."""
    if model is None:
        return _KEYWORD_ONLY
    known = (found for name, found in _BY_MODEL.items() if model.startswith(name))
    return next(known, _OTHERS)
