"""Reads the pieces of a streamed answer. Endpoints leave out what they like."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import TYPE_CHECKING

from keepsake.text import storable

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionChunk


# A count that is so many times ours, or so much less, is wrong: it would use up a day's tokens at once. Small requests
# are mostly what the server adds by itself.
_BELIEVED_TIMES = 4
_BELIEVED_MORE = 200


@dataclass(slots=True)
class Usage:
    """What the endpoint counted; None where it does not say."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None

    def believed(self, asked: int, said: int, *, most_said: int) -> Usage:
        """Without the counts that are far from ours: `asked` tokens, and `said`, at most `most_said`."""
        return Usage(
            _believed(self.prompt_tokens, asked, asked), _believed(self.completion_tokens, said, most_said)
        )


def text_of(chunk: ChatCompletionChunk) -> str:
    """The text that a chunk adds to the answer."""
    choices = getattr(chunk, "choices", None)
    delta = choices[0].delta if choices else None
    return (delta.content or "") if delta is not None else ""


def usage_of(chunk: ChatCompletionChunk) -> Usage | None:
    usage = getattr(chunk, "usage", None)
    if usage is None:
        return None
    return Usage(*(_count(getattr(usage, f"{part}_tokens", None)) for part in ("prompt", "completion")))


def _count(tokens: object) -> int | None:
    return tokens if isinstance(tokens, int) and not isinstance(tokens, bool) else None


def _believed(tokens: int | None, ours: int, most: int) -> int | None:
    least = max(ours // _BELIEVED_TIMES - _BELIEVED_MORE, 0)
    return (
        tokens if tokens is not None and least <= tokens <= most * _BELIEVED_TIMES + _BELIEVED_MORE else None
    )


def finish_reason_of(chunk: ChatCompletionChunk) -> str | None:
    choices = getattr(chunk, "choices", None)
    return choices[0].finish_reason if choices else None


def declines(chunk: ChatCompletionChunk) -> bool:
    """Whether the model says here that it will not answer, or a content filter ends the answer."""
    choices = getattr(chunk, "choices", None)
    if not choices:
        return False
    refusal = getattr(choices[0].delta, "refusal", None)
    return bool(refusal) or choices[0].finish_reason == "content_filter"


class Characters:
    """Makes whole characters of pieces of text: JSON may bring surrogates, and a pair of them in two pieces.

    A pair becomes the character that it means, a lone one and NUL become U+FFFD.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-16-le")("replace")

    def of(self, piece: str) -> str:
        """The piece, but for the first half of a pair at its end, which waits for the next one."""
        return storable(self._decoder.decode(piece.encode("utf-16-le", "surrogatepass")))

    def end(self) -> str:
        """What still waits."""
        return self._decoder.decode(b"", final=True)
