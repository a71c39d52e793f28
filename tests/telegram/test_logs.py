from __future__ import annotations

import io
import logging
from collections.abc import Iterator

import pytest

from keepsake.logs import MaskingFormatter, setup_logging
from keepsake.settings import load_settings

TOKEN = "123456:AAE-secret_part_of_the_token_0123456"
KEY = "sk-a-key/with+signs"


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    out = io.StringIO()
    setup_logging(
        load_settings(_env_file=None, telegram_bot_token=TOKEN, openai_api_key=KEY, log_level="DEBUG"), out
    )
    yield out
    logging.captureWarnings(False)
    root.handlers[:] = before
    root.setLevel(level)


@pytest.mark.parametrize(
    "said", [TOKEN, KEY, f"https://x/bot{TOKEN}/getMe", TOKEN.replace(":", "%3A"), TOKEN.split(":")[1]]
)
def test_no_secret_stands_in_a_line(stream: io.StringIO, said: str) -> None:
    logging.getLogger("x").info("asked %s and more", said)
    assert "and more" in stream.getvalue()
    assert "***" in stream.getvalue()
    assert "secret_part" not in stream.getvalue()
    assert KEY not in stream.getvalue()


def test_no_secret_stands_in_a_traceback(stream: io.StringIO) -> None:
    try:
        raise RuntimeError(f"The token `{TOKEN}` was rejected")
    except RuntimeError:
        logging.getLogger("x").exception("failed")
    assert "RuntimeError" in stream.getvalue()
    assert "secret_part" not in stream.getvalue()


def test_another_bots_token_is_hidden_too() -> None:
    record = logging.LogRecord("x", logging.INFO, "f", 1, f"with {TOKEN}", None, None)
    assert "secret_part" not in MaskingFormatter([]).format(record)


LIBRARIES = ["httpx", "httpcore.http11", "openai._base_client", "aiosqlite", "telegram.ext"]


@pytest.mark.parametrize("name", LIBRARIES)
def test_libraries_that_log_contents_are_quiet_at_debug(stream: io.StringIO, name: str) -> None:
    logging.getLogger(name).debug("INSERT 'my words'")
    assert stream.getvalue() == ""


def test_a_short_key_does_not_blot_out_words() -> None:
    record = logging.LogRecord("x", logging.INFO, "f", 1, "examples", None, None)
    assert MaskingFormatter(["x"]).format(record).endswith("examples")
