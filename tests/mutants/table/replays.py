"""Recorded model traffic: what is served, what is a miss, and what is written."""

from __future__ import annotations

from mutants.mutant import Mutant

_TAPE = "_replay/tape/run_tape.py"
_SHAPE = "_replay/tape/exchange.py"
_RUN_TAPE = ("replay/test_run_tape.py",)
_SESSIONS = "hooks/test_replay.py::test_"
_CASSETTES = ("replay/test_cassettes.py",)

MUTANTS = (
    Mutant(
        "replay/sends-in-only",
        _TAPE,
        '            if self._mode != "only":',
        '            if self._mode != "only" or not self._left:',
        _RUN_TAPE,
        "A replay that must not, sends a request to the provider.",
    ),
    Mutant(
        "replay/serves-for-ever",
        _TAPE,
        "left.popleft()",
        "left[0]",
        _RUN_TAPE,
        "An agent that asks more often than before is served all the same.",
    ),
    Mutant(
        "replay/record-serves",
        _TAPE,
        '        if mode != "record":\n',
        "        if mode:\n",
        _RUN_TAPE,
        "A new recording is made of the old one.",
    ),
    Mutant(
        "replay/keeps-failures",
        _TAPE,
        "if not (one.response.status in _PASSING and place < last[one.key])",
        "if one.response.status",
        _RUN_TAPE,
        "A rate limit is replayed for ever.",
    ),
    Mutant(
        "replay/body-is-nothing",
        _SHAPE,
        "_dumps([self.method, self.path, [*map(list, self.query)], self.kind, self.body])",
        "_dumps([self.method, self.path, [*map(list, self.query)], self.kind])",
        _RUN_TAPE,
        "An agent with another prompt is served what was said to the old one.",
    ),
    Mutant(
        "replay/query-is-nothing",
        _SHAPE,
        "_dumps([self.method, self.path, [*map(list, self.query)], self.kind, self.body])",
        "_dumps([self.method, self.path, self.kind, self.body])",
        _RUN_TAPE,
        "Another version of an interface is served what the old one said.",
    ),
    Mutant(
        "replay/ids-are-content",
        _SHAPE,
        '        body = self.settled(numbered_ids(body) if kind == "json" else body, kind)',
        "        body = self.settled(body, kind)",
        _RUN_TAPE,
        "Ids that a client makes up make every replay a miss.",
    ),
    Mutant(
        "replay/what-is-said-is-ignored",
        "_replay/tape/miss.py",
        "    can_go = _TALK.match(path) is None and not",
        "    can_go = not",
        ("replay/test_changing.py",),
        "A message that the model was told is proposed to be left out of the comparison.",
    ),
    Mutant(
        "replay/mask-is-no-key",
        _SHAPE,
        "**({MASKED: masked} if masked else {})",
        "**{}",
        ("replay/test_cassettes.py",),
        "Recordings are keyed by the patterns of another day, and none is found again.",
    ),
    Mutant(
        "replay/key-in-a-query",
        _SHAPE,
        "                if not is_secret(name)\n",
        "                if name\n",
        _CASSETTES,
        "The key of a provider stands in a recording.",
    ),
    Mutant(
        "replay/miss-is-served",
        "_hooks/replaying/tapes.py",
        "        if miss is not None:\n            return missed(trace, miss)\n",
        "",
        (f"{_SESSIONS}agent_that_answers_in_spite_of_a_miss_is_unavailable_all_the_same",),
        "A run that asked what is not recorded is judged by what it made up.",
    ),
    Mutant(
        "replay/broken-run-is-kept",
        "_hooks/replaying/tapes.py",
        "        if trace.ending not in _WELL:\n",
        "        if trace.ending is None:\n",
        ("hooks/test_replay.py::test_run_that_did_not_return_keeps_its_recording_of_before",),
        "A run that crashed replaces its good recording.",
    ),
    Mutant(
        "replay/credential-is-written",
        "_replay/cassettes/store.py",
        "        if found:\n            raise CassetteError(_told(found)",
        "        if found and not recording:\n            raise CassetteError(_told(found)",
        _CASSETTES,
        "A credential is committed with a recording.",
    ),
    Mutant(
        "replay/echo-is-written",
        "_replay/cassettes/store.py",
        "redaction_of(sent).value if sent else None",
        "redaction_of(sent).value if not sent else None",
        ("replay/test_sent.py",),
        "A key that a server repeats in its error is committed with a recording.",
    ),
    Mutant(
        "replay/credential-in-a-stream",
        "_replay/cassettes/masking.py",
        '        yield from _in_text(joined, f"{where}{place}")',
        "        yield from ()",
        _CASSETTES,
        "A credential that a stream cut into pieces is committed.",
    ),
    Mutant(
        "replay/named-secret-in-pieces",
        "_replay/cassettes/masking.py",
        "for one in (text, *joined_pieces(text).values())):",
        "for one in ()):",
        _CASSETTES,
        "What sop_redact names stands in a recording across two pieces.",
    ),
    Mutant(
        "replay/other-trial",
        "_hooks/replaying/tapes.py",
        ".trials.get(key.trial, Recording())",
        ".trials.get(1, Recording())",
        ("hooks/test_tapes.py",),
        "All trials of a task are the first one.",
    ),
    Mutant(
        "replay/changed-by-hand",
        "_replay/cassettes/store.py",
        "        if seal is Seal.BROKEN:\n",
        "        if seal is None:\n",
        _CASSETTES,
        "A reply that was made right by hand is served, and the run is correct.",
    ),
    Mutant(
        "replay/child-is-sent-live",
        "_replay/proxy/server.py",
        "            self._refuse(HTTPStatus.FAILED_DEPENDENCY, str(missing))\n",
        "            self._pass_on(visit, asked, None)\n",
        ("replay/seams/test_children.py",),
        "In replay a child process of an agent asks the provider all the same.",
    ),
)
