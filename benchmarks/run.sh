#!/bin/sh
# Every benchmark, one after the other; each prints ratios beside a reference of the same run.
set -u
cd "$(dirname "$0")" || exit 1
status=0
for name in judging tool_call concurrency overhead snapshots; do
  printf '\n== %s\n' "$name"
  python "$name.py" || status=1
done
exit "$status"
