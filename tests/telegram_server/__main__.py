"""The server alone, with a keyboard: `USER_ID text` on standard input is a message to the bot."""

from __future__ import annotations

import argparse
import json
import sys
import threading

from tests.telegram_server.server import TOKEN, TelegramServer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8081)
    parser.add_argument("--token", default=TOKEN)
    arguments = parser.parse_args()
    with TelegramServer(arguments.token, arguments.port, expect_rejected=True) as server:
        print(f"TELEGRAM_API_URL={server.url} TELEGRAM_BOT_TOKEN={server.token}", file=sys.stderr)
        threading.Thread(target=show, args=(server,), daemon=True).start()
        for line in sys.stdin:
            user, _, text = line.rstrip("\n").partition(" ")
            if user.isdigit() and text:
                server.push_text(int(user), text)


def show(server: TelegramServer) -> None:
    """Prints what the bot says, one JSON object a line."""
    shown = 0  # the newest message's number: the list shrinks where the bot deletes
    while True:
        with server.state.changed:
            while not (fresh := [m for m in server.state.messages if m["message_id"] > shown]):
                server.state.changed.wait()
            shown = fresh[-1]["message_id"]
        for message in fresh:
            print(json.dumps(message, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
