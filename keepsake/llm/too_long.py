"""Tells from an endpoint's error that the request was too long for the model, and what would fit. Pure.

An error may quote the request, so words count only where such a refusal has them, and numbers only in known sentences.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from keepsake.errors import ContextTooLong

if TYPE_CHECKING:
    import openai

_CODES = frozenset(("context_length_exceeded", "exceed_context_size_error", "context_window_exceeded"))
# How servers say that a request is too long: OpenAI and what copies it, vLLM, llama.cpp, SGLang, TGI, LM Studio,
# Anthropic, Gemini, Groq, Mistral, Zhipu, Moonshot.
_WORDS = re.compile(
    r"context[_ ]length|context[_ ]size|context[_ ]window|context[_ ]limit|maximum context|maximum model length"
    r"|too many tokens|prompt is too long|input is too long|request too large|exceeds? max length"
    r"|exceeds? the maximum number of tokens|exceeded model token limit|reduce the length of the messages"
    r"|max_new_tokens`? must be|input length and `max_tokens`"
)
# What llama.cpp says with 500, and TGI with 422: their errors begin so.
_OPENINGS = re.compile(r"context size has been exceeded\W*$|(input validation error: )?`inputs` tokens \+")
_LIMIT = re.compile(
    r"(?:maximum context length|maximum model length|context length|context size|context window|context limit"
    r"|n_ctx|maximum number of tokens allowed|token limit|must be <=)[^\d]{0,20}(\d{3,8})\b"
    r"|> (\d{3,8}) maximum|(\d{3,8}) maximum context|: limit (\d{3,8})\b"
)
_ASKED = re.compile(
    r"(?:you requested|requested about|resulted in|you passed|request has|prompt contains|prompt \(length|prompt \("
    r"|input \(|request \(|too long:|token count(?: of)? \(?|given:|n_prompt_tokens\W+|requested tokens \()"
    r"(?: at least)? ?(\d{3,8})\b"
)


def too_long(error: openai.APIError, model: str) -> ContextTooLong | None:
    """The refusal of a request that was too long for `model`; None where the error is another one."""
    body = error.body if isinstance(error.body, Mapping) else {}
    own = body.get("message") or error.body
    message = (own if isinstance(own, str) else f"{error.message} {error.body}").casefold().replace(",", "")
    code = body.get("code")
    status = getattr(error, "status_code", code if isinstance(code, int) else None)
    if not ({str(code), str(body.get("type"))} & _CODES or _says_so(message.strip(), status)):
        return None
    fields = " ".join(f"{name} {body.get(name)}" for name in ("n_ctx", "n_prompt_tokens"))
    limit, asked = _number(_LIMIT, f"{fields} {message}"), _number(_ASKED, f"{fields} {message}")
    return ContextTooLong(
        "The request is too long for the model: lower CONTEXT_TOKENS or ANSWER_TOKENS.",
        model=model,
        limit=limit,
        asked=asked if limit is not None and asked is not None and asked > limit else None,
    )


def _says_so(message: str, status: int | None) -> bool:
    """`status` None: it was said in the middle of a stream."""
    if status in (400, 413, None):
        return _WORDS.search(message) is not None
    if status == 429:
        return message.startswith("request too large")
    return status not in (401, 403, 404) and _OPENINGS.match(message) is not None


def _number(pattern: re.Pattern[str], text: str) -> int | None:
    found = pattern.search(text)
    return next((int(number) for number in found.groups() if number), None) if found else None
