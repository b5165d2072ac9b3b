"""Run the agents of two pages on frameworks, each in an environment of its own, against the stub.

    make frameworks                      all of them
    make frameworks FRAMEWORKS=strands   one, or several

Their pins stand beside this program, and never touch ours. The code is that of the pages
`docs/how-to/connect-an-agent.md`, so what is run is what is read.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PAGE = ROOT / "docs" / "how-to" / "connect-an-agent.md"
TASKS = 3

sys.path.insert(0, str(ROOT / "tests" / "agents"))

from model_stub import Stub  # noqa: E402 - it lies beside other tests


def main(folder: Path, wanted: list[str]) -> int:
    """Run each framework; the status is the number of those that fail."""
    known = sorted(path.stem for path in (HERE / "requirements").glob("*.txt"))
    unknown = [name for name in wanted if name not in known]
    if unknown:
        print(f"frameworks: there is no {unknown[0]}; there are {', '.join(known)}")
        return 2
    failed = [name for name in wanted or known if not holds(folder / name, name)]
    print(f"frameworks: {', '.join(failed)} failed" if failed else "frameworks: all hold")
    return 1 if failed else 0


def holds(folder: Path, name: str) -> bool:
    """Whether the agent of the page is right on every task that it is given."""
    print(f"== {name}", flush=True)
    python = environment(folder, HERE / "requirements" / f"{name}.txt")
    module = f"with_{name}"
    agent = f"{module}:agent"
    if is_program(name):
        agent, python = f"exec:{python} {module}.py", sys.executable
    with TemporaryDirectory() as place, Stub() as stub:
        (Path(place) / f"{module}.py").write_text(code_of(f"{module}.py"), encoding="utf-8")
        (Path(place) / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        server = {"OPENAI_BASE_URL": f"{stub.url}/v1", "OPENAI_API_KEY": "none-is-needed"}
        ran = subprocess.run(
            [
                *(python, "-m", "pytest", "-v", "--tb=short", "-p", "no:cacheprovider"),
                *("--sop-domain=dangerous_goods", f"--sop-sample=first:{TASKS}"),
                *(f"--agent={agent}", "--sop-fail-under=1"),
            ],
            cwd=place,
            env={**os.environ, **server, "NO_PROXY": "127.0.0.1", "PYTHONPATH": ""},
            capture_output=True,
            text=True,
            check=False,
        )
        asked = len(stub.requests)
    # A run that asked no model, or told nothing of it, has shown nothing of the framework.
    is_right = f"100.0% correct, {TASKS} of {TASKS}" in ran.stdout
    tells = re.search(
        r"model calls [\d.]+\s+tokens in \d+.*, out \d+", " ".join(ran.stdout.split())
    )
    if ran.returncode == 0 and is_right and tells and asked > TASKS:
        print(f"   {TASKS} of {TASKS} tasks correct, {asked} requests")
        return True
    print(ran.stdout[-6_000:], ran.stderr[-2_000:])
    return False


def environment(folder: Path, pins: Path) -> str:
    """Return the Python of an environment with these pins, made where it is not there yet."""
    python = folder / "bin" / "python"
    made_of = folder / "made-of.txt"
    wanted = f"{pins.read_text()}{(ROOT / 'pyproject.toml').read_text()}"
    if not made_of.exists() or made_of.read_text() != wanted:
        venv.create(folder, with_pip=True, clear=True)
        install = [str(python), "-m", "pip", "install", "--quiet"]
        ours = [] if is_program(pins.stem) else ["--editable", str(ROOT)]
        subprocess.run([*install, "--requirement", str(pins), *ours], check=True)
        made_of.write_text(wanted)
    return str(python)


def is_program(name: str) -> bool:
    """Whether an agent is a program of its own, whose environment need not have ours."""
    return "sys.stdin" in code_of(f"with_{name}.py")


def code_of(name: str) -> str:
    """Return the file of the page that has this name."""
    text = PAGE.read_text(encoding="utf-8")
    (code,) = re.findall(rf"```python\n# file: {re.escape(name)}\n(.*?)```", text, re.DOTALL)
    return str(code)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), sys.argv[2:]))
