"""The accepted regular expressions: what they mean, how they are translated, what is refused."""

from __future__ import annotations

import sys
import unicodedata

import pytest

from shared_data import shared_lines, size
from tidegate import regex
from tidegate.limits import DEFAULT
from tidegate.regex import RegexError, parse, sets, shape, translate


def characters(pattern: str) -> str:
    """The ASCII characters that a pattern for one character matches."""
    root = parse(pattern).root
    assert isinstance(root, regex.Characters)
    return "".join(chr(code) for code in range(128) if sets.contains(root.ranges, code))


def refusal(pattern: str) -> RegexError:
    with pytest.raises(RegexError) as caught:
        parse(pattern)
    return caught.value


@pytest.mark.parametrize(
    ("pattern", "translated"),
    [
        ("abc", "abc"),
        ("", "(?:)"),
        ("a.b", r"a[\x{0}-\x{9}\x{B}-\x{D7FF}\x{E000}-\x{10FFFF}]b"),
        ("(?s).", r"[\x{0}-\x{D7FF}\x{E000}-\x{10FFFF}]"),
        (r"\d+", r"[\x{30}-\x{39}]+"),
        (r"\.php$", r"\x{2E}php\z"),
        ("^a|b", r"\Aa|b"),
        ("(?m)^a$", "(?m:^)a(?m:$)"),
        ("(a)(?:b)(?P<n>c)(?<m>d)", "(a)b(?P<n>c)(?P<m>d)"),
        ("(?:ab)*?", "(?:ab)*?"),
        ("(?U)a*b*?", "a*?b*"),
        ("a{2}b{2,}c{2,3}d{0,1}", "a{2}b{2,}c{2,3}d?"),
        (r"\bok\B", r"(?-u:\b)ok(?-u:\B)"),
        ("(?i)k", r"[\x{4B}\x{6B}\x{212A}]"),
        ("(?i)a(?-i)a", r"[\x{41}\x{61}]a"),
        ("(?i:a)a", r"[\x{41}\x{61}]a"),
        ("a(?i)b|c", r"a[\x{42}\x{62}]|[\x{43}\x{63}]"),
        (r"[^\x00-\x{10FFFF}]", r"[^\x{0}-\x{10FFFF}]"),
        (r"\x41\x{1F600}\n", r"A\x{1F600}\x{A}"),
        (r"<\-\ \_\/", r"\x{3C}\x{2D}\x{20}\x{5F}\x{2F}"),
    ],
)
def test_translation_spells_everything_out(pattern: str, translated: str) -> None:
    """A translation has no flag but the word boundary's, no named class and no dot."""
    assert translate(parse(pattern)) == translated


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"\s", "\t\n\f\r "),
        ("[[:space:]]", "\t\n\v\f\r "),
        (r"[\w-]", "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"),
        ("[]a]", "]a"),
        ("[a-c-e]", "-abce"),
        ("[-a]", "-a"),
        (r"[a\-c]", "-ac"),
        ("[+-.]", "+,-."),
        ("[[:alpha:]-z]", "-ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"),
        ("[[:^print:]]", "".join(map(chr, range(32))) + "\x7f"),
        (r"[^\D]", "0123456789"),
        (r"[\]\[\^]", "[]^"),
        ("[.$*]", "$*."),
        (r"[\n\x41]", "\nA"),
    ],
)
def test_classes_hold_what_they_say(pattern: str, expected: str) -> None:
    """Classes mean in ASCII what RE2 and Rust both mean by them."""
    assert sorted(characters(pattern)) == sorted(expected)


def test_perl_classes_stay_ascii_when_case_is_ignored() -> None:
    """The long s and the Kelvin sign fold to letters but aren't ``\\w``."""
    assert parse(r"(?i)\w").root == parse(r"\w").root
    assert parse(r"(?i)[\w]").root == parse(r"\w").root


@pytest.mark.parametrize(
    ("letter", "orbit"),
    [
        ("s", "sSſ"),
        ("k", "kK\u212a"),
        ("ß", "ßẞ"),
        ("İ", "İ"),
        ("ı", "ı"),
        ("i", "iI"),
        ("σ", "σςΣ"),
        ("å", "åÅ\u212b"),
        ("ǆ", "ǆǅǄ"),
        ("1", "1"),
        ("ﬁ", "ﬁ"),
        ("θ", "θϑΘϴ"),
    ],
)
def test_case_folding_is_simple_folding(letter: str, orbit: str) -> None:
    """A letter stands for its simple case folds: one character each, no locale."""
    root = parse(f"(?i){letter}").root
    assert isinstance(root, regex.Characters)
    assert root.ranges == sets.union((ord(each), ord(each)) for each in orbit)


def test_folding_agrees_with_this_python() -> None:
    """Wherever Python lowers one character to one other, the table has them together."""
    apart = [
        chr(code)
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code)) != "Cn"
        and len(low := chr(code).casefold()) == 1
        and low != chr(code)
        and not sets.contains(sets.fold(sets.single(chr(code))), ord(low))
    ]
    # Casefold of the Cherokee letters goes to the upper case, and İ has no simple fold.
    assert apart == []


@pytest.mark.parametrize(("name", "member"), [("L", "é"), ("Lu", "A"), ("Nd", "९"), ("P", "!")])
def test_general_categories_are_classes(name: str, member: str) -> None:
    """``\\p`` and ``\\P`` with a general category divide the characters between them."""
    inside, outside = parse(f"\\p{{{name}}}").root, parse(f"\\P{{{name}}}").root
    assert isinstance(inside, regex.Characters)
    assert isinstance(outside, regex.Characters)
    assert sets.contains(inside.ranges, ord(member))
    assert sets.negate(inside.ranges) == outside.ranges


@pytest.mark.parametrize(
    ("pattern", "offending", "message"),
    [
        ("a(?=b)", "(?=", "look-around is not supported"),
        ("a(?!b)", "(?!", "look-around is not supported"),
        ("(?<=a)b", "(?<=", "look-around is not supported"),
        ("(?<!a)b", "(?<!", "look-around is not supported"),
        (r"(a)\1", r"\1", "back-references and octal escapes are not supported"),
        (r"\012", r"\0", "back-references and octal escapes are not supported"),
        (r"(?P<n>a)(?P=n)", "(?P=", "back-references are not supported"),
        (r"a\Cb", r"\C", r"`\C` is not supported: it matches half a character"),
        (r"\Qa.b\E", r"\Q", r"`\Q` quoting is not supported"),
        (r"\Z", r"\Z", r"`\Z` is not supported"),
        (r"\<a", r"\<", r"`\<` is not supported: engines differ on its meaning"),
        (r"\y", r"\y", r"`\y` is not a known escape"),
        (r"\é", r"\é", r"`\é` is not a known escape"),
        ("a\\", "\\", "pattern ends in a backslash"),
        ("[a&&b]", "&&", "class set operation `&&` is not supported"),
        ("[a--b]", "--", "class set operation `--` is not supported"),
        ("[a~~b]", "~~", "class set operation `~~` is not supported"),
        ("[a[b]]", "[", "a class may not hold another class"),
        ("[[:foo:]]", "[:foo:]", "unknown POSIX class"),
        ("[z-a]", "z-a", "range `z-a` is out of order"),
        (r"[a-\d]", r"a-\d", "a range may not end in a class"),
        (r"[\w-.]", r"\w-", "a range may not begin with a class"),
        (r"[\b]", r"\b", r"`\b` is not supported in a class"),
        ("[a", "[", "class is not closed"),
        ("[]", "[", "class is not closed"),
        ("(a", "(", "group is not closed"),
        ("a)b", ")", "`)` without an opening `(`"),
        ("*a", "*", "there is nothing for `*` to repeat"),
        ("a|{2}", "{2}", "there is nothing for `{2}` to repeat"),
        ("(?i)*", "*", "there is nothing to repeat after flags"),
        ("a**", "a**", "a repetition may not be repeated"),
        ("a{2}{3}", "a{2}{", "a repetition may not be repeated"),
        ("a{", "{", "`{` does not begin a repeat count"),
        ("a{,3}", "{", "`{` does not begin a repeat count"),
        ("a{3,2}", "{3,2}", "repeat counts `3` and `2` are out of order"),
        ("a{1001}", "1001", "repeat count `1001` is larger than 1000"),
        ("(a){0}", "(a){0}", "a capturing group may not be repeated zero times"),
        ("(?x)a", "(?x", "flag `x` is not supported"),
        ("(?ii)a", "(?ii", "flag `i` is given twice"),
        ("(?)a", "(?)", "there is no flag here"),
        ("(?i-)a", "(?i-)", "there is no flag here"),
        ("(?>a)", "(?>", "atomic groups are not supported"),
        ("(?#a)", "(?#", "comments are not supported"),
        ("(?P<1>a)", "1", "`1` is not a group name"),
        ("(?<a>a)(?<a>a)", "a", "group name `a` is used twice"),
        (r"\p{Greek}", r"\p{Greek}", "`Greek` is not a supported Unicode class"),
        (r"\pC", r"\pC", "`C` is not a supported Unicode class"),
        (r"\x{D800}", r"\x{D800}", r"`\x{...}` names no Unicode character"),
        (r"\x4", r"\x4", r"`\x` needs two hexadecimal digits or digits in braces"),
    ],
)
def test_refusals_name_the_offending_text(pattern: str, offending: str, message: str) -> None:
    """A pattern outside the subset is refused, with the place of the offending part."""
    error = refusal(pattern)
    assert error.message == message
    assert pattern[error.start : error.end] == offending


def test_lone_surrogates_are_refused() -> None:
    """A pattern that isn't Unicode text gets an error like any other."""
    assert refusal("a\ud800").message == "pattern is not valid Unicode text"


def test_length_is_counted_in_bytes() -> None:
    """As many bytes of UTF-8 as the limit says are accepted, one more is not."""
    longest = "é" * (DEFAULT.regex_pattern_bytes // 2)
    assert parse(longest)
    assert f"longer than {DEFAULT.regex_pattern_bytes}" in refusal(longest + "a").message


def test_nesting_is_bounded() -> None:
    """64 groups inside one another are accepted, one more is not."""
    assert parse("(" * 64 + ")" * 64)
    assert refusal("(" * 65 + ")" * 65).message == "groups are nested deeper than 64"
    assert refusal("(" * 1_000).message == "groups are nested deeper than 64"


def test_nested_repeats_multiply() -> None:
    """Counts inside counts are held to the limit of one count, as in RE2."""
    assert parse("(?:a{10}){100}")
    assert "multiply" in refusal("(?:a{11}){100}").message


def test_compiled_size_is_bounded() -> None:
    """A pattern that would compile to too much is refused, the largest count is not."""
    assert parse(".{1000}").size <= DEFAULT.regex_program_bytes
    assert "compiles to about" in refusal(r"\pL{100}").message


@pytest.mark.parametrize(
    ("pattern", "work"),
    [
        ("", 80),
        ("a", 82),
        ("abc", 86),
        ("a[ab]{300}c", 80 + 5 * 2 + 9 * 4),
        ("(?:ab|cd){3}", 80 + 2 + 3 * 4),
        ("(?:a|b|c|d|e)(?:a|b|c|d|e)", 80 + 2 + 8 + 2 * 3),
        (r"a(?:\b|^)b", 80 + 2 + 2 * 4),
        ("(?:a?b?){2}", 80 + 2 + 3 * 4),
    ],
)
def test_work_counts_what_a_step_does(pattern: str, work: int) -> None:
    """Words, distances that copies share, and products of sets."""
    assert parse(pattern).work == work


def test_work_is_bounded() -> None:
    """Counts of one class are cheap, optional parts in a row and many counted words are not."""
    assert parse("[ab]*a[ab]{900}c").work < DEFAULT.regex_work // 5
    assert "too much work" in refusal("a?" * 200).message
    assert "too much work" in refusal("[a-z]{1000}" * 25).message
    assert refusal("a?" * 200).hint


def test_finding_takes_twice_the_work_and_the_way_of_the_thread() -> None:
    """Finding groups counts the instructions that a thread may pass between two characters."""
    plain, optional = parse("(a)b"), parse("(?:(?:a?){50}[bc])*")
    assert 2 * plain.work < regex.find_work(plain.root, plain.work) < 3 * plain.work + 100
    assert regex.find_work(optional.root, optional.work) > DEFAULT.regex_work > optional.work


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("abc", ("contains", "abc", False, False)),
        ("^abc", ("prefix", "abc", True, False)),
        (r"abc\z", ("suffix", "abc", False, True)),
        (r"^(?:a)b\.$", ("equal", "ab.", True, True)),
        ("^a|^b", (None, "", True, False)),
        ("^a|b", (None, "", False, False)),
        ("(?i)^a$", (None, "", True, True)),
        ("(?m)^a", (None, "", False, False)),
        ("a*", (None, "", False, False)),
        ("", ("contains", "", False, False)),
    ],
)
def test_shape_names_the_plain_test(
    pattern: str, expected: tuple[str | None, str, bool, bool]
) -> None:
    """A pattern that is only a literal test is recognised, and where it is anchored."""
    found = shape(parse(pattern))
    assert (found.literal_test, found.literal, found.anchored_start, found.anchored_end) == expected


@pytest.mark.parametrize(
    ("file", "at_least"), [("regexlib_sample", size(650, 160)), ("regexlib_redos", size(370, 100))]
)
def test_published_patterns_are_accepted_or_refused_with_a_place(file: str, at_least: int) -> None:
    """Most patterns that people write are in the subset; the rest are refused by name."""
    accepted = 0
    for case in shared_lines(f"data/adversarial/redos/{file}.jsonl"):
        try:
            translate(parse(case["regex"]))
            accepted += 1
        except RegexError as error:
            assert 0 <= error.start < error.end <= len(case["regex"])
            assert error.message
    assert accepted >= at_least
