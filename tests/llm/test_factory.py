"""Which model the settings mean."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from keepsake.errors import SettingError
from keepsake.llm.client import Turn
from keepsake.llm.factory import open_extraction_model, open_model
from keepsake.settings import Settings, load_settings
from tests.model_server import MODEL, ModelServer

URL = "http://127.0.0.1:9/v1"


@pytest.fixture(autouse=True)
def no_model_in_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in os.environ:
        if name.startswith(("OPENAI_", "LOCAL_MODEL", "EXTRACTION_MODEL")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def settings(**values: Any) -> Settings:
    return load_settings(_env_file=None, **values)


async def test_an_endpoint_is_used_as_it_is_set() -> None:
    with ModelServer(key="the-key") as server:
        model = open_model(
            settings(
                openai_base_url=server.url, openai_api_key="the-key", openai_model=MODEL, answer_tokens=77
            )
        )
        assert model is not None
        assert (model.name, model.weak) == (MODEL, False)
        assert [piece async for piece in model.stream([Turn("user", "hello")])]
        await model.close()
        assert server.requests[0]["max_tokens"] == 77


def test_no_endpoint_and_no_local_model_is_none() -> None:
    assert open_model(settings()) is None
    assert open_extraction_model(settings(), None) is None
    assert open_model(settings(local_model="none")) is None


def test_a_model_without_an_endpoint_is_no_endpoint_by_guess() -> None:
    with pytest.raises(SettingError, match="OPENAI_BASE_URL"):
        open_model(settings(openai_model="m"))


def test_a_key_for_another_program_sends_nothing_anywhere() -> None:
    assert open_model(settings(openai_api_key="k", local_model="none")) is None


def test_a_base_url_alone_takes_what_is_listed() -> None:
    model = open_model(settings(openai_base_url=URL))
    assert model is not None
    assert model.name == ""


def test_the_extraction_model_is_the_chat_model_unless_another_is_named() -> None:
    same = settings(openai_base_url=URL, openai_model="big")
    chat = open_model(same)
    assert open_extraction_model(same, chat) is chat
    other = open_extraction_model(
        settings(openai_base_url=URL, openai_model="big", extraction_model="small"), chat
    )
    assert other is not None
    assert other.name == "small"
