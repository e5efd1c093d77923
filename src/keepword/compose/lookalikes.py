"""Text as it looks: letters and signs that are drawn like Latin ones become those. Only matching reads this form."""

import unicodedata

# ligatures and signs such as a small "tel" are several letters; none that counts here is more
MOST_LETTERS = 4
# Cyrillic, Greek, Armenian, Cherokee, Lisu, small capitals and letters of Latin alphabets; Unicode itself knows that
# fullwidth, circled and mathematical letters are compatible with the plain ones, and which have accents
_LETTERS = {
    "A": "АΑᎪꓮᴀΛ", "B": "ВΒᏴꓐʙв", "C": "СᏟꓚᴄϹ", "D": "ᎠꓓᴅԀ", "E": "ЕΕᎬꓰᴇΣ", "F": "ꓝꜰϜ", "G": "ᏀꓖɢԌ",
    "H": "НΗᎻꓧʜн", "I": "ІΙᏆꓲɪӀ", "J": "ЈᎫꓙᴊͿ", "K": "КΚᏦꓗᴋ", "L": "ᏞꓡʟԼ", "M": "МΜᎷꓟᴍм", "N": "ΝꓠɴИ",
    "O": "ОΟꓳᴏՕ", "P": "РΡᏢꓑᴘ", "Q": "Ԛ", "R": "ᎡᏒꓣʀЯ", "S": "ЅᏕᏚꓢꜱՏ", "T": "ТΤᎢꓔᴛт", "U": "ꓴᴜՍ",
    "V": "ᏙꓦᴠѴ", "W": "ᎳᏔꓪᴡԜ", "X": "ХΧꓫ", "Y": "УΥҮᎩᎽꓬʏ", "Z": "ΖᏃꓜᴢ",
    "a": "аαɑ", "b": "ьƅ", "c": "сϲⅽ", "d": "ԁđɖ", "e": "еεҽɛ", "g": "ɡցǥ", "h": "һհħ", "i": "іιıɩ", "j": "јյϳ",
    "k": "кκ", "l": "ӏłǀ", "n": "пηոռɳ", "o": "оοσօø", "p": "рρ", "q": "ԛզ", "r": "гɼɽ", "s": "ѕςʂ", "t": "τŧƫ",
    "u": "υսʋ", "v": "ѵν", "w": "ԝωա", "x": "хχ", "y": "уγү", "z": "ʐƶ",
}  # fmt: skip
_SIGNS = {
    ":": "\u02d0\u02f8\u0589\u05c3\u2236\ufe13\ufe55", "<": "\u02c2\u1438\u2329\u276c\u276e\u27e8\u3008\ufe64",
    ">": "\u02c3\u1433\u232a\u276d\u276f\u27e9\u3009\ufe65", "/": "\u2044\u2215\u29f8", "`": "\u02cb\u1fef",
    "-": "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2500\u2501\u25ac\uff0d", "=": "\u2550\ufe66\uff1d\u30a0",
    "\u00b7": "\u0387\u16eb\u2022\u2027\u2219\u22c5\u25cf\u25e6\u2e31\u2e33\u30fb\ua78f\uff65",
}  # fmt: skip
# white letters on black discs and squares, and the halves of flags; each block begins with A
_BLOCKS = (0x1F150, 0x1F170, 0x1F1E6)
# marks over, under and through letters, in the blocks for Latin ones
_MARKS = ((0x300, 0x36F), (0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF), (0x20D0, 0x20FF), (0xFE20, 0xFE2F))
DOTS = _SIGNS["\u00b7"]
_KNOWN = {like: sign for table in (_LETTERS, _SIGNS) for sign, likes in table.items() for like in likes}
_KNOWN |= {chr(block + number): chr(ord("A") + number) for block in _BLOCKS for number in range(26)}


class _Looks(dict[int, str]):
    """The lookalike of each character, in at most `MOST_LETTERS` letters; looked up once each."""

    def __missing__(self, code: int) -> str:
        self[code] = looks = _looks_like(chr(code))
        return looks


def fold(text: str) -> str:
    """Return the text as it looks; `positions` tells where each of its characters stands in the text."""
    return text if text.isascii() else text.translate(_LOOKS)


def positions(text: str) -> list[int]:
    return [at for at, char in enumerate(text) for _ in _LOOKS[ord(char)]]


def _looks_like(char: str) -> str:
    if char in _KNOWN:
        return _KNOWN[char]
    plain = "".join(_KNOWN.get(part, part) for part in unicodedata.normalize("NFKD", char) if not _is_mark(part))
    if len(plain) <= 1:
        return plain
    # three dots or a fraction hide nothing, and texts of one length are compared faster
    return plain if len(plain) <= MOST_LETTERS and any("a" <= part.lower() <= "z" for part in plain) else char


def _is_mark(char: str) -> bool:
    return any(first <= ord(char) <= last for first, last in _MARKS)


_LOOKS = _Looks()
