"""Chooses the models that the settings mean: an endpoint, else the local model, else none."""

from __future__ import annotations

from pydantic import SecretStr

from keepsake.errors import SettingError
from keepsake.llm.breaker import Breaker
from keepsake.llm.circuit import Circuit
from keepsake.llm.client import STRUCTURED_TOKENS, Address, ChatModel, RemoteEndpoint
from keepsake.llm.local import LocalServer, endpoint_configured, installed
from keepsake.llm.weights import weights_path
from keepsake.settings import Settings

# Most local servers take any key, the openai package insists on one.
_ANY_KEY = "none"
# The local model reads about 45 tokens a second: a full prompt takes longer than the silence that
# would mean that something remote is down.
_LOCAL_SILENCE_SECONDS = 600.0
_LOCAL_ANSWER_SECONDS = 1800.0  # on an old machine it writes one or two tokens a second


def open_model(settings: Settings) -> ChatModel | None:
    """The model that answers; None with no endpoint set and no local model installed. Opens nothing yet.

    Raises SettingError for a model without an endpoint, and for a fallback without a first one.
    """
    _check_fallback(settings)
    if endpoint_configured(settings):
        return _remote(settings, settings.openai_model)
    if settings.openai_model is not None:
        raise SettingError(
            "OPENAI_MODEL is set but OPENAI_BASE_URL is not: it takes the endpoint's root, ending in /v1 "
            "(OpenAI's own is https://api.openai.com/v1)"
        )
    if settings.local_model == "none" or not installed():
        return None
    answer_tokens = max(settings.answer_tokens, STRUCTURED_TOKENS)
    server = LocalServer(weights_path(), slot_tokens=settings.context_tokens + answer_tokens)
    return ChatModel(
        server,
        name=settings.local_model,
        timeout_seconds=max(settings.model_timeout_seconds, _LOCAL_SILENCE_SECONDS),
        retries=settings.model_retries,
        answer_tokens=settings.answer_tokens,
        answer_seconds=max(settings.answer_seconds, _LOCAL_ANSWER_SECONDS),
        weak=True,
    )


def open_extraction_model(settings: Settings, chat: ChatModel | None) -> ChatModel | None:
    """The model that extracts facts: `chat` itself unless EXTRACTION_MODEL names another at the endpoint."""
    if not endpoint_configured(settings) or settings.extraction_model in (None, settings.openai_model):
        return chat
    return _remote(settings, settings.extraction_model)


def _remote(settings: Settings, model: str | None) -> ChatModel:
    assert settings.openai_base_url is not None
    return _at(
        settings, settings.openai_base_url, settings.openai_api_key, model, fallback=_fallback(settings)
    )


def _fallback(settings: Settings) -> ChatModel | None:
    if settings.fallback_base_url is None:
        return None
    return _at(
        settings,
        settings.fallback_base_url,
        settings.fallback_api_key,
        settings.fallback_model,
        prefix="FALLBACK",
    )


def _at(
    settings: Settings,
    base_url: str,
    key: SecretStr | None,
    model: str | None,
    *,
    prefix: str = "OPENAI",
    fallback: ChatModel | None = None,
) -> ChatModel:
    return ChatModel(
        RemoteEndpoint(Address(base_url, key.get_secret_value() if key else _ANY_KEY)),
        name=model,
        timeout_seconds=settings.model_timeout_seconds,
        retries=settings.model_retries,
        answer_tokens=settings.answer_tokens,
        answer_seconds=settings.answer_seconds,
        fallback=fallback,
        breaker=Breaker(Circuit(settings.circuit_failures, settings.circuit_seconds)),
        settings_prefix=prefix,
    )


def _check_fallback(settings: Settings) -> None:
    if settings.fallback_base_url is not None and not endpoint_configured(settings):
        raise SettingError(
            "FALLBACK_BASE_URL is set but OPENAI_BASE_URL is not: the first endpoint is missing"
        )
    if settings.fallback_base_url is None and settings.fallback_model is not None:
        raise SettingError(
            "FALLBACK_MODEL is set but FALLBACK_BASE_URL is not: it takes the endpoint's root, ending in /v1"
        )
