# SPDX-License-Identifier: Apache-2.0
"""frameworks.py - stalls of applications on web frameworks: Flask, Django and an ASGI application by gunicorn and uvicorn, servlets in Tomcat, Express."""
import os
import shutil
import socket
import subprocess
import threading
import time

from stage import PYTHON, Skip, free_port, get, listens, need, wait_for


def warm(stage, port, runtime):
    """Until the recorder knows the runtime, and each worker has had some requests."""
    wait_for(lambda: listens(port), 60, "server")
    names = os.path.join(stage.spool, f"provider-{runtime}.map")
    for turn in range(600):
        get(port, "/")
        if turn >= 40 and os.path.exists(names):
            return
        time.sleep(0.02)
    raise RuntimeError("no names of " + runtime)


# ---- Python ----


def need_module(name):
    if subprocess.run([PYTHON, "-c", "import " + name], capture_output=True, check=False).returncode != 0:
        raise Skip("python3-" + name + " is not installed")


def gunicorn(stage, text, *options):
    need("gunicorn", "curl")
    port = free_port()
    stage.file("shop.py", text)
    stage.record([PYTHON, shutil.which("gunicorn"), *options, "-b", f"127.0.0.1:{port}", "--chdir", stage.folder, "--log-level", "critical", "shop:app"])
    warm(stage, port, "python")
    return port


def flask_lock(stage):
    """A request waits for what a thread behind the answers has."""
    need_module("flask")
    port = gunicorn(stage, """
import threading, time
from flask import Flask

app = Flask(__name__)
store = threading.Lock()


def compact_store(held):
    with store:
        held.set()
        end = time.monotonic() + 2.5
        while time.monotonic() < end:
            sum(range(1000))


@app.route("/")
def home():
    return "ok"


@app.route("/compact")
def compact():
    held = threading.Event()
    threading.Thread(target=compact_store, args=(held,), daemon=True).start()
    held.wait()
    return "begun"


@app.route("/stock")
def show_stock():
    with store:
        return "12"
""", "-w", "1", "--threads", "4")
    get(port, "/compact")
    get(port, "/stock")
    return stage.report()


def django_process(stage):
    """A view waits for a converter."""
    need_module("django")
    port = gunicorn(stage, """
import subprocess
from django.conf import settings

settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"], SECRET_KEY="none")

from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse
from django.urls import path


def run_converter():
    subprocess.run(["sleep", "2"], check=True)


def home(request):
    return HttpResponse("ok")


def export(request):
    run_converter()
    return HttpResponse("done")


urlpatterns = [path("", home), path("export", export)]
app = get_wsgi_application()
""", "-w", "2")
    get(port, "/export")
    return stage.report()


def answer_late(listener):
    client, _ = listener.accept()
    with client:
        client.recv(1)
        time.sleep(2)
        client.sendall(b"1")


def uvicorn_socket(stage):
    """A coroutine asks another service by a call that blocks the loop."""
    need("uvicorn", "curl")
    with socket.create_server(("127.0.0.1", 0)) as bank:
        threading.Thread(target=answer_late, args=(bank,), daemon=True).start()
        port = free_port()
        stage.file("shop.py", """
import socket


def fetch_rate():
    with socket.create_connection(("127.0.0.1", %d)) as bank:
        bank.sendall(b"?")
        return bank.recv(1)


async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    body = fetch_rate() if scope["path"] == "/rate" else b"ok"
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%%d" %% len(body))]})
    await send({"type": "http.response.body", "body": body})
""" % bank.getsockname()[1])
        stage.record([PYTHON, shutil.which("uvicorn"), "--port", str(port), "--app-dir", stage.folder, "--log-level", "critical", "shop:app"])
        warm(stage, port, "python")
        get(port, "/rate")
        return stage.report()


# ---- Java ----

TOMCAT = "/usr/share/tomcat10"
SERVLETS = "/usr/share/java/tomcat10-servlet-api.jar"


def tomcat(stage, text):
    need("java", "javac", "curl")
    if not os.path.exists(TOMCAT + "/bin/bootstrap.jar") or not os.path.exists(SERVLETS):
        raise Skip("tomcat10 is not installed")
    port, root = free_port(), os.path.join(stage.folder, "webapps", "ROOT", "WEB-INF")
    for folder in (root + "/classes", stage.folder + "/conf", stage.folder + "/logs", stage.folder + "/temp"):
        os.makedirs(folder)
    subprocess.run(["javac", "-cp", SERVLETS, "-d", root + "/classes", stage.file("Shop.java", text)], check=True, timeout=120)
    stage.file("webapps/ROOT/WEB-INF/web.xml", '<web-app version="6.0"/>')
    stage.file("conf/server.xml", f"""<Server port="-1"><Service name="Catalina">
<Connector port="{port}" address="127.0.0.1" protocol="HTTP/1.1"/>
<Engine name="Catalina" defaultHost="localhost"><Host name="localhost" appBase="webapps"/></Engine></Service></Server>""")
    stage.file("conf/web.xml", '<web-app version="6.0"/>')
    stage.record(["java", "-Xmx128m", "-cp", f"{TOMCAT}/bin/bootstrap.jar:{TOMCAT}/bin/tomcat-juli.jar", f"-Dcatalina.home={TOMCAT}",
                  f"-Dcatalina.base={stage.folder}", f"-Djava.io.tmpdir={stage.folder}/temp", "org.apache.catalina.startup.Bootstrap", "start"])
    warm(stage, port, "java")
    return port


def tomcat_monitor(stage):
    """A request waits for a monitor that a thread behind the answers has."""
    port = tomcat(stage, """
import jakarta.servlet.annotation.WebServlet;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.concurrent.CountDownLatch;

@WebServlet("/*")
public class Shop extends HttpServlet {
    static final Object TILL = new Object();
    static volatile double sum;

    static void countTill(CountDownLatch held) {
        synchronized (TILL) {
            held.countDown();
            for (long end = System.nanoTime() + 2_500_000_000L; System.nanoTime() < end;) {
                sum = Math.sqrt(sum + 1);
            }
        }
    }

    static void pay() {
        synchronized (TILL) {
            sum = 0;
        }
    }

    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
        if ("/count".equals(request.getPathInfo())) {
            CountDownLatch held = new CountDownLatch(1);
            new Thread(() -> countTill(held), "nightly").start();
            try {
                held.await();
            } catch (InterruptedException e) {
                throw new IOException(e);
            }
        } else if ("/pay".equals(request.getPathInfo())) {
            pay();
        }
        response.getWriter().print("ok");
    }
}
""")
    get(port, "/count")
    get(port, "/pay")
    return stage.report()


# ---- JavaScript ----


def express_password(stage):
    """A handler checks a password in the loop. Express is Debian's, or in NODE_PATH."""
    need("node", "curl")
    modules = [*os.environ.get("NODE_PATH", "").split(":"), "/usr/share/nodejs"]
    if not any(os.path.exists(os.path.join(folder, "express", "package.json")) for folder in modules if folder):
        raise Skip("express is neither installed nor in NODE_PATH")
    port = free_port()
    text = """
const crypto = require('crypto');
const express = require('express');
const app = express();
function checkPassword(word) {
  const end = Date.now() + 2000;
  let key;
  do { key = crypto.pbkdf2Sync(word, 'salt', 20000, 32, 'sha512'); } while (Date.now() < end);
  return key;
}
app.get('/', (request, response) => response.send('ok'));
app.get('/login', (request, response) => response.send(checkPassword('secret').toString('hex')));
app.listen(%d, '127.0.0.1');
""" % port
    stage.record(["node", stage.file("app.js", text)], prefix=("env", "NODE_PATH=" + ":".join(modules)))
    warm(stage, port, "javascript")
    get(port, "/login")
    return stage.report()


FRAMEWORKS = {
    "flask_lock": (flask_lock, "lock|wait", r"show_stock", r"compact_store"),
    "django_process": (django_process, "ipc", r"run_converter", None),
    "uvicorn_socket": (uvicorn_socket, "network", r"fetch_rate", None),
    "tomcat_monitor": (tomcat_monitor, "lock", r"Shop\.pay", r"Shop\.countTill"),
    "express_password": (express_password, "cpu", r"checkPassword", None),
}
