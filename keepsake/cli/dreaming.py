"""The command for consolidation, the "dream"."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from keepsake.cli.out import DONE, SOMETHING_OFF, remark, say, say_json
from keepsake.cli.queue import JobFailedError, JobQueue, Wish, Worker, fulfil
from keepsake.cli.readers import require_memory
from keepsake.settings import Settings
from keepsake.store import users
from keepsake.store.jobs import CONSOLIDATE

_NOT_YET = {
    "few_sessions": "not yet: too few sessions since the last time; --force does it all the same",
    "early": "not yet: too soon after the last time; --force does it all the same",
    "talking": "not yet: they were talking just now; --force does it all the same",
    "taken": "another one was at it",
}
_STOPPED = {
    "calls": "stopped at DREAM_CALLS; the rest is read next time",
    "time": "stopped at DREAM_MINUTES; the rest is read next time",
    "room": "no model was asked: CONTEXT_TOKENS leave too little room",
    "answer": "the model's answer was not of the form, twice; it is tried again",
}
_LISTS = {
    "new": "new",
    "merged": "merged",
    "superseded": "replaced",
    "forgotten": "taken out of use",
    "expired": "expired",
    "removed": "removed",
}


async def consolidate(
    settings: Settings, user_id: int | None, *, force: bool, dry_run: bool, as_json: bool
) -> int:
    """Consolidates a person's facts, or everybody's, and prints what changed.

    JSON: an object for one person, a list of them for all.
    """
    require_memory(settings)
    reports: list[dict[str, Any]] = []
    failed = False
    async with Worker(settings) as worker:
        queue = JobQueue(settings.database_path)
        known = await queue.read(users.all_ids)
        if user_id is not None and user_id not in known:
            remark(f"nothing found for user {user_id}")
            return SOMETHING_OFF
        for one in known if user_id is None else [user_id]:
            wish = Wish(CONSOLIDATE, one, {"force": force, "dry_run": dry_run})
            try:
                reports.append(await fulfil(worker, queue, wish))
            except JobFailedError as error:
                remark(f"user {one}: {error}")
                failed = True
    if as_json:
        _say_json(reports, user_id)
    else:
        for report in reports:
            say("\n".join(_lines(report)))
    return SOMETHING_OFF if failed or any(one.get("stopped") == "answer" for one in reports) else DONE


def _say_json(reports: list[dict[str, Any]], user_id: int | None) -> None:
    if user_id is None:
        say_json(reports)
    elif reports:
        say_json(reports[0])


def _lines(report: Mapping[str, Any]) -> Iterator[str]:
    who = f"user {report['user_id']}"
    if "not_yet" in report:
        yield f"{who}: {_NOT_YET[report['not_yet']]}"
        return
    counts = [f"{len(report[name])} {words}" for name, words in _LISTS.items() if report[name]]
    would = "would be: " if report["dry_run"] else ""
    asked = f"{report['messages']} messages read, {report['calls']} model calls"
    yield f"{who}: {would}{', '.join(counts) or 'nothing changed'} ({asked})"
    for name, words in _LISTS.items():
        for one in report[name]:
            yield f"  {words}: {one['id']}. {_one_line(one['content'])}{_with(one)}"
    for topic in report["topics"]:
        yield f"  topic: {topic['title'] or topic['slug']} — {len(topic['fact_ids'])} facts"
    if report["refused"]:
        yield "  refused: " + ", ".join(
            f"{why} {number}" for why, number in sorted(report["refused"].items())
        )
    if report["stopped"]:
        yield f"  {_STOPPED[report['stopped']]}"


def _with(one: Mapping[str, Any]) -> str:
    if one.get("ids"):
        return f" (from {', '.join(map(str, one['ids']))})"
    return f" (by {one['by']})" if one.get("by") else ""


def _one_line(text: str) -> str:
    return " ".join(text.split())
