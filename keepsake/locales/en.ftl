### What people read, in English. Every other language has the same keys and arguments (tests/locales).

## The context block

block-profile = 📋 USER PROFILE:
block-topics = 🗂️ TOPICS:
block-summary = 📝 SUMMARY:
block-stm = 💬 STM (RECENT MESSAGES):
block-ltm = 🕰️ LTM (OLDER MESSAGES, CONDENSED):
block-rag = 🔍 RAG (RELEVANT MESSAGES):
block-footer = 🧠 MEMORY: STM sharp → LTM blurred → RAG deep
role-user = User
role-assistant = Assistant
fact-confidence = (confidence { $confidence }, updated { $date })
category-personal = personal
category-technical = technical
category-preferences = preferences
category-projects = projects
category-relations = relations
category-events = events
category-other = other
topic-about = about you
topic-health = health and allergies
topic-home = home
topic-work = work
topic-study = study
topic-people = people
topic-pets = pets
topic-food = food and drink
topic-tastes = tastes
topic-leisure = leisure
topic-things = things and tools
topic-plans = plans
came-forwarded = forwarded
came-document = document
came-imported = imported

## Commands, as the menu shows them

command-start = what this is
command-help = all commands
command-stats = how much is remembered
command-remember = keep something for good: /remember TEXT
command-facts = what is known about you
command-why = which memories my last answer used
command-search = look for something in memory: /search WORDS
command-context = what the model is given about you
command-language = choose the language
command-cancel = stop the answer that is being written
command-delete_me = have everything about you forgotten
command-exit = leave the chat

## Answers to commands

start =
    Hello! I am an assistant that remembers what you tell me, also after a restart.
    Just write to me. /help lists all commands.
help = Write to me as to a person. The commands:
help-line = /{ $name } — { $description }
stats-title = What is remembered:
stats-messages =
    { $count ->
        [one] { $count } message
       *[other] { $count } messages
    }
stats-sessions =
    { $count ->
        [one] { $count } conversation
       *[other] { $count } conversations
    }
stats-facts =
    { $count ->
        [one] { $count } fact
       *[other] { $count } facts
    }
stats-vectors =
    { $count ->
        [one] { $count } vector ({ $model })
       *[other] { $count } vectors ({ $model })
    }
stats-people =
    { $count ->
        [one] { $count } person
       *[other] { $count } people
    }
stats-all = the whole bot: { $counts }
stats-keyword-only = search by keyword only, without vectors
stats-tokens = language model: { $today } tokens today, { $month } this month (UTC)
stats-tokens-estimated = of this month’s tokens { $count } are an estimate: the endpoint does not count them
stats-tokens-limit = at most { $count } tokens a day
stats-all-tokens = the whole bot: { $today } tokens today, { $month } this month
context-empty = Nothing is remembered yet: write to me first.
context-tokens = The request has { $total } of { $most } tokens:
context-section = • { $name }: { $tokens }
section-system = my instructions
section-facts = profile
section-topics = topics
section-summaries = summaries
section-stm = recent messages
section-ltm = older messages
section-rag = recalled messages
section-message = your message
facts-title = What I know about you:
facts-empty = No facts yet: I learn them from what you write.
facts-page = Page { $page } of { $pages }
remember-usage = Write what to remember: /remember TEXT
remember-done = I will remember: { $content }
remember-secret = That looks like a password, a key or a card number. I do not keep those.
why-title = What my last answer was given from memory, with how well each fits:
why-nothing = My last answer was given nothing from memory.
why-no-answer = I have not answered anything yet.
why-by-hand = • you asked me to remember it
why-confidence = A low confidence means that I was not sure I understood. With a high one it was clear, but it may be outdated.
search-usage = Write what to look for: /search WORDS
search-title = What I found:
search-title-page = What I found, { $first } to { $last } of { $count }:
search-next = Next ▶
search-back = ◀ Back
search-again = I no longer hold that search. Please make it again with /search.
search-nothing = Nothing in memory is about that.
found-line = • { $date }, { $who }: { $snippet }
you = you
assistant = me
language-question = Which language shall I use?
language-name = English
language-set = From now on I write in English.
delete-me-asks =
    This erases all that I hold about you: { $held }, with vectors, summaries, settings and all else that was made from them.
    I cannot reach: Telegram’s own copy of this chat, what the model’s provider keeps of its requests, the system journal, and backups made before.
    It cannot be undone. The button works for { $minutes } minutes.
delete-me-yes = Yes, erase everything
delete-me-no = No, keep it
delete-me-kept = Nothing was erased.
delete-me-late = That was too long ago. Send /delete_me again if you still want it.
delete-me-begun = Erasing… the receipt follows.
delete-me-held = Whoever runs this bot has to keep your data for legal reasons at present, so it cannot be erased now. Please ask them.
delete-me-nothing = Nothing was held about you any more.
delete-me-done =
    Everything about you is erased.
    Receipt no. { $seq }, SHA-256 { $sha256 }
delete-me-left =
    { $count ->
        [one] { $count } byte could not be removed; whoever runs this bot finds in the receipt where.
       *[other] { $count } bytes could not be removed; whoever runs this bot finds in the receipt where.
    }
unknown-command = I do not know /{ $name }. /help lists what I know.
button-stale = That button is no longer in use.

## The conversation

message-empty = That message was empty. Please write some text.
text-only = I can only read text so far.
weak-model-note = ⚠️ A small local model ({ $model }) answers here. It is often wrong: check what matters, above all about health and money.
model-none = No language model is set up (OPENAI_BASE_URL, or the local one that “make run” fetches), so I cannot answer. Your message is kept.
model-down-later = The language model is not reachable right now, so I cannot answer. Your message is kept; please try again in a moment.
model-down-refused = The language model refuses the request, so I cannot answer. Your message is kept; whoever runs this bot finds the reason in its log.
model-said-nothing = The language model gave an empty answer. Your message is kept.
model-declined = The language model declines to answer this. Your message is kept.
model-declined-midway = The language model’s endpoint stopped the answer here: its content filter does not allow the rest.
tokens-used-up = Your tokens of today ({ $count }) are used up, so I cannot answer until { $until }. Your message is kept.
nothing-to-stop = Nothing is being answered right now.
model-cut-short = The language model stopped in the middle of its answer.
memory-has = What memory has about it:
memory-has-nothing = Memory has nothing about it.
answer-stopped = Stopped.
memory-unusable = I cannot use my memory right now, so that was not done and not kept. Whoever runs this bot finds the reason in its log.
something-went-wrong = Sorry, something went wrong on my side. Please try again.

## Who may talk to the bot

stranger = Sorry, I only talk to the people I was set up for.
stranger-code = Sorry, I do not know you yet. If you run this bot, send me the code that it printed when it started.
owner-welcome = Welcome: you are now the owner of this bot.

## Terminal

terminal-hello = keepsake, terminal chat. /help lists all commands, /exit or Ctrl-D ends it.
terminal-bye = Finishing what is left to do… Ctrl-C ends it at once; the rest is done at the next start.
prompt = you>

## Notes for whoever runs the bot

operator-code = Nobody is allowed in yet. Send this code to the bot to become its owner: { $code }
operator-running = @{ $name } is listening. Ctrl-C stops it.
operator-stopping = Stopping: finishing answers in work…
