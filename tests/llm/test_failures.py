"""How servers say that a request is too long, and what they say fits."""

from __future__ import annotations

import httpx2
import openai
import pytest

from keepsake.errors import ContextTooLong
from keepsake.llm.failures import explain

REQUEST = httpx2.Request("POST", "http://127.0.0.1/v1/chat/completions")

TOO_LONG = [
    # OpenAI
    ("This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (8400 in the "
     "messages, 600 in the completion). Please reduce the length of the messages or completion.", 8192, 9000),
    # vLLM
    ("The decoder prompt (length 5012) is longer than the maximum model length of 4096.", 4096, 5012),
    # llama.cpp
    ("the request exceeds the available context size (4096 tokens), try increasing it", 4096, None),
    # SGLang
    ("The input (5000 tokens) is longer than the model's context length (4096 tokens).", 4096, 5000),
    # TGI
    ("Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens",
     4096, 5000),
    # Anthropic
    ("prompt is too long: 210000 tokens > 200000 maximum", 200_000, 210_000),
    # Gemini
    ("The input token count (1,200,000) exceeds the maximum number of tokens allowed (1,048,576).",
     1_048_576, 1_200_000),
    # Mistral
    ("Prompt contains 40000 tokens, too large for model with 32768 maximum context length", 32_768, 40_000),
    # Moonshot
    ("Your request exceeded model token limit: 8192", 8192, None),
    # vLLM, newer
    ("You passed 5001 input tokens and requested 600 output tokens. However, the model's context length is only "
     "4096 tokens, resulting in a maximum input length of 3496 tokens.", 4096, 5001),
    # llama.cpp, newer
    ("request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it", 4096, 4390),
    # llama-cpp-python
    ("Requested tokens (2285) exceed context window of 2048", 2048, 2285),
    # Groq
    ("Please reduce the length of the messages or completion.", None, None),
]  # fmt: skip


@pytest.mark.parametrize(("message", "limit", "asked"), TOO_LONG, ids=[text[:24] for text, _, _ in TOO_LONG])
@pytest.mark.parametrize("status", [400, 413])
def test_a_request_that_is_too_long_is_known_as_one(
    message: str, limit: int | None, asked: int | None, status: int
) -> None:
    found = explain(_refusal(status, message), model="m", timeout_seconds=1)
    assert isinstance(found, ContextTooLong)
    assert (found.limit, found.asked) == (limit, asked)
    assert message not in str(found)
    assert not found.retry


@pytest.mark.parametrize(
    ("status", "body", "limit", "asked"),
    [
        (500, {"type": "exceed_context_size_error", "n_prompt_tokens": 1407, "n_ctx": 256}, 256, 1407),
        (500, {"code": 500, "message": "Context size has been exceeded.", "type": "server_error"}, None, None),
        (422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs`",
         4096, 5000),
        (429, {"message": "Request too large for m on tokens per min (TPM): Limit 6000"}, 6000, None),
    ],
)  # fmt: skip
def test_other_statuses_take_a_code_or_the_very_sentence(
    status: int, body: object, limit: int | None, asked: int | None
) -> None:
    refused = openai.APIStatusError(
        f"Error code: {status} - {body}", response=httpx2.Response(status, request=REQUEST), body=body
    )
    found = explain(refused, model="m", timeout_seconds=1)
    assert isinstance(found, ContextTooLong)
    assert (found.limit, found.asked) == (limit, asked)


QUOTED = "my context length is 1234 tokens, call 5551234; you requested it, prompt is too long: 99999 tokens"


@pytest.mark.parametrize("status", [409, 422, 500, 502, 503])
def test_a_failure_that_quotes_the_request_says_nothing_of_its_length(status: int) -> None:
    for body in ({"message": f"cannot handle {QUOTED}"}, {"detail": [{"input": QUOTED}]}):
        refused = openai.APIStatusError(
            f"Error code: {status} - {body}", response=httpx2.Response(status, request=REQUEST), body=body
        )
        assert not isinstance(explain(refused, model="m", timeout_seconds=1), ContextTooLong)
    streamed = openai.APIError(QUOTED, REQUEST, body={"message": QUOTED, "code": status})
    assert not isinstance(explain(streamed, model="m", timeout_seconds=1), ContextTooLong)


def test_numbers_of_a_quoted_request_are_none_of_the_endpoints() -> None:
    quoted = "Call me at 5551234 or 99999. The context length is too small."
    found = explain(_refusal(400, quoted), model="m", timeout_seconds=1)
    assert isinstance(found, ContextTooLong)
    assert (found.limit, found.asked) == (None, None)


def test_it_may_be_said_by_a_code_alone_and_in_the_middle_of_a_stream() -> None:
    body = {"message": "no", "code": "context_length_exceeded"}
    by_code = openai.BadRequestError("no", response=httpx2.Response(400, request=REQUEST), body=body)
    streamed = openai.APIError("the context length of 4096 tokens was exceeded", REQUEST, body=None)
    for error in (by_code, streamed):
        assert isinstance(explain(error, model="m", timeout_seconds=1), ContextTooLong)


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "unknown parameter temperature"),
        (401, "wrong key; context length 4096"),
        (404, "no model with a context window of 8192"),
        (429, "Rate limit reached: too many tokens per minute"),
        (500, "out of memory"),
        (400, "max_tokens must be at most 4096"),
    ],
)
def test_other_refusals_are_not(status: int, message: str) -> None:
    assert not isinstance(explain(_refusal(status, message), model="m", timeout_seconds=1), ContextTooLong)


def _refusal(status: int, message: str) -> openai.APIStatusError:
    return openai.APIStatusError(
        message, response=httpx2.Response(status, request=REQUEST), body={"message": message}
    )
