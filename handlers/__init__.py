"""What the assistant does with what people send. One file a concern.

Front ends call `receive`, `press`, and `turn_away` for people who are not let in.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from handlers.cancel import handle_cancel
from handlers.context import handle_context
from handlers.delete_me import handle_delete_me, handle_delete_me_press
from handlers.dispatch import Dispatcher
from handlers.facts import handle_facts, handle_facts_press
from handlers.forget import handle_forget, handle_forget_press
from handlers.help import help_handler
from handlers.incognito import handle_incognito, handle_incognito_press
from handlers.language import handle_language, handle_language_press
from handlers.offer import handle_offer_press
from handlers.pause import handle_pause, handle_resume
from handlers.remember import handle_remember
from handlers.search import handle_search, handle_search_press
from handlers.start import handle_start
from handlers.stats import handle_stats
from handlers.why import handle_why
from keepsake.assistant import Assistant, Chat

Handler = Callable[[Assistant, Chat, str], Awaitable[None]]

# The order is that of /help and of Telegram's menu; the description of each is the text `command-<name>`.
COMMANDS: dict[str, Handler] = {
    "start": handle_start,
    "stats": handle_stats,
    "remember": handle_remember,
    "forget": handle_forget,
    "facts": handle_facts,
    "why": handle_why,
    "search": handle_search,
    "context": handle_context,
    "pause": handle_pause,
    "resume": handle_resume,
    "incognito": handle_incognito,
    "language": handle_language,
    "cancel": handle_cancel,
    "delete_me": handle_delete_me,
}
COMMANDS["help"] = help_handler(COMMANDS)
# A press goes to the handler of its data's part before the first colon.
PRESSES: dict[str, Handler] = {
    "language": handle_language_press,
    "search": handle_search_press,
    "facts": handle_facts_press,
    "incognito": handle_incognito_press,
    "remember": handle_offer_press,
    "forget": handle_forget_press,
    "delete_me": handle_delete_me_press,
}

_dispatcher = Dispatcher(COMMANDS, PRESSES)
receive = _dispatcher.receive
press = _dispatcher.press
turn_away = _dispatcher.turn_away

__all__ = ["COMMANDS", "PRESSES", "press", "receive", "turn_away"]
