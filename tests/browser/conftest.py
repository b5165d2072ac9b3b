"""A headless Chromium that opens pages, and the sessions that they are made of.

These tests are a session of their own: `make browser`. Where there is no Chromium they are skipped
with the reason; in CI they fail, since nobody would notice.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.builders.tables import FORMATS

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

CAREFUL = "--agent=reference-policy"
CARELESS = "--agent=careless_agent:agent"
DOMAIN = "--sop-domain=dangerous_goods"
SWITCHES = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--window-size=1280,900",
)
# Set before any test takes it away, as those of a session in CI want it.
IS_CI = bool(os.environ.get("CI"))


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Leave the folder out where it was not asked for."""
    return None if any("browser" in argument for argument in config.args) else True


def lacking(what: str) -> None:
    """Skip for want of something; in CI that is a failure."""
    (pytest.fail if IS_CI else pytest.skip)(f"{what}; apt-get install chromium chromium-driver")


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The one browser of the session."""
    binary = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    if binary is None or driver is None:
        lacking("no Chromium here" if binary is None else "no chromedriver here")
    try:
        from selenium import webdriver  # noqa: PLC0415 - only this suite has it
        from selenium.webdriver.chrome.service import Service  # noqa: PLC0415
    except ModuleNotFoundError:
        lacking("selenium is not installed")
        raise
    options = webdriver.ChromeOptions()
    options.binary_location = str(binary)
    profile = tmp_path_factory.mktemp("profile")
    for switch in (*SWITCHES, f"--user-data-dir={profile}"):
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    # Else a session inside of CI would ask a proxy for the driver that it has started.
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = "localhost,127.0.0.1"
    browser = webdriver.Chrome(options=options, service=Service(driver))
    yield browser
    browser.quit()


class Tab:
    """A page in the browser, and what a reader does with it."""

    def __init__(self, browser: Any) -> None:
        self.browser = browser

    def open(self, page: Path, fragment: str = "") -> None:
        self.browser.get("about:blank")
        self.messages()
        self.browser.get(page.as_uri() + fragment)

    def run(self, script: str, *arguments: object) -> Any:
        """Return what a script returns."""
        return self.browser.execute_script(script, *arguments)

    def find(self, selector: str) -> Any:
        return self.browser.find_element("css selector", selector)

    def all(self, selector: str) -> list[Any]:
        return self.browser.find_elements("css selector", selector)

    def rows(self) -> list[str]:
        """Return the names of the rows that are there."""
        return self.run(
            "return [...document.querySelectorAll('.runs tbody a')].map(a => a.textContent)"
        )

    def count(self) -> str:
        return self.find(".count [role=status]").text

    def press(self, keys: str) -> None:
        """Type keys one by one, each after the page has done what the key before asked for."""
        for key in keys:
            self.browser.switch_to.active_element.send_keys(key)
            self.settle()

    def click(self, element: Any) -> None:
        """Click, and wait until the page has done what the click asked for."""
        element.click()
        self.settle()

    def settle(self) -> None:
        """Wait until the page has followed its address: `hashchange` comes as a task of its own."""
        self.browser.execute_async_script(
            "const done = arguments[0]; setTimeout(() => requestAnimationFrame(() => done()), 50);"
        )

    def lay_on_paper(self) -> None:
        """Make every row, as for paper, once the page has followed its address."""
        self.settle()
        self.run("dispatchEvent(new Event('beforeprint'))")

    def choose(self, label: str, word: str) -> None:
        """Choose a word in the list that is called so."""
        self.run(
            """
            const label = [...document.querySelectorAll('.bar label')]
                .find(one => one.textContent.startsWith(arguments[0]));
            const list = label.querySelector('select');
            list.selectedIndex = [...list.options].findIndex(o => o.value === arguments[1]);
            list.dispatchEvent(new Event('change'));
            """,
            label,
            word,
        )

    def search(self, text: str) -> None:
        """Search, and wait until the table has followed."""
        self.run("document.getElementById('search').value = arguments[0]", text)
        self.browser.execute_async_script(
            """
            const done = arguments[0];
            document.getElementById('search').dispatchEvent(new Event('input'));
            setTimeout(done, 400);
            """
        )

    def device(self, *, width: int = 1280, height: int = 900, scale: float = 1) -> None:
        self.browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": False},
        )

    def scheme(self, name: str) -> None:
        features = [{"name": "prefers-color-scheme", "value": name}]
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def script(self, *, is_on: bool) -> None:
        self.browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not is_on})

    def messages(self) -> list[str]:
        """Return what the console has said since it was last asked."""
        return [one["message"] for one in self.browser.get_log("browser")]

    def requests(self) -> list[str]:
        """Return the addresses that were asked for since this was last asked."""
        log = "".join(one["message"] for one in self.browser.get_log("performance"))
        import re  # noqa: PLC0415 - a log of JSON in JSON, of which one key is wanted

        found = re.findall(r'"method":"Network.requestWillBeSent".*?"url":"([^"]*)"', log)
        return [url for url in found if not url.startswith(("file:", "data:", "about:"))]

    def violations(self) -> list[str]:
        """Return what axe-core finds, in words."""
        source = ROOT / "tests" / "browser" / "vendor" / "axe-core" / "axe.min.js"
        self.browser.execute_cdp_cmd("Runtime.evaluate", {"expression": source.read_text("utf-8")})
        found = self.browser.execute_async_script(
            """
            const done = arguments[0];
            axe.run(document, {resultTypes: ['violations']}).then(found => done(found.violations));
            """
        )
        return [
            f"{one['id']}: {node['target']} {node['failureSummary']}"
            for one in found
            for node in one["nodes"][:3]
        ]


@pytest.fixture
def tab(chromium: Any) -> Tab:
    """The browser as a new reader finds it."""
    tab = Tab(chromium)
    tab.device()
    tab.scheme("light")
    tab.script(is_on=True)
    tab.requests()
    return tab


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """The four sessions: all well, a careless agent with its baseline, two agents, a large one."""
    folder = tmp_path_factory.mktemp("demo")
    for name in ("careless_agent.py", "pytest.ini"):
        shutil.copy(ROOT / "demo" / name, folder / name)
    _pytest(folder, DOMAIN, CAREFUL, "--sop-save=main", "--sop-report=html=well.html")
    _pytest(
        folder, DOMAIN, CARELESS, "--sop-compare=main", "--sop-fail-under=0.9",
        "--sop-save=careless", "--sop-report=html=careless.html",
    )  # fmt: skip
    agents = ("--agent=policy=reference-policy", "--agent=careless=careless_agent:agent")
    _pytest(folder, DOMAIN, *agents, "--sop-report=html=two.html")
    _write_large(folder / "large.html")
    names = ("well", "careless", "two", "large")
    return SimpleNamespace(**{name: folder / f"{name}.html" for name in names})


def _pytest(folder: Path, *arguments: str) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=no", "-r", "N"]
    done = subprocess.run([*command, *arguments], cwd=folder, check=False, capture_output=True)
    assert done.returncode in {0, 1}, done.stdout.decode() + done.stderr.decode()


def _write_large(path: Path) -> None:
    from big_page import big_page  # noqa: PLC0415 - a module of the benchmarks

    path.write_text(FORMATS["html"].render(big_page(3_000)), "utf-8", newline="\n")
