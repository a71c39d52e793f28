"""Which periods a question names, whether it asks when, and whether a message says when: four languages."""

from __future__ import annotations

import calendar
import json
import unicodedata
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepsake.recall import date_tokens
from keepsake.recall.date_words import DATA, MONTHS, UNITS, WEEKDAYS
from keepsake.recall.dates import Period, asks_when, carries_time, periods
from keepsake.recall.question import forget_cached

ZONE = ZoneInfo("Asia/Almaty")
NOW = datetime(2026, 11, 18, 15, 30, tzinfo=ZONE)  # a Wednesday
DAY = timedelta(days=1)


def listed(words: str) -> list[str]:
    return words.split()


def named(text: str, now: datetime = NOW) -> list[str]:
    """The periods as "first day…day after the last", with hours only where they are not midnight."""

    def written(moment: datetime) -> str:
        return f"{moment:%Y-%m-%d}" if not (moment.hour or moment.minute) else f"{moment:%Y-%m-%d %H:%M}"

    return [f"{written(found.start)}…{written(found.end)}" for found in periods(text, now)]


YESTERDAY = "2026-11-17…2026-11-18"
TWO_DAYS_AGO = "2026-11-16…2026-11-17"
LAST_WEEK = "2026-11-09…2026-11-16"
MARCH = "2026-03-01…2026-04-01"
SEVENTH_OF_MAY = "2026-05-07…2026-05-08"
SEVENTH_OF_MAY_2023 = "2023-05-07…2023-05-08"
FRIDAY = "2026-11-13…2026-11-14"


@pytest.mark.parametrize(
    ("expected", "texts"),
    [
        (YESTERDAY, "yesterday|вчера|hôm qua|hom qua|昨天|昨日|what did I eat yesterday?"),
        (YESTERDAY, "что я ел вчера|我昨天吃了什么|hôm qua mình ăn gì"),
        (TWO_DAYS_AGO, "two days ago|2 days ago|позавчера|два дня назад|hôm kia|hai ngày trước|前天|两天前|2天前"),
        ("2026-11-13…2026-11-14", "five days ago|5 дней назад|năm ngày trước|五天前"),
        ("2026-11-18…2026-11-19", "today|сегодня|hôm nay|hom nay|今天"),
        ("2026-11-19…2026-11-20", "tomorrow|завтра|ngày mai|明天"),
        (LAST_WEEK, "last week|на прошлой неделе|tuần trước|tuan truoc|上周|上个星期|meeting notes of last week"),
        ("2026-11-02…2026-11-09", "the week before last|上上周|на позапрошлой неделе"),
        ("2026-10-01…2026-11-01", "last month|в прошлом месяце|tháng trước|thang truoc|上个月|上月"),
        ("2025-01-01…2026-01-01", "last year|в прошлом году|прошлого года|năm ngoái|nam ngoai|去年"),
        (FRIDAY, "last Friday|on Friday|в пятницу|в прошлую пятницу|thứ sáu tuần trước|thu 6 tuan truoc|上周五"),
        ("2026-11-09…2026-11-10", "Monday last week|в понедельник на прошлой неделе|thứ hai tuần trước|上星期一"),
        ("2026-11-11…2026-11-12", "on Wednesday|в среду"),  # today is one, and it is not meant
        ("2026-11-14…2026-11-16", "last weekend|at home over the weekend|на выходных|cuối tuần trước|上周末|周末"),
        (MARCH, "in March|in march|в марте|в МАРТЕ|tháng 3|tháng ba|thang 3|tháng 03|三月|3月|三月份"),
        ("2025-12-01…2026-01-01", "in December|в декабре|tháng 12|tháng mười hai|12月|十二月"),
        ("2026-11-01…2026-12-01", "in November|в ноябре|tháng 11|十一月"),  # it has begun
        ("2025-03-01…2025-04-01", "March last year|в марте прошлого года|tháng 3 năm ngoái|去年三月"),
        ("2023-03-01…2023-04-01", "March 2023|in March of 2023|март 2023 года|tháng 3 năm 2023|tháng 3/2023|2023年3月"),
        ("2022-01-01…2023-01-01", "in 2022|в 2022 году|năm 2022|nam 2022|2022年|二〇二二年"),
        (SEVENTH_OF_MAY, "May 7|on 7 May|7th of May|the 7th of may|7 мая|7-го мая|ngày 7/5|ngay 7/5|7 tháng 5|5月7日"),
        (SEVENTH_OF_MAY_2023, "on 7 May 2023|Sunday, 7 May 2023|2023-05-07|07.05.2023|2023/5/7|7 мая 2023"),
        (SEVENTH_OF_MAY_2023, "7 мая 2023 г.|ngày 7 tháng 5 năm 2023|ngày 7/5/2023"),
        (SEVENTH_OF_MAY_2023, "2023年5月7日|二〇二三年五月七日|２０２３年５月７日|May 7th, 2023"),
        ("2026-11-07…2026-11-08", "on the 7th|7-го числа|7 числа|ngày 7|mùng 7|7号|七号"),
        ("2026-10-30…2026-10-31", "30 числа|30号"),  # this month's has not come
        ("2026-10-07…2026-10-08", "7 числа прошлого месяца|ngày 7 tháng trước|上个月7号"),
        ("2024-02-29…2024-03-01", "29 February|29 февраля|29/2 ngày 29/2|2月29日"),
        ("2026-11-18 04:00…2026-11-18 12:00", "this morning|сегодня утром|sáng nay|sang nay|今早|今天早上"),
        ("2026-11-17 17:00…2026-11-18", "yesterday evening|вчера вечером|tối hôm qua|昨天晚上"),
        ("2026-11-17 18:00…2026-11-18 06:00", "last night|прошлой ночью|đêm qua|昨晚"),
        ("2026-11-15 15:30…2026-11-18 15:30", "in the last three days|за последние 3 дня|3 ngày qua|最近三天|过去3天"),
        ("2026-11-11 15:30…2026-11-18 15:30", "in the past week|за последнюю неделю|最近一周"),
        ("2026-11-01…2026-11-09", "a couple of weeks ago|две недели назад|2 tuần trước|cách đây 2 tuần|两周前"),
        ("2026-05-07…2026-06-07", "half a year ago|полгода назад|半年前"),
        ("2026-11-11…2026-11-18", "the other day|на днях|hôm nọ|前几天"),
        ("2026-03-01…2026-03-12", "early March|at the beginning of March|в начале марта|đầu tháng 3|3月初"),
        ("2026-11-01…2026-11-11", "at the beginning of the month|в начале месяца|đầu tháng|月初"),
        ("2026-10-21…2026-11-01", "at the end of last month|в конце прошлого месяца|cuối tháng trước|上个月底"),
        ("2026-06-01…2026-09-01", "last summer|during the summer|летом|прошлым летом"),
        ("2025-06-01…2025-09-01", "last year in the summer|летом прошлого года|mùa hè năm ngoái|去年夏天"),
        ("2026-03-01…2026-11-18 15:30", "since March|с марта|từ tháng 3|从三月开始"),
        ("2026-05-03…2026-05-08", "from 3 to 7 May|May 3-7|с 3 по 7 мая|từ 3 đến 7 tháng 5|5月3日到7日"),
        ("2023-08-11…2023-08-16", "between August 11 and August 15 2023|с 11 августа по 15 августа 2023"),
        ("2023-07-28…2023-08-11", "two weeks before August 11, 2023|за две недели до 11 августа 2023"),
    ],
)  # fmt: skip
def test_a_period_is_named(expected: str, texts: str) -> None:
    assert {text: named(text) for text in texts.split("|")} == {text: [expected] for text in texts.split("|")}


@pytest.mark.parametrize(
    "text",
    [
        *("may I ask you something", "what may this be", "option 2 may work", "march on Rome", "to march", "wed them"),
        *("how hot is the sun", "sun cream", "my second job", "give me a second", "where did June work", "Python 3.10"),
        *("version 1.2.2023.4", "10.0.0.1", "24/7 shop", "3/4 cup", "room 2023", "on the 7th floor", "I have 2 cats"),
        *("my last day", "the last week of the course", "at the last minute", "on Fridays", "every Friday", "3,400"),
        *("Марта сказала", "что подарить Марте", "в среде разработки", "переменные среды", "по средам", "3 раза"),
        *("какой код", "сколько лет", "температура 5 с лишним", "вс рф", "мартышка", "маяк", "октябрёнок"),
        *("lần thứ ba", "quán thứ hai", "mỗi tháng năm triệu", "thang máy", "anh Tuấn trước đây", "năm người", "ba ơi"),
        *("uống ngày 3 lần", "nhắc trước 3 ngày", "nam gioi", "to kem", "he said hi", "không bao giờ"),
        *("统一月台", "唯一月份额", "五月天的歌", "7号线", "7号楼", "一次", "提前两天", "三年级"),
        *("天气", "一个月多少钱", "两个月大"),
        *("", "?", "12345678901234567890", "30 февраля", "31 ноября", "2月30日", "99/99/2023"),
    ],
)  # fmt: skip
def test_no_false_alarm(text: str) -> None:
    assert named(text) == []


def test_a_month_and_what_is_counted_in_it() -> None:
    assert named("сколько я в марте 3 раза") == [MARCH]


def test_several_periods_in_their_order_and_each_once() -> None:
    assert named("yesterday or in March, yesterday?") == [YESTERDAY, MARCH]
    assert named("что было вчера и last week") == [YESTERDAY, LAST_WEEK]
    assert len(periods(" ".join(f"{year}-01-01" for year in range(1990, 2020)), NOW)) == 8


def test_numbers_that_may_be_two_dates_are_both() -> None:
    assert named("on 5/7/2023") == ["2023-07-05…2023-07-06", "2023-05-07…2023-05-08"]
    assert named("что было 5/7/2023") == ["2023-07-05…2023-07-06"]
    assert named("2023年, 5/13/2023") == ["2023-01-01…2024-01-01", "2023-05-13…2023-05-14"]


def test_today_is_counted_in_the_zone_of_now() -> None:
    late = datetime(2026, 11, 18, 20, 0, tzinfo=UTC)
    assert periods("today", late) == [
        Period(datetime(2026, 11, 18, tzinfo=UTC), datetime(2026, 11, 19, tzinfo=UTC))
    ]
    there = periods("today", late.astimezone(ZONE))
    assert there == [Period(datetime(2026, 11, 19, tzinfo=ZONE), datetime(2026, 11, 20, tzinfo=ZONE))]


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="time zone"):
        periods("yesterday", datetime(2026, 11, 18))  # noqa: DTZ001


def test_letters_that_are_put_together_otherwise_are_the_same() -> None:
    assert named(unicodedata.normalize("NFD", "hôm qua")) == [YESTERDAY]


@pytest.mark.parametrize(
    "text",
    [
        *("on 7 May we fly", "it is 28 february", "Thursdays 7pm", "at 6:30", "three weeks", "moved in yesterday"),
        *("every morning", "next fest june 9-16", "since 2019", "see you on Sat", "at the weekend", "summer 2023"),
        *("в 8 утра", "пн ср пт в 7:30", "по вторникам", "через две недели", "в мае", "до 20 числа", "летом"),
        *("khai trương 1/8", "5h30 sáng thứ 2", "3 ngày trước", "cọc 2 tháng", "chủ nhật", "launch 20/11", "đầu tháng"),
        *("下午3点半", "十点以后", "11月7日", "每周日", "吃四周", "明年", "48小时后", "周末"),
    ],
)  # fmt: skip
def test_a_message_that_carries_a_time(text: str) -> None:
    assert carries_time(text)


@pytest.mark.parametrize(
    "text",
    [
        *("I may go", "the sun is up", "two of us march on", "3,400 pounds", "version 4.2", "she works in sales", ""),
        *("оклад 118 на руки", "порт 5433", "вс рф", "пять капель", "Марта пришла"),
        *("tăng từ 22 lên 25k", "18 triệu", "lần thứ ba", "con trai chị tên Bi"),
        *("坐5号线", "三年级", "提前说", "一点都不好", "统一发票", "最近在学习做饭"),
    ],
)  # fmt: skip
def test_a_message_that_carries_none(text: str) -> None:
    assert not carries_time(text)


@pytest.mark.parametrize(
    "text",
    [
        *("when is the demo", "what time do I wake", "What date was my talk?", "how long ago was it", "who and when"),
        *("do you remember when I moved", "which year did I start", "how often do I run", "what day is it on"),
        *("когда свадьба", "во сколько поезд", "какого числа экзамен", "в каком году я переехал", "как давно"),
        *("khi nào con sinh", "mấy giờ bay", "ngày mấy khai trương", "bao giờ hết hạn", "khi nao di", "bao lâu nữa"),
        *("什么时候搬家", "几号领证", "哪天去", "多久跑一次", "星期几上课", "几点出发"),
    ],
)  # fmt: skip
def test_a_question_that_asks_when(text: str) -> None:
    assert asks_when(text)


@pytest.mark.parametrize(
    "text",
    [
        *("what did she say when I left", "why do I cry when it rains", "who is Meera", "my ramen date was with whom"),
        *("что я пил, когда болел", "сколько лет сыну", "какой код", "никогда"),
        *("tôi không bao giờ ăn gì", "lúc nào cũng vui", "giờ tôi dọn về đâu", "thang may o dau"),
        *("我的车牌号是多少", "几个人", "哪家店", ""),
    ],
)  # fmt: skip
def test_a_question_that_asks_for_something_else(text: str) -> None:
    assert not asks_when(text)


RUSSIAN = listed("января февраля марта апреля мая июня июля августа сентября октября ноября декабря")
MOMENTS = st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1), timezones=st.just(ZONE))  # noqa: DTZ001
PIECES = st.sampled_from(
    listed(
        "last next this in on the 3 7 2023 2024 may march friday week weeks days ago month year morning since to before"
        " end of прошлой неделе 5 мая в с по года назад конце tháng năm ngày trước tuần nay qua 上 周 五 三月 7号 年 前"
        " 9999 0 7/5 31.12.2023 ? , half weekend summer летом"
    )
)


@given(st.dates(date(1950, 1, 1), date(2100, 12, 31)), MOMENTS)
def test_any_day_that_is_written_out_is_found(day: date, now: datetime) -> None:
    english, russian = calendar.month_name[day.month], RUSSIAN[day.month - 1]
    start = datetime(day.year, day.month, day.day, tzinfo=ZONE)
    for text in (
        f"what happened on {day.day} {english} {day.year}?",
        f"what happened on {english} {day.day}, {day.year}?",
        f"{english[:3]} {day.day} {day.year}",
        f"что было {day.day} {russian} {day.year} года",
        f"что было {day:%d.%m.%Y}",
        f"ngày {day.day} tháng {day.month} năm {day.year} có gì",
        f"ngay {day.day}/{day.month}/{day.year} co gi",
        f"{day.year}年{day.month}月{day.day}日怎么了",
        day.isoformat(),
    ):
        assert periods(text, now) == [Period(start, start + DAY)], text
        assert carries_time(text)


@given(st.dates(date(2000, 1, 1), date(2003, 12, 31)), MOMENTS)
def test_a_day_without_a_year_is_the_last_that_has_begun(day: date, now: datetime) -> None:
    [found] = periods(f"{day.day} {RUSSIAN[day.month - 1]}", now)
    assert (found.start.month, found.start.day) == (day.month, day.day)
    assert found.start <= now
    assert now - found.start <= timedelta(days=366 if (day.month, day.day) != (2, 29) else 366 * 8)


@given(st.lists(PIECES, max_size=9), MOMENTS)
def test_whatever_is_asked_a_period_begins_before_it_ends(pieces: list[str], now: datetime) -> None:
    text = " ".join(pieces)
    found = periods(text, now)
    assert all(period.start < period.end and period.start.tzinfo is now.tzinfo for period in found)
    assert len(set(found)) == len(found)
    assert found == periods(text.upper(), now) == periods(text.title(), now)
    assert carries_time(text) == carries_time(text.upper())
    assert asks_when(text) == asks_when(text.upper())


@given(st.text(max_size=40), MOMENTS)
def test_no_text_is_too_odd(text: str, now: datetime) -> None:
    assert all(period.start < period.end for period in periods(text, now))
    assert carries_time(text) in (True, False)
    assert asks_when(text) in (True, False)


def test_the_words_name_their_source_and_are_whole() -> None:
    kept = json.loads(DATA.read_text("utf-8"))
    assert kept["source"].startswith("dateparser ")
    assert "Redistributions in binary form must reproduce the above copyright notice" in kept["licence"]
    assert set(kept["words"]) == {"en", "ru", "vi", "zh"}
    for table in kept["words"].values():
        assert all(table[key] for key in (*MONTHS, *WEEKDAYS, *UNITS, "ago", "relative-type"))


def test_words_that_were_read_can_be_dropped_from_ram() -> None:
    carries_time("zanzibarwort was there on 5 May")
    assert date_tokens._unlisted.cache_info().currsize > 0
    forget_cached()
    assert date_tokens._unlisted.cache_info().currsize == 0
