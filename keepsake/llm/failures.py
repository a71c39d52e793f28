"""What can go wrong at a model's endpoint, told in one line that names the setting to look at.

An endpoint's own error text may quote the prompt, so it is read here to decide and never shown or logged.
"""

from __future__ import annotations

from keepsake.errors import ModelUnavailable

_QUOTA_WORDS = ("insufficient_quota", "billing", "exceeded your current quota")
_LENGTH_WORDS = ("context_length", "context length", "context size", "too many tokens")


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

    if isinstance(error, openai.APIStatusError):
        return _explain_status(error.status_code, f"{error.message} {error.body}".casefold(), model)
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
    elif any(word in says for word in _LENGTH_WORDS):
        line = f"The request is too long for the model ({status}): lower CONTEXT_TOKENS or ANSWER_TOKENS."
    else:
        line = f"The endpoint refuses the request ({status}): look at OPENAI_BASE_URL and OPENAI_MODEL."
    return RequestRefused(line, status=status, says=says, retry=status == 429)
