"""The names of what is personal, and how they map from and to Presidio's."""

from __future__ import annotations

LABELS = (
    "PERSON",
    "LOCATION",
    "SCHOOL",
    "EMAIL_ADDRESS",
    "PHONE_NUMBER",
    "URL",
    "USERNAME",
    "DATE_OF_BIRTH",
    "AGE",
    "ID_NUMBER",
    "US_SSN",
    "IP_ADDRESS",
    "CREDIT_CARD",
)

STRUCTURED = ("EMAIL_ADDRESS", "PHONE_NUMBER", "URL", "ID_NUMBER", "US_SSN", "IP_ADDRESS", "CREDIT_CARD")
"""The labels whose shape alone says much; their recall is pooled, since each has few spans."""

FROM_PRESIDIO = {label: label for label in LABELS} | {
    "AU_ABN": "ID_NUMBER",
    "AU_ACN": "ID_NUMBER",
    "AU_MEDICARE": "ID_NUMBER",
    "AU_TFN": "ID_NUMBER",
    "CRYPTO": "ID_NUMBER",
    "DATE_TIME": "DATE_OF_BIRTH",
    "IBAN_CODE": "ID_NUMBER",
    "MAC_ADDRESS": "IP_ADDRESS",
    "MEDICAL_LICENSE": "ID_NUMBER",
    "ORGANIZATION": "SCHOOL",
    "UK_NHS": "ID_NUMBER",
    "US_BANK_NUMBER": "ID_NUMBER",
    "US_DRIVER_LICENSE": "ID_NUMBER",
    "US_ITIN": "US_SSN",
    "US_PASSPORT": "ID_NUMBER",
}
"""Presidio's entity -> our label. What is missing here (NRP: nationality, religion, politics) has none."""

TO_PRESIDIO = {label: label for label in LABELS} | {"DATE_OF_BIRTH": "DATE_TIME", "SCHOOL": "ORGANIZATION"}
"""Our label -> Presidio's entity; AGE, ID_NUMBER and USERNAME are entities of our own recognisers there."""

SYNONYMS = {
    **dict.fromkeys(("NAME", "FIRST_NAME", "LAST_NAME", "FULL_NAME", "NICKNAME", "NAME_STUDENT"), "PERSON"),
    **dict.fromkeys(("ADDRESS", "STREET_ADDRESS", "CITY", "PLACE"), "LOCATION"),
    **dict.fromkeys(("COURSE", "COURSE_NUMBER", "ACCOUNT_NUMBER", "ID", "ID_NUM", "STUDENT_ID"), "ID_NUMBER"),
    "EMAIL": "EMAIL_ADDRESS",
    "PHONE": "PHONE_NUMBER",
    "PHONE_NUM": "PHONE_NUMBER",
    "URL_PERSONAL": "URL",
    "DATE": "DATE_OF_BIRTH",
    "DOB": "DATE_OF_BIRTH",
    "BIRTHDAY": "DATE_OF_BIRTH",
    "SSN": "US_SSN",
    "IP": "IP_ADDRESS",
    "HANDLE": "USERNAME",
    "USER_NAME": "USERNAME",
}
"""Names that other data sets give to our labels; Presidio's are known to whoever reads the spans."""
