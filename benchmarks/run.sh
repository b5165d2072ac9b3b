#!/bin/sh
# Every benchmark, one after the other; each prints ratios beside a reference of the same run.
# `run.sh --small` takes a quick look at small sizes.
set -u
cd "$(dirname "$0")" || exit 1
status=0
for name in judging answers documents tool_call overhead saving tools snapshots start_up scale road \
  concurrency in_flight openai_client reference_agents crashes output ctrl_c saved_sessions audit \
  replay seams html_page; do
  printf '\n== %s\n' "$name"
  python "$name.py" "$@" || status=1
done
exit "$status"
