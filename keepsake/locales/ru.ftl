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
command-facts = что о вас известно
command-why = какие воспоминания были в последнем ответе
command-search = поискать в памяти: /search СЛОВА
command-context = что модель получает о вас
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
facts-title = Что я о вас знаю:
facts-empty = Фактов пока нет: я узнаю их из того, что вы пишете.
facts-page = Страница { $page } из { $pages }
remember-usage = Напишите, что запомнить: /remember ТЕКСТ
remember-done = Запомню: { $content }
remember-secret = Это похоже на пароль, ключ или номер карты. Такое я не храню.
why-title = Что из памяти было в моём последнем ответе и насколько подходит:
why-nothing = Для последнего ответа в памяти ничего не нашлось.
why-no-answer = Я ещё ни на что не отвечал.
why-by-hand = • вы просили это запомнить
why-confidence = Низкая уверенность: я не был уверен, что понял. Высокая: было сказано ясно, но могло устареть.
search-usage = Напишите, что искать: /search СЛОВА
search-title = Что нашлось:
search-title-page = Что нашлось, { $first }–{ $last } из { $count }:
search-next = Дальше ▶
search-back = ◀ Назад
search-again = Этого поиска у меня больше нет. Повторите его: /search.
search-nothing = В памяти ничего об этом нет.
found-line = • { $date }, { $who }: { $snippet }
you = вы
assistant = я
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
