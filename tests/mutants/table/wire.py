"""Agents elsewhere: their children, the tools that they are served, and what they ask a model."""

from __future__ import annotations

from mutants.mutant import Mutant

_SERVICES = "hooks/test_services.py::test_"
_RECORDINGS = "hooks/test_service_recordings.py::test_"
_OWN_ADDRESS = "what_a_child_of_many_runs_asks_without_their_addresses_belongs_to_none_of_them"
_WIRE = "running/test_wire.py::test_"

MUTANTS = (
    Mutant(
        "wire/child-is-reaped-before-its-group-ends",
        "OneRun.talk",
        "        wait_unreaped(process)\n",
        "        process.wait()\n",
        (f"{_WIRE}a_group_is_ended_while_its_number_is_still_its_own",),
        "What a child has started is left, or the group of a stranger is killed.",
    ),
    Mutant(
        "wire/group-of-a-reaped-child-is-killed",
        "end_with_descendants",
        "        if _has_its_number(process):\n",
        "        if process:\n",
        (f"{_WIRE}the_group_of_a_child_that_has_been_waited_for_is_left_alone",),
        "A program that has nothing to do with the tests is killed.",
    ),
    Mutant(
        "wire/unseen-calls-are-no-calls",
        "ServiceAgent._answer",
        "            tools.report(notes=UNSEEN)\n",
        "            pass\n",
        (f"{_SERVICES}gates_on_what_no_call_tells_are_inconclusive",),
        "A service whose calls nobody sees has kept to the procedure.",
    ),
    Mutant(
        "wire/path-of-a-run-stays",
        "ToolServer.close",
        "            self._runs.pop(door.run, None)\n",
        "            pass\n",
        (f"{_SERVICES}the_path_of_another_run_is_gone_with_it",),
        "A service calls the tools of a run that is over, and gets answers.",
    ),
    Mutant(
        "wire/child-of-many-runs-asks-for-the-first",
        "LinesAgent._child_for",
        "Context().run(LinesChild, self._command, self._folder)",
        "LinesChild(self._command, self._folder)",
        (f"{_RECORDINGS}{_OWN_ADDRESS}",),
        "All that a child asks its model is recorded as of the run that it was started for.",
    ),
    Mutant(
        "wire/unseen-model-is-replayed",
        "Tapes.settle",
        "            if is_elsewhere:",
        "            if False:",
        (f"{_RECORDINGS}a_service_that_goes_past_the_address_it_is_told_replays_as_unavailable",),
        "A service asks its model, and that passes for a replay.",
    ),
)
