"""The way in: `python bot.py` is the Telegram bot, `python bot.py --help` lists what else there is."""

import sys

from keepsake.cli import main

if __name__ == "__main__":
    sys.exit(main())
