"""A headless Chromium, by the DevTools protocol over two pipes: no package is needed for it.

with Browser() as b: page = b.open(path, dark=False); page.ask("1 + 1"); page.said
"""
import json
import os
import shutil
import subprocess
import tempfile

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
COMPLAINTS = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")


def program():
    return next((p for p in map(shutil.which, NAMES) if p), None)


class Browser:
    def __enter__(self):
        to, self.write = os.pipe()
        self.read, back = os.pipe()
        self.profile = tempfile.TemporaryDirectory(prefix="report-chromium-", ignore_cleanup_errors=True)
        # The protocol wants its pipes at 3 and 4, which a shell can put there in any order.
        self.process = subprocess.Popen(
            ["sh", "-c", f'exec "$@" 3<&{to} 4>&{back}', "sh", program(), "--headless=new", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--remote-debugging-pipe", "--user-data-dir=" + self.profile.name],
            pass_fds=(to, back), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to)
        os.close(back)
        self.number, self.rest, self.events = 0, b"", []
        return self

    def __exit__(self, *_):
        try:
            self.call("Browser.close")
        except EOFError:
            pass
        os.close(self.write)
        self.process.wait(timeout=20)
        os.close(self.read)
        self.profile.cleanup()

    def message(self):
        while b"\0" not in self.rest:
            more = os.read(self.read, 1 << 16)
            if not more:
                raise EOFError("the browser has ended")
            self.rest += more
        one, self.rest = self.rest.split(b"\0", 1)
        return json.loads(one)

    def call(self, method, session=None, **params):
        self.number += 1
        asked = {"id": self.number, "method": method, "params": params, **({"sessionId": session} if session else {})}
        os.write(self.write, json.dumps(asked).encode() + b"\0")
        while True:
            got = self.message()
            if got.get("id") == asked["id"]:
                if "error" in got:
                    raise RuntimeError(f"{method}: {got['error']}")
                return got["result"]
            self.events.append(got)

    def wait(self, method, session):
        while True:
            for k, e in enumerate(self.events):
                if e.get("method") == method and e.get("sessionId") == session:
                    return self.events.pop(k)
            self.events.append(self.message())

    def open(self, path, dark=False):
        return Page(self, path, dark)


class Page:
    def __init__(self, browser, path, dark):
        self.browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=1440, height=900, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        browser.wait("Page.loadEventFired", self.session)

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def ask(self, expression):
        """The value of an expression of JavaScript."""
        got = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in got, f"{expression}: {got['exceptionDetails']}"
        return got["result"].get("value")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def key(self, name):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name)

    def complaints(self):
        """What the console got, and requests to anywhere but the page itself."""
        mine = [e for e in self.browser.events if e.get("sessionId") == self.session]
        asked = [e["params"]["request"]["url"] for e in mine if e["method"] == "Network.requestWillBeSent"]
        return [json.dumps(e["params"])[:500] for e in mine if e["method"] in COMPLAINTS] + [u for u in asked if not u.startswith(("file:", "data:"))]

    def picture(self, path):
        import base64
        with open(path, "wb") as f:
            f.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
