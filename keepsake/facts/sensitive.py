"""Passwords, keys and card numbers: what is never a fact and is masked where memory shows it. Pure.

Found are well-known forms of keys, card numbers with a right check digit (Luhn, ISO/IEC 7812-1), and what is said to be
a password. Doubtful strings stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

MASK = "•••"

# As their issuers document them: OpenAI and others, GitHub, GitLab, AWS, Google, Slack, Telegram, Stripe, JWT, PEM.
_KEY = re.compile(
    r"\b(?:sk|pk|rk)[-_](?:\w+[-_])*\w{16,}\b|\bgh[pousr]_\w{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{20,}"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bAIza[\w-]{30,}|\bxox[abprs]-[\w-]{10,}|\b\d{8,10}:[\w-]{35}\b"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    re.DOTALL,
)
_CARD = re.compile(r"(?<![\d.,])\d(?:[ -]?\d){12,18}(?![\d.,]*\d)")
_NAME = (
    r"password|passwd|passphrase|passcode|pwd|pin(?: code)?|cvv|cvc|api[ _-]?key|secret key|access token"
    r"|парол[ья]|пин(?:-?код)?|ключ api|api-?ключ|секретный ключ|токен"
    r"|mật khẩu|mat khau|mã pin|密码|口令|密钥|验证码"
)
# "My wifi password is hunter2", "пароль от банка: …": one word that has a digit or a sign, or stands behind a colon.
_SAID = re.compile(
    rf"(?:{_NAME})(?P<between>[^\n.!?;。！？]{{0,40}}?)(?P<sign>\s*[:=：]\s*|\s+(?:is|это|—|–|-|là)\s+|是|为)"
    r"[\"'«“„]?(?P<secret>[^\s\"'»”“,，。]{3,})",
    re.IGNORECASE,
)
_TELLING = re.compile(r"[\d\W_]")


def mask(text: str) -> str:
    """The text with every secret in it as `•••`."""
    for start, end in sorted(_spans(text), reverse=True):
        text = text[:start] + MASK + text[end:]
    return text


def holds_secret(text: str) -> bool:
    """Does a password, a key or a card number stand in the text?"""
    return next(_spans(text), None) is not None


def secrets_in(text: str) -> frozenset[str]:
    """The secrets that stand in the text."""
    return frozenset(text[start:end] for start, end in _spans(text))


def _spans(text: str) -> Iterator[tuple[int, int]]:
    taken = [match.span() for match in _KEY.finditer(text)]
    taken += [match.span() for match in _CARD.finditer(text) if _luhn(match[0])]
    taken += [match.span("secret") for match in _SAID.finditer(text) if _is_told(match)]
    end = -1
    for span in sorted(taken):
        if span[0] >= end:
            yield span
            end = span[1]


def _is_told(match: re.Match[str]) -> bool:
    """Behind a colon anything, else what has a digit or a sign inside: "the password is wrong" tells none."""
    secret = match["secret"].rstrip(".!?")
    return match["sign"].strip() in (":", "=", "：") or _TELLING.search(secret) is not None


def _luhn(number: str) -> bool:
    digits = [int(char) for char in number if char.isdigit()]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return len(set(digits)) > 1 and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0
