"""What scores mean for each embedding model: how its cosines are stretched, and where the floor lies."""

from __future__ import annotations

from dataclasses import dataclass

from keepsake.recall.ranking import CosineScale


@dataclass(frozen=True, slots=True)
class Calibration:
    """`floor`: a score under it is not worth showing to anybody (RAG_FLOOR overrides it)."""

    scale: CosineScale
    floor: float


# The ends are about the 1 % and 99.9 % quantiles of question against message, the floor about the 8 % quantile of
# the right answers' scores, over dated chats in Russian, Vietnamese, Chinese and English.
_BY_MODEL = {"multilingual-e5-small": Calibration(CosineScale(nothing=0.35, match=0.75), floor=0.25)}
_OTHERS = Calibration(CosineScale(nothing=0.0, match=1.0), floor=0.25)
_KEYWORD_ONLY = Calibration(CosineScale(), floor=0.22)


def calibration(model: str | None) -> Calibration:
    """The calibration of a model by the name that stands beside its vectors; None: keyword only."""
    if model is None:
        return _KEYWORD_ONLY
    known = (found for name, found in _BY_MODEL.items() if model.startswith(name))
    return next(known, _OTHERS)
