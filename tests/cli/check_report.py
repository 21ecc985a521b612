#!/usr/bin/env python3
"""Opens a report in a headless Chromium and looks at it: check_report.py PAGE.html [SCREENSHOTS]

In light and dark, on a wide and on a narrow screen: no error in the console, no request but for the page, nothing wider
than the screen, every chart drawn, the texts of drawings and matrices inside the page, hovering over a network shows its
cell, and nothing that a file said became markup.
With a folder SCREENSHOTS the pages are kept as pictures. Exit status 77 without Chromium.

Chromium is driven through a pipe (JSON messages that end with a zero byte), so that nothing but it is needed.
"""
import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time

SIZES = {"wide": (1400, 900), "narrow": (390, 844)}
SCHEMES = ("light", "dark")
TIMEOUT = 120  # seconds for any answer


class Browser:
    def __init__(self, program, profile):
        to_browser, self.write = os.pipe()
        self.read, from_browser = os.pipe()
        command = [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                   "--no-first-run", "--user-data-dir=" + profile, "--remote-debugging-pipe"]

        def arrange():  # the browser reads from 3 and writes to 4
            reading, writing = os.dup(to_browser), os.dup(from_browser)
            os.dup2(reading, 3)
            os.dup2(writing, 4)

        self.process = subprocess.Popen(command, close_fds=False, preexec_fn=arrange, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.bytes, self.n_calls, self.events, self.session = b"", 0, [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def message(self):
        while b"\0" not in self.bytes:
            if not select.select([self.read], [], [], TIMEOUT)[0]:
                raise TimeoutError("no answer from the browser")
            more = os.read(self.read, 1 << 20)
            if not more:
                raise EOFError("the browser went away")
            self.bytes += more
        text, self.bytes = self.bytes.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **params):
        self.n_calls += 1
        request = {"id": self.n_calls, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.write, json.dumps(request).encode() + b"\0")
        while True:
            message = self.message()
            if message.get("id") == self.n_calls:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)

    def wait_for(self, method):
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self.message())

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def close(self):
        self.process.kill()
        self.process.wait()


# Pixels of every canvas that are not empty; 0: nothing was drawn.
DRAWN = """[...document.querySelectorAll("canvas")].map(c => {
    const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
    let n = 0;
    for (let i = 3; i < d.length; i += 4) n += d[i] > 0;
    return [c.id, n];
})"""

# Where the first network of a scatter is on the screen.
POINT = """(() => {
    const canvas = document.getElementById("%s"), chart = Chart.getChart(canvas);
    canvas.scrollIntoView({block: "center"});
    const point = chart.getDatasetMeta(0).data[0], box = canvas.getBoundingClientRect();
    return [box.left + point.x, box.top + point.y];
})()"""

# Texts of drawings that are not on the page, and tables of few columns that are cut.
OUTSIDE = """[...document.querySelectorAll(".drawing text, .heat text")].filter(t => {
    const box = t.getBoundingClientRect();
    return box.width > 0 && (box.left < 0 || box.right > document.documentElement.clientWidth);
}).map(t => t.textContent)"""
CUT = """[...document.querySelectorAll(".wide")]
    .filter(w => w.scrollWidth > w.clientWidth && w.querySelector("tr").children.length <= 4)
    .map(w => w.textContent.slice(0, 80))"""

# Parts that are closed have no charts yet.
OPEN = """new Promise(done => {
    for (const part of document.querySelectorAll("details")) part.open = true;
    setTimeout(done, 300);
})"""

TOOLTIP = """(() => {
    const t = Chart.getChart("%s").tooltip;
    return {opacity: t.opacity, title: t.title, lines: (t.body || []).flatMap(b => b.lines)};
})()"""


def hover(browser, chart, archs, word, problems, where):
    x, y = browser.value(POINT % chart)
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=x - 2, y=y)
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    for _ in range(50):  # shown with the next frame
        tip = browser.value(TOOLTIP % chart)
        if tip["opacity"] > 0:
            break
        time.sleep(0.1)
    text = "+".join(tip["title"] or [])
    if tip["opacity"] == 0 or text not in archs or not any(word in line for line in tip["lines"]):
        problems.append(f"{where}: hovering over a network of {chart} shows {tip}")


def look(browser, page, name, size, scheme, folder):
    where, problems = f"{name} {scheme}", []
    browser.events.clear()
    browser.call("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1,
                 mobile=name == "narrow")
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.call("Page.navigate", url="file://" + os.path.abspath(page))
    browser.wait_for("Page.loadEventFired")
    for event in browser.events:
        method, params = event.get("method"), event.get("params", {})
        if method in ("Runtime.exceptionThrown", "Log.entryAdded") or method == "Runtime.consoleAPICalled":
            problems.append(f"{where}: {method}: {json.dumps(params)[:300]}")
        if method == "Network.requestWillBeSent" and not params["request"]["url"].startswith("file://" + os.path.abspath(page)):
            problems.append(f"{where}: asks for {params['request']['url'][:200]}")

    if folder:
        height = browser.value("document.documentElement.scrollHeight")
        browser.call("Emulation.setDeviceMetricsOverride", width=size[0], height=height, deviceScaleFactor=1,
                     mobile=name == "narrow")
        time.sleep(0.3)
        picture = browser.call("Page.captureScreenshot", format="png")["data"]
        with open(os.path.join(folder, f"{name}-{scheme}.png"), "wb") as file:
            file.write(base64.b64decode(picture))
    browser.value(OPEN)
    problems += [f"{where}: '{text}' of a drawing is outside the page" for text in browser.value(OUTSIDE)]
    problems += [f"{where}: a table is cut: {text}" for text in browser.value(CUT)]
    width = browser.value("document.documentElement.scrollWidth")
    if width > size[0]:
        problems.append(f"{where}: the page is {width} pixels wide")
    data = browser.value('JSON.parse(document.getElementById("data").textContent)')
    charts = [chart["id"] for chart in data["charts"]]
    drawn = dict(browser.value(DRAWN))
    if sorted(drawn) != sorted(charts):
        problems.append(f"{where}: charts {charts}, places {sorted(drawn)}")
    problems += [f"{where}: chart {chart} is empty" for chart, pixels in drawn.items() if pixels < 500]
    back = browser.value("getComputedStyle(document.body).backgroundColor")
    if (sum(int(x) for x in back.strip("rgb()").split(",")) < 384) != (scheme == "dark"):
        problems.append(f"{where}: the background is {back}")
    if browser.value('document.querySelectorAll("img, iframe, object, embed, link, base, form").length') != 0:
        problems.append(f"{where}: markup that the report does not write")
    if browser.value('document.querySelectorAll("script").length') != 3 or browser.value("window.hacked") is not None:
        problems.append(f"{where}: a script that the report does not write")
    if "scatter-0" in charts:
        hover(browser, "scatter-0", data["archs"], "truth", problems, where)
    for chart in data["charts"]:
        if chart["kind"] == "networks":
            hover(browser, chart["id"], chart["archs"], "top-1", problems, where)
    return len(charts), problems


def main():
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not program:
        print("check_report: skipped: no chromium")
        return 77
    page, folder = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
    problems = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(program, profile)
        try:
            for domain in ("Page", "Runtime", "Log", "Network"):
                browser.call(domain + ".enable")
            for name, size in SIZES.items():
                for scheme in SCHEMES:
                    n_charts, found = look(browser, page, name, size, scheme, folder)
                    problems += found
        finally:
            browser.close()
    for problem in problems:
        print(problem)
    print(f"check_report: {n_charts} charts, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
