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
command-forget = forget something: /forget WHAT, or as a reply to a message
command-facts = what is known about you, to be corrected: /facts, /facts WORDS, /facts 2026-03
command-why = which memories my last answer used
command-search = look for something in memory: /search WORDS
command-context = what the model is given about you
command-pause = keep nothing of what I write, until /resume
command-resume = remember again what I write
command-incognito = one conversation without memory: nothing known is used, nothing is kept
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
stats-paused = ⏸ paused: nothing is kept at present (/resume)
stats-incognito = 🕶 incognito: nothing is kept of this conversation (/incognito ends it)
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
pause-begun =
    ⏸ Paused. From now on I keep nothing of what you write, nor of my answers, until you send /resume.
    I still answer, with what I remember from before and with what is said now, which goes when the pause ends or I am restarted.
pause-already = ⏸ It is paused already: I keep nothing. /resume ends that.
pause-goes-on = ⏸ Still paused: I keep nothing of this. /resume ends that.
resume-done = ▶ From now on I remember again what you write. What was said meanwhile is forgotten.
resume-nothing = ▶ Nothing is paused: I remember what you write.
incognito-begun =
    🕶 A new conversation: I use nothing that I know about you, and keep nothing of it.
    It ends with /incognito, after { $minutes } quiet minutes, or when I am restarted.
incognito-end = End it
incognito-ended = ▶ That conversation is over and forgotten. From now on I remember again what you write.
incognito-ended-paused = That conversation is over and forgotten. ⏸ It is still paused: I keep nothing. /resume ends that.
incognito-over = 🕶 The conversation without memory had ended meanwhile. I have neither kept nor answered this message: send it again if I may remember it, or /incognito for another such conversation.
private-not-stored = ⏸ At present I keep nothing, so I did not store that. /resume ends this.
private-no-model = No language model is set up (OPENAI_BASE_URL, or the local one that “make run” fetches), so I cannot answer. Your message is not kept.
private-no-answer = The language model gives no answer right now. Your message is not kept; please send it again later.
private-tokens-used-up = Your tokens of today ({ $count }) are used up, so I cannot answer until { $until }. Your message is not kept.
facts-title = What I know about you:
facts-empty = No facts yet: I learn them from what you write.
facts-page = Page { $page } of { $pages }
facts-found = What I know about that:
facts-not-found = I know nothing about that. /facts shows all.
facts-search-again = I no longer hold that search. Please make it again with /facts.
facts-held-then = What was held true in { $date }:
facts-none-then = Nothing that I know was held true in { $date }.
facts-no-date = There is no such date: { $date }. Write a year, a month or a day: /facts 2026, /facts 2026-03 or /facts 2026-03-14.
facts-yet-to-come = { $date } is yet to come.
fact-holds-since = (since { $since })
fact-held = ({ $since } – { $until })
fact-learned-later = (I learned it on { $date })
fact-taken-back = (I believed it from { $since } to { $until }; it was corrected)
fact-about = { $category }, confidence { $confidence }, updated { $date }
fact-status-superseded = It holds no longer: something newer took its place.
fact-status-merged = It was put together with another fact that says the same.
fact-status-expired = Its time is over.
fact-sources = Where it comes from:
fact-source-gone = • the message is no longer held
fact-history = Its history:
fact-correct = Correct
fact-delete = Delete
fact-back = ◀ Back
fact-cancel = Leave it as it is
fact-gone = I no longer hold that as it was. /facts shows what I know now.
change-line = • { $date } { $what }: { $text }
change-learned = learned
change-agreed = said again
change-returned = true again
change-merged = before, in other words
change-superseded = before
change-denied = before, until you said it no longer holds
change-corrected = before, corrected
change-doubted = kept, though something else was guessed
change-expired = its time was over
change-forgotten = forgotten
change-by-hand = by yourself
correct-asks =
    Send me the right wording in place of “{ $content }”.
    I wait ten minutes for it. Any command, or the button, leaves it as it is.
correct-done = Corrected. From now on: { $content }
correct-dropped = I left it as it is.
remember-usage = Write what to remember: /remember TEXT
remember-done = I will remember: { $content }
remember-this = Remember this: { $content }
remember-secret = That looks like a password, a key or a card number. I do not keep those.
forget-usage = Write what to forget: /forget WHAT. Or reply /forget to a message.
forget-nothing = I know nothing like that. /facts shows what I know.
forget-which = Which of these shall I forget?
forget-this =
    Forget this?
    • { $content }
forget-yes = Forget it
forget-keep = Keep it
forget-kept = Nothing was forgotten.
forget-done = Forgotten. I will not learn it again, unless you /remember it.
forget-message-done = That message is out of my memory, with what I knew only from it. Telegram keeps its own copy.
forget-while =
    { $seconds ->
        [one] It can be undone for { $seconds } second; then nothing of it is left.
       *[other] It can be undone for { $seconds } seconds; then nothing of it is left.
    }
forget-sources = The messages that say so are still in my memory:
forget-message = Forget the message too: { $snippet }
forget-undo = Undo
forget-undone = It is back, as it was.
forget-late = It is too late to undo that.
forget-gone = That is not in my memory any more.
forget-not-here = That message is not in my memory.
why-title = What my last answer was given from memory, with how well each fits:
why-nothing = My last answer was given nothing from memory.
why-no-answer = I have not answered anything yet.
why-by-hand = • you asked me to remember it
why-archived = • { $date }: a message that is in the archive by now
why-confidence = A low confidence means that I was not sure I understood. With a high one it was clear, but it may be outdated.
search-usage = Write what to look for: /search WORDS, or in the archive: /search --archive WORDS
search-title = What I found:
search-title-page = What I found, { $first } to { $last } of { $count }:
search-next = Next ▶
search-back = ◀ Back
search-again = I no longer hold that search. Please make it again with /search.
search-nothing = Nothing in memory is about that.
archived = archived
search-archive-title = What I found in the archive (look there again: /search --archive WORDS):
search-archive-closed = The archive cannot be read just now. Please try again later.
found-line = • { $date }, { $who }: { $snippet }
you = you
assistant = me
language-unknown = I do not write in “{ $name }”.
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
button-not-yours = That button belongs to somebody else.

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
