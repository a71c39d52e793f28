"""What can go wrong at a model's endpoint, told in one line that names the setting to look at.

An endpoint's own error text may quote the prompt, so it is read here to decide and never shown or logged.
"""

from __future__ import annotations

import re

from keepsake.errors import ContextTooLong, ModelUnavailable

_QUOTA_WORDS = ("insufficient_quota", "billing", "exceeded your current quota")
# How servers say that a request is too long: OpenAI and what copies it, vLLM, llama.cpp, SGLang, TGI, LM Studio,
# Anthropic, Gemini, Groq, Mistral, Zhipu, Moonshot.
_TOO_LONG = re.compile(
    r"context[_ ]length|context[_ ]size|context[_ ]window|context[_ ]limit|maximum context|maximum model length"
    r"|too many tokens|prompt is too long|input is too long|request too large|exceeds? max length"
    r"|exceeds? the maximum number of tokens|exceeded model token limit|reduce the length of the messages"
    r"|max_new_tokens`? must be|input length and `max_tokens`"
)
_NUMBER = re.compile(r"(?<![\w.])\d{3,8}(?![\w]|\.\d)")
_LIMIT = re.compile(
    r"(?:maximum context length|maximum model length|context length|context size|context window|context limit"
    r"|n_ctx|maximum number of tokens allowed|token limit|must be <=)[^\d]{0,40}(\d{3,8})"
    r"|> (\d{3,8}) maximum|(\d{3,8}) maximum context|: limit (\d{3,8})"
)


class RequestRefused(ModelUnavailable):
    """The endpoint answered with a 4xx. `says` is its text in lower case, never to be shown or logged."""

    def __init__(self, message: str, *, status: int, says: str, retry: bool = False) -> None:
        super().__init__(message, retry=retry)
        self.status = status
        self.says = says


class BrokenOff(ModelUnavailable):
    """The connection was lost, or the stream ended, before the answer was complete."""


def explain(error: Exception, *, model: str, timeout_seconds: float) -> ModelUnavailable:
    """The error of ours for one of the openai package's; `model` is the name that was asked for."""
    import openai

    if isinstance(error, openai.APIError):
        says = f"{error.message} {error.body}".casefold()
        if _is_too_long(says, getattr(error, "status_code", None)):
            return _too_long(says)
    if isinstance(error, openai.APIStatusError):
        return _explain_status(error.status_code, says, model)
    if isinstance(error, openai.APITimeoutError | TimeoutError):
        return silent(timeout_seconds)
    if isinstance(error, openai.APIConnectionError):
        return BrokenOff("The model's endpoint cannot be reached or broke off: look at OPENAI_BASE_URL.")
    return BrokenOff("The model's endpoint failed in the middle or does not speak chat completions.")


def silent(timeout_seconds: float) -> ModelUnavailable:
    """The model said nothing for too long."""
    return ModelUnavailable(f"The model was silent for {timeout_seconds:g} s (MODEL_TIMEOUT_SECONDS).")


def _explain_status(status: int, says: str, model: str) -> ModelUnavailable:
    if status in (401, 403):
        line = f"The model's endpoint refuses the key ({status}): look at OPENAI_API_KEY."
    elif status == 404:
        line = f"The endpoint knows no model {model!r} there (404): look at OPENAI_MODEL and OPENAI_BASE_URL."
    elif status == 429 and any(word in says for word in _QUOTA_WORDS):
        line = "The endpoint's quota for this key is used up (429): look at the account of OPENAI_API_KEY."
    elif status == 429:
        return ModelUnavailable("The model's endpoint has too many requests (429): try again later.")
    elif status >= 500 or status in (408, 409):
        return ModelUnavailable(f"The model's endpoint failed ({status}): try again later.")
    else:
        line = f"The endpoint refuses the request ({status}): look at OPENAI_BASE_URL and OPENAI_MODEL."
    return RequestRefused(line, status=status, says=says, retry=status == 429)


def _is_too_long(says: str, status: int | None) -> bool:
    """`status` None: it was said in the middle of a stream."""
    if status in (401, 403, 404):
        return False
    if status == 429:
        return "request too large" in says
    return _TOO_LONG.search(says.replace(",", "")) is not None


def _too_long(says: str) -> ContextTooLong:
    plain = says.replace(",", "")
    found = _LIMIT.search(plain)
    limit = next((int(number) for number in found.groups() if number), None) if found else None
    asked = max((int(number) for number in _NUMBER.findall(plain)), default=None)
    return ContextTooLong(
        "The request is too long for the model: lower CONTEXT_TOKENS or ANSWER_TOKENS.",
        limit=limit,
        asked=asked if limit is not None and asked is not None and asked > limit else None,
    )
