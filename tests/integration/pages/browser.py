# SPDX-License-Identifier: Apache-2.0
"""browser.py - Chromium without a window, driven through a pipe by its own protocol: pages are opened, keys pressed, the pointer moved."""
import base64
import json
import os
import select
import subprocess
import time

PATIENCE_S = 120  # on a machine that does much else


class Browser:
    def __init__(self, program, folder):
        to_it, ours_out = os.pipe()
        ours_in, from_it = os.pipe()
        # The browser reads its orders from descriptor 3 and answers on 4.
        self.process = subprocess.Popen(
            ["/bin/sh", "-c", 'exec "$@" 3<&%d 4>&%d' % (to_it, from_it), "browser", program, "--headless=new",
             "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
             "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
             "--user-data-dir=" + os.path.join(folder, "profile")],
            pass_fds=(to_it, from_it), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_it)
        os.close(from_it)
        self.out, self.inp = ours_out, ours_in
        self.rest, self.number, self.events = b"", 0, []
        self.session = None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(domain + ".enable")

    def close(self):
        self.process.kill()
        self.process.wait()

    def read(self, deadline):
        while b"\0" not in self.rest:
            if not select.select([self.inp], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            got = os.read(self.inp, 1 << 20)
            if not got:
                raise EOFError("the browser is gone")
            self.rest += got
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def ask(self, method, **params):
        self.number += 1
        order = {"id": self.number, "method": method, "params": params}
        if self.session:
            order["sessionId"] = self.session
        os.write(self.out, json.dumps(order).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE_S
        while True:
            message = self.read(deadline)
            if message.get("id") != self.number:
                self.events.append(message)
            elif "error" in message:
                raise RuntimeError("%s: %s" % (method, message["error"]))
            else:
                return message["result"]

    # ---- what a person does ----

    def window(self, width, height, dark=False, scale=1, script=True):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False)
        self.ask("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce"}])
        self.ask("Emulation.setScriptExecutionDisabled", value=not script)

    def open(self, url):
        self.events = []
        self.ask("Page.navigate", url=url)
        self.until("document.readyState === 'complete' && location.href.split('#')[0] === %s" % json.dumps(url.split("#")[0]))

    def key(self, key, text=None, modifiers=0):
        codes = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        text = text if text is not None else (key if len(key) == 1 else "\r" if key == "Enter" else None)
        params = {"key": key, "modifiers": modifiers, "windowsVirtualKeyCode": codes.get(key, 0)}
        if text:
            params["text"] = text
        self.ask("Input.dispatchKeyEvent", type="keyDown", **params)
        params.pop("text", None)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **params)

    def type(self, text):
        for letter in text:
            self.key(letter)

    def place(self, expression):
        """The middle of an element, scrolled to where it can be seen."""
        return self.value("""(() => { const one = %s; one.scrollIntoView({block: 'center'});
            const at = one.getBoundingClientRect(); return [at.x + at.width / 2, at.y + at.height / 2]; })()""" % expression)

    def mouse(self, kind, x, y, **more):
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, expression):
        x, y = self.place(expression)
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)

    def drag(self, x, y, by):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        for step in range(1, 9):
            self.mouse("mouseMoved", x + by * step / 8, y, button="left", buttons=1)
        self.mouse("mouseReleased", x + by, y, button="left", clickCount=1)

    # ---- what a person sees ----

    def value(self, expression):
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError("%s: %s" % (expression, answer["exceptionDetails"].get("exception", {}).get("description")))
        return answer["result"].get("value")

    def until(self, expression):
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                if self.value(expression):
                    return
            except RuntimeError:
                pass  # the page is being exchanged
            if time.monotonic() > deadline:
                raise TimeoutError("it does not become true: " + expression)
            time.sleep(0.05)

    def picture(self, path, whole=False):
        params = {"format": "png", "captureBeyondViewport": whole}
        if whole:
            size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
            params["clip"] = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 12000), "scale": 1}
        with open(path, "wb") as out:
            out.write(base64.b64decode(self.ask("Page.captureScreenshot", **params)["data"]))

    def complaints(self):
        """What the browser complained of, and what was asked of anybody but the server, since the page was opened."""
        found = []
        for event in self.events:
            params = event.get("params", {})
            if event.get("method") == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                found.append("%s %s" % (params["entry"]["text"], params["entry"].get("url", "")))
            elif event.get("method") == "Runtime.exceptionThrown":
                found.append(params["exceptionDetails"].get("exception", {}).get("description", "an exception"))
            elif event.get("method") == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
                found.append(str(params["args"]))
            elif event.get("method") == "Network.requestWillBeSent":
                url = params["request"]["url"]
                if not url.startswith(("http://127.0.0.1:", "data:", "about:")):
                    found.append("asked elsewhere: " + url)
        return found
