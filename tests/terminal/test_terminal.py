from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from keepsake.locales import translate
from keepsake.terminal.chat import printable

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-m", "tests.terminal.driver"]
SECONDS = 60


def start(**more: Any) -> subprocess.Popen[bytes]:
    streams: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    environment = {**os.environ, "PYTHONUTF8": "1", "PROMPT_TOOLKIT_NO_CPR": "1"}
    return subprocess.Popen(COMMAND, cwd=ROOT, env=environment, **(streams | more), text=False)


def piped(data: bytes) -> tuple[str, str]:
    with start() as process:
        out, err = process.communicate(data, timeout=SECONDS)
    assert process.returncode == 0, err.decode()
    return out.decode("utf-8"), err.decode("utf-8")


def kept(err: str) -> tuple[list[str], int]:
    line = next(line for line in err.splitlines() if line.startswith("KEPT "))
    messages, flushed = json.loads(line.removeprefix("KEPT "))
    return messages, flushed


def test_a_pipe_is_answered_line_by_line_and_ends_after_all_work() -> None:
    out, err = piped("привет\n\n  \nsecond\r\nlast, unended".encode())
    assert out == "echo: привет\necho: second\necho: last, unended\n"
    said = ["привет", "echo: привет", "second", "echo: second", "last, unended", "echo: last, unended"]
    assert kept(err) == (said, 1)


def test_notes_go_to_standard_error() -> None:
    out, err = piped(b"hi\nagain\n")
    assert "local model" not in out
    assert err.count(translate("en", "weak-model-note", model="fake-1")) == 1
    assert "terminal chat" not in err


def test_exit_ends_it() -> None:
    out, err = piped(b"one\n/exit\ntwo\n")
    assert out == "echo: one\n"
    assert kept(err)[1] == 1


def test_no_input_at_all_is_fine() -> None:
    out, err = piped(b"")
    assert out == ""
    assert kept(err) == ([], 1)


def test_bytes_that_are_not_utf_8_are_replaced() -> None:
    out, _ = piped(b"caf\xe9 \xff\x00ok\n")
    assert out == "echo: caf\ufffd \ufffd\ufffdok\n"


def test_a_hundred_thousand_characters_in_one_line() -> None:
    text = "я" * 100_000
    out, err = piped(text.encode() + b"\n")
    assert out.startswith("echo: яя")
    assert "[…]" in out  # the model is given what fits into its request
    assert kept(err)[0][0] == text


def test_a_number_presses_a_button_once_and_only_then() -> None:
    out, err = piped(b"2\n/language\n2\n2\n/dance\n/language\nhm\n1\n")
    lines = out.splitlines()
    assert lines[0] == "echo: 2"
    assert lines[1:4] == [translate("en", "language-question"), "[1] English", "[2] Русский"]
    assert lines[4] == translate("ru", "language-set")
    assert lines[5] == "echo: 2"
    assert lines[6] == translate("ru", "unknown-command", name="dance")
    assert lines[10:] == ["echo: hm", "echo: 1"]
    assert kept(err)[0][::2] == ["2", "2", "hm", "1"]


def test_what_is_found_is_printed_page_by_page() -> None:
    said = "".join(f"tea of sort {number}\n" for number in range(6)).encode()
    out, err = piped(said + b"/search tea\n1\n2\n1\n1\nhm\n1\n")
    pages = out[out.index("What I found") : out.index("echo: hm")].split("What I found, ")[1:]
    first, second, third, back, again = [page.splitlines() for page in pages]
    assert first[0] == "1 to 5 of 12:"
    assert first[1] == "• 2026-03-01, you: tea of sort 0"
    assert first[6:] == ["[1] Next ▶"]
    assert second[0] == "6 to 10 of 12:"
    assert second[6:] == ["[1] ◀ Back", "[2] Next ▶"]
    assert third == ["11 to 12 of 12:", *third[1:3], "[1] ◀ Back"]
    assert (back, again) == (second, first)
    assert out.endswith("echo: hm\necho: 1\n")
    assert kept(err)[0][12::2] == ["hm", "1"]


def test_a_reader_that_goes_away_ends_it_and_what_was_said_is_kept() -> None:
    with start() as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stdin.write(b"hello\n")
        process.stdin.flush()
        err = process.stderr.read().decode()
        assert process.wait(SECONDS) == 0
    assert kept(err)[0] == ["hello", "echo: hello"]
    assert "Traceback" not in err
    assert "BrokenPipe" not in err


def test_ctrl_c_stops_the_answer_keeps_its_beginning_and_goes_on() -> None:
    with start() as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b"endless\n")
        process.stdin.flush()
        assert process.stdout.read(9) == b"Once upon"
        process.send_signal(signal.SIGINT)
        process.stdin.write(b"next\n")
        process.stdin.close()
        rest, err = process.stdout.read(), process.stderr.read().decode()
        assert process.wait(SECONDS) == 0
    assert rest == b"\necho: next\n"
    assert translate("en", "answer-stopped") in err
    assert sorted(kept(err)[0]) == sorted(["endless", "Once upon", "next", "echo: next"])


def test_ctrl_c_in_an_idle_pipe_ends_it_cleanly() -> None:
    with start() as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b"hi\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"echo: hi\n"
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        err = process.stderr.read().decode()
        assert process.wait(SECONDS) == 0
    assert "Traceback" not in err
    assert kept(err) == (["hi", "echo: hi"], 1)


class Terminal:
    """The far end of a pseudo-terminal."""

    def __init__(self) -> None:
        self.master, slave = pty.openpty()
        self.process = start(stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
        os.close(slave)
        self.seen = ""

    def expect(self, text: str) -> None:
        end = time.monotonic() + SECONDS
        while text not in self.seen:
            ready, _, _ = select.select([self.master], [], [], max(0, end - time.monotonic()))
            assert ready, f"{text!r} did not come: {self.seen!r}"
            try:
                data = os.read(self.master, 4096)
            except OSError:
                data = b""
            assert data, f"{text!r} did not come: {self.seen!r}"
            self.seen += data.decode("utf-8", "replace")
        self.seen = self.seen.partition(text)[2]

    def type(self, keys: bytes) -> None:
        os.write(self.master, keys)


def test_a_person_at_a_terminal() -> None:
    terminal = Terminal()
    try:
        terminal.expect(translate("en", "terminal-hello"))
        terminal.expect("you>")
        terminal.type(b"helloX\x7f\r")
        terminal.expect("echo: hello")
        terminal.expect("you>")
        terminal.type(b"\x1b[A\r")  # the arrow up brings the last line back
        terminal.expect("echo: hello")
        terminal.expect("you>")
        terminal.type(b"never sent\x03")
        terminal.type(b"/language\r")
        terminal.expect("[2] Русский")
        terminal.expect("you>")
        terminal.type(b"2\r")
        terminal.expect(translate("ru", "language-set"))
        terminal.expect(translate("ru", "prompt"))
        terminal.type(b"\x04")
        terminal.expect("KEPT ")
        assert terminal.process.wait(SECONDS) == 0
    finally:
        terminal.process.kill()
        terminal.process.wait()
        os.close(terminal.master)


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a\x1b[2Jb", "a[2Jb"), ("a\tb\n", "a\tb\n"), ("a\x9b31m\x7f\r", "a31m"), ("слово 😀", "слово 😀")],
)
def test_an_answer_cannot_steer_the_terminal(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_prompt_toolkit_is_imported_at_a_terminal_only() -> None:
    code = "import sys, keepsake.terminal; sys.exit(bool({'prompt_toolkit', 'telegram'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_incognito_and_its_button_and_what_a_correction_offers() -> None:
    out, err = piped(b"/incognito\nmy secret\n1\nno, I meant the train leaves at nine\n")
    lines = out.splitlines()
    assert lines[2:5] == ["[1] End it", "echo: my secret", "echo: 1"]
    assert lines[5:] == ["echo: no, I meant the train leaves at nine"]
    assert kept(err)[0] == []
    out, err = piped(b"/incognito\n1\nno, I meant the train leaves at nine\n")
    assert out.splitlines()[3:] == [
        translate("en", "incognito-ended"),
        "echo: no, I meant the train leaves at nine",
        "[1] Remember this: The train leaves at nine",
    ]
    assert len(kept(err)[0]) == 2
