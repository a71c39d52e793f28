"""Each command as a whole process: what it prints and what it ends with."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import termios
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from keepsake.clock import to_micros
from keepsake.forgetting.ledger import Ledger
from keepsake.lock import FolderLock
from keepsake.models import FactDraft
from keepsake.store import facts
from keepsake.store.database import connect_reader, connect_writer
from tests.cli.program import RunningChat, bot, shell, start

PARROT = "I live in Angarsk with my heron-17-violet parrot"


@pytest.fixture
def told() -> None:
    """User 1 has said something, user -5 something else."""
    assert bot("chat", stdin=f"{PARROT}\nand I like tea\n").status == 0
    assert bot("chat", "--user", "-5", stdin="Мой кот спит на подоконнике\n").status == 0


def bytes_of(folder: Path) -> bytes:
    return b"\n".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    "arguments",
    [
        ["stats", "1"],
        ["facts", "1"],
        ["context", "1", "x"],
        ["search", "1", "x"],
        ["verify"],
        ["reindex"],
        ["erase", "1", "--yes"],
    ],
)
def test_with_nothing_kept_each_command_says_so_and_makes_nothing(
    arguments: list[str], data_dir: Path
) -> None:
    ended = bot(*arguments)
    assert ended.status == 1
    assert "nothing is kept" in ended.remark
    assert ended.out == ""
    assert not data_dir.exists()


def test_the_bot_without_a_token_names_the_variable(data_dir: Path) -> None:
    ended = bot()
    assert ended.status == 2
    assert "TELEGRAM_BOT_TOKEN" in ended.remark
    assert not data_dir.exists()


def test_run_without_a_token_is_the_chat() -> None:
    assert bot("run", stdin="/exit\n").status == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["stats"],
        ["stats", "me"],
        ["stats", str(2**63)],
        ["chat", "--user", "99999999999999999999"],
        ["chat", "--user", "me"],
        ["search", "1", "tea", "--limit", "0"],
        ["search", "1", "  "],
        ["erase", "1"],
        ["verify", "--force"],
    ],
)
def test_a_wrong_command_is_2(arguments: list[str], data_dir: Path) -> None:
    ended = bot(*arguments)
    assert ended.status == 2
    assert ended.err
    assert "Traceback" not in ended.err
    assert not data_dir.exists()


def test_a_wrong_setting_is_2_and_named() -> None:
    ended = bot("stats", "1", STM_SIZE="many")
    assert ended.status == 2
    assert "STM_SIZE" in ended.remark
    assert "many" in ended.remark


@pytest.mark.parametrize("content", [b"just a text file\n" * 300, b""], ids=["text", "empty"])
def test_a_foreign_memory_db_is_2_and_stays_as_it_is(content: bytes, data_dir: Path) -> None:
    data_dir.mkdir()
    (data_dir / "memory.db").write_bytes(content)
    ended = bot("stats", "1")
    assert ended.status == 2
    assert "memory.db" in ended.remark
    ended = bot("verify", "--json")
    assert (ended.status, ended.err) == (1, "")
    assert [item["check"] for item in json.loads(ended.out) if not item["ok"]] == ["database"]
    assert (data_dir / "memory.db").read_bytes() == content


def test_what_cannot_be_mended_is_shown_with_the_checks(data_dir: Path) -> None:
    data_dir.mkdir()
    (data_dir / "memory.db").write_bytes(b"just a text file\n" * 300)
    ended = bot("verify", "--fix")
    assert ended.status == 1
    assert "nothing was mended" in ended.remark
    assert "OFF database" in ended.out


@pytest.mark.usefixtures("told")
def test_readers_find_what_was_said() -> None:
    stats = json.loads(bot("stats", "1").out)
    assert stats["total_messages"] == 2
    assert stats["vector_documents"] == 2
    assert json.loads(bot("stats", "-5").out)["total_messages"] == 1

    context = bot("context", "1", "where do I live?")
    assert context.status == 0
    assert PARROT in context.out
    assert "кот" not in context.out

    assert PARROT in bot("search", "1", "which", "bird", "parrot").out
    found = json.loads(bot("search", "-5", "кот", "--json", "--limit", "1").out)
    assert [item["content"] for item in found] == ["Мой кот спит на подоконнике"]
    assert "кот спит" in bot("search", "-5", "кот", "--json").out, "letters, not escapes"

    verify = bot("verify", "--json")
    assert verify.status == 0
    assert all(set(item) == {"check", "ok", "detail", "mend"} for item in json.loads(verify.out))


@pytest.mark.usefixtures("told")
def test_nothing_found_for_a_user_is_1() -> None:
    ended = bot("stats", "77")
    assert ended.status == 1
    assert json.loads(ended.out)["total_messages"] == 0
    assert "77" in ended.remark
    assert bot("facts", "1", "--json").out.strip() == "[]"
    assert bot("facts", "1").status == 1
    assert bot("erase", "77", "--yes").remark == "nothing is held about that user"
    assert bot("reindex", "77").status == 1


@pytest.mark.usefixtures("told")
def test_erase_prints_the_receipt_and_leaves_nothing(data_dir: Path) -> None:
    ended = bot("erase", "1", "--yes")
    assert ended.status == 0
    receipt = json.loads(ended.out)
    assert receipt["left"] == 0
    assert receipt["seq"] == 1
    assert receipt["counts"]["messages"] == 2
    assert receipt["not_covered"]
    assert b"heron-17" not in bytes_of(data_dir)
    assert b"angarsk" not in bytes_of(data_dir).lower()
    assert bot("verify").status == 0
    assert json.loads(bot("stats", "-5").out)["vector_documents"] == 1

    again = bot("erase", "1", "--yes")
    assert (again.status, json.loads(again.out)) == (0, receipt), "whoever was cut off gets the receipt still"


@pytest.mark.usefixtures("told")
def test_reindex_shows_a_bar_and_makes_every_vector_anew() -> None:
    before = bot("search", "1", "parrot").out
    ended = bot("reindex")
    assert ended.status == 0
    assert ended.out == ""
    assert ended.remark == "3/3 vectors made"
    assert bot("search", "1", "parrot").out == before
    assert bot("verify").status == 0


def test_commands_speak_english_whatever_the_person_chose() -> None:
    assert bot("chat", stdin="/language ru\nМой кот спит\n", EMBEDDING_MODEL="none").status == 0
    assert "User" in bot("search", "1", "кот", EMBEDDING_MODEL="none").out
    assert "Пользователь: Мой кот спит" in bot("context", "1", "кот", EMBEDDING_MODEL="none").out


def test_of_a_long_message_search_shows_the_part_that_matches() -> None:
    said = "we talked about the weather, " * 20 + "then my cats came in " + "and so on, " * 20
    assert bot("chat", stdin=f"{said}\n", EMBEDDING_MODEL="none").status == 0
    out = bot("search", "1", "which", "cat?", EMBEDDING_MODEL="none").out
    assert re.fullmatch(r"\[0\.\d\d\] User \(\d{4}-\d\d-\d\d\): …[^\n]*then my cats came in[^\n]*…\n", out)
    (found,) = json.loads(bot("search", "1", "cat", "--json", EMBEDDING_MODEL="none").out)
    assert found["content"].strip() == said.strip()
    assert found["snippet"] == out.partition("): ")[2].strip()


def test_a_reranker_that_is_not_there_is_one_line_and_recall_goes_on() -> None:
    models = {"EMBEDDING_MODEL": "none", "RERANKER_MODEL": "./nowhere"}
    assert "RERANKER_MODEL ./nowhere" in bot("chat", stdin=f"{PARROT}\n", **models).remark
    for command in ("search", "context"):
        ended = bot(command, "1", "parrot", **models)
        assert PARROT in ended.out
        assert "RERANKER_MODEL ./nowhere" in ended.remark


def test_without_an_embedding_model_keyword_search_serves() -> None:
    assert bot("chat", stdin=f"{PARROT}\n", EMBEDDING_MODEL="none").status == 0
    assert PARROT in bot("search", "1", "parrot", EMBEDDING_MODEL="none").out
    assert bot("verify", EMBEDDING_MODEL="none").status == 0
    ended = bot("reindex", EMBEDDING_MODEL="none")
    assert ended.status == 2
    assert "EMBEDDING_MODEL" in ended.remark


@pytest.mark.usefixtures("told")
def test_beside_a_running_bot_readers_read_and_changes_are_done_by_it(data_dir: Path) -> None:
    with RunningChat() as chat:
        assert json.loads(bot("stats", "1").out)["total_messages"] >= 2
        assert PARROT in bot("search", "1", "parrot").out
        assert PARROT in bot("context", "1", "parrot").out
        assert bot("verify").status == 0
        assert bot("verify", "--fix").status == 0
        assert bot("reindex", "-5").status == 0

        refused = bot("chat", stdin="me too\n")
        assert refused.status == 3
        assert str(chat.process.pid) in refused.remark

        receipt = json.loads(bot("erase", "1", "--yes").out)
        assert receipt["left"] == 0
        assert b"heron-17" not in bytes_of(data_dir)
        assert chat.say("are you still there?")
    assert json.loads(bot("stats", "1").out)["total_messages"] == 1
    assert bot("verify").status == 0


@pytest.mark.usefixtures("told")
def test_interrupted_it_leaves_the_work_to_the_bot(data_dir: Path) -> None:
    with FolderLock(data_dir):
        process = start("erase", "1", "--yes")
        while _jobs(data_dir) == 0:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert "stays queued" in err
    assert "Traceback" not in err
    assert bot("chat", "--user", "-5", stdin="").status == 0
    assert bot("stats", "1").status == 1
    assert len(Ledger(data_dir).path.read_text().splitlines()) == 1


@pytest.mark.usefixtures("told")
def test_nobody_reads_the_output() -> None:
    with start("context", "1", "parrot") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(timeout=60) == 0


@pytest.mark.parametrize("delay", [1.0, 1.6, 2.2])
def test_an_erasure_that_was_killed_is_finished_at_the_next_start(delay: float, data_dir: Path) -> None:
    lines = "".join(f"heron-{number}-violet is my word number {number}\n" for number in range(40))
    assert bot("chat", stdin=lines).status == 0
    process = start("erase", "1", "--yes")
    time.sleep(delay)
    process.kill()
    process.communicate()
    assert bot("chat", "--user", "2", stdin="").status == 0
    if bot("stats", "1").status == 0:  # killed before it had begun
        assert bot("erase", "1", "--yes").status == 0
    assert b"-violet" not in bytes_of(data_dir)
    assert [path.name for path in data_dir.glob("erasing-*")] == []
    assert len(Ledger(data_dir).path.read_text().splitlines()) == 1
    assert bot("verify").status == 0


STEERING = "\x1b[2J, \x07 and \x9b31m"


@pytest.fixture
def steered(data_dir: Path) -> None:
    """User 1 has sent control characters and Cyrillic letters, and a fact has them too."""
    assert bot("chat", stdin=f"my город is {STEERING}\n").status == 0
    with closing(connect_writer(data_dir / "memory.db")) as connection:
        draft = FactDraft(f"город {STEERING}", (1,))
        facts.insert(connection, 1, draft, to_micros(datetime(2026, 3, 1, tzinfo=UTC)))


@pytest.mark.usefixtures("steered")
def test_what_was_said_cannot_steer_the_terminal() -> None:
    for arguments in (["search", "1", "город"], ["facts", "1"], ["context", "1", "город"]):
        ended = bot(*arguments)
        assert ended.status == 0
        assert "[2J,  and 31m" in ended.out
        assert not set(ended.out) & set("\x1b\x07\x9b")
    for arguments in (["search", "1", "город", "--json"], ["facts", "1", "--json"]):
        out = bot(*arguments).out
        assert not set(out) & set("\x1b\x07\x9b")
        assert STEERING in json.loads(out)[0]["content"]


@pytest.mark.usefixtures("steered")
@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_an_output_without_these_letters_has_others_in_their_place(encoding: str) -> None:
    for arguments in (["search", "1", "город"], ["facts", "1"], ["context", "1", "город"]):
        ended = bot(*arguments, PYTHONIOENCODING=encoding)
        assert (ended.status, ended.err) == (0, "")
        assert "?????" in ended.out
    found = json.loads(bot("search", "1", "город", "--json", PYTHONIOENCODING=encoding).out)
    assert "город" in found[0]["content"], "JSON has escapes for all letters"


@pytest.mark.usefixtures("told")
def test_a_full_disk_behind_the_output_is_one_line() -> None:
    ended = shell("stats 1 >/dev/full")
    assert ended.status == 1
    assert "standard output cannot be written" in ended.remark


@pytest.mark.usefixtures("told")
def test_closed_streams_are_empty_ones() -> None:
    for command in ("chat <&-", "chat >&- </dev/null", "stats 1 >&-", "stats 1 2>&-"):
        ended = shell(command)
        assert (ended.status, ended.err) == (0, ""), command


def test_version() -> None:
    ended = bot("--version")
    assert ended.status == 0
    assert re.fullmatch(r"keepsake \d+\.\d+\.\d+\n", ended.out)


@pytest.mark.parametrize("command", ["stats", "erase", "reindex", "chat"])
def test_help_has_no_ranges_of_nineteen_digits(command: str) -> None:
    assert "9223372036854775" not in bot(command, "--help").out


def test_a_mistyped_setting_is_told_of_once(data_dir: Path) -> None:
    Path(".env").write_text("OPENAI_MODLE=x\nSOMETHING_ELSE=y\n")
    ended = bot("chat")
    assert ended.status == 0
    assert "OPENAI_MODEL is probably meant" in ended.remark
    Path(".env").write_bytes(b"OPENAI_MODEL=caf\xe9\n")
    ended = bot("chat")
    assert ended.status == 2
    assert "UTF-8" in ended.remark


@pytest.mark.usefixtures("told")
def test_reindex_at_a_terminal_shows_a_bar_that_goes_away() -> None:
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, 80))
    with start("reindex", stderr=slave) as process:
        os.close(slave)
        process.communicate(timeout=60)
    shown = os.read(master, 65_536).decode()
    os.close(master)
    assert process.returncode == 0
    assert "vectors:" in shown
    assert shown.rstrip().endswith("3/3 vectors made")


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_reindex_goes_on_by_itself_where_the_bot_ends(end: signal.Signals) -> None:
    lines = "".join(f"this is what I say as number {number}\n" for number in range(60))
    with RunningChat() as chat:
        assert chat.process.stdin is not None
        chat.process.stdin.write(lines)
        chat.process.stdin.flush()
        while json.loads(bot("stats", "1").out)["total_messages"] < 61:
            time.sleep(0.1)
        process = start("reindex")
        time.sleep(1.0)
        chat.process.send_signal(end)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
    assert bot("verify").status == 0


def _jobs(data_dir: Path) -> int:
    with closing(connect_reader(data_dir / "memory.db")) as connection:
        return int(connection.execute("SELECT count(*) FROM jobs WHERE kind = 'erase'").fetchone()[0])
