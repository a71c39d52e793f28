from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from handlers import receive
from handlers.asking import answer_turns
from keepsake.assistant import Said
from keepsake.errors import ModelAnswerInvalid, ModelUnavailable
from keepsake.locales import translate
from keepsake.models import Message
from tests.handlers.fakes import FakeMemory, FakeModel, RecordingChat, an_assistant


def said(memory: FakeMemory) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in memory.messages]


async def test_a_text_is_kept_answered_and_the_answer_is_kept() -> None:
    memory, model, chat = FakeMemory(), FakeModel(["Nice", " to meet you"]), RecordingChat()
    app = an_assistant(memory, model)
    await receive(app, chat, "I am Ann")
    await app.finish()
    assert chat.shown == ["Nice to meet you"]
    assert chat.typed == 1
    assert said(memory) == [("user", "I am Ann"), ("assistant", "Nice to meet you")]
    assert app.states.get_state(7).ai_chat_history == ["User: I am Ann", "Assistant: Nice to meet you"]
    assert app.states.get_state(7).messages_since_fact_extract == 1
    (event,) = memory.answers
    assert (event.question_id, event.answer_id, event.model, event.error) == (1, 2, "fake-1", None)
    assert (event.prompt_tokens, event.completion_tokens) == (11, 3)
    assert event.latency_ms >= 0


async def test_the_request_is_one_system_message_and_the_new_message_once() -> None:
    memory, model, chat = FakeMemory(), FakeModel(["a"], ["b"]), RecordingChat()
    app = an_assistant(memory, model)
    await receive(app, chat, "the first unheard-of words")
    await receive(app, chat, "the second unheard-of words")
    system, user = model.requests[1]
    assert (system.role, user.role) == ("system", "user")
    assert user.content == "the second unheard-of words"
    assert "Today is 2026-03-01 (Sunday)." in system.content
    assert system.content.endswith("BLOCK\nthe first unheard-of words\na")
    assert "second" not in system.content


async def test_an_empty_block_leaves_only_the_rules() -> None:
    system, _ = answer_turns("", "hi", datetime(2026, 3, 1, tzinfo=UTC), "ru")
    filled, _ = answer_turns("BLOCK", "hi", datetime(2026, 3, 1, tzinfo=UTC), "ru")
    assert filled.content == f"{system.content}\n\nBLOCK"
    assert "Русский" in system.content
    assert "{{" not in system.content


async def test_the_memories_of_the_answer_are_recorded() -> None:
    memory, model, chat = FakeMemory(), FakeModel(), RecordingChat()
    app = an_assistant(memory, model)
    await receive(app, chat, "shrimp")
    await receive(app, chat, "shrimp again")
    await app.finish()
    assert memory.answers[1].memories == (("message", 1, 0.9), ("message", 2, 0.9))


async def test_history_is_restored_once_and_not_doubled() -> None:
    memory, chat = FakeMemory(), RecordingChat()
    await memory.save_message(7, "user", "before the restart")
    app = an_assistant(memory, FakeModel(["one"], ["two"]))
    await receive(app, chat, "hello")
    await receive(app, chat, "there")
    assert memory.loads == [7]
    assert app.states.get_state(7).ai_chat_history == [
        "User: before the restart",
        "User: hello",
        "Assistant: one",
        "User: there",
        "Assistant: two",
    ]


async def test_the_users_message_is_durable_before_the_model_is_asked() -> None:
    memory, chat = FakeMemory(), RecordingChat()

    class Looking(FakeModel):
        def stream(self, turns, *, remake=None):  # type: ignore[no-untyped-def]
            assert said(memory) == [("user", "hello")]
            return super().stream(turns)

    await receive(an_assistant(memory, Looking()), chat, "hello")
    assert chat.shown == ["echo: hello"]


async def test_without_a_model_one_line_and_what_memory_found() -> None:
    memory, chat = FakeMemory(), RecordingChat()
    app = an_assistant(memory, None)
    await receive(app, chat, "I am allergic to shrimp")
    await receive(app, chat, "shrimp please")
    first, second = chat.shown
    assert first == f"{translate('en', 'model-none')}\n{translate('en', 'memory-has-nothing')}"
    assert second.splitlines()[1:] == [
        "What memory has about it:",
        "• 2026-03-01, you: I am allergic to shrimp",
    ]
    assert [role for role, _ in said(memory)] == ["user", "user"]


@pytest.mark.parametrize(
    ("failure", "line"),
    [
        (ModelUnavailable("down"), "not reachable right now"),
        (ModelUnavailable("no such model", retry=False), "refuses the request"),
        (ModelAnswerInvalid("empty"), "empty answer"),
    ],
)
async def test_a_failing_model_says_why_and_no_error_is_kept_as_said(failure: Exception, line: str) -> None:
    memory, chat = FakeMemory(), RecordingChat()
    app = an_assistant(memory, FakeModel(["noted"], [failure]))
    await receive(app, chat, "my cat is Tom")
    await receive(app, chat, "who is Tom")
    await app.finish()
    assert line in chat.shown[1].splitlines()[0]
    assert "my cat is Tom" in chat.shown[1]
    assert said(memory)[2:] == [("user", "who is Tom")]
    assert memory.answers[1].error == type(failure).__name__
    assert memory.answers[1].answer_id is None


async def test_an_answer_that_breaks_off_is_shown_and_kept_as_far_as_it_came() -> None:
    memory, chat = FakeMemory(), RecordingChat()
    app = an_assistant(memory, FakeModel(["Half an", ModelUnavailable("lost")]))
    await receive(app, chat, "tell me")
    await app.finish()
    assert chat.shown == ["Half an", "The language model stopped in the middle of its answer."]
    assert said(memory) == [("user", "tell me"), ("assistant", "Half an")]
    assert memory.answers[0].error == "ModelUnavailable"


async def test_a_stopped_answer_is_kept_as_far_as_it_came() -> None:
    memory, chat = FakeMemory(), RecordingChat()

    class Hanging(FakeModel):
        def stream(self, turns, *, remake=None):  # type: ignore[no-untyped-def]
            answer = super().stream(turns)
            whole = answer.__aiter__

            async def pieces() -> AsyncIterator[str]:
                async for piece in whole():
                    yield piece
                started.set()
                await asyncio.Event().wait()

            answer.__class__ = type("Hang", (type(answer),), {"__aiter__": lambda _: pieces()})
            return answer

    started = asyncio.Event()
    app = an_assistant(memory, Hanging(["Once upon"]))
    task = asyncio.create_task(receive(app, chat, "a story"))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await app.finish()
    assert said(memory) == [("user", "a story"), ("assistant", "Once upon")]
    assert memory.answers[0].error == "stopped"


async def test_a_weak_model_is_named_once_a_run_for_each_user() -> None:
    model = FakeModel(weak=True)
    app = an_assistant(FakeMemory(), model)
    first, other = RecordingChat(7), RecordingChat(8)
    for chat in (first, first, other):
        await receive(app, chat, "hi")
    assert [len(first.notes), len(other.notes)] == [1, 1]
    assert "fake-1" in first.notes[0]


async def test_a_strong_model_gets_no_note() -> None:
    chat = RecordingChat()
    app = an_assistant(FakeMemory(), FakeModel())
    await receive(app, chat, "/start")
    await receive(app, chat, "hi")
    assert chat.notes == []


@pytest.mark.parametrize("text", ["", "   ", "\n\t "])
async def test_an_empty_message_reaches_nobody(text: str) -> None:
    memory, model, chat = FakeMemory(), FakeModel(), RecordingChat()
    await receive(an_assistant(memory, model), chat, text)
    assert chat.shown == ["That message was empty. Please write some text."]
    assert (memory.messages, model.requests) == ([], [])


async def test_what_cannot_be_stored_is_replaced() -> None:
    memory, chat = FakeMemory(), RecordingChat()
    await receive(an_assistant(memory, FakeModel()), chat, "a\x00b\ud83dc")
    assert said(memory)[0] == ("user", "a\ufffdb\ufffdc")
    chat.shown[0].encode("utf-8")


async def test_a_hundred_thousand_characters_are_kept_whole_and_cut_in_the_request() -> None:
    memory, model, chat = FakeMemory(), FakeModel(["ok"]), RecordingChat()
    text = "слово " * 16_666 + "end!"
    assert len(text) == 100_000
    await receive(an_assistant(memory, model), chat, text)
    assert memory.messages[0].content == text
    asked = model.requests[0][-1].content
    assert asked.startswith("слово ")
    assert asked.endswith("end!")
    assert "[…]" in asked


async def test_what_goes_wrong_is_one_line_for_the_user_and_no_contents_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    memory, chat = FakeMemory(), RecordingChat()
    memory.failure = RuntimeError("near 'my secret words'")
    with caplog.at_level(logging.DEBUG):
        await receive(an_assistant(memory, FakeModel()), chat, "my secret words")
    assert chat.shown == ["Sorry, something went wrong on my side. Please try again."]
    assert "RuntimeError" in caplog.text
    assert "secret" not in caplog.text


async def test_a_forwarded_message_keeps_its_sender() -> None:
    memory, chat = FakeMemory(), RecordingChat()
    chat.said = Said(sender="Bob", sender_id="99")
    await receive(an_assistant(memory, FakeModel()), chat, "I like tea")
    kept: Message = memory.messages[0]
    assert (kept.sender, kept.sender_id) == ("Bob", "99")
    assert (memory.messages[1].sender, memory.messages[1].sender_id) == (None, None)


async def test_the_count_for_extraction_starts_over_after_every_fifth() -> None:
    app = an_assistant(FakeMemory(), FakeModel(), fact_extraction_every=2)
    chat = RecordingChat()
    counts = []
    for _ in range(3):
        await receive(app, chat, "hi")
        counts.append(app.states.get_state(7).messages_since_fact_extract)
    assert counts == [1, 0, 1]
