"""Words that say nothing about what a message is about: the closed classes of four languages, and no more.

The lists of the usual packages hold "work", "computer", "fire", "москва", "отец", "ăn" (eat): in a memory
that is what people ask about. Dropped here are only articles, pronouns, prepositions, conjunctions,
particles, auxiliaries and question words. Single Latin letters stay: C and R are languages.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ENGLISH = _words(
    """
    a an the this that these those i me my mine myself we us our ours ourselves you your yours yourself
    yourselves he him his himself she her hers herself it its itself they them their theirs themselves
    who whom whose which what when where why how is am are was were be been being do does did doing done
    have has had having will would shall should can could may might must ought and or but nor so if then
    than because as until while of at by for with about against between into through during before after
    above below to from up down in out on off over under again further once here there all any both each
    few more most other some such no not only own same too very just also yet ever still even though
    although per via let got get gets getting there's isn aren wasn weren don doesn didn haven hasn hadn
    won wouldn shan shouldn couldn ain ll re ve m s t d im ive ill id youre youve dont cant didnt doesnt
    isnt wont please tell yes ok okay oh
    """
)

RUSSIAN = _words(
    """
    и в во не что он на я с со как а то все всё она так его но да ты к у же вы за бы по только её ее мне
    было вот от меня ещё еще нет о об из ему теперь когда даже ну вдруг ли если уже или ни быть был него
    до вас нибудь опять уж вам ведь там потом себя ничего ей может они тут где есть надо ней для мы тебя
    их чем была сам сама сами чтоб чтобы без будто чего раз тоже себе под будет ж тогда кто этот того
    потому этого какой какая какое какие каком какого совсем ним здесь этом один почти мой моя моё мое
    мои моего моей моих моему моим тем нее неё сейчас были куда зачем всех никогда можно при наконец два
    об другой хоть после над больше тот та те через эти нас про всего них много разве эту это эта этой
    этих этим впрочем свой своя своё свое свои свою своего своей своих этому твой твоя твоё твое твои
    твоего твоей твоих наш наша наше наши ваш ваша ваше ваши который которая которое которые которого
    которой которых тебе нам им ими мной тобой ею нем нём том буду будем будешь будут сколько почему
    откуда скажи пожалуйста так же ага
    """
) - {"два", "один"}

# With their diacritics: "tối" (evening) is no "tôi" (I). Typed without them a word is dropped only where it
# is in VIETNAMESE_PLAIN, which has no word of English and few that mean something under other diacritics.
VIETNAMESE = _words(
    """
    tôi tớ mình ta bạn nó họ chúng hắn là và hay hoặc nhưng mà thì của cho với từ đến tới ở tại trong
    ngoài trên dưới vào ra lên xuống về qua bằng như nếu khi lúc vì nên do để được bị có không chưa
    chẳng đã đang sẽ vừa mới rồi cũng vẫn còn đều chỉ rất quá lắm hơn nhất này kia đó đấy ấy đây nào gì
    ai đâu sao bao nhiêu mấy thế vậy nhé nhỉ à ạ ơi ừ dạ vâng những các một mọi mỗi từng cái con chiếc
    việc phải cần thôi luôn nữa lại cùng theo giữa sau trước
    """
) - {"con", "một", "cần"}

VIETNAMESE_PLAIN = _words(
    """
    toi khong cua nhung duoc voi trong nhu dang nhieu gi nhe vay cung roi chua cho nay
    """
)

CHINESE = _words(
    """
    的 了 是 在 我 你 您 他 她 它 我们 你们 他们 她们 和 与 或 也 都 就 还 又 很 不 没 没有 有 这 那
    这个 那个 这些 那些 什么 怎么 怎样 哪 哪里 哪个 谁 吗 呢 吧 啊 呀 嘛 把 被 给 让 对 从 到 向 于 而
    且 但 但是 因为 所以 如果 会 要 能 可以 着 过 地 得 之 其 为 为什么 多少 几 请
    """
)
# A pair of characters is dropped where both are of these.
CHINESE_PARTICLES = frozenset("的了是在我你您他她它们和与或也都就还又很这那什么怎吗呢吧啊呀嘛把被之其为且但")
