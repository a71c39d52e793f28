"""The embedded local model: llama.cpp in this process, serving chat completions on 127.0.0.1.

Needs the extra `local` and the fetched weights. `python -m keepsake.llm.local fetch` gets those.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import importlib.util
import os
import secrets
import sys
import threading
from pathlib import Path
from typing import Any

from keepsake.errors import KeepsakeError, ModelUnavailable
from keepsake.llm.client import Address
from keepsake.llm.weights import MODEL_BYTES, fetch_local_model, fetched, weights_path
from keepsake.settings import LOCAL_MODEL, Settings, load_settings

# What the model was trained with; also the bound of its memory.
MOST_CONTEXT_TOKENS = 32_768
# A chat and an extraction side by side: each keeps its prompt's cache, neither waits for the other's end.
_SLOTS = 2
# The chat template's own tokens.
_TEMPLATE_TOKENS = 64
_TEMPERATURE = 0.3
# Generating is bound by memory, more threads only take cores away.
_MOST_THREADS = 4


def endpoint_configured(settings: Settings) -> bool:
    """Whether a setting names an endpoint, so that the local model is not used.

    Only the address does: a key that stands in the environment for another program sends no memory to anybody.
    """
    return settings.openai_base_url is not None


def installed() -> bool:
    """Whether the local model can be used: its package and its weights are there."""
    return importlib.util.find_spec("xllamacpp") is not None and fetched()


class LocalServer:
    """An endpoint served by this process. About 2 GB of RAM from `open` until `close`."""

    def __init__(self, weights: Path, *, slot_tokens: int) -> None:
        self._weights = weights
        self._slot_tokens = min(slot_tokens + _TEMPLATE_TOKENS, MOST_CONTEXT_TOKENS)
        self._server: Any = None
        self._address: Address | None = None
        self._changing = threading.Lock()

    async def open(self) -> Address:
        """Loads the weights in a thread (seconds). Raises ModelUnavailable where llama.cpp cannot."""
        return await asyncio.to_thread(self._open)

    async def close(self) -> None:
        """Frees the model's memory. Idempotent."""
        await asyncio.to_thread(self._stop)

    def _open(self) -> Address:
        with self._changing:
            if self._address is None:
                self._address = self._start()
            return self._address

    def _start(self) -> Address:
        xllamacpp = importlib.import_module("xllamacpp")
        params = xllamacpp.CommonParams()
        params.model.path = str(self._weights)
        params.model_alias = {LOCAL_MODEL}
        params.n_ctx = self._slot_tokens * _SLOTS
        params.n_parallel = _SLOTS
        params.n_gpu_layers = 0
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = _threads()
        params.cache_ram_mib = 0
        params.sampling.temp = _TEMPERATURE
        params.port = 0
        params.ui = False
        params.endpoint_slots = False
        params.verbosity = -1
        # Other people on this machine can reach 127.0.0.1 too.
        key = secrets.token_urlsafe(24)
        params.api_keys = [key]
        try:
            self._server = xllamacpp.Server(params)
        except RuntimeError as error:
            raise ModelUnavailable("llama.cpp cannot load the local model's weights.", retry=False) from error
        return Address(f"{self._server.listening_address}/v1", key)

    def _stop(self) -> None:
        with self._changing:
            # The server ends in its destructor.
            self._server, self._address = None, None


def _threads() -> int:
    """All cores but one: the threads spin while they wait, so a core that others use slows them all."""
    return min(_MOST_THREADS, max(1, (os.cpu_count() or 1) - 1))


def main(arguments: list[str] | None = None) -> int:
    """The command: fetches the weights. Exit status 0, or 1 with one line on standard error."""
    parser = argparse.ArgumentParser(prog="python -m keepsake.llm.local")
    commands = parser.add_subparsers(required=True)
    fetch = commands.add_parser("fetch", help="fetch the local model's weights")
    fetch.set_defaults(work=_fetch)
    wanted = commands.add_parser(
        "wanted", help="exit status 0 where the settings ask for the local model, else 1"
    )
    wanted.set_defaults(work=lambda settings: 0 if local_model_wanted(settings) else 1)
    options = parser.parse_args(arguments)
    try:
        status: int = options.work(load_settings())
    except KeepsakeError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_status
    return status


def local_model_wanted(settings: Settings) -> bool:
    """Is it the local model that answers?"""
    return settings.local_model != "none" and not endpoint_configured(settings)


def _fetch(settings: Settings) -> int:
    if settings.local_model == "none" or fetched():
        return 0
    sys.stderr.write(
        f"Fetching the local model {LOCAL_MODEL}, {MODEL_BYTES / 1e9:.1f} GB, into {weights_path().parent} "
        "(LOCAL_MODEL=none does without).\n"
    )
    fetch_local_model()
    return 0


if __name__ == "__main__":
    sys.exit(main())
