### Что читают люди, по-русски. Ключи и аргументы те же, что в en.ftl (tests/locales).

## Блок контекста

block-profile = 📋 ПРОФИЛЬ ПОЛЬЗОВАТЕЛЯ:
block-topics = 🗂️ ТЕМЫ:
block-summary = 📝 КРАТКОЕ СОДЕРЖАНИЕ:
block-stm = 💬 STM (ПОСЛЕДНИЕ СООБЩЕНИЯ):
block-ltm = 🕰️ LTM (БОЛЕЕ СТАРЫЕ СООБЩЕНИЯ, СЖАТО):
block-rag = 🔍 RAG (СООБЩЕНИЯ ПО ТЕМЕ):
block-footer = 🧠 ПАМЯТЬ: STM чётко → LTM размыто → RAG глубоко
role-user = Пользователь
role-assistant = Ассистент
fact-confidence = (уверенность { $confidence }, обновлено { $date })
category-personal = личное
category-technical = техника
category-preferences = предпочтения
category-projects = проекты
category-relations = отношения
category-events = события
category-other = прочее
topic-about = о вас
topic-health = здоровье и аллергии
topic-home = дом
topic-work = работа
topic-study = учёба
topic-people = люди
topic-pets = питомцы
topic-food = еда и напитки
topic-tastes = вкусы
topic-leisure = досуг
topic-things = вещи и инструменты
topic-plans = планы
came-forwarded = переслано
came-document = документ
came-imported = импорт

## Команды, как их показывает меню

command-start = что это такое
command-help = все команды
command-stats = сколько запомнено
command-remember = запомнить навсегда: /remember ТЕКСТ
command-forget = забыть что-то: /forget ЧТО или ответом на сообщение
command-facts = что о вас известно, можно исправить: /facts, /facts СЛОВА, /facts 2026-03
command-why = какие воспоминания были в последнем ответе
command-search = поискать в памяти: /search СЛОВА
command-context = что модель получает о вас
command-pause = не хранить ничего из того, что я пишу, до /resume
command-resume = снова запоминать то, что я пишу
command-incognito = разговор без памяти: известное не используется, ничего не хранится
command-language = выбрать язык
command-cancel = остановить ответ, который пишется
command-delete_me = забыть всё о вас
command-exit = выйти из чата

## Ответы на команды

start =
    Здравствуйте! Я ассистент, который помнит то, что вы мне рассказали, и после перезапуска тоже.
    Просто пишите мне. Все команды — в /help.
help = Пишите мне как человеку. Команды:
help-line = /{ $name } — { $description }
stats-title = Что я помню:
stats-messages =
    { $count ->
        [one] { $count } сообщение
        [few] { $count } сообщения
       *[many] { $count } сообщений
    }
stats-sessions =
    { $count ->
        [one] { $count } разговор
        [few] { $count } разговора
       *[many] { $count } разговоров
    }
stats-facts =
    { $count ->
        [one] { $count } факт
        [few] { $count } факта
       *[many] { $count } фактов
    }
stats-vectors =
    { $count ->
        [one] { $count } вектор ({ $model })
        [few] { $count } вектора ({ $model })
       *[many] { $count } векторов ({ $model })
    }
stats-people =
    { $count ->
        [one] { $count } человек
        [few] { $count } человека
       *[many] { $count } человек
    }
stats-all = весь бот: { $counts }
stats-keyword-only = поиск только по словам, без векторов
stats-tokens = языковая модель: токенов сегодня { $today }, за месяц { $month } (UTC)
stats-tokens-estimated = из токенов за месяц { $count } — оценка: сервер модели их не считает
stats-tokens-limit = не больше { $count } токенов в день
stats-all-tokens = весь бот: токенов сегодня { $today }, за месяц { $month }
stats-paused = ⏸ пауза: сейчас ничего не хранится (/resume)
stats-incognito = 🕶 разговор без памяти: из него ничего не хранится (его заканчивает /incognito)
context-empty = Пока ничего не запомнено: сначала напишите мне.
context-tokens = В запросе токенов: { $total } из { $most }.
context-section = • { $name }: { $tokens }
section-system = мои правила
section-facts = профиль
section-topics = темы
section-summaries = краткое содержание
section-stm = последние сообщения
section-ltm = более старые сообщения
section-rag = найденные сообщения
section-message = ваше сообщение
pause-begun =
    ⏸ Пауза. С этого момента я не храню ни того, что вы пишете, ни своих ответов, пока вы не отправите /resume.
    Отвечать я продолжаю: по тому, что помню с прежних времён, и по сказанному сейчас. Сказанное сейчас исчезнет, когда пауза кончится или меня перезапустят.
pause-already = ⏸ Пауза уже идёт: я ничего не храню. Её заканчивает /resume.
pause-goes-on = ⏸ Пауза продолжается: ничего из этого я не храню. Её заканчивает /resume.
resume-done = ▶ Теперь я снова запоминаю то, что вы пишете. Сказанное за это время забыто.
resume-nothing = ▶ Паузы нет: я запоминаю то, что вы пишете.
incognito-begun =
    🕶 Новый разговор: я не использую ничего, что о вас знаю, и ничего из него не храню.
    Он кончается командой /incognito, после молчания (минут: { $minutes }) или когда меня перезапустят.
incognito-end = Закончить
incognito-ended = ▶ Этот разговор закончен и забыт. Теперь я снова запоминаю то, что вы пишете.
incognito-ended-paused = Этот разговор закончен и забыт. ⏸ Пауза продолжается: я ничего не храню. Её заканчивает /resume.
incognito-over = 🕶 Разговор без памяти тем временем закончился. Это сообщение я не сохранил и не ответил на него: отправьте его ещё раз, если мне можно его запомнить, или /incognito для нового такого разговора.
private-not-stored = ⏸ Сейчас я ничего не храню, поэтому и это не сохранил. Это заканчивает /resume.
private-no-model = Языковая модель не настроена (OPENAI_BASE_URL или локальная, которую загружает «make run»), поэтому ответить я не могу. Ваше сообщение не сохранено.
private-no-answer = Языковая модель сейчас не отвечает. Ваше сообщение не сохранено; отправьте его ещё раз позже.
private-tokens-used-up = Ваши токены на сегодня ({ $count }) израсходованы, поэтому ответить я смогу только с { $until }. Ваше сообщение не сохранено.
facts-title = Что я о вас знаю:
facts-empty = Фактов пока нет: я узнаю их из того, что вы пишете.
facts-page = Страница { $page } из { $pages }
facts-found = Что я об этом знаю:
facts-not-found = Об этом я ничего не знаю. Всё показывает /facts.
facts-search-again = Этого поиска у меня больше нет. Повторите его: /facts.
facts-held-then = Что считалось верным ({ $date }):
facts-none-then = Из того, что я знаю, тогда ({ $date }) ничего не было верным.
facts-no-date = Такой даты нет: { $date }. Напишите год, месяц или день: /facts 2026, /facts 2026-03 или /facts 2026-03-14.
facts-yet-to-come = Это ещё впереди: { $date }.
fact-holds-since = (с { $since })
fact-held = ({ $since } – { $until })
fact-learned-later = (я узнал это { $date })
fact-taken-back = (я верил в это с { $since } по { $until }; это исправлено)
fact-about = { $category }, уверенность { $confidence }, обновлено { $date }
fact-status-superseded = Больше не верно: это место заняло более новое.
fact-status-merged = Объединено с другим фактом о том же.
fact-status-expired = Срок прошёл.
fact-sources = Откуда это:
fact-source-gone = • сообщения больше нет
fact-history = История:
fact-correct = Исправить
fact-delete = Удалить
fact-back = ◀ Назад
fact-cancel = Оставить как есть
fact-gone = В таком виде этого у меня больше нет. Что я знаю сейчас, показывает /facts.
change-line = • { $date } { $what }: { $text }
change-learned = узнал
change-agreed = сказано снова
change-returned = снова верно
change-merged = раньше, другими словами
change-superseded = раньше
change-denied = раньше, пока вы не сказали, что это уже не так
change-corrected = раньше, исправлено
change-doubted = оставлено, хотя была и другая догадка
change-expired = срок прошёл
change-forgotten = забыто
change-by-hand = (вами)
correct-asks =
    Пришлите верную формулировку вместо «{ $content }».
    Я жду её десять минут. Любая команда или кнопка оставят всё как есть.
correct-done = Исправлено. Теперь: { $content }
correct-dropped = Я оставил всё как есть.
remember-usage = Напишите, что запомнить: /remember ТЕКСТ
remember-done = Запомню: { $content }
remember-this = Запомнить: { $content }
remember-secret = Это похоже на пароль, ключ или номер карты. Такое я не храню.
forget-usage = Напишите, что забыть: /forget ЧТО. Или ответьте /forget на сообщение.
forget-nothing = Ничего похожего я не знаю. Что я знаю — в /facts.
forget-which = Что из этого забыть?
forget-this =
    Забыть это?
    • { $content }
forget-yes = Забыть
forget-keep = Оставить
forget-kept = Ничего не забыто.
forget-done = Забыто. Снова я этого не запомню, если вы сами не скажете /remember.
forget-message-done = Этого сообщения больше нет в памяти, как и того, что я знал только из него. У Telegram остаётся своя копия.
forget-while =
    { $seconds ->
        [one] Вернуть можно в течение { $seconds } секунды; потом от этого ничего не останется.
        [few] Вернуть можно в течение { $seconds } секунд; потом от этого ничего не останется.
       *[many] Вернуть можно в течение { $seconds } секунд; потом от этого ничего не останется.
    }
forget-sources = Сообщения, где это сказано, остались в памяти:
forget-message = Забыть и сообщение: { $snippet }
forget-undo = Вернуть
forget-undone = Всё снова на месте.
forget-late = Вернуть это уже нельзя.
forget-gone = Этого уже нет в памяти.
forget-not-here = Этого сообщения нет в моей памяти.
why-title = Что из памяти было в моём последнем ответе и насколько подходит:
why-nothing = Для последнего ответа в памяти ничего не нашлось.
why-no-answer = Я ещё ни на что не отвечал.
why-by-hand = • вы просили это запомнить
why-archived = • { $date }: сообщение, которое уже в архиве
why-confidence = Низкая уверенность: я не был уверен, что понял. Высокая: было сказано ясно, но могло устареть.
search-usage = Напишите, что искать: /search СЛОВА, или в архиве: /search --archive СЛОВА
search-title = Что нашлось:
search-title-page = Что нашлось, { $first }–{ $last } из { $count }:
search-next = Дальше ▶
search-back = ◀ Назад
search-again = Этого поиска у меня больше нет. Повторите его: /search.
search-nothing = В памяти ничего об этом нет.
archived = в архиве
search-archive-title = Вот что нашлось в архиве (искать там ещё: /search --archive СЛОВА):
search-archive-closed = Архив сейчас не читается. Попробуйте позже.
found-line = • { $date }, { $who }: { $snippet }
you = вы
assistant = я
language-unknown = На языке «{ $name }» я не пишу.
language-question = На каком языке мне писать?
language-name = Русский
language-set = Теперь я пишу по-русски.
delete-me-asks =
    Будет стёрто всё, что я о вас храню: { $held }, а также векторы, пересказы, настройки и всё остальное, что из этого сделано.
    Недоступны мне: копия этого чата у Telegram, то, что хранит о запросах поставщик модели, системный журнал и сделанные раньше резервные копии.
    Отменить это нельзя. Кнопка действует (в минутах): { $minutes }.
delete-me-yes = Да, стереть всё
delete-me-no = Нет, оставить
delete-me-kept = Ничего не стёрто.
delete-me-late = Это было слишком давно. Если вы всё ещё этого хотите, отправьте /delete_me ещё раз.
delete-me-begun = Стираю… квитанция придёт следом.
delete-me-held = Тот, кто запустил бота, сейчас обязан хранить ваши данные по закону, поэтому стереть их нельзя. Спросите, пожалуйста, его.
delete-me-nothing = О вас уже ничего не хранилось.
delete-me-done =
    Всё о вас стёрто.
    Квитанция № { $seq }, SHA-256 { $sha256 }
delete-me-left =
    { $count ->
        [one] Не удалось убрать { $count } байт; где он, тот, кто запустил бота, найдёт в квитанции.
        [few] Не удалось убрать { $count } байта; где они, тот, кто запустил бота, найдёт в квитанции.
       *[many] Не удалось убрать { $count } байт; где они, тот, кто запустил бота, найдёт в квитанции.
    }
unknown-command = Команды /{ $name } я не знаю. Все команды — в /help.
button-stale = Эта кнопка больше не действует.
button-not-yours = Это чужая кнопка.

## Разговор

message-empty = Это сообщение было пустым. Напишите, пожалуйста, текст.
text-only = Пока я умею читать только текст.
weak-model-note = ⚠️ Здесь отвечает маленькая локальная модель ({ $model }). Она часто ошибается: проверяйте важное, прежде всего о здоровье и деньгах.
model-none = Языковая модель не настроена (OPENAI_BASE_URL или локальная, которую загружает «make run»), поэтому ответить я не могу. Ваше сообщение сохранено.
model-down-later = Языковая модель сейчас недоступна, поэтому ответить я не могу. Ваше сообщение сохранено; попробуйте ещё раз чуть позже.
model-down-refused = Языковая модель отклоняет запрос, поэтому ответить я не могу. Ваше сообщение сохранено; причину найдёт в журнале тот, кто запустил бота.
model-said-nothing = Языковая модель дала пустой ответ. Ваше сообщение сохранено.
model-declined = Языковая модель отказывается на это отвечать. Ваше сообщение сохранено.
model-declined-midway = Сервер языковой модели остановил ответ здесь: остальное не пропускает его фильтр.
tokens-used-up = Ваши токены на сегодня ({ $count }) израсходованы, поэтому ответить я смогу только с { $until }. Ваше сообщение сохранено.
nothing-to-stop = Сейчас ничего не пишется.
model-cut-short = Языковая модель остановилась посреди ответа.
memory-has = Что об этом есть в памяти:
memory-has-nothing = В памяти об этом ничего нет.
answer-stopped = Остановлено.
memory-unusable = Сейчас я не могу пользоваться памятью, поэтому это не сделано и не сохранено. Причину найдёт в журнале тот, кто запустил бота.
something-went-wrong = Простите, у меня что-то сломалось. Попробуйте, пожалуйста, ещё раз.

## Кому можно говорить с ботом

stranger = Извините, я говорю только с теми, для кого меня настроили.
stranger-code = Извините, я вас ещё не знаю. Если бот ваш, пришлите код, который он напечатал при запуске.
owner-welcome = Добро пожаловать: теперь вы владелец этого бота.

## Терминал

terminal-hello = keepsake, чат в терминале. Все команды — в /help, выход — /exit или Ctrl-D.
terminal-bye = Заканчиваю начатое… Ctrl-C прервёт сразу; остальное — при следующем запуске.
prompt = вы>

## Тому, кто запускает бота

operator-code = Пока никого не впускаю. Пришлите боту этот код, чтобы стать его владельцем: { $code }
operator-running = @{ $name } слушает. Ctrl-C останавливает.
operator-stopping = Останавливаюсь: дописываю начатые ответы…
