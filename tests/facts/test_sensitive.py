"""What is never kept as a fact, and what only looks like it."""

from __future__ import annotations

import pytest

from keepsake.facts.sensitive import MASK, holds_secret, mask, secrets_in


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("my password is hunter2", "hunter2"),
        ("Password: correcthorse", "correcthorse"),
        ("пароль от почты: Весна2024", "Весна2024"),
        ("мой пароль — qwe123", "qwe123"),
        ("mật khẩu wifi là abc12345", "abc12345"),
        ("密码是abc123", "abc123"),
        ("PIN: 4821", "4821"),
        ("card 4111 1111 1111 1111 exp 10/29", "4111 1111 1111 1111"),
        ("карта 5555555555554444", "5555555555554444"),
        ("use sk-proj-abcDEF123456789012345678 please", "sk-proj-abcDEF123456789012345678"),
        ("ghp_0123456789abcdefghijklmnopqrstuvwxyz", "ghp_0123456789abcdefghijklmnopqrstuvwxyz"),
        ("AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
        (
            "bot 110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1",
            "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1",
        ),
    ],
)
def test_secrets_are_found_and_masked(text: str, secret: str) -> None:
    assert secrets_in(text) == {secret}
    assert mask(text) == text.replace(secret, MASK)
    assert not holds_secret(mask(text).replace(MASK, ""))


@pytest.mark.parametrize(
    "text",
    [
        "I forgot my password again",
        "the password is wrong",
        "мой пароль слишком длинный",
        "order 4111 1111 1111 1112",
        "my phone is +7 902 123-45-67",
        "born on 1985-03-12, moved 2010-10-10",
        "1,234,567,890,123 stars",
        "0000 0000 0000 0000",
        "github.com/skeletor-desk",
        "密码学很有趣",
    ],
)
def test_what_only_looks_like_one_stays(text: str) -> None:
    assert mask(text) == text
