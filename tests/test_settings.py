"""Settings: what cannot be is refused at the start, in plain words."""

from __future__ import annotations

from pathlib import Path

import pytest

from keepsake.errors import SettingError
from keepsake.mistyped import mistyped_names
from keepsake.settings import Settings, load_settings

NUMBERS = [
    name for name, info in Settings.model_fields.items() if info.annotation in (int, float, float | None)
]


def refused(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> str:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingError) as caught:
        load_settings()
    text = str(caught.value)
    assert text.startswith(name)
    assert "\n" not in text
    return text


def test_every_number_has_a_range() -> None:
    assert len(NUMBERS) >= 18
    for name in NUMBERS:
        limits = {type(item).__name__ for item in Settings.model_fields[name].metadata}
        assert "Le" in limits and limits & {"Ge", "Gt"}, name


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", ["99999999999999999999", "many", "-1"])
def test_a_number_that_cannot_be(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    text = refused(monkeypatch, name.upper(), value)
    assert value in text
    assert "number" in text.partition("it takes")[2]


@pytest.mark.parametrize(
    ("name", "value", "takes"),
    [
        ("LOG_LEVEL", "loud", "DEBUG, INFO, WARNING or ERROR"),
        ("DEFAULT_LANGUAGE", "fr", "en or ru"),
        ("TELEGRAM_API_URL", "api.example", "a URL that begins with http:// or https://"),
        ("OPENAI_BASE_URL", "localhost:1", "a URL that begins with http:// or https://"),
        ("LOCAL_MODEL", "big", "Qwen2.5-Coder-1.5B-Instruct or none"),
        ("ALLOWED_USER_IDS", "1,ann", "Telegram ids (whole numbers) separated by commas, or *"),
        ("ADMIN_USER_IDS", str(2**63), "Telegram ids (whole numbers) separated by commas"),
        ("STM_SIZE", "1001", "a whole number from 0 to 1000"),
        ("MODEL_TIMEOUT_SECONDS", "0", "a number above 0, at most 3600"),
        ("RAG_FLOOR", "nan", "a number from 0 to 1"),
    ],
)
def test_what_it_takes_stands_in_plain_words(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, takes: str
) -> None:
    assert refused(monkeypatch, name, value).endswith(f"it takes {takes}")


@pytest.mark.parametrize(
    "name", ["OPENAI_BASE_URL", "FALLBACK_BASE_URL", "TELEGRAM_API_URL", "TELEGRAM_WEBHOOK_URL"]
)
@pytest.mark.parametrize(
    "value", ["http://[", "http://", "http://a:99999", "http://a:b", "https://a..b/v1", f"http://{'a' * 64}"]
)
def test_an_address_that_cannot_be(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    assert value[:60] in refused(monkeypatch, name, value)


@pytest.mark.parametrize(
    "value", ["http://[::1]:8080/v1", "https://модель.example/v1", "http://my_host:1/v1"]
)
def test_an_address_that_can_be(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", value)
    assert load_settings().openai_base_url == value


def test_a_home_in_quotes_is_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATA_DIR", "~/keepsake")
    assert load_settings().data_dir == Path.home() / "keepsake"
    assert "the path of a folder" in refused(monkeypatch, "DATA_DIR", "~nobody-of-that-name/x")


def test_a_mistyped_name_in_the_environment_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_MODLE", "stm_sise", "OPENAI_API_BASE", "XDG_DATA_DIRS", "TELEGRAM_API_ID", "EDITOR"):
        monkeypatch.setenv(name, "secret")
    assert sorted(mistyped_names()) == [
        "OPENAI_MODLE is no setting; OPENAI_MODEL is probably meant",
        "stm_sise is no setting; STM_SIZE is probably meant",
    ]
    monkeypatch.setenv("OPENAI_MODEL", "m")  # then the other one is somebody else's
    assert len(mistyped_names()) == 1


def test_a_long_value_is_shown_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(refused(monkeypatch, "LOG_LEVEL", "x\n" * 5000)) < 200


def test_almost_a_setting_is_named_and_anything_else_is_not() -> None:
    Path(".env").write_text(
        "OPENAI_MODLE=secret\n  export STM_SIZ = 7\n# LTM_SIZ=1\nPOSTGRES_HOST=db\nstm_size=3\nFOO=STM_SIZ=1\n"
    )
    assert mistyped_names() == [
        ".env: OPENAI_MODLE is no setting; OPENAI_MODEL is probably meant",
        ".env: STM_SIZ is no setting; STM_SIZE is probably meant",
    ]
    assert load_settings().stm_size == 3


def test_no_env_file_has_no_names() -> None:
    assert mistyped_names() == []


def test_an_env_file_that_is_no_utf_8_is_refused() -> None:
    Path(".env").write_bytes(b"OPENAI_MODEL=caf\xe9\n")
    with pytest.raises(SettingError, match="UTF-8"):
        load_settings()
    assert mistyped_names() == []


def test_a_mark_before_the_first_name_is_no_part_of_it() -> None:
    Path(".env").write_text("STM_SIZE=3\n", encoding="utf-8-sig")
    assert load_settings().stm_size == 3
