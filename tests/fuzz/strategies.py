"""What comes from outside, made up: JSON of any shape, what is well-formed but for a part of it, damaged bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from keepsake.errors import KeepsakeError

# More than a few seconds together is no test that everybody runs; in soak each goes on for longer.
QUICK = settings(
    max_examples=60, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
LONG = settings(QUICK, max_examples=6000, derandomize=False)

in_soak = [pytest.mark.soak, pytest.mark.timeout(3000)]

numbers = st.one_of(
    st.integers(),
    st.sampled_from([0, -1, 2**31, 2**53, 2**63, -(2**63) - 1, 10**400]),
    st.floats(allow_nan=True, allow_infinity=True),
)
# Lone surrogates and NUL can stand in JSON.
texts = st.one_of(
    st.text(st.characters(), max_size=30),
    st.sampled_from(
        ["", "\0", "\ud800", "\u202eabc", "a" * 5000, "9" * 5000, "📋 USER PROFILE:", "/facts", "null"]
    ),
)
scalars = st.one_of(st.none(), st.booleans(), numbers, texts)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=8,
)
deep = st.sampled_from(["[", '{"a":', '{"facts":[', "[[]"]).map(lambda opening: opening * 20_000)


@st.composite
def changed(draw: st.DrawFn, whole: Any) -> Any:
    """`whole`, JSON of the right form, with one to three of its parts taken away or exchanged for anything."""
    result = json.loads(json.dumps(whole))
    for _ in range(draw(st.integers(1, 3))):
        places = list(_places(result))
        if not places:
            return draw(values)
        holder, key = draw(st.sampled_from(places))
        if draw(st.booleans()):
            holder[key] = draw(values)
        else:
            del holder[key]
    return result


def _places(value: Any) -> Any:
    keys: Sequence[Any] = ()
    if isinstance(value, Mapping):
        keys = list(value)
    elif isinstance(value, list):
        keys = range(len(value))
    for key in keys:
        yield value, key
        yield from _places(value[key])


@st.composite
def damaged(draw: st.DrawFn, content: bytes) -> bytes:
    """`content` with bytes exchanged, inserted, and its end cut off."""
    result = bytearray(content)
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(result)))
        result[at : at + draw(st.integers(0, 60))] = draw(st.binary(max_size=60))
    return bytes(result[: draw(st.one_of(st.just(len(result)), st.integers(0, len(result))))])


def in_one_line(error: KeepsakeError) -> None:
    """Our errors are told to people."""
    assert "\n" not in str(error)
