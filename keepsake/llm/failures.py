"""What can go wrong at a model's endpoint, told in one line that names the setting to look at.

An endpoint's own error text may quote the prompt, so it is read here to decide and never shown or logged.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from keepsake.errors import ModelDeclined, ModelError, ModelUnavailable
from keepsake.llm.too_long import too_long

_QUOTA_WORDS = ("insufficient_quota", "billing", "exceeded your current quota")
_FILTER_WORDS = ("content_filter", "content management policy", "content_policy")
_LONGEST_WAIT_SECONDS = 3600.0  # a server that asks for more is asked again after this


class RequestRefused(ModelUnavailable):
    """The endpoint answered with a 4xx. `says` is its text in lower case, never to be shown or logged."""

    def __init__(self, message: str, *, status: int, says: str, retry: bool = False) -> None:
        super().__init__(message, retry=retry)
        self.status = status
        self.says = says


class EndpointFailed(ModelUnavailable):
    """The endpoint failed in a way that often passes within seconds: 429, 5xx, a lost connection."""


class Resting(ModelUnavailable):
    """The endpoint failed too often to be asked now."""

    def __init__(self, failures: int, seconds: float) -> None:
        super().__init__(
            f"The model's endpoint failed {failures} times in a row: it is left alone for {seconds:.0f} s.",
            retry_after=seconds,
        )


class BrokenOff(EndpointFailed):
    """The connection was lost, or the stream ended, before the answer was complete."""


def explain(error: Exception, *, model: str, timeout_seconds: float, prefix: str = "OPENAI") -> ModelError:
    """The error of ours for one of the openai package's; `model` is the name that was asked for.

    `prefix` begins the names of the settings that this endpoint comes from.
    """
    import openai

    if isinstance(error, openai.APIError):
        says = f"{error.message} {error.body}".casefold()
        if (refusal := too_long(error, model)) is not None:
            return refusal
    if isinstance(error, openai.APIStatusError):
        return _explain_status(error.status_code, says, model, prefix, asked_wait(error.response.headers))
    if isinstance(error, openai.APITimeoutError | TimeoutError):
        return silent(timeout_seconds)
    if isinstance(error, openai.APIConnectionError):
        return BrokenOff(f"The model's endpoint cannot be reached or broke off: look at {prefix}_BASE_URL.")
    return BrokenOff("The model's endpoint failed in the middle or does not speak chat completions.")


def silent(timeout_seconds: float) -> ModelUnavailable:
    """The model said nothing for too long."""
    return ModelUnavailable(f"The model was silent for {timeout_seconds:g} s (MODEL_TIMEOUT_SECONDS).")


def asked_wait(headers: Mapping[str, str]) -> float | None:
    """Seconds that a response asks to wait (RFC 9110, 10.2.3: seconds or a date), at most an hour."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name, "")
        try:
            seconds = float(value) * unit
        except ValueError:
            seconds = _until(value)
        if seconds > 0:
            return min(seconds, _LONGEST_WAIT_SECONDS)
    return None


def _until(date: str) -> float:
    try:
        return parsedate_to_datetime(date).timestamp() - time.time()
    except (ValueError, OverflowError):
        return math.nan


def _explain_status(status: int, says: str, model: str, prefix: str, wait: float | None) -> ModelError:
    if status in (400, 403, 422) and any(word in says for word in _FILTER_WORDS):
        return ModelDeclined(f"The endpoint's content filter refuses the request ({status}).")
    if status in (401, 403):
        line = f"The model's endpoint refuses the key ({status}): look at {prefix}_API_KEY."
    elif status == 404:
        line = f"The endpoint knows no model {model!r} there (404): look at {prefix}_MODEL and {prefix}_BASE_URL."
    elif status == 429 and any(word in says for word in _QUOTA_WORDS):
        line = f"The endpoint's quota for this key is used up (429): look at the account of {prefix}_API_KEY."
    elif status == 429:
        return EndpointFailed(
            "The model's endpoint has too many requests (429): try again later.", retry_after=wait
        )
    elif status >= 500 or status in (408, 409):
        return EndpointFailed(f"The model's endpoint failed ({status}): try again later.", retry_after=wait)
    else:
        line = f"The endpoint refuses the request ({status}): look at {prefix}_BASE_URL and {prefix}_MODEL."
    return RequestRefused(line, status=status, says=says, retry=status == 429)
