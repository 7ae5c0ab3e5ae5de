"""Ways to reach somebody: telephone numbers, mail, links and handles, in many shapes."""

# ruff: noqa: ARG001  a value may hang on its owner, or not

from __future__ import annotations

from random import Random

from tamis.pii.invented.owner import HOSTS, Owner, code, one, plain
from tamis.pii.invented.words import digits_in_words, in_words


def phone(rng: Random, owner: Owner, half: str) -> str:
    """A telephone number, of which `phone_a` and `phone_b` are the halves."""
    area, line = rng.randrange(201, 990), f"01{rng.randrange(100):02d}"
    shapes = (
        f"{area}-555-{line}",
        f"({area}) 555-{line}",
        f"{area}.555.{line}",
        f"{area} 555 {line}",
        f"{area}555{line}",
        f"+1 {area} 555 {line}",
        f"+1-{area}-555-{line}",
        f"1-{area}-555-{line}",
        f"+1{area}555{line}",
        f"1 ({area}) 555-{line}",
        f"555-{line}",
        f"555 {line}",
        f"555{line}",
        f"({area})555-{line}",
        f"{area}/555-{line}",
        f"{area}-555 {line}",
        f"555-{line} ext. {rng.randrange(10, 999)}",
        f"{' '.join(str(area))} 5 5 5 {' '.join(line)}",
        f"{area} - 555 - {line}",
    )
    return rng.choices(shapes, (9, 6, 4, 4, 4, 2, 2, 2, 1, 1, 3, 1, 1, 2, 1, 2, 1, 1.5, 1))[0]


def phone_words(rng: Random, owner: Owner, half: str) -> str:
    """The same in words."""
    area, line = str(rng.randrange(201, 990)), f"01{rng.randrange(100):02d}"
    nought = rng.choice(("zero", "oh", "o"))
    pair = in_words(int(line[2:])) if line[2] != "0" else digits_in_words(line[2:], nought)
    comma = rng.choice((" ", " ", ", ", " - "))
    groups = [digits_in_words(area, nought), "triple five" if rng.random() < 0.15 else digits_in_words("555")]
    groups.append(digits_in_words(line, nought) if rng.random() < 0.6 else f"{nought} one {pair}")
    return comma.join(groups[rng.random() < 0.15 :])


def phone_long(rng: Random, owner: Owner, half: str) -> str:
    """A number with its area code; a bar stands where it is cut in two."""
    area, line = str(rng.randrange(201, 990)), f"01{rng.randrange(100):02d}"
    mark = rng.choice("- .")
    words, last = digits_in_words(area), digits_in_words(line, rng.choice(("zero", "oh")))
    shapes = (
        f"{area}{mark}|555{mark}{line}",
        f"({area})|555-{line}",
        f"{area}{mark}555|{line}",
        f"{area}|555{line}",
        f"555|{line}",
        f"{words}|five five five {last}",
        f"{area} 5|55 {line}",
        f"{words} 555|{last}",
    )
    return rng.choice(shapes)


def phone_a(rng: Random, owner: Owner, half: str) -> str:
    """Its first half."""
    return owner.said("phone_long").partition("|")[0].strip(" -.")


def phone_b(rng: Random, owner: Owner, half: str) -> str:
    """Its second half."""
    return owner.said("phone_long").partition("|")[2].strip(" -.")


def _handle(rng: Random, owner: Owner, half: str) -> str:
    first, last, n = (
        plain(owner.first),
        plain(owner.last),
        rng.choice((rng.randrange(1, 99), rng.randrange(1990, 2017))),
    )
    word, other = one(rng, half, "handle_words"), one(rng, half, "handle_words")
    shapes = (
        f"{first}{n}",
        f"{first}_{last}",
        f"{first}.{last}",
        f"{first[0]}{last}{n}",
        f"{word}{other}{n}",
        f"{word}_{first}",
        f"its{first}",
        f"{word}.{other}",
        f"xx_{word}_xx",
        f"{word}{n}",
        f"{first}{word}",
        f"the_real_{first}",
        f"{last}{first[0]}",
        f"{word}-{other}-{n}",
        f"{first}_{n}_",
        f"not{first}{n}",
        f"{word.title()}{other.title()}",
        f"{first.title()}{n}YT",
        f"{word}gamer{n}",
        f"{last}.fam",
    )
    return rng.choice(shapes)


def username(rng: Random, owner: Owner, half: str) -> str:
    """An account's name without an at sign."""
    made = _handle(rng, owner, half)
    if made.isalpha() and rng.random() < 0.7:
        made += str(rng.randrange(1, 999))
    return made + (f"#{rng.randrange(1000, 9999)}" if rng.random() < 0.08 else "")


def at_name(rng: Random, owner: Owner, half: str) -> str:
    """An account's name with its at sign."""
    return f"@{_handle(rng, owner, half)}"


def email(rng: Random, owner: Owner, half: str) -> str:
    """A mail address."""
    first, last = plain(owner.first), plain(owner.last)
    local = rng.choice(
        (
            f"{first}.{last}",
            f"{first}{last}",
            f"{first[0]}{last}",
            f"{first}_{last}",
            f"{first}{rng.randrange(100)}",
            f"{last}.{first}",
            f"{first}+{one(rng, half, 'handle_words')}",
            _handle(rng, owner, half),
            f"{first}.{last}{rng.randrange(20, 30)}",
            f"{first}-{last}",
        )
    )
    host = rng.choice(HOSTS)
    host = rng.choices(
        (host, f"{rng.choice(('mail', 'students', 'school', 'k12', 'family', 'my'))}.{host}"), (3, 1)
    )[0]
    return rng.choices((f"{local}@{host}", f"{local}@{host}".upper(), f"{local.title()}@{host}"), (12, 1, 1))[0]


def email_words(rng: Random, owner: Owner, half: str) -> str:
    """A mail address as it is said."""
    first, last = plain(owner.first), plain(owner.last)
    local = rng.choice(
        (
            f"{first} dot {last}",
            f"{first}{last}",
            f"{first} underscore {last}",
            f"{first} {in_words(rng.randrange(1, 99))}",
            f"{first[0]} {last}",
        )
    )
    return f"{local} at example dot {rng.choice(('com', 'org', 'net'))}"


def _scheme(rng: Random) -> str:
    return rng.choices(("https://", "http://", "", "www."), (10, 1, 4, 2))[0]


def meeting_url(rng: Random, owner: Owner, half: str) -> str:
    """A private room's link."""
    host = rng.choice(HOSTS)
    scheme = _scheme(rng)
    where = rng.choice(
        (
            f"meet.{host}/{code(rng, 'aaa-aaaa-aaa')}",
            f"{host}/j/{code(rng, '00000000000')}",
            f"zoom.{host}/j/{code(rng, '0000000000')}?pwd={code(rng, 'a0a0a0')}",
            f"{host}/room/{plain(owner.first)}",
            f"call.{host}/{code(rng, 'a0a0-aa')}",
            f"video.{host}/join/{code(rng, 'aaaaa')}",
            f"board.{host}/{code(rng, '0a0a0a')}",
        )
    )
    return ("" if scheme == "www." and where[0] != "e" else scheme) + where


def document_url(rng: Random, owner: Owner, half: str) -> str:
    """A private document's link."""
    host, scheme = rng.choice(HOSTS), _scheme(rng)
    where = rng.choice(
        (
            f"docs.{host}/d/{code(rng, 'a0a0aa00a0')}/edit",
            f"{host}/share/{code(rng, 'a0aa0a')}",
            f"{host}/~{plain(owner.last)}/hw{rng.randrange(1, 12)}.pdf",
            f"drive.{host}/file/{code(rng, '0a0a0a0a')}",
            f"{host}/doc?id={code(rng, '00000a')}",
            f"photos.{host}/{code(rng, 'aa00aa00')}",
            f"{host}/{plain(owner.first)}/notes",
            f"files.{host}/u/{plain(owner.last)}/scan{rng.randrange(9)}.jpg",
        )
    )
    return ("" if scheme == "www." and where[0] != "e" else scheme) + where


def profile_url(rng: Random, owner: Owner, half: str) -> str:
    """The link of somebody's page."""
    host, scheme, handle = rng.choice(HOSTS), _scheme(rng), _handle(rng, owner, half)
    where = rng.choice(
        (
            f"{host}/u/{handle}",
            f"{host}/@{handle}",
            f"{host}/{handle}",
            f"{host}/user/{code(rng, '000000')}",
            f"{host}/channel/{handle}",
            f"profile.{host}/{handle}",
            f"{host}/people/{plain(owner.last)}",
        )
    )
    return ("" if scheme == "www." and where[0] != "e" else scheme) + where
