"""The reference policy as a child for each run."""

from __future__ import annotations

import json
import sys

from policy_tools import answer, over_http

request = json.load(sys.stdin)
print("deciding", file=sys.stderr)
print(json.dumps(answer(request, over_http(request["tools"]["http"]["url"]))))
