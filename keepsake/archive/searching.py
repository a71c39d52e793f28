"""Looks for words in a person's archive: decrypted in RAM a row group at a time, ranked by BM25. Blocking."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from keepsake.archive.parquet import ArchiveFile
from keepsake.archive.place import Place
from keepsake.models import Message
from keepsake.recall.ranking import bm25, rarity
from keepsake.store.archive import File

HITS_MAX = (
    20_000  # messages with a word of the question that are held in RAM; of more, those with the most words
)


class _Hit(NamedTuple):
    words: int  # how many of the question's stand in it
    id: int
    file: int  # its place among the files
    counts: tuple[int, ...]
    length: int


class Shelf(NamedTuple):
    """A person's files, what they are encrypted with, and the messages that count in each (by its id)."""

    files: Sequence[File]
    key: str
    counted: Mapping[int, Collection[int]]


def search(place: Place, shelf: Shelf, terms: Sequence[str], limit: int) -> list[tuple[Message, float]]:
    """At most `limit` messages that hold some of these terms with scores of 0–1, best first.

    Raises ArchiveMissing where a file was written anew meanwhile: look again. Raises ArchiveError.
    """
    hits: list[_Hit] = []
    frequencies = np.zeros(len(terms), dtype=np.int64)
    documents = words = 0
    for number in range(len(shelf.files)):
        for hit in _hits(place, shelf, number, terms):
            documents += 1
            words += hit.length
            if hit.words:
                frequencies += np.array(hit.counts) > 0
                hits.append(hit)
        if len(hits) > HITS_MAX:
            hits = sorted(hits, reverse=True)[:HITS_MAX]
    if not hits:
        return []
    counts = np.array([hit.counts for hit in hits], dtype=np.int64)
    lengths = np.array([hit.length for hit in hits], dtype=np.int64)
    scores = bm25(counts, lengths, rarity(frequencies, documents), words / documents)
    order = sorted(range(len(hits)), key=lambda one: (-scores[one], -hits[one].id))[:limit]
    texts = _messages(place, shelf, [hits[one] for one in order])
    return [(texts[hits[one].id], float(scores[one])) for one in order if hits[one].id in texts]


def _hits(place: Place, shelf: Shelf, number: int, terms: Sequence[str]) -> Iterator[_Hit]:
    """Each message of a file that counts, and how often it has each term."""
    file = shelf.files[number]
    counted = shelf.counted[file.id]
    opened = _open(place, shelf, file)
    for group in range(opened.groups):
        for message_id, held in opened.words(group):
            if message_id in counted:
                counts = tuple(held.count(term) for term in terms)
                yield _Hit(sum(one > 0 for one in counts), message_id, number, counts, len(held))


def _messages(place: Place, shelf: Shelf, hits: Sequence[_Hit]) -> dict[int, Message]:
    wanted: dict[int, set[int]] = {}
    for hit in hits:
        wanted.setdefault(hit.file, set()).add(hit.id)
    found: dict[int, Message] = {}
    for number, ids in wanted.items():
        opened = _open(place, shelf, shelf.files[number])
        for group in range(opened.groups):
            found |= {one.message.id: one.message for one in opened.held(group) if one.message.id in ids}
    return found


def _open(place: Place, shelf: Shelf, file: File) -> ArchiveFile:
    return ArchiveFile(place.read(file.name), shelf.key, file.name, file.user_id)
