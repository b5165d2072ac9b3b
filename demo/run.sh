#!/bin/sh
# The main job, offline: a whole domain, first with an agent that follows the procedure, then with
# one that does not, then with one that gives it to a model.
set -u

ends_with() {
  expected=$1
  shift
  echo "\$ pytest $*"
  ${with:-} pytest "$@"
  status=$?
  if [ "$status" -ne "$expected" ]; then
    echo "demo: expected exit status $expected, got $status" >&2
    exit 1
  fi
}

echo "== An agent that follows the procedure: every task is correct, exit status 0"
ends_with 0 --sop-domain dangerous_goods --agent reference-policy -n 2

printf '\n== A careless agent: the summary shows what failure looks like, exit status 1\n'
ends_with 1 --sop-domain dangerous_goods --agent careless_agent:agent -n 2 --tb=no -r N

printf '\n== One of its failures, by the line that every failure ends with\n'
ends_with 1 --sop-domain=dangerous_goods::P_73753 --agent careless_agent:agent -r N

printf '\n== A model as the agent, 32 runs at a time: every task is correct, exit status 0\n'
printf '   A stub on this machine plays the model (stub_model.py), so no key is needed.\n'
printf '   With a key of yours it is: --agent function-calling:openai/gpt-5-mini\n'
with="python stub_model.py"
ends_with 0 --sop-domain dangerous_goods --agent function-calling:openai/stub \
  --sop-concurrency 32 -o sop_prices=prices.toml

printf '\ndemo: all sessions ended as they should\n'
