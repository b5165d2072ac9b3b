"""What a column is about, by its name and its cells: the answer, or persons."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import pairwise
from typing import Final

_BETWEEN: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")
_BOTH: Final = re.compile(r"(?<=[a-z\u00e4\u00f6\u00fc])[/*:_]-?in(?:nen)?(?![A-Za-z])")
_ANSWER: Final = re.compile(
    r"(decision|outcome|verdict|resolution|approv(ed|al)|adjudication|disposition"
    r"|(end|vor)?entscheid(ung)?|genehmigt|genehmigung|bewilligt|bewilligung|freigabe|freigegeben"
    r"|bescheid|decide|accorde|approuve|reject(ed|ion)|denied|denial|granted|payout|abgelehnt"
    r"|ablehnung\w*|ablehnungsgrund|auszahlung\w*|ausgezahlt)"
)
_BEFORE: Final = re.compile(
    r"(prior|previous(ly)?|last|past|former|earlier|old|vorige[rs]?|letzte[rs]?|fruehere[rs]?"
    r"|pre|precedente?)"
)
"""First words of what was decided on another case."""

_ABOUT_THE_ANSWER: Final = re.compile(r"(required|needed|limit|level|threshold|date|time)")
"""Last words of what is known before an approval is given."""

_OF_THINGS: Final = re.compile(
    r"(product|produkt|item|article|artikel|file|datei|plan|service|tool|project|projekt|campaign"
    r"|department|abteilung|team|country|city|brand|model|category|drug|medication|medicine|school"
    r"|company|firma|firmen|vendor|supplier|merchant|hotel|course|device|machine|policy|tariff"
    r"|tarif|bank|event|store|shop|warehouse|program|programme|street|field|column|domain|app"
    r"|substance|chemical|shipping|carrier|position|job)"
)
_NAME: Final = re.compile(
    r"(sur|fore|first|last|full|\w*(?<!produkt)(?<!artikel))names?|prenom|nom"
)
_REACHED: Final = re.compile(
    r"e?mails?|e_mail|phones?|telephone|telefon\w*|tel|mobile|handy\w*|mobil(e|nummer)?|fax|iban"
    r"|ssn|ahv|passport|birth|birthday|dob|geburtsdatum|geburtstag|address|adresse|anschrift"
    r"|street|strasse|rue"
)
_CLERK: Final = re.compile(
    r"(sach)?bearbeiter(in)?|zustaendige?r?|clerk|adjuster|assignee|caseworker|handler|gestionnaire|approver"
    r"|reviewer|kuerzel|initials"
)
_PERSON: Final = re.compile(
    r"(customer|client|kunde|kundin|patient(in)?|applicant|claimant|employee|contact|owner|manager"
    r"|agent|user|member|tenant|mieter(in)?|versicherungsnehmer(in)?|versicherter?|policyholder"
    r"|insured|antragsteller(in)?|mitarbeiter(in)?|ansprechpartner(in)?|assure|salarie|guest"
    r"|passenger|student|candidate|bewerber(in)?|buyer|kaeufer(in)?|requester|person)"
)

_MAIL: Final = re.compile(r"[^\s@,;]+@[^\s@,;]+\.[A-Za-z]{2,}")
_PHONE: Final = re.compile(
    r"\+[0-9][0-9 ()/.-]{6,}|\(?0[0-9]{1,5}\)?(?: ?/ ?| )[0-9][0-9 -]{4,}"
    r"|\(?[0-9]{3}\)?[ -][0-9]{3}-[0-9]{4}"
)
_IBAN: Final = re.compile(r"[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?")
_CALLED: Final = re.compile(
    r"(?:(?:Dr|Prof|Mr|Mrs|Ms|Herr|Frau|M|Mme)\.? )?[^\W\d_a-z][\w'\u2019.-]*,?"
    r"(?: (?:van |von |de |di )?[^\W\d_a-z][\w'\u2019.-]*){1,3}"
)
_TWO_NAMES: Final = re.compile(
    r"[^\W\d_a-z][^\W\d_A-Z'\u2019-]+,? (?:(?:van|von|de|di) |[^\W\d_a-z]\. )?"
    r"[^\W\d_a-z][^\W\d_]*(?:-[^\W\d_]+)?"
)
_SAID: Final = frozenset({"yes", "no", "true", "false", "ja", "nein", "oui", "non", "x", "y", "n"})

_HALF: Final = 0.5
_DIFFERENT: Final = 2
_LONGEST: Final = 200
_REPEATED: Final = 3
_MOSTLY: Final = 0.9
_FEWEST: Final = 10


def words_of(name: str) -> list[str]:
    """Return the words of the name of a column in small plain letters."""
    # `Bearbeiter/in`, `Kund*in` and `Mitarbeiter:in` are one word each.
    name = _BOTH.sub("in", name)
    plain = name.translate({ord("\u00e4"): "ae", ord("\u00f6"): "oe", ord("\u00fc"): "ue"})
    plain = unicodedata.normalize("NFKD", plain.replace("\u00df", "ss"))
    plain = plain.encode("ascii", "ignore").decode()
    return [word.lower() for word in _BETWEEN.split(plain) if word]


def is_called_as_an_answer(name: str) -> bool:
    """Whether a column is called as what is decided, and not as what was decided before."""
    words = words_of(name)
    if not words or _BEFORE.fullmatch(words[0]) or _ABOUT_THE_ANSWER.fullmatch(words[-1]):
        return False
    return any(_ANSWER.fullmatch(word) for word in words)


def about_persons(name: str, texts: Sequence[str]) -> str:
    """Say what of persons a column holds, in a word; empty where it seems to hold nothing."""
    full = [text for text in texts if text][:_LONGEST]
    if any(_MAIL.search(text) for text in full):
        return "mail addresses"
    for word, form in _FORMS.items():
        if full and sum(1 for one in full if form.fullmatch(one)) > _HALF * len(full):
            return word
    words = words_of(name)
    return next((told for told, is_so in _CALLED_SO if is_so(words, full)), "")


def _is_of_names(words: Sequence[str], _texts: Sequence[str]) -> bool:
    named = [at for at, word in enumerate(words) if _NAME.fullmatch(word)]
    things = [at for at in named if at and _OF_THINGS.fullmatch(words[at - 1])]
    return len(named) > len(things)


def _is_of_reach(words: Sequence[str], texts: Sequence[str]) -> bool:
    pairs = {f"{one}_{other}" for one, other in pairwise(words)}
    if pairs & {"account_number", "e_mail"}:
        return True
    # `Email verified` is a fact about an address, and no address.
    told = {text.casefold() for text in texts} <= _SAID if texts else False
    return not told and any(_REACHED.fullmatch(word) for word in words)


def _is_of_clerks(words: Sequence[str], texts: Sequence[str]) -> bool:
    if any(text.casefold() in _SAID for text in texts):
        return False
    by = len(words) > 1 and words[-1] in ("by", "von", "durch", "par")
    return bool(words) and (by or _CLERK.fullmatch(words[-1]) is not None)


def _is_of_named_persons(words: Sequence[str], texts: Sequence[str]) -> bool:
    if not words or not _PERSON.fullmatch(words[-1]):
        return False
    called = [text for text in texts if _CALLED.fullmatch(text)]
    few = min(_DIFFERENT, len(texts))
    return len(called) > _HALF * len(texts) and len(set(called)) >= few


def _looks_like_names(words: Sequence[str], texts: Sequence[str]) -> bool:
    """Whether nearly every cell is a first and a last name, and they hardly come again."""
    if len(texts) < _FEWEST or len(set(texts)) <= _HALF * len(texts):
        return False
    if any(_OF_THINGS.fullmatch(word) for word in words):
        return False
    return sum(1 for one in texts if _TWO_NAMES.fullmatch(one)) >= _MOSTLY * len(texts)


_FORMS: Final[Mapping[str, re.Pattern[str]]] = {"phone numbers": _PHONE, "accounts": _IBAN}
_CALLED_SO: Final[Sequence[tuple[str, Callable[[Sequence[str], Sequence[str]], bool]]]] = (
    ("names", _is_of_names),
    ("contact details", _is_of_reach),
    ("names", _is_of_clerks),
    ("names", _is_of_named_persons),
    ("names", _looks_like_names),
)


def is_one_to_one(cells: Sequence[Hashable], labels: Sequence[str]) -> bool:
    """Whether each value has one label and each label one value, and values come again."""
    pairs = set(zip(cells, labels, strict=True))
    distinct = len({label for _, label in pairs})
    again = distinct * _REPEATED <= len(labels)
    return again and len(pairs) == distinct == len({cell for cell, _ in pairs})


def follows(cells: Sequence[Hashable], labels: Sequence[str]) -> bool:
    """Whether a column says mostly the same as the labels, perhaps in fewer or in more words."""
    return _share(cells, labels) >= _MOSTLY or _share(labels, cells) >= _MOSTLY


def _share(one: Sequence[Hashable], other: Sequence[Hashable]) -> float:
    """Return on which share of the rows the first tells the second; none where that is usual."""
    usual = max(Counter(other).values(), default=0)
    groups: dict[Hashable, Counter[Hashable]] = {}
    for key, value in zip(one, other, strict=True):
        groups.setdefault(key, Counter())[value] += 1
    again = len(groups) * _REPEATED <= len(one)
    right = sum(max(group.values()) for group in groups.values())
    return right / len(one) if again and right > usual else 0.0
