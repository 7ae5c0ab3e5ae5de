"""Surrogates: of one type and format, one for one person, none of them real."""

from __future__ import annotations

import re
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.pii.labels import LABELS
from tamis.pii.surrogate_people import plain
from tamis.pii.surrogates import SessionSurrogates, Surrogates

KEY = b"k" * 32
VALUES = [
    ("PERSON", "Jamal Ortega"),
    ("PERSON", "Emma"),
    ("PHONE_NUMBER", "(212) 555-0134"),
    ("EMAIL_ADDRESS", "jamal.ortega7@lincoln.edu"),
    ("URL", "https://zoom.us/j/98765?pwd=aB3"),
    ("USERNAME", "@jamal_o22"),
    ("DATE_OF_BIRTH", "3/14/2010"),
    ("AGE", "14"),
    ("ID_NUMBER", "S-10442"),
    ("US_SSN", "912-34-5678"),
    ("IP_ADDRESS", "192.0.2.143"),
    ("CREDIT_CARD", "4242 4242 4242 4242"),
    ("LOCATION", "12 Elm Street, Springfield, IL 62704"),
    ("SCHOOL", "Lincoln Middle School"),
]


def session(*values: tuple[str, str], key: bytes = KEY, name: str = "s", **more: bool) -> SessionSurrogates:
    return Surrogates(key, **more).session(name, values, [text for _, text in values])


def one(label: str, text: str) -> str:
    return session((label, text)).replace(label, text)


def luhn(digits: str) -> bool:
    doubled = [int(d) * (1 + i % 2) for i, d in enumerate(reversed(digits))]
    return sum(n - 9 * (n > 9) for n in doubled) % 10 == 0


def test_every_form_of_a_name_has_one_stand_in() -> None:
    forms = ["Jamal Ortega", "jamal", "JAMAL", "Jamaal", "ortega's", "Ms. Ortega", "JAMAL'S", "J-A-M-A-L", "J."]
    made = session(*(("PERSON", form) for form in forms))
    new = {form: made.replace("PERSON", form) for form in forms}
    first, last = new["Jamal Ortega"].split()
    assert {first, last}.isdisjoint({"Jamal", "Ortega"})
    assert (
        new["jamal"] == first.lower() and new["JAMAL"] == first.upper() and new["JAMAL'S"] == f"{first.upper()}'S"
    )
    assert new["Jamaal"] == first  # misspelt
    assert new["ortega's"] == f"{last.lower()}'s" and new["Ms. Ortega"] == f"Ms. {last}"
    assert new["J-A-M-A-L"] == "-".join(first.upper()) and new["J."] == f"{first[0]}."


def test_two_people_have_two_stand_ins_though_their_names_are_near() -> None:
    made = session(("PERSON", "Maria"), ("PERSON", "Mario"), ("PERSON", "Marie"))
    assert len({made.replace("PERSON", name) for name in ("Maria", "Mario", "Marie")}) == 3


def test_what_a_value_becomes_hangs_on_no_order() -> None:
    ahead, back = session(*VALUES), session(*reversed(VALUES))
    names = [("PERSON", "Jamaal"), ("PERSON", "jamal"), ("PERSON", "Jamal Ortega")]
    made = [session(*names).replace(label, text) for label, text in names]
    assert made == [session(*reversed(names)).replace(label, text) for label, text in names]
    assert [ahead.replace(*value) for value in VALUES] == [back.replace(*value) for value in VALUES]


def test_the_key_and_the_session_decide() -> None:
    def made(**more: object) -> list[str]:
        surrogates = session(*VALUES, **more)  # type: ignore[arg-type]
        return [surrogates.replace(*value) for value in VALUES]

    assert made() == made()
    assert made() != made(key=b"l" * 32) and made() != made(name="t")
    across = made(across_sessions=True)
    same = [a == b for a, b in zip(across, made(across_sessions=True, name="t"), strict=True)]
    moved = {"AGE", "DATE_OF_BIRTH"}  # by one offset a session
    assert all(is_same for (label, _), is_same in zip(VALUES, same, strict=True) if label not in moved)


@pytest.mark.parametrize(
    ("label", "text", "form"),
    [
        ("PHONE_NUMBER", "(212) 555-0134", r"\([2-9]\d\d\) 555-01\d\d"),
        ("PHONE_NUMBER", "+1 212.867.5309", r"\+1 [2-9]\d\d\.555\.01\d\d"),
        ("PHONE_NUMBER", "867-5309", r"555-01\d\d"),
        ("PHONE_NUMBER", "five five five 0134", r"(?:[a-z]+ ){3}\d{4}"),
        ("EMAIL_ADDRESS", "kim.lee@lincoln.edu", r"[a-z]+\.[a-z]+@example\.org"),
        ("EMAIL_ADDRESS", "kimlee at gmail dot com", r"[a-z]+ at example dot com"),
        ("URL", "https://zoom.us/j/98765?pwd=aB3", r"https://\w+\.example\.org/\w/\d{5}\?\w{3}=[a-z][A-Z]\d"),
        ("USERNAME", "@kim_lee22", r"@[a-z]+_[a-z]+\d\d"),
        ("ID_NUMBER", "AB-1044-x", r"[A-Z]{2}-[1-9]\d{3}-[a-z]"),
        ("US_SSN", "123-45-6789", r"9\d\d-[0-4]\d-\d{4}"),
        ("IP_ADDRESS", "8.8.8.8", r"(?:192\.0\.2|198\.51\.100|203\.0\.113)\.\d+"),
        ("IP_ADDRESS", "10.1.2.3", r"10\.\d+\.\d+\.\d+"),
        ("IP_ADDRESS", "2001:4860::8888", r"2001:db8::[0-9a-f]{4}"),
        (
            "LOCATION",
            "12 Elm Street, Springfield, IL 62704",
            r"[1-9]\d [A-Z][a-z]+ Street, [A-Z]\w+, IL [1-9]\d{4}",
        ),
        ("LOCATION", "san antonio", r"[a-z]+"),
        ("SCHOOL", "lincoln middle", r"[a-z]+ middle"),
        ("SCHOOL", "PS 118", r"PS \d{3}"),
        ("AGE", "fourteen", r"[a-z]+"),
    ],
)
def test_the_form_is_kept(label: str, text: str, form: str) -> None:
    made = one(label, text)
    assert re.fullmatch(form, made) and made != text


@pytest.mark.parametrize(
    "text", ["4242 4242 4242 4242", "378282246310005", "3056-930902-5904", "6304000000000000000"]
)
def test_a_card_is_a_test_number_of_its_length(text: str) -> None:
    made = one("CREDIT_CARD", text)
    digits = re.sub(r"\D", "", made)
    assert luhn(digits) and re.sub(r"\d", "0", made) == re.sub(r"\d", "0", text) and made != text


def test_formats_of_one_value_have_one_surrogate() -> None:
    forms = ["(212) 867-5309", "2128675309", "+1 212 867 5309"]
    made = session(*(("PHONE_NUMBER", form) for form in forms))
    assert len({re.sub(r"\D", "", made.replace("PHONE_NUMBER", form))[-10:] for form in forms}) == 1


@pytest.mark.parametrize(
    ("text", "parse"),
    [
        ("2010-03-14", r"(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)"),
        ("3/14/2010", r"(?P<m>[1-9]\d?)/(?P<d>[1-9]\d?)/(?P<y>\d{4})"),
        ("03/14/10", r"(?P<m>\d\d)/(?P<d>\d\d)/(?P<y>\d\d)"),
        ("14.3.2010", r"(?P<d>[1-9]\d?)\.(?P<m>[1-9]\d?)\.(?P<y>\d{4})"),
    ],
)
def test_dates_move_by_one_offset_and_keep_their_format(text: str, parse: str) -> None:
    made = session(("DATE_OF_BIRTH", "2010-03-14"), ("DATE_OF_BIRTH", text))
    day = date.fromisoformat(made.replace("DATE_OF_BIRTH", "2010-03-14"))
    assert 0 < abs((day - date(2010, 3, 14)).days) <= 180
    found = re.fullmatch(parse, made.replace("DATE_OF_BIRTH", text))
    assert found and (int(found["y"]) % 100, int(found["m"]), int(found["d"])) == (
        day.year % 100,
        day.month,
        day.day,
    )


@pytest.mark.parametrize("text", ["March 14, 2010", "MAR 14", "the third of may", "14 de marzo", "march 1st"])
def test_dates_in_words_stay_dates_in_words(text: str) -> None:
    made = one("DATE_OF_BIRTH", text)
    assert made != text and len(made.split()) == len(text.split())
    assert [word.isupper() for word in made.split()] == [word.isupper() for word in text.split()]
    assert not (made.endswith("st") and text.endswith("1st")) or made.split()[1] in ("1st", "21st", "31st")


@given(st.integers(5, 17), st.integers(19, 98))
@settings(max_examples=50, deadline=None)
def test_a_child_stays_a_child_and_an_adult_an_adult(child: int, adult: int) -> None:
    made = session(("AGE", str(child)), ("AGE", str(adult)))
    young, old = int(made.replace("AGE", str(child))), int(made.replace("AGE", str(adult)))
    assert 4 <= young < 18 <= old < 100 and young != child and old != adult


ODD = ["7", "x", "-", "王伟", "محمد"]
ANY = st.tuples(st.sampled_from(LABELS), st.sampled_from([text for _, text in VALUES] + ODD))


@given(st.lists(ANY, min_size=1, max_size=12), st.binary(min_size=16, max_size=16))
@settings(max_examples=60, deadline=None)
def test_no_surrogate_is_a_real_value_of_its_session(values: list[tuple[str, str]], key: bytes) -> None:
    made = session(*values, key=key)
    real = {text.casefold() for _, text in values}
    new = [made.replace(label, text) for label, text in values]
    assert real.isdisjoint(text.casefold() for text in new)
    assert new == [made.replace(label, text) for label, text in values]


def test_no_name_is_invented_that_stands_in_the_session() -> None:
    names = [("PERSON", f"{first} {last}") for first in ("Ana", "Ben", "Cleo", "Dan") for last in ("Ito", "Moss")]
    made = Surrogates(KEY).session("s", names, ["Anna has 3 apples"])
    new = {plain(word) for _, text in names for word in made.replace("PERSON", text).split()}
    assert new.isdisjoint({"ana", "ben", "cleo", "dan", "ito", "moss", "anna", "has", "apples"}) and len(new) == 6


def test_a_name_gives_way_to_one_that_stands_in_the_session() -> None:
    first = one("PERSON", "Ana")
    made = Surrogates(KEY).session("s", [("PERSON", "Ana")], [f"{first.lower()} has 3 apples"])
    assert made.replace("PERSON", "Ana") not in ("Ana", first)


def test_names_of_other_scripts_stay_in_their_script() -> None:
    assert re.fullmatch(r"[а-яё]+", one("PERSON", "иван"), re.IGNORECASE)
    assert re.fullmatch(r"[\u0600-\u06ff]+", one("PERSON", "محمد"))
    assert re.fullmatch(r"[\u4e00-\u9fff]+", one("PERSON", "王伟"))


def test_names_in_handles_and_addresses_follow_the_person() -> None:
    made = session(("PERSON", "Jamal"), ("EMAIL_ADDRESS", "jamal@x.com"), ("USERNAME", "@jamal7"))
    name = made.replace("PERSON", "jamal")
    assert made.replace("EMAIL_ADDRESS", "jamal@x.com") == f"{name}@example.com"
    assert re.fullmatch(rf"@{name}\d", made.replace("USERNAME", "@jamal7"))
