"""`consolidate` over the whole program: beside a running bot, and where that is killed in the middle."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest

from tests.cli.program import RunningChat, bot, start
from tests.model_server import MODEL, ModelServer

SECONDS = 60
CAT = {"content": "Has a cat named Mimi", "quote": "my cat Mimi"}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with ModelServer(dream=lambda _: {"new": [CAT]}) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_MODEL", MODEL)
        monkeypatch.setenv("EMBEDDING_MODEL", "none")
        yield server


def facts() -> list[str]:
    return [fact["content"] for fact in json.loads(bot("facts", "1", "--all", "--json").out)]


@pytest.mark.usefixtures("server")
def test_a_running_bot_does_it_and_the_command_tells() -> None:
    with RunningChat() as chat:
        chat.say("what does my cat Mimi like?")
        early = bot("consolidate", "1")
        dry = json.loads(bot("consolidate", "1", "--force", "--dry-run", "--json").out)
        done = bot("consolidate", "1", "--force")
        again = json.loads(bot("consolidate", "--force", "--json").out)
        nobody = bot("consolidate", "2", "--force")
    assert (early.status, early.out) == (
        0,
        "user 1: not yet: too few sessions since the last time; --force does it all the same\n",
    )
    assert [one["content"] for one in dry["new"]] == ["Has a cat named Mimi"]
    assert done.status == 0
    assert done.out.startswith(
        "user 1: 1 new (4 messages read, 1 model calls)\n  new: 1. Has a cat named Mimi\n"
    )
    assert [(one["user_id"], one["new"], one["messages"]) for one in again] == [(1, [], 0)]
    assert (nobody.status, nobody.remark) == (1, "nothing found for user 2")
    assert facts() == ["Has a cat named Mimi"]
    assert json.loads(bot("stats", "1").out)["consolidated"]["new"] == 0
    assert bot("verify").status == 0


def test_a_bot_that_is_killed_in_the_middle_leaves_it_to_the_next_one(server: ModelServer) -> None:
    server.script({"do": "deaf", "for": "dream", "seconds": SECONDS})
    with RunningChat() as chat:
        chat.say("what does my cat Mimi like?")
        command = start("consolidate", "1", "--force", "--json")
        deadline = time.monotonic() + SECONDS
        while not server.dreams() and time.monotonic() < deadline:
            time.sleep(0.05)
        chat.process.kill()
    out, err = command.communicate(timeout=SECONDS)
    assert command.returncode == 0, err
    assert [one["content"] for one in json.loads(out)["new"]] == ["Has a cat named Mimi"]
    assert len(server.dreams()) == 2
    assert bot("chat", stdin="hello again\n").status == 0  # the next bot finds nothing left of it
    assert len(server.dreams()) == 2
    assert facts() == ["Has a cat named Mimi"]
    assert bot("verify").status == 0
