"""The whole program with an endpoint that fails, hangs, or is somebody else's."""

from __future__ import annotations

import json
import time

from keepsake.locales import translate
from tests.cli.program import RunningChat, bot
from tests.model_server import MODEL, ModelServer

KEY, OTHER_KEY = "sk-first-very-secret", "sk-second-very-secret"
TOLD, ASKED = "my cat is called Pixel", "who is Pixel"


def test_a_wrong_key_is_one_line_and_stands_nowhere() -> None:
    with ModelServer(key="another") as server, ModelServer() as second:
        ended = bot(
            "chat",
            stdin=f"{TOLD}\n{ASKED}\n",
            LOG_LEVEL="DEBUG",
            OPENAI_BASE_URL=server.url,
            OPENAI_MODEL=MODEL,
            OPENAI_API_KEY=KEY,
            FALLBACK_BASE_URL=second.url,
            FALLBACK_API_KEY=OTHER_KEY,
        )
        assert ended.status == 0
        assert second.requests == []
    assert ended.out.splitlines()[-3:-1] == [
        translate("en", "model-down-refused"),
        translate("en", "memory-has"),
    ]
    assert ended.out.splitlines()[-1].endswith(TOLD)
    assert "OPENAI_API_KEY" in ended.err
    for secret in (KEY, OTHER_KEY, TOLD):
        assert secret not in ended.err
    assert KEY not in ended.out
    assert json.loads(bot("stats", "1").out)["total_messages"] == 2


def test_an_endpoint_that_hangs_and_then_a_fallback_that_answers() -> None:
    where = {"OPENAI_MODEL": MODEL, "MODEL_TIMEOUT_SECONDS": "0.4", "CIRCUIT_FAILURES": "1"}
    with ModelServer() as server, ModelServer(answer=lambda _: "from the second") as second:
        server.script(*[{"do": "deaf", "seconds": 20}] * 3)
        with RunningChat(OPENAI_BASE_URL=server.url, FALLBACK_BASE_URL=second.url, **where) as chat:
            assert chat.say(TOLD) == "from the second\n"
            stats = json.loads(bot("stats", "1").out)
            # The fake counts words: what it was asked, and three for each answer.
            asked = sum(len(turn["content"].split()) for body in second.requests for turn in body["messages"])
            assert stats["tokens_today"] == stats["tokens_this_month"] == asked + 3 * len(second.requests)
            assert stats["tokens_estimated"] == stats["daily_tokens"] == 0
        assert len(server.requests) == 1
        assert len(second.requests) == 2


def test_an_endpoint_that_was_down_gets_all_that_waited() -> None:
    patience = {
        "MODEL_RETRIES": "0",
        "CIRCUIT_FAILURES": "2",
        "CIRCUIT_SECONDS": "0.5",
        "FACT_EXTRACTION_EVERY": "2",
    }
    with ModelServer(answer=lambda _: "here I am") as server:
        server.script(*[{"do": "status", "status": 503}] * 3)
        with RunningChat(OPENAI_BASE_URL=server.url, OPENAI_MODEL=MODEL, **patience) as chat:
            lines = [chat.say("I live in Angarsk")]
            while lines[-1] != "here I am\n" and len(lines) < 100:
                time.sleep(0.1)
                lines.append(chat.say("ping"))
        assert lines[-1] == "here I am\n"
        assert translate("en", "model-down-later") + "\n" in lines
    facts = json.loads(bot("facts", "1", "--json").out)
    assert [fact["content"] for fact in facts] == ["Lives in Angarsk"]
