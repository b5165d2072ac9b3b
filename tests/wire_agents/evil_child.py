"""A child that does what its argument says, none of it well."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

ANSWER = json.dumps({"output": {"hazard_class": "Hazard Class B"}})
what = sys.argv[1]


def ready(**changed: Any) -> None:
    print(json.dumps({"type": "ready", "protocol": 1, "concurrency": 2} | changed), flush=True)


match what:
    case "admits":
        print(json.dumps(json.loads(ANSWER) | {"error": "overloaded"}))
    case "admits-in-lines":
        ready()
        for line in sys.stdin:
            end = {"type": "answer", "run": json.loads(line)["run"]["id"], "success": False}
            print(json.dumps(json.loads(ANSWER) | end), flush=True)
    case "dies":
        os.kill(os.getpid(), 9)
    case "fails":
        print("there is no key", file=sys.stderr)
        sys.exit(3)
    case "hangs":
        time.sleep(600)
    case "deaf":
        # It never reads, and the request is longer than a pipe holds.
        print(ANSWER)
    case "silent":
        pass
    case "floods":
        while True:
            print("x" * 1_000_000)
    case "chatters":
        sys.stderr.write("e" * 50_000_000)
        print(ANSWER)
    case "half":
        print(ANSWER[: len(ANSWER) // 2])
    case "leaves":
        # A grandchild with a session of its own, which holds the pipes.
        subprocess.Popen(["sleep", "600"], start_new_session=True)
        print(ANSWER)
    case "babbles":
        print("Loading the model...", flush=True)
        time.sleep(600)
    case "future":
        ready(protocol=2)
        time.sleep(600)
    case "greedy":
        ready(concurrency=0)
        time.sleep(600)
    case "ends-ready":
        ready()
    case "garbles":
        ready()
        sys.stdin.readline()
        print("not of the protocol", flush=True)
        time.sleep(600)
    case "never-ends-a-line":
        ready()
        run = json.loads(sys.stdin.readline())["run"]["id"]
        print(json.dumps({"type": "answer", "run": run, "output": "x" * 17_000_000}), flush=True)
        time.sleep(600)
    case "garbles-letters":
        ready()
        run = json.loads(sys.stdin.readline())["run"]["id"]
        answer = json.dumps({"type": "answer", "run": run, "output": {"notes": "?"}})
        sys.stdout.buffer.write(answer.encode().replace(b"?", b"\xff") + b"\n")
        sys.stdout.flush()
        time.sleep(600)
    case "falls":
        ready()
        sys.stdin.readline()
        print("out of memory", file=sys.stderr, flush=True)
        os._exit(0)
    case "ignores":
        ready()
        time.sleep(600)
    case "invents":
        ready()
        for line in sys.stdin:
            name = json.loads(line)["run"]["id"]
            for other in (name[::-1], name):
                print(json.dumps({"type": "answer", "run": other, "output": {}}), flush=True)
    case "strange":
        ready()
        sys.stdin.readline()
        print(json.dumps({"type": "dance", "run": "x"}), flush=True)
        time.sleep(600)
    case "echoes":
        ready()
        run = json.loads(sys.stdin.readline())["run"]
        print(json.dumps({"type": "answer", "run": run, "output": {"grade": "pass"}}), flush=True)
        time.sleep(600)
    case "calls-for-nobody":
        ready()
        sys.stdin.readline()
        print(json.dumps({"type": "call", "tool": "measure"}), flush=True)
        time.sleep(600)
