"""Comparers of a user, and a model that judges."""

from __future__ import annotations

from mutants.mutant import Mutant

_MATCH = "_core/fields/match.py"
_REPLY = "_judge/asking/reply.py"
_FUNCTIONS = "_running/comparing/functions.py"

MUTANTS = (
    Mutant(
        "comparers/score-below",
        _MATCH,
        "    held = score >= field.at_least",
        "    held = score > field.at_least / 2",
        ("running/comparing/test_asking.py",),
        "A score below the one that is declared is right.",
    ),
    Mutant(
        "comparers/truthy-is-true",
        _MATCH,
        "    if held is not True and held is not False:",
        "    if held is None:",
        ("running/comparing/test_asking.py",),
        "A Match that holds the text false holds.",
    ),
    Mutant(
        "comparers/any-score",
        _MATCH,
        "    return number if isfinite(number) and 0 <= number <= 1 else None",
        "    return number",
        ("running/comparing/test_asking.py",),
        "A score of 97, meant as percent, is more than enough.",
    ),
    Mutant(
        "comparers/private-reason",
        _MATCH,
        "    return DIFFERENT if field.private else _line(why)",
        "    return _line(why)",
        ("running/comparing/test_asking.py",),
        "The reason of a comparer tells a private value.",
    ),
    Mutant(
        "comparers/no-version",
        _FUNCTIONS,
        '            return f"source {sha256(source.encode()).hexdigest()[:_SHOWN]}"',
        '            return "source"',
        ("running/comparing/test_functions.py",),
        "Sessions that another version of a comparer judged are compared.",
    ),
    Mutant(
        "comparers/untrusted-code",
        _FUNCTIONS,
        "    if not place.trusted:",
        "    if not place.domain:",
        ("running/comparing/test_functions.py",),
        "A domain that was downloaded names code that is then run.",
    ),
    Mutant(
        "comparers/unasked-is-answered",
        "_core/judging/questions.py",
        "        if one is None or one.held is None:",
        "        if one is not None and one.held is None:",
        ("core/test_judgement.py",),
        "A field that nobody compared ends in a crash of the judge.",
    ),
    Mutant(
        "judges/quote-of-nothing",
        _REPLY,
        "    if not stands_in(judgement.quote, answer):",
        "    if not judgement.quote:",
        ("judge/test_reply.py",),
        "A judge passes an answer by words that do not stand in it.",
    ),
    Mutant(
        "judges/quote-without-words",
        _REPLY,
        "    return wanted in held and (has_words or",
        "    return wanted in held and (True or",
        ("judge/test_reply.py",),
        "A judge passes an answer by quoting a comma of it.",
    ),
    Mutant(
        "judges/text-true",
        _REPLY,
        "    if held is not True and held is not False:",
        "    if held is None:",
        ("judge/test_reply.py",),
        "A judge that says the text false has said yes.",
    ),
    Mutant(
        "judges/refusal-is-a-judgement",
        _REPLY,
        "    if reply.refusal or reply.stop in _STOPPED:",
        "    if reply.stop is StopReason.LENGTH:",
        ("judge/test_reply.py",),
        "A reply that a filter has cut counts as a judgement.",
    ),
    Mutant(
        "judges/held-twice",
        _REPLY,
        "    if len(found) < len(pairs):",
        "    if len(found) > len(pairs):",
        ("judge/test_reply.py",),
        "A reply that says no and then yes says yes.",
    ),
    Mutant(
        "judges/empty-is-right",
        "_judge/judge.py",
        "            return Judgement(held=is_empty(question.expected)",
        "            return Judgement(held=True",
        ("judge/test_judge.py",),
        "An agent that answers nothing is right.",
    ),
    Mutant(
        "judges/answer-of-another-question",
        "_judge/keeping/judgements.py",
        'data.get("schema") == SCHEMA and data.get("key") == key',
        'data.get("schema") == SCHEMA',
        ("judge/test_judge.py",),
        "A judgement that was copied or renamed decides on another answer.",
    ),
    Mutant(
        "judges/fingerprint-without-rubric",
        "_judge/judge.py",
        '    return digest({"settings": dict(setting.settings), "rubric": rubric})[:_HASH]',
        '    return digest({"settings": dict(setting.settings)})[:_HASH]',
        ("judge/test_judge.py",),
        "A calibration for another rubric allows a gate.",
    ),
    Mutant(
        "judges/fence-is-open",
        "_judge/asking/fence.py",
        "        return sign in _BRACKETS",
        "        return False",
        ("agents/test_judge_attacks.py",),
        "An answer closes the fence, and gives orders to the judge.",
    ),
    Mutant(
        "judges/unjudged-agrees",
        "_judge/calibrating/check.py",
        "            for one in self.cases\n            if one.judgement is not None\n        )\n"
        "        return Calibration(",
        "            for one in self.cases\n            if one.judgement\n            and not one"
        ".is_disputed\n        )\n        return Calibration(",
        ("judge/test_calibrating.py",),
        "Disputed cases leave the agreement of a judge with people.",
    ),
    Mutant(
        "judges/label-no-is-yes",
        "_judge/calibrating/labels.py",
        "        return word in YES\n",
        "        return word in YES or word in NO\n",
        ("judge/test_labels.py",),
        "What people call wrong is counted as right.",
    ),
)
