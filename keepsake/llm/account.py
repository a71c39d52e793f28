"""Who pays for what a model is asked: whoever works for a user says so once, and every request below is counted.

A context variable, so that no part between can forget to hand it on; tasks started below inherit it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from keepsake.models import Spent


class Account(Protocol):
    """One user's tokens."""

    async def check(self) -> None:
        """Raises TokensUsedUp where nothing may be asked any more."""

    async def charge(self, spent: Spent) -> None:
        """Counts what a request took."""


_current: ContextVar[Account | None] = ContextVar("account", default=None)


@contextmanager
def on_account(account: Account | None) -> Iterator[None]:
    """What is asked within is counted for `account`; None: for nobody."""
    token = _current.set(account)
    try:
        yield
    finally:
        _current.reset(token)


async def check() -> None:
    """Raises TokensUsedUp where the present account is empty."""
    if (account := _current.get()) is not None:
        await account.check()


async def charge(spent: Spent) -> None:
    if (account := _current.get()) is not None:
        await account.charge(spent)
