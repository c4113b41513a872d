"""A real Chromium, driven through its own pipe (DevTools protocol): no driver, no port, no wait.

What the page asks of the network, what it logs and every dialog it opens are kept.
"""

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)


def find() -> str | None:
    """Return the browser's path, or None where there is none."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next((path for name in names if (path := shutil.which(name))), None)


class Chromium:
    """One browser with one page."""

    def __init__(self, binary: str, profile: Path) -> None:
        asks, self._write = os.pipe()
        self._read, tells = os.pipe()

        # The browser reads commands from descriptor 3 and answers on 4.
        start = f'exec "$0" "$@" 3<&{asks} 4>&{tells}'
        self._process = subprocess.Popen(
            ["bash", "-c", start, binary, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(asks, tells),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(asks)
        os.close(tells)
        self._buffer = b""
        self._number = 0
        self._answers: dict[int, dict[str, Any]] = {}
        self.events: list[dict[str, Any]] = []
        self._session: str | None = None
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        joined = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = joined["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its result; events on the way are kept."""
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while number not in self._answers:
            self._keep(self._next(30))
        answer = self._answers.pop(number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def open(
        self, path: Path, *, width: int = 1280, height: int = 900, dark: bool = False
    ) -> float:
        """Open a file and return the seconds until what is in sight is drawn."""
        self.events.clear()
        self.view(width, height, dark=dark)
        start = time.perf_counter()
        self.send("Page.navigate", url=path.resolve().as_uri())
        self._wait("ready", path)
        seconds = time.perf_counter() - start
        self._wait("complete", path)
        return seconds

    def _wait(self, mark: str, path: Path) -> None:
        end = time.perf_counter() + 30
        while not self.run(f"document.documentElement?.dataset.{mark}"):
            if time.perf_counter() > end:
                raise TimeoutError(f"{path} was not drawn: {self.logged()}")
            time.sleep(0.02)

    def view(self, width: int, height: int = 900, *, dark: bool = False) -> None:
        """Set the size of the window and the reader's colour scheme."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", media="", features=[scheme])

    def run(self, script: str) -> Any:
        """Evaluate JavaScript and return its value."""
        answer = self.send(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def screenshot(self, path: Path) -> None:
        """Save the whole page as PNG."""
        size = self.send("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        shot = self.send("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(shot["data"]))

    def requests(self) -> list[str]:
        """Return every address the page asked for, except itself."""
        asked = [e["params"]["request"]["url"] for e in self.events if _is(e, "requestWillBeSent")]
        return [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]

    def dialogs(self) -> list[str]:
        """Return the texts of all dialogs that were opened."""
        return [e["params"]["message"] for e in self.events if _is(e, "javascriptDialogOpening")]

    def logged(self) -> list[str]:
        """Return errors and warnings of the console."""
        found = [e["params"]["entry"]["text"] for e in self.events if _is(e, "entryAdded")]
        return found + [json.dumps(e["params"]) for e in self.events if _is(e, "exceptionThrown")]

    def close(self) -> None:
        """End the browser."""
        with contextlib.suppress(OSError, RuntimeError, EOFError, TimeoutError):
            self._session = None
            self.send("Browser.close")
        self._process.terminate()
        self._process.wait(20)
        os.close(self._read)
        os.close(self._write)

    def _keep(self, event: dict[str, Any]) -> None:
        if "id" in event:
            self._answers[event["id"]] = event
            return
        self.events.append(event)
        if _is(event, "javascriptDialogOpening"):  # an open dialog would stop the page for good
            self.send("Page.handleJavaScriptDialog", accept=True)

    def _next(self, seconds: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            if not select.select([self._read], [], [], seconds)[0]:
                raise TimeoutError("Chromium does not answer")
            part = os.read(self._read, 1 << 20)
            if not part:
                raise EOFError("Chromium ended")
            self._buffer += part
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)


def _is(event: dict[str, Any], name: str) -> bool:
    return str(event.get("method", "")).endswith(f".{name}")
