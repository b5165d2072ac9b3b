"""Which part of a text is the answer, and what only quotes the SOP."""

from __future__ import annotations

from mutants.mutant import Mutant

_PRECEDENCE = "_core/answers/precedence.py"

MUTANTS = (
    Mutant(
        "answers/first-wins",
        _PRECEDENCE,
        "    return max(whole, key=lambda one: one.end, default=None)",
        "    return min(whole, key=lambda one: one.end, default=None)",
        ("core/test_answers.py",),
        "A draft wins over the answer that corrects it.",
    ),
    Mutant(
        "answers/weak-beats-final",
        _PRECEDENCE,
        "    if weak.free or any(one.explicit for one in marked):",
        "    if weak.free:",
        ("core/test_answer_precedence.py",),
        "A remark behind the final answer replaces it.",
    ),
    Mutant(
        "answers/free-words-beat-marks",
        _PRECEDENCE,
        "    if weak.free or any(one.explicit for one in marked):",
        "    if any(one.explicit for one in marked):",
        ("core/test_answer_corpus.py",),
        "Any last words of a text replace its answer.",
    ),
    Mutant(
        "answers/nothing-is-taken-back",
        _PRECEDENCE,
        "    return part.start >= whole.end and any(",
        "    return part.start < whole.start and any(",
        ("core/test_answer_precedence.py",),
        "An answer that the agent takes back afterwards still counts.",
    ),
    Mutant(
        "answers/short-is-whole",
        _PRECEDENCE,
        "    whole = [one for one in marked if not search.missing(one.values)]",
        "    whole = list(marked)",
        ("core/test_answer_precedence.py",),
        "An object without all fields hides the whole answer before it.",
    ),
    Mutant(
        "answers/echo-is-an-answer",
        "_core/answers/text/search.py",
        "            self.echo(found) is not None\n            or ",
        "            ",
        ("core/test_answer_corpus.py",),
        "An agent that repeats the example of the SOP has answered.",
    ),
    Mutant(
        "answers/quoted-object-is-an-answer",
        "_core/answers/text/search.py",
        "            or self._echoes.quotes(found.beside)\n",
        "",
        ("core/test_answer_corpus.py",),
        "An object that the agent copied out of the SOP is its answer.",
    ),
    Mutant(
        "answers/form-is-an-answer",
        "_core/answers/text/search.py",
        "            or _is_a_form(found.values)\n",
        "",
        ("core/test_answers.py",),
        "A form that is still to be filled in is an answer.",
    ),
    Mutant(
        "answers/reasoning-is-searched",
        "_core/answers/text/search_text.py",
        "    return without_hidden(tags_unescaped(text, fields), fields)",
        "    return tags_unescaped(text, fields)",
        ("core/test_no_answer_texts.py",),
        "What a model thought and dropped is its answer.",
    ),
    Mutant(
        "answers/ignored-field-is-missing",
        "_core/answers/find.py",
        "    required = [field for field in fields if field.compare is not Compare.IGNORE]",
        "    required = list(fields)",
        ("core/test_answers.py",),
        "A field that asks for nothing makes an answer incomplete.",
    ),
    Mutant(
        "answers/incomplete-mapping-is-whole",
        "_core/answers/find.py",
        "        if not missing:\n            return _answer(hit, required)",
        "        if len(missing) < len(required):\n            return _answer(hit, [])",
        ("core/test_answers.py",),
        "An answer without a field that is asked for is whole.",
    ),
    Mutant(
        "answers/error-of-a-wrapper-is-dropped",
        "_core/answers/returned.py",
        "        declared_error=failure or read.declared_error,",
        "        declared_error=read.declared_error,",
        ("core/test_returned.py",),
        "An agent that returns its error beside an output has not failed.",
    ),
    Mutant(
        "answers/unsuccessful-is-fine",
        "_core/answers/returned.py",
        '    return "success is False" if to_json_value(success) is False else None',
        "    return None",
        ("core/test_returned.py",),
        "An agent that returns success=False has succeeded.",
    ),
    Mutant(
        "answers/pasted-sop-is-said",
        "_core/judging/questions.py",
        "find_answer(without_quoted_sop(returned, rules.sop), rules.fields, rules.sop)",
        "find_answer(returned, rules.fields, rules.sop)",
        ("core/test_judgement.py",),
        "The SOP, pasted whole into a text, is searched for the answer.",
    ),
)
