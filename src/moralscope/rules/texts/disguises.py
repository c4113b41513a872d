"""Texts in disguise made plain: what a person can read and a model of English cannot.

Letters that look like others, letters kept apart, codes (entities, base64, hex, …), markup inside
words, leet, words turned round. Each step looks for its own trace first, so an ordinary text costs
little and stays as it is. Nothing is taken from a text: the plain reading is judged beside it, so a
step may err. Two mended words are needed, because one proves nothing ("e-mail", "l10n").
"""

import base64
import codecs
import html
import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from functools import cache, lru_cache, partial
from urllib.parse import unquote

from moralscope.stats.text.words import function_words, is_word

_ROUNDS = 3  # disguises may lie over each other
_LEAST = 2  # mended words
_LONGEST = 32_000  # letters in a row that are cut into words again
_LOOKALIKES = dict(
    zip(
        "авекмнорстухѕіїјԁһԛԝӏьпгияшёАВЕКМНОРСТУХЅІЇЈԌԚԜЁ"
        "αβγεηικνορστυχωΑΒΕΖΗΙΚΜΝΟΡΤΥΧοѵօսհոցքՏՕՍℓ"
        "ןɔɟɾƃↄꓐꓓꓔꓗꓡꓢꓦꓮꓰꓲꓳꓴꓟꓠꓑꓣꓨꓪꓫꓬꓜꓖꓙꓚꓝꓧ",
        "abekmhopctyxsiijdhqwlbnrurweABEKMHOPCTYXSIIJGQWE"
        "abyenikvoprtuxwABEZHIKMNOPTYXovouhngpSOUl"
        "lcfjgcBDTKLSVAEIOUMNPRGWXYZGJCFH",
        strict=True,
    )
)
_NAME = re.compile(
    r"LATIN (?:LETTER SMALL CAPITAL|(SMALL|CAPITAL) LETTER)"
    r"(?: (?:TURNED|REVERSED|SCRIPT|OPEN|DOTLESS|BARRED|INSULAR|SIDEWAYS))* ([A-Z])(?: WITH .*)?"
)
_STOPS = ".,!?;:"
_FLAGS = "\U0001f1e6"
_SIGNS = ((0x1F150, 26), (0x1F170, 26), (0x1F1E6, 26))  # letters in discs, squares and flags
_TURNED = str.maketrans("nubqdp", "unqbpd")  # what plain letters are upside down
_ENTITY = re.compile(r"&(?:#\d{2,6}|#[xX][0-9a-fA-F]{2,5}|[a-zA-Z]{2,8});?")
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u\{?([0-9a-fA-F]{4,5})\}?)")
_PERCENT = re.compile(r"(?:%[0-9a-fA-F]{2})+")
_PERCENTS = re.compile(r"(?:%[0-9a-fA-F]{2}){4,}")
_BASE64 = re.compile(r"(?<![\w+/=-])[A-Za-z0-9+/_-]{12,}={0,2}")
_HEX = re.compile(r"(?<!\w)(?:(?:0x)?[0-9a-fA-F]{2}[ :,]{0,2}){8,}(?!\w)")
_BINARY = re.compile(r"(?<!\w)(?:[01]{8}[ ,]{0,2}){4,}(?!\w)")
_NUMBERS = re.compile(r"(?<!\w)(?:\d{2,3}[ ,]{1,2}){7,}\d{2,3}(?!\w)")
_TAG = re.compile(r"</?([a-zA-Z][\w-]*+)[^<>]*+>")
_BLOCK = re.compile(r"(?i)p|div|li|[uo]l|d[ltd]|br|hr|h\d|t[drh]|table|section|article|pre|img")
_INSIDE = re.compile(r"[^\W\d_](?:<[^<>]*>)+[^\W\d_]")
_LETTER = r"[^\W\d_]"
_APART = re.compile(rf"(?<![^\W_]){_LETTER}(?:[\W_]{{1,6}}{_LETTER}(?![^\W_])){{2,}}")
_PAIRS = re.compile(rf"(?<![^\W_]){_LETTER}{{1,2}}(?:[\W_]{{1,6}}{_LETTER}{{1,2}}(?![^\W_])){{5,}}")
_SIGNS_IN = r"(?:[^\w\s,;:!?()\[\]'\u2019]{1,3}+|_)"
_BROKEN = re.compile(  # no possessive group: Python 3.11.2, of Debian 12, gets those wrong
    rf"(?<![^\W\d_])(?:{_LETTER}{{1,20}}+{_SIGNS_IN}){{1,20}}{_LETTER}{{1,20}}+(?!{_SIGNS_IN})"
)
_EMOJI = re.compile(r"(?<=[^\W\d_]|[.,!?])[\u2190-\u2bff\U0001f000-\U0001faff]+(?=[^\W\d_])")
_BETWEEN = re.compile(rf"(?<={_LETTER})(?:[^\w\s]+|_+)(?={_LETTER})")
_USUAL = re.compile("[-/_]")  # between words: well-known, and/or
_GLUED = re.compile(r"[A-Za-z]{18,}")
_DRAWN = re.compile(r"([^\W\d_])\1\1")
_LEET_WORD = re.compile(
    r"(?<!\S)['\"(]?(?=\S*[a-zA-Z|/\\])(?=\S*[0-9@$!|+€£(])(\S{2,30}?)(?=[.,!?;:'\")]*(?!\S))"
)
_LEET_SIGNS = {
    "\\/\\/": "w",
    "|-|": "h",
    "|_|": "u",
    "|<": "k",
    "|)": "d",
    "/\\": "a",
    "\\/": "v",
    "()": "o",
}
_LEET = str.maketrans("023456789@$!|+€£(", "ozeasgtbgasiltelc")
_RARE_LEET = set("2689")  # "k8s", "b2b"
_WORD = re.compile(rf"{_LETTER}+")
_SIGNED_WORD = re.compile(rf"(?:{_LETTER}|[\U0001f150-\U0001f189\U0001f1e6-\U0001f1ff])+")


def undisguised(text: str) -> str:
    """Return a text without its disguises; the same text where it seems to have none.

    Examples
    --------
    >>> undisguised("You are w.o.r.t.h.l.e.s.s, n0b0dy l1k3s you.")
    'You are worthless, nobody likes you.'
    >>> undisguised("Send me an e-mail at 5 p.m., o.k.?")
    'Send me an e-mail at 5 p.m., o.k.?'
    """
    plain, total = text, 0
    for _ in range(_ROUNDS):
        before = plain
        for step in (_decoded, _without_markup, _folded, _joined, _spelt, _turned_round):
            plain, count = step(plain)
            total += count
        if plain == before:
            break
    return plain if total >= _LEAST else text


def fold(text: str) -> str:
    r"""Return a text with the letters that its own look like, and no marks above or below them.

    Examples
    --------
    >>> fold("Y\N{CYRILLIC SMALL LETTER O}u are ᴋɪɴᴅ, señor.")
    'You are kind, senor.'
    """
    text = "".join(char if char.isascii() else _letter(char) for char in text)
    return "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))


@lru_cache(maxsize=1 << 14)
def _letter(char: str) -> str:
    """Return the letter that a character looks like; else itself."""
    for start, count in _SIGNS:
        if 0 <= ord(char) - start < count:
            return chr(ord("a") + ord(char) - start)
    if char in _LOOKALIKES:
        return _LOOKALIKES[char]
    named = _NAME.fullmatch(unicodedata.name(char, ""))
    if named is None or unicodedata.decomposition(char):  # tokenizers take marks off themselves
        return char
    return named[2] if named[1] == "CAPITAL" else named[2].lower()


def _mended(
    pattern: re.Pattern[str], mend: Callable[[re.Match[str]], str], text: str
) -> tuple[str, int]:
    """Put something else where a pattern is found; count where that brings letters."""
    count = 0

    def put(match: re.Match[str]) -> str:
        nonlocal count
        better = mend(match)
        count += better != match[0] and any(map(str.isalpha, better))
        return better

    return pattern.sub(put, text), count


def _decoded(text: str) -> tuple[str, int]:
    """Undo entities and escapes, base64, hex, binary and lists of character codes."""
    total = 0
    for trace, pattern, mend in (
        ("&", _ENTITY, lambda match: html.unescape(match[0])),
        ("\\", _ESCAPE, lambda match: chr(int(match[1] or match[2], 16))),
        ("%", _PERCENTS, lambda match: unquote(match[0])),
        ("%", _PERCENT, lambda match: unquote(match[0])),
    ):
        if trace in text:
            text, count = _mended(pattern, mend, text)
            total += count * (_LEAST if pattern is _PERCENTS else 1)
    for pattern, decode in _CODES:
        text, count = _mended(pattern, partial(_prose, decode), text)
        total += _LEAST * count
    return text, total


def _prose(decode: Callable[[str], bytes], match: re.Match[str]) -> str:
    """Return what a code says, where it says anything in letters."""
    try:
        prose = " ".join(decode(match[0]).decode().split())
    except ValueError:
        return match[0]
    letters = sum(char.isalpha() or char == " " for char in prose)
    is_prose = prose.isprintable() and len(prose) > 3 and letters >= len(prose) // 2
    return f" {prose} " if is_prose else match[0]


def _from_base64(code: str) -> bytes:
    code = code.rstrip("=").translate(str.maketrans("-_", "+/"))
    return base64.b64decode(code + "=" * (-len(code) % 4), validate=True)


_CODES = (
    (_BASE64, _from_base64),
    (_BINARY, lambda code: bytes(int(byte, 2) for byte in re.findall("[01]{8}", code))),
    (_NUMBERS, lambda code: bytes(map(int, re.findall(r"\d+", code)))),
    (_HEX, lambda code: bytes.fromhex(re.sub("0x|[ :,]", "", code))),
)


def _without_markup(text: str) -> tuple[str, int]:
    """Take comments and tags out; those inside a word leave no space."""
    if "<" not in text:
        return text, 0
    parts = text.split("<!--")
    plain = parts[0] + "".join(
        f"<i>{part.partition('-->')[2]}" if "-->" in part else f"<!--{part}" for part in parts[1:]
    )
    plain = _TAG.sub(lambda tag: " " if _BLOCK.fullmatch(tag[1]) else tag[0], plain)
    inside = len(_INSIDE.findall(plain))
    plain = _TAG.sub("", plain)
    return plain, inside + _LEAST * (len(plain) < len(text) // 2)


def _folded(text: str) -> tuple[str, int]:
    """Put plain letters for those that look like them, word by word.

    A word with letters of its own alphabet that look like no other stays: it is no disguise.
    """
    if text.isascii():
        return text, 0
    count = turned = 0

    def put(match: re.Match[str]) -> str:
        nonlocal count, turned
        word = match[0]
        plain = word if word.isascii() else "".join(map(_letter, word))
        if plain == word or not fold(plain).isascii():
            return word
        if len(word) > 1 and _LOOKALIKES.keys() >= set(word) and not is_word(plain):
            return word  # of another language, and by chance of such letters alone
        changed = [old for old, new in zip(word, plain, strict=True) if old != new]
        # One stroke is a name (Søren); one letter of another alphabet inside a word is none.
        is_word_in_disguise = len(changed) > 1 or (len(word) > 1 and changed[0] in _LOOKALIKES)
        is_flag = changed[0] >= _FLAGS and not (len(word) > 2 and is_word(plain))
        count += is_word_in_disguise and not is_flag
        turned += sum(char in "ɐǝɥʇɹʎʞʍʌɯᴉ" for char in word)
        return plain

    plain = _SIGNED_WORD.sub(put, text)
    return plain.translate(_TURNED) if turned > 4 else plain, count


def _joined(text: str) -> tuple[str, int]:
    """Put letters together that were kept apart, and take words apart that were put together."""
    total = 0
    for pattern in (_APART, _PAIRS, _GLUED):
        text, count = _mended(pattern, lambda match: _cut(match[0]), text)
        total += _LEAST * count

    def mend(match: re.Match[str]) -> str:
        parts = _WORD.findall(match[0])
        word, is_loose = "".join(parts), all(map(is_word, parts))
        if len(word) > 2 and is_word(word) and not (is_loose and _USUAL.search(match[0])):
            return word
        return match[0]

    text, count = _mended(_BROKEN, mend, text)
    spaced, emoji = _EMOJI.subn(" ", text)
    return (spaced, total + emoji) if emoji > _LEAST else (text, total + count)


def _cut(letters: str) -> str:
    """Return the words of letters that stand in a row; as they were where they make none."""
    signs = Counter(_BETWEEN.findall(letters))
    if signs:  # spaces are between words, then, and need no guess
        plain = letters.replace(max(signs, key=signs.__getitem__), "")
        words = _WORD.findall(plain)
        if any(map(_is_telling, words)) and 2 * sum(map(is_word, words)) >= len(words):
            return plain
    row = "".join(_WORD.findall(letters))[:_LONGEST]
    # Cheapest way to each letter: a word costs 1, a function word less, three other letters more.
    costs, starts = [0.0], [0]
    for end in range(1, len(row) + 1):
        best = (costs[end - 1] + 4.0, end - 1)
        for start in range(max(0, end - 16), end):
            word = row[start:end].lower()
            price = 0.45 if word in function_words() else 1.0 if len(word) > 3 else 1.6
            if (len(word) < 3 and price > 1) or not is_word(word):
                continue
            price += not (
                row[start + 1 : end].islower() or row[start:end].isupper() or end - start < 2
            )
            best = min(best, (costs[start] + price, start))
        costs.append(best[0])
        starts.append(best[1])
    words, end = [], len(row)
    while end:
        words.append(row[starts[end] : end])
        end = starts[end]
    parts = _WORD.findall(letters)
    is_better = costs[-1] < len(row) / 2.4 and words[::-1] != parts and any(map(_is_telling, words))
    if len(parts) == 1:  # a long word is none of many
        is_better &= len(words) > 3 and not function_words().isdisjoint(words)
    return " ".join(words[::-1]) if is_better else letters


def _is_telling(word: str) -> bool:
    """Tell a word from an abbreviation."""
    return len(word) > (4 if word.isupper() else 2) and is_word(word)


def _spelt(text: str) -> tuple[str, int]:
    """Put letters for the digits and signs of leet, and one for many of the same."""

    def unleet(match: re.Match[str]) -> str:
        word = match[1]
        for signs, letter in _LEET_SIGNS.items():
            word = word.replace(signs, letter)
        for one in "il":
            plain = word.replace("1", one).translate(_LEET)
            is_short = len(plain) < 4 and not _RARE_LEET.isdisjoint(word)
            if plain.isalpha() and not is_short and is_word(plain):
                return match[0].replace(match[1], plain)
        return match[0]

    def shorten(match: re.Match[str]) -> str:
        for times in (r"\1", r"\1\1") if _DRAWN.search(match[0]) else ():
            word = re.sub(r"(.)\1{2,}", times, match[0])
            if len(word) > 2 and is_word(word):
                return word
        return match[0]

    text, count = _mended(_LEET_WORD, unleet, text)
    if not _DRAWN.search(text):
        return text, count
    text, more = _mended(_WORD, shorten, text)
    return text, count + more


@cache
def _marks() -> tuple[tuple[frozenset[str], Callable[[str], str]], ...]:
    """Return the function words as each way of turning a text round writes them, and the way back.

    Of a text turned round as a whole and of one turned word by word the words are the same.
    """
    plain = {word for word in function_words() if len(word) > 1}

    def back(text: str) -> str:
        words = text.split()
        by_word = " ".join(word[::-1] for word in words)
        if words[0][0] in _STOPS:  # where the last full stop is shows what was turned
            return text[::-1]
        return by_word if words[-1][0] in _STOPS else f"{text[::-1]}. {by_word}"

    def rot13(text: str) -> str:
        return codecs.encode(text, "rot13")

    ways = ((lambda word: word[::-1], back), (rot13, rot13))
    return tuple((frozenset(map(way, plain)) - plain, undo) for way, undo in ways)


def _turned_round(text: str) -> tuple[str, int]:
    """Undo texts that were written backwards or in rot13: their function words show it."""
    total = 0
    for marks, undo in _marks():
        words = text.split()
        stripped = [word.strip(f"{_STOPS}'\"()").lower() for word in words]
        hits = [index for index, word in enumerate(stripped) if word in marks]
        if len(hits) < 3:
            continue
        start, end = max(0, hits[0] - 4), hits[-1] + 5
        if sum(word in function_words() for word in stripped[start:end]) < len(hits):
            words[start:end] = [undo(" ".join(words[start:end]))]
            text, total = " ".join(words), total + _LEAST
    return text, total
