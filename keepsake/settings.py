"""The one door to settings: environment variables, then `.env` in the working folder.

Read once, when the process or a manager opens. The README's table is made from this class
(`python -m keepsake.settings`) and a test holds the two together.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from keepsake.errors import SettingError

PROJECT_DIR = Path(__file__).resolve().parent.parent
LANGUAGES = ("en", "ru")
LOCAL_MODEL = "Qwen2.5-Coder-1.5B-Instruct"

ENV_FILE = ".env"
_ROUNDING = 1e-6
_SHOWN = 80  # characters of a wrong value
_URL = {"pattern": r"^https?://\S+$", "takes": "a URL that begins with http:// or https://"}
_IDS = "Telegram ids (whole numbers) separated by commas"


def _group(name: str, default: Any, description: str, *, takes: str | None = None, **limits: Any) -> Any:
    """A setting of this part. `takes`: what it may be, in plain words, where its limits do not say it."""
    extra: dict[str, Any] = {"group": name, "takes": takes}
    return Field(default, description=description, json_schema_extra=extra, **limits)


class Settings(BaseSettings):
    """All settings, checked. Numbers say their unit in the name or in the description."""

    model_config = SettingsConfigDict(
        validate_default=True,
        env_file=ENV_FILE,
        env_file_encoding="utf-8-sig",  # some editors put a mark before the first name
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        case_sensitive=False,
    )

    # Telegram
    telegram_bot_token: SecretStr | None = _group(
        "Telegram", None, "The bot's token. Without one `make run` opens the terminal chat."
    )
    telegram_api_url: str = _group(
        "Telegram",
        "https://api.telegram.org",
        "Root of a Bot API server: methods at `URL/bot<token>/<method>`, files at `URL/file/bot<token>/<path>`.",
        **_URL,
    )
    telegram_webhook_url: str | None = _group(
        "Telegram",
        None,
        "Root of the public https address that reaches the port below; updates then come by webhook, to "
        "`URL/telegram`. Empty: by polling.",
        **_URL,
    )
    telegram_webhook_port: int = _group(
        "Telegram", 8080, "Port on 127.0.0.1 for the webhook, and for `/health`.", ge=1, le=65_535
    )
    allowed_user_ids: Annotated[tuple[int, ...] | str, NoDecode] = _group(
        "Telegram",
        (),
        "Who may talk to the bot: Telegram ids separated by commas, `*` for everyone. Empty: the first person "
        "who sends the one-time code that the bot prints at its start becomes owner and admin.",
        takes=f"{_IDS}, or *",
    )
    admin_user_ids: Annotated[tuple[int, ...], NoDecode] = _group(
        "Telegram",
        (),
        "Who sees the bot's counts (never contents): Telegram ids separated by commas.",
        takes=_IDS,
    )
    default_language: str = _group(
        "Telegram",
        "en",
        f"Where a person's own language is not known: {', '.join(LANGUAGES)}.",
        pattern=rf"^({'|'.join(LANGUAGES)})$",
        takes=" or ".join(LANGUAGES),
    )

    # The model
    openai_base_url: str | None = _group(
        "Model", None, "Root of any OpenAI-compatible endpoint, ending in `/v1`.", **_URL
    )
    openai_api_key: SecretStr | None = _group(
        "Model", None, "The endpoint's key; most local servers take any."
    )
    openai_model: str | None = _group("Model", None, "The model's name at the endpoint.")
    extraction_model: str | None = _group(
        "Model", None, "The model that extracts facts, default `OPENAI_MODEL`; a smaller one serves."
    )
    fallback_base_url: str | None = _group(
        "Model", None, "Root of a second endpoint, asked where the first is down.", **_URL
    )
    fallback_api_key: SecretStr | None = _group("Model", None, "The second endpoint's key.")
    fallback_model: str | None = _group("Model", None, "The model's name at the second endpoint.")
    local_model: str = _group(
        "Model",
        LOCAL_MODEL,
        f"The embedded model used where no endpoint is set: `{LOCAL_MODEL}` or `none`.",
        pattern=rf"^({LOCAL_MODEL}|none)$",
        takes=f"{LOCAL_MODEL} or none",
    )
    model_timeout_seconds: float = _group("Model", 60.0, "How long the model may be silent.", gt=0, le=3600)
    model_retries: int = _group(
        "Model", 2, "Tries after the first on 429, 5xx and lost connections.", ge=0, le=10
    )
    circuit_failures: int = _group(
        "Model",
        5,
        "After so many failed tries in a row an endpoint is left alone for a while.",
        ge=1,
        le=1000,
    )
    circuit_seconds: float = _group(
        "Model", 30.0, "How long at first; up to ten times as long while it stays down.", gt=0, le=3600
    )
    daily_tokens: int = _group(
        "Model",
        0,
        "Tokens a user may use a day (UTC), answers and extraction together; 0: any.",
        ge=0,
        le=10**12,
    )
    context_tokens: int = _group("Model", 4000, "The whole request never exceeds this.", ge=500, le=2_000_000)
    answer_tokens: int = _group("Model", 600, "The answer's `max_tokens`.", ge=16, le=200_000)
    answer_seconds: float = _group(
        "Model",
        300.0,
        "How long an answer may take from its first piece on; then it is cut short.",
        gt=0,
        le=86_400,
    )

    # Budget
    budget_system: int = _group(
        "Budget",
        15,
        "Percent of `CONTEXT_TOKENS` for persona and rules. The four add up to 100; what one does not use, others do.",
        ge=0,
        le=100,
    )
    budget_memory: int = _group("Budget", 25, "For profile, topics and recalled messages.", ge=1, le=100)
    budget_history: int = _group("Budget", 45, "For the last messages and summaries.", ge=1, le=100)
    budget_message: int = _group("Budget", 15, "For the new message.", ge=0, le=100)
    summary_messages: int = _group(
        "Budget", 40, "So many older messages at a time become a summary.", ge=2, le=1000
    )
    summaries_in_prompt: int = _group(
        "Budget",
        5,
        "The newest summaries in the context, as far as they fit; 0: none are made.",
        ge=0,
        le=100,
    )

    # Memory
    data_dir: Path = _group(
        "Memory",
        PROJECT_DIR,
        "Holds `memory.db`, `vector_db/` and all else that is kept.",
        takes="the path of a folder",
    )
    stm_size: int = _group("Memory", 5, "Last messages that stand in the context in full.", ge=0, le=1000)
    ltm_size: int = _group("Memory", 15, "Messages before those, condensed.", ge=0, le=1000)
    max_messages: int = _group(
        "Memory", 20, "Messages kept in RAM and restored after a restart.", ge=1, le=1000
    )
    session_gap_minutes: float = _group(
        "Memory", 30, "A longer pause starts a new session.", gt=0, le=100_000
    )
    users_in_ram: int = _group(
        "Memory", 1000, "Users whose state stays in RAM; the least recent leaves.", ge=1, le=1_000_000
    )

    # Recall
    embedding_model: str = _group(
        "Recall",
        "multilingual-e5-small",
        "`multilingual-e5-small` (embedded, 4-bit); any other name or folder goes to sentence-transformers; "
        "`none`: keyword only. Changing it makes all vectors anew in the background.",
    )
    rag_size: int = _group("Recall", 5, "Recalled messages in the context.", ge=0, le=100)
    rag_floor: float | None = _group(
        "Recall", None, "Scores under this are not recalled, 0–1; default: calibrated.", ge=0, le=1
    )
    recall_candidates: int = _group("Recall", 20, "Candidates that each route brings.", ge=1, le=1000)
    reranker_model: str | None = _group(
        "Recall",
        None,
        "A reranker puts what was found in order once more: name or folder of a CrossEncoder of "
        "sentence-transformers. Empty: none does.",
    )
    reranker_candidates: int = _group(
        "Recall", 20, "The first so many results are given to the reranker.", ge=2, le=1000
    )
    exact_search_limit: int = _group(
        "Recall",
        5000,
        "Users with at most so many vectors are searched exactly, larger ones by Chroma.",
        ge=0,
        le=10_000_000,
    )
    vector_cache_mb: int = _group(
        "Recall", 8, "RAM for vectors of exact search, MB over all users.", ge=0, le=1_000_000
    )

    # Facts
    fact_extraction_every: int = _group(
        "Facts", 5, "Facts are extracted after so many user messages.", ge=1, le=1_000_000
    )
    long_message: int = _group(
        "Facts", 200, "From a message of so many characters facts are extracted at once.", ge=1, le=1_000_000
    )
    extraction_idle_minutes: float = _group(
        "Facts", 5, "Facts are extracted after so many quiet minutes, too.", gt=0, le=100_000
    )
    extraction_window: int = _group("Facts", 12, "Messages the extractor is shown at most.", ge=1, le=100)
    facts_in_prompt: int = _group("Facts", 6, "Facts in the profile.", ge=0, le=100)
    topics_in_prompt: int = _group("Facts", 12, "Topics in the index, a line each.", ge=0, le=100)
    topics_per_question: int = _group(
        "Facts", 3, "Topics whose facts are added, where a question is about them.", ge=0, le=100
    )
    topic_facts: int = _group("Facts", 8, "Facts that are added so, at most.", ge=0, le=100)
    fact_scoring: str = _group(
        "Facts",
        "mnemosyne",
        "How facts for the profile are weighed: `mnemosyne` or `tri_tier`.",
        pattern=r"^(mnemosyne|tri_tier)$",
        takes="mnemosyne or tri_tier",
    )
    mnemosyne_weights: Annotated[tuple[float, ...] | str, NoDecode] = _group(
        "Facts",
        "0.55,0.20,0.15,0.10",
        "Weights of similarity, importance, recency and confidence; together 1.",
        takes="4 numbers from 0 to 1 that add up to 1, separated by commas",
    )
    mnemosyne_tau_days: Annotated[tuple[float, ...] | str, NoDecode] = _group(
        "Facts",
        "30,180,14",
        "Days in which recency falls to 1/e: facts, preferences, events.",
        takes="3 numbers above 0, separated by commas",
    )
    tri_tier_weights: Annotated[tuple[float, ...] | str, NoDecode] = _group(
        "Facts",
        "0.55,0.25,0.20",
        "Weights of similarity, recency and use; together 1.",
        takes="3 numbers from 0 to 1 that add up to 1, separated by commas",
    )
    tri_tier_half_life_days: Annotated[tuple[float, ...] | str, NoDecode] = _group(
        "Facts",
        "7,30",
        "Days in which recency falls to a half: what belongs to a task, what lasts.",
        takes="2 numbers above 0, separated by commas",
    )
    dream_hours: float = _group(
        "Facts", 24, "Facts are consolidated after so many hours since the last time.", ge=0, le=100_000
    )
    dream_sessions: int = _group("Facts", 5, "And after so many sessions.", ge=0, le=1_000_000)
    dream_quiet_minutes: float = _group(
        "Facts", 30, "And when the person has been quiet for so long.", ge=0, le=100_000
    )
    dream_calls: int = _group("Facts", 10, "Model calls of one consolidation at most.", ge=0, le=10_000)
    dream_minutes: float = _group("Facts", 15, "Minutes that it asks a model at most.", gt=0, le=1440)

    # Forgetting
    undo_seconds: float = _group(
        "Forgetting",
        60,
        "How long /forget can be undone; then nothing of it is left on the disk.",
        ge=0,
        le=86_400,
    )
    prune_replaced_days: float = _group(
        "Forgetting",
        30,
        "`prune` removes facts that others have taken the place of for so long.",
        ge=0,
        le=100_000,
    )
    prune_unused_days: float = _group(
        "Forgetting",
        90,
        "Unimportant facts that no answer used for so long expire, and are kept.",
        ge=0,
        le=100_000,
    )
    prune_unused_importance: float = _group(
        "Forgetting", 0.3, "Facts of less importance than this are unimportant, 0–1.", ge=0, le=1
    )

    retention_days: int = _group(
        "Forgetting",
        0,
        "Messages older than so many days leave `memory.db`, but for the newest `MAX_MESSAGES`; 0: none do.",
        ge=0,
        le=100_000,
    )
    retention_action: str = _group(
        "Forgetting",
        "archive",
        "Where to: `archive` (encrypted Parquet, needs `EXTRAS=archive`) or `delete` (nowhere).",
        pattern=r"^(archive|delete)$",
        takes="archive or delete",
    )
    archive_url: str | None = _group(
        "Forgetting",
        None,
        "A folder for the archive as an fsspec URL; default: `archive` in `DATA_DIR`.",
        pattern=r"^[a-z][a-z0-9+.-]*://\S+$",
        takes="an fsspec URL such as file:///srv/archive or s3://bucket/folder",
    )

    # Log
    log_level: str = _group(
        "Log",
        "INFO",
        "DEBUG, INFO, WARNING or ERROR.",
        pattern=r"^(DEBUG|INFO|WARNING|ERROR)$",
        takes="DEBUG, INFO, WARNING or ERROR",
    )

    @field_validator("telegram_api_url", "telegram_webhook_url", "openai_base_url", "fallback_base_url")
    @classmethod
    def _address(cls, value: str | None) -> str | None:
        if value is not None:
            parts = urlsplit(value)
            host, _ = parts.hostname, parts.port  # both raise ValueError for what cannot be
            (host or ".").encode("idna")  # so does this, as a connection would, but later
        return value

    @field_validator("data_dir")
    @classmethod
    def _home(cls, value: Path) -> Path:
        try:
            return value.expanduser()  # a shell leaves a quoted ~ as it is, and .env has no shell
        except RuntimeError:
            raise ValueError("nobody of that name has a home") from None

    @field_validator("allowed_user_ids", mode="before")
    @classmethod
    def _allowed(cls, value: object) -> object:
        return "*" if isinstance(value, str) and value.strip() == "*" else _ids(value)

    @field_validator("admin_user_ids", mode="before")
    @classmethod
    def _admins(cls, value: object) -> object:
        return _ids(value)

    @field_validator("mnemosyne_weights", "tri_tier_weights")
    @classmethod
    def _weights(cls, value: object, info: ValidationInfo) -> object:
        found = _numbers(value, 4 if info.field_name == "mnemosyne_weights" else 3)
        if not all(0 <= one <= 1 for one in found) or abs(sum(found) - 1) > _ROUNDING:
            raise ValueError("weights add up to 1")
        return found

    @field_validator("mnemosyne_tau_days", "tri_tier_half_life_days")
    @classmethod
    def _days(cls, value: object, info: ValidationInfo) -> object:
        found = _numbers(value, 3 if info.field_name == "mnemosyne_tau_days" else 2)
        if not all(0 < one < math.inf for one in found):
            raise ValueError("days are above 0")
        return found

    @field_validator("log_level", mode="before")
    @classmethod
    def _upper(cls, value: object) -> object:
        return value.upper() if isinstance(value, str) else value

    @property
    def everyone_allowed(self) -> bool:
        return self.allowed_user_ids == "*"

    @property
    def model_name(self) -> str | None:
        """The name of the model that answers, where a setting gives it."""
        if self.openai_base_url is not None:
            return self.openai_model
        return None if self.local_model == "none" else self.local_model

    @property
    def database_path(self) -> Path:
        return self.data_dir / "memory.db"

    @property
    def vector_dir(self) -> Path:
        return self.data_dir / "vector_db"


def _ids(value: object) -> object:
    if not isinstance(value, str):
        return value
    found = tuple(int(part) for part in value.split(",") if part.strip())
    if not all(-(2**63) <= item < 2**63 for item in found):
        raise ValueError("an id has at most 63 bits")
    return found


def _numbers(value: object, count: int) -> tuple[float, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    assert isinstance(parts, list | tuple)
    found = tuple(float(part) for part in parts)
    if len(found) != count:
        raise ValueError(f"{count} numbers are wanted")
    return found


def load_settings(**overrides: Any) -> Settings:
    """Settings from the environment and `.env`, with `overrides` on top.

    Raises SettingError with one line for the first value that cannot be: the variable, what it got, what it takes.
    """
    try:
        return _adding_up(Settings(**overrides))
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        raise SettingError(_cannot_be(name, first["input"], Settings.model_fields[name])) from None
    except UnicodeDecodeError:
        raise SettingError(f"{ENV_FILE} is no UTF-8 text: save it as UTF-8") from None
    except OSError as error:
        raise SettingError(f"{ENV_FILE} cannot be read ({error.strerror}): check its permissions") from None


def _adding_up(settings: Settings) -> Settings:
    shares = {
        name: getattr(settings, name)
        for name in ("budget_system", "budget_memory", "budget_history", "budget_message")
    }
    if sum(shares.values()) != 100:
        shown = ", ".join(f"{name.upper()} {percent}" for name, percent in shares.items())
        raise SettingError(f"{shown}: they add up to {sum(shares.values())}, and take 100 together")
    return settings


def _cannot_be(name: str, value: object, info: FieldInfo) -> str:
    variable, shown = name.upper(), repr(value)
    if len(shown) > _SHOWN:
        shown = f"{shown[:_SHOWN]}…"
    got = "" if _is_secret(variable) else f" is {shown}, which cannot be"
    return f"{variable}{got}: it takes {_takes(info)}"


def _takes(info: FieldInfo) -> str:
    extra = info.json_schema_extra
    if isinstance(extra, dict) and extra["takes"]:
        return str(extra["takes"])
    limits = {
        name: getattr(item, name)
        for item in info.metadata
        for name in ("ge", "gt", "le")
        if hasattr(item, name)
    }
    if "le" not in limits:
        return "a text"
    number = "a whole number" if info.annotation is int else "a number"
    span = f"from {limits['ge']} to" if "ge" in limits else f"above {limits['gt']}, at most"
    return f"{number} {span} {limits['le']}"


def _is_secret(name: str) -> bool:
    return name.endswith(("_KEY", "_TOKEN"))


def settings_table() -> str:
    """The README's table of settings, in Markdown."""
    rows = ["| variable | default | |", "| --- | --- | --- |"]
    group = None
    for name, info in Settings.model_fields.items():
        extra = info.json_schema_extra
        assert isinstance(extra, dict)
        if extra["group"] != group:
            group = extra["group"]
            rows.append(f"| **{group}** | | |")
        default = info.default
        shown = {"data_dir": "the project's folder"}.get(
            name, "" if default in (None, ()) else f"`{default}`"
        )
        rows.append(f"| `{name.upper()}` | {shown} | {info.description} |")
    return "\n".join(rows)


if __name__ == "__main__":
    print(settings_table())
