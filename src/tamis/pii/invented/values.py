"""Invented personal data: telephone numbers, mail, dates of birth and the rest, in many shapes.

Nothing here can be somebody's: telephone numbers are 555-01xx, hosts are example.com, .org and .net, cards are
public test numbers, social security numbers begin with 9, and IP addresses are of the documentation or private
ranges.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from tamis.pii.invented import contact, papers, places

KINDS: dict[str, tuple[Callable[[Random, Any, str], str], str]] = {
    "phone": (contact.phone, "PHONE_NUMBER"),
    "phone_words": (contact.phone_words, "PHONE_NUMBER"),
    "phone_long": (contact.phone_long, "PHONE_NUMBER"),
    "phone_a": (contact.phone_a, "PHONE_NUMBER"),
    "phone_b": (contact.phone_b, "PHONE_NUMBER"),
    "user": (contact.username, "USERNAME"),
    "at": (contact.at_name, "USERNAME"),
    "email": (contact.email, "EMAIL_ADDRESS"),
    "email_words": (contact.email_words, "EMAIL_ADDRESS"),
    "meet": (contact.meeting_url, "URL"),
    "doc": (contact.document_url, "URL"),
    "profile": (contact.profile_url, "URL"),
    "dob": (papers.birth_date, "DATE_OF_BIRTH"),
    "bday": (papers.birthday, "DATE_OF_BIRTH"),
    "bday_es": (papers.birthday_es, "DATE_OF_BIRTH"),
    "birthyear": (papers.birth_year, "DATE_OF_BIRTH"),
    "age": (papers.age, "AGE"),
    "age_words": (papers.age_words, "AGE"),
    "sid": (papers.student_id, "ID_NUMBER"),
    "libcard": (papers.card_number, "ID_NUMBER"),
    "lunch": (papers.lunch_number, "ID_NUMBER"),
    "meeting": (papers.meeting_id, "ID_NUMBER"),
    "ssn": (papers.ssn, "US_SSN"),
    "ip": (papers.ip_address, "IP_ADDRESS"),
    "card": (papers.credit_card, "CREDIT_CARD"),
    "town": (places.town, "LOCATION"),
    "address": (places.address, "LOCATION"),
    "school": (places.school, "SCHOOL"),
}
"""The name of a slot -> what makes its value, and its label."""
