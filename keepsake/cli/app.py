"""The commands and their arguments. What they do stands in the modules beside this one."""

from __future__ import annotations

import asyncio
import logging
import sys
import tomllib
from collections.abc import Awaitable, Callable
from importlib import metadata
from pathlib import Path
from typing import Annotated

import typer

from keepsake.cli.out import SOMETHING_OFF, WRONG_USE, end_output, ready_streams, remark, say
from keepsake.errors import KeepsakeError
from keepsake.logs import setup_logging
from keepsake.mistyped import mistyped_names
from keepsake.settings import PROJECT_DIR, Settings, load_settings

log = logging.getLogger(__name__)

_INTERRUPTED = 130  # 128 + SIGINT, as shells have it

app = typer.Typer(
    help="An assistant that remembers. Without a command: the Telegram bot.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
# Ids of Telegram groups are negative: "-5" is a person here, no option.
_WITH_ID = {"ignore_unknown_options": True}


def _person(text: str) -> int:
    """Whom it is about, as typer's parser: its own ranges would stand in the help with 19 digits."""
    try:
        user_id = int(text)
    except ValueError:
        raise typer.BadParameter("a user's id is a whole number") from None
    if not -(2**63) <= user_id < 2**63:
        raise typer.BadParameter("a user's id has at most 63 bits")
    return user_id


def _version(wanted: bool) -> None:
    if wanted:
        project = PROJECT_DIR / "pyproject.toml"
        if project.is_file():
            version = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"]
        else:
            version = metadata.version("keepsake")
        say(f"keepsake {version}")
        raise typer.Exit


UserId = Annotated[int, typer.Argument(metavar="USER_ID", parser=_person)]
Query = Annotated[list[str], typer.Argument(metavar="QUERY")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def main() -> int:
    """Runs the command line and returns the exit status (contract.md)."""
    ready_streams()
    return end_output(_status())


def _status() -> int:
    try:
        app(standalone_mode=True)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else WRONG_USE
    except KeepsakeError as error:
        remark(f"keepsake: {error}")
        return error.exit_status
    except KeyboardInterrupt:
        return _INTERRUPTED
    except Exception as error:  # the outer edge: a person is shown a line, the log has the rest
        log.debug("the command failed", exc_info=True)
        remark(f"keepsake: unexpected {type(error).__name__}; LOG_LEVEL=DEBUG shows where")
        return SOMETHING_OFF
    return 0


def _do(work: Callable[[Settings], Awaitable[int]]) -> None:
    """Reads the settings, runs a command to its end and leaves with its status."""
    settings = load_settings()
    setup_logging(settings)
    for line in mistyped_names():
        log.warning(line)

    async def run() -> int:
        return await work(settings)

    raise typer.Exit(asyncio.run(run()))


def _question(words: list[str]) -> str:
    return _words(" ".join(words), "QUERY")


def _words(text: str, name: str) -> str:
    words = text.strip()
    if not words:
        raise typer.BadParameter(f"{name} is empty")
    return words.encode("utf-8", "replace").decode("utf-8")


@app.callback(invoke_without_command=True)
def _without_command(
    context: typer.Context,
    _version_wanted: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        from keepsake.cli import talk

        _do(talk.telegram)


@app.command()
def run() -> None:
    """The Telegram bot where TELEGRAM_BOT_TOKEN is set, else the chat in the terminal."""
    from keepsake.cli import talk

    _do(talk.run)


@app.command()
def chat(
    user: Annotated[int, typer.Option("--user", metavar="ID", parser=_person, help="Who is talking.")] = 1,
) -> None:
    """Talk in the terminal, or through a pipe: one message a line."""
    from keepsake.cli import talk

    _do(lambda settings: talk.chat(settings, user))


@app.command(context_settings=_WITH_ID)
def stats(user_id: UserId) -> None:
    """How much is held about a person, as JSON."""
    from keepsake.cli import readers

    _do(lambda settings: readers.stats(settings, user_id))


@app.command(context_settings=_WITH_ID)
def facts(
    user_id: UserId,
    everything: Annotated[bool, typer.Option("--all", help="Also those that hold no more.")] = False,
    as_json: AsJson = False,
) -> None:
    """What is known about a person."""
    from keepsake.cli import readers

    _do(lambda settings: readers.facts(settings, user_id, all_statuses=everything, as_json=as_json))


@app.command(context_settings=_WITH_ID)
def context(user_id: UserId, query: Query) -> None:
    """The very block that the model would be given for a question."""
    from keepsake.cli import readers

    text = _question(query)
    _do(lambda settings: readers.context(settings, user_id, text))


@app.command(context_settings=_WITH_ID)
def search(
    user_id: UserId,
    query: Query,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=1, max=1000, help="How many at most.")
    ] = 5,
    archive: Annotated[bool, typer.Option("--archive", help="Look in the archive, by words.")] = False,
    as_json: AsJson = False,
) -> None:
    """What memory finds about a question."""
    from keepsake.cli import readers

    text = _question(query)
    look = readers.search_archive if archive else readers.search
    _do(lambda settings: look(settings, user_id, text, limit, as_json=as_json))


@app.command(context_settings=_WITH_ID)
def reindex(
    user_id: Annotated[
        int | None, typer.Argument(metavar="USER_ID", parser=_person, show_default=False)
    ] = None,
) -> None:
    """Build the vector index anew from SQLite, of one person or of all."""
    from keepsake.cli import changes

    _do(lambda settings: changes.reindex(settings, user_id))


@app.command()
def verify(
    fix: Annotated[bool, typer.Option("--fix", help="Mend what can be made anew.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check SQLite, the index against it, orphans and the ledger."""
    from keepsake.cli import changes, readers

    async def work(settings: Settings) -> int:
        if fix:
            await changes.mend(settings)
        return readers.show_checks(await readers.check(settings), as_json=as_json)

    _do(work)


@app.command()
def prune(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    as_json: AsJson = False,
) -> None:
    """Clean facts that were replaced long ago, are past their date, or unimportant and unused."""
    from keepsake.cli import cleaning

    _do(lambda settings: cleaning.prune(settings, dry_run=dry_run, as_json=as_json))


@app.command(context_settings=_WITH_ID)
def consolidate(
    user_id: Annotated[
        int | None, typer.Argument(metavar="USER_ID", parser=_person, show_default=False)
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Also before its time.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would change.")] = False,
    as_json: AsJson = False,
) -> None:
    """Tidy facts now, of one person or of all: what is new, merged, replaced, and their topics."""
    from keepsake.cli import dreaming

    _do(
        lambda settings: dreaming.consolidate(
            settings, user_id, force=force, dry_run=dry_run, as_json=as_json
        )
    )


@app.command()
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", show_default=False)],
    force: Annotated[bool, typer.Option("--force", help="Replace an older backup of that name.")] = False,
) -> None:
    """Write a consistent copy of memory.db, also beside a running bot."""
    from keepsake.cli import backups

    _do(lambda settings: backups.backup(settings, file, replace=force))


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", show_default=False)],
    yes: Annotated[bool, typer.Option("--yes", help="Yes: what is kept now is replaced.")] = False,
) -> None:
    """Put a backup in the place of what is kept; whoever was erased since is erased again."""
    from keepsake.cli import backups

    if not yes:
        remark("keepsake: restoring replaces all that is kept now; repeat the command with --yes")
        raise typer.Exit(WRONG_USE)
    _do(lambda settings: backups.restore(settings, file))


@app.command(context_settings=_WITH_ID)
def erase(
    user_id: UserId,
    yes: Annotated[bool, typer.Option("--yes", help="Yes, for good: it cannot be undone.")] = False,
    hold: Annotated[
        str | None, typer.Option("--hold", metavar="REASON", help="Erase nothing: a legal hold begins.")
    ] = None,
    release: Annotated[
        str | None, typer.Option("--release", metavar="REASON", help="Erase nothing: the legal hold ends.")
    ] = None,
) -> None:
    """Forget a person for good; prints the receipt. Or hold them, or release them, as the law asks."""
    from keepsake.cli import changes

    reason = hold if hold is not None else release
    if (hold is not None) + (release is not None) + yes > 1:
        raise typer.BadParameter("--yes, --hold and --release exclude each other")
    if reason is not None:
        words = _words(reason, "REASON")
        _do(lambda settings: changes.hold(settings, user_id, words, begins=hold is not None))
    if not yes:
        remark("keepsake: erasing cannot be undone; repeat the command with --yes")
        raise typer.Exit(WRONG_USE)
    _do(lambda settings: changes.erase(settings, user_id))


@app.command(name="verify-receipt")
def verify_receipt(file: Annotated[Path, typer.Argument(metavar="FILE", show_default=False)]) -> None:
    """Check the receipt of an erasure, as `erase` prints it, against the ledger."""
    from keepsake.cli import readers

    _do(lambda settings: readers.verify_receipt(settings, file))


if __name__ == "__main__":
    sys.exit(main())
