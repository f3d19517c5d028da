# SPDX-License-Identifier: Apache-2.0
"""web.py - web servers with workers: nginx, haproxy, Apache, php-fpm, gunicorn."""
import http.client
import os
import shutil
import signal
import subprocess
import threading
import time

from stage import Skip, children_of, is_alive, listens, need, need_root, wait_for

# Time stamps, process ids and addresses of clients, as the four of them write them.
STAMPS = {
    "time": r"\d{4}[-/]\d\d[-/]\d\d \d\d:\d\d:\d\d|\[\w{3} \w{3} \d\d \d\d:\d\d:\d\d[.\d]* \d{4}\]|\[\d\d-\w{3}-\d{4} \d\d:\d\d:\d\d\]|\[[-\d]+ [:\d]+ [+]0000\]",
    "pid": r"\b(?<=pid )\d+|\d+#\d+|\[pid \d+(:tid \d+)?\]|(?<=process )\d+|(?<=child )\d+|(?<=\(pid: )\d+|(?<=pid:)\d+|(?<=\[)\d+(?=\] \[)|(?<=pid: )\d+|(?<=received from )\d+|(?<=:PORT \()\d+",
    "age": r"\b\d+\.\d+ sec(onds)?",
}


def fetch(port, path="/", connection=None):
    """Status and body of an answer."""
    own = connection or http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    own.request("GET", path)
    answer = own.getresponse()
    body = answer.read().decode(errors="replace")
    if connection is None:
        own.close()
    return f"{answer.status} {len(body)} {body[:60].strip()}"


def is_served(port):
    try:
        return fetch(port).startswith("200")
    except (OSError, http.client.HTTPException):
        return False


def load(stage, what, port, path="/", clients=4, requests=50, keep=True):
    """So many requests of so many clients at the same time: how many answers there were of each sort."""
    answers, lock = {}, threading.Lock()

    def ask():
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30) if keep else None
        for _ in range(requests):
            try:
                answer = fetch(port, path, connection)
            except (OSError, http.client.HTTPException) as error:
                answer = type(error).__name__
            with lock:
                answers[answer] = answers.get(answer, 0) + 1
    threads = [threading.Thread(target=ask) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stage.say(what, sorted(answers.items()))


def replaced(parent, old, count):
    """The children of `parent`, once none of `old` is among them and there are `count`."""
    def look():
        now = children_of(parent)
        return now if len(now) == count and not set(now) & set(old) else None
    return wait_for(look, "new workers")


def kill_one(parent, victim, number, count):
    """One worker dies; the family is `count` again afterwards."""
    os.kill(victim, number)
    wait_for(lambda: not is_alive(victim) and len(children_of(parent)) == count, "successor of a worker")


# ---- nginx ----


def nginx(stage):
    program = need("nginx")
    need_root()
    port = stage.port()
    stage.file("page.html", "x" * 30000)
    handed_on = " ".join(f"env {name};" for name in ("LD_PRELOAD", "STALLBOX_AUTOSTART", "STALLBOX_SPOOL", "STALLBOX_RECORDINGS", "STALLBOX_ORDERS"))
    settings = stage.file("nginx.conf", f"""
{handed_on}
worker_processes 4; user www-data; pid {stage.folder}/pid; error_log {stage.folder}/error.log notice;
events {{ worker_connections 64; }}
http {{ log_format short '$request $status $body_bytes_sent'; access_log {stage.folder}/access.log short;
        client_body_temp_path {stage.folder}/b; proxy_temp_path {stage.folder}/p; fastcgi_temp_path {stage.folder}/f;
        uwsgi_temp_path {stage.folder}/u; scgi_temp_path {stage.folder}/s; root {stage.folder};
        server {{ listen 127.0.0.1:{port}; location = / {{ return 200 "served\\n"; }} location /page.html {{ }} }} }}
""")
    command = [program, "-p", stage.folder, "-c", settings, "-e", stage.folder + "/error.log"]
    stage.say("start", f"status {stage.start(command).wait(60)}")
    wait_for(lambda: is_served(port), "answer of nginx")
    master = stage.daemon("pid")
    workers = wait_for(lambda: len(children_of(master)) == 4 and children_of(master), "workers")
    stage.watch(master)
    stage.watch_any(*workers)
    load(stage, "answers", port, "/page.html")
    stage.run("settings", command + ["-t"])
    stage.run("reload", command + ["-s", "reload"])
    workers = replaced(master, workers, 4)
    load(stage, "answers after a reload", port, "/page.html")
    victim = stage.watch_any(*workers)
    kill_one(master, victim, signal.SIGSEGV, 4)
    kill_one(master, next(worker for worker in workers if worker != victim), signal.SIGKILL, 4)
    load(stage, "answers after two deaths", port)
    os.rename(stage.folder + "/access.log", stage.folder + "/access.log.1")
    stage.run("reopen", command + ["-s", "reopen"])
    wait_for(lambda: os.path.exists(stage.folder + "/access.log"), "new log")
    workers = children_of(master)
    os.kill(master, signal.SIGUSR2)
    heir = stage.daemon("pid", but=master)
    stage.watch_any(*wait_for(lambda: len(children_of(heir)) == 4 and children_of(heir), "successor's workers"))
    os.kill(master, signal.SIGWINCH)
    wait_for(lambda: not any(is_alive(worker) for worker in workers), "end of the old workers")
    load(stage, "answers of the successor", port, "/page.html", keep=False)
    os.kill(master, signal.SIGQUIT)
    wait_for(lambda: not is_alive(master), "end of the first one")
    load(stage, "answers without the first", port, keep=False)
    os.kill(heir, signal.SIGQUIT)
    wait_for(lambda: not is_alive(heir), "end of the successor")
    stage.log("access", stage.folder + "/access.log", drop="GET / ")
    stage.log("error", stage.folder + "/error.log", drop=r"signal 29 \(SIGIO\)|signal 17 \(SIGCHLD\)|using inherited|open socket", once=True, **STAMPS)
    stage.expected = ["died by SIGSEGV"]


# ---- haproxy ----


def haproxy(stage):
    """A master that puts itself into its own place at each reload, and a worker with threads that changes its root and its user."""
    program = need("haproxy")
    need_root()
    port = stage.port()
    os.mkdir(stage.folder + "/empty")
    settings = stage.file("haproxy.cfg", f"""
global
    user nobody
    group nogroup
    nbthread 2
    chroot {stage.folder}/empty
defaults
    mode http
    timeout connect 30s
    timeout client 30s
    timeout server 30s
frontend front
    bind 127.0.0.1:{port}
    http-request return status 200 content-type text/plain string "served" if {{ path / }}
    default_backend nowhere
backend nowhere
""")
    process = stage.start([program, "-W", "-db", "-f", settings])
    wait_for(lambda: is_served(port), "answer of haproxy")
    master = stage.main_pid(process)
    workers = wait_for(lambda: len(children_of(master)) == 1 and children_of(master), "worker")
    stage.watch(master)
    stage.watch_any(*workers)
    load(stage, "answers", port)
    load(stage, "errors", port, "/nothing", requests=5)

    def reload(seen):
        """A worker that was not there. The old one leaves when it likes. Bare or recorded, a master that has just begun may miss the signal."""
        asked = 0
        def look():
            nonlocal asked
            if time.monotonic() - asked > 5:
                os.kill(master, signal.SIGUSR2)
                asked = time.monotonic()
            return [pid for pid in children_of(master) if pid not in seen]
        return wait_for(look, "new worker")
    seen = set()
    for turn in ("a reload", "another"):
        seen |= set(children_of(master))
        workers = reload(seen)
        wait_for(lambda: is_served(port), "answer after a reload")
        stage.watch(master)  # it called exec of itself
        stage.watch_any(*workers)
        load(stage, "answers after " + turn, port, keep=False)
    with open(f"/proc/{workers[0]}/status", encoding="utf-8") as file:
        stage.say("rights", *[line.split() for line in file if line.startswith(("Uid", "Gid", "Groups", "CapEff", "CapPrm", "SigIgn"))])
    stage.say("root", os.readlink(f"/proc/{workers[0]}/root"))
    stage.run("settings", [program, "-c", "-f", settings])
    stage.end("end", process)
    stage.log("log", stage.folder + "/out", pid=r"(?<=\()\d+(?=\))", count=r"(?<=[FB]E: )\d+",
              drop="Former worker|Proxy .* stopped", once=True)


# ---- Apache ----


def apache(stage, module, more):
    program = need("apache2")
    need_root()
    port, modules = stage.port(), "/usr/lib/apache2/modules"
    stage.file("page.html", "x" * 3000)
    stage.file("again.sh", "#!/bin/sh\nprintf 'Content-Type: text/plain\\r\\n\\r\\n'\nenv | sed 's/=.*//' | grep -E 'LD_|STALLBOX' | sort | xargs\n", 0o755)
    settings = stage.file("apache.conf", f"""
ServerRoot {stage.folder}
ServerName localhost
PidFile {stage.folder}/pid
ErrorLog {stage.folder}/error.log
LogFormat "%r %>s %B" short
Listen 127.0.0.1:{port}
LoadModule mpm_{module}_module {modules}/mod_mpm_{module}.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule cgi_module {modules}/mod_cgi{'d' if module == 'event' else ''}.so
{f'ScriptSock {stage.folder}/cgisock' if module == 'event' else ''}
User www-data
Group www-data
DocumentRoot {stage.folder}
CustomLog {stage.folder}/access.log short
KeepAliveTimeout 1
GracefulShutdownTimeout 20
{more}
<Files again.sh>
  SetHandler cgi-script
  Options +ExecCGI
</Files>
""").replace("cgid_module", "cgi_module")
    if module == "event":
        with open(settings, encoding="utf-8") as file:
            text = file.read().replace("LoadModule cgi_module", "LoadModule cgid_module")
        stage.file("apache.conf", text)
    command = [program, "-f", settings]
    process = stage.start(command + ["-DFOREGROUND"])
    wait_for(lambda: listens(port), "answer of Apache")
    master = stage.main_pid(process)
    workers = wait_for(lambda: len(children_of(master)) >= 3 and children_of(master), "workers")
    load(stage, "answers", port, "/page.html")
    stage.watch(master)
    stage.watch_any(*workers)
    stage.say("a script's environment", fetch(port, "/again.sh").replace("/nothing", ""))
    stage.run("settings", command + ["-t"])
    stage.run("graceful", command + ["-k", "graceful"])
    wait_for(lambda: not set(children_of(master)) & set(workers), "new workers")
    load(stage, "answers after a graceful restart", port, "/page.html", keep=False)
    # `answers`: the crash of one whose recorder is just beginning is nobody's news.
    victim = stage.watch_any(*wait_for(lambda: len(children_of(master)) >= 3 and children_of(master), "workers"), answers=True)
    # The line of a request is written behind its answer: a worker that dies in between has answered one that no line tells of.
    wait_for(lambda: open(stage.folder + "/access.log", encoding="utf-8").read().count("/page.html") == 400, "its log")
    os.kill(victim, signal.SIGSEGV)
    wait_for(lambda: "exit signal Segmentation fault" in open(stage.folder + "/error.log", encoding="utf-8").read(), "word of it")
    load(stage, "answers after a death", port, "/page.html", keep=False)
    stage.run("graceful-stop", command + ["-k", "graceful-stop"])
    stage.say("end", f"status {process.wait(60)}")
    stage.log("access", stage.folder + "/access.log", drop="again.sh")
    stage.log("error", stage.folder + "/error.log", drop="AH00170.*caught SIGWINCH, shutting down gracefully.*again", once=True, **STAMPS)
    stage.expected = ["died by SIGSEGV"]


def apache_prefork(stage):
    apache(stage, "prefork", "StartServers 3\nMinSpareServers 3\nMaxSpareServers 8\nMaxRequestWorkers 8")


def apache_event(stage):
    apache(stage, "event", "StartServers 3\nServerLimit 6\nThreadsPerChild 8\nMinSpareThreads 24\nMaxSpareThreads 48\nMaxRequestWorkers 48")


# ---- php-fpm ----


def ask_fpm(stage, port, script, **more):
    environment = {**os.environ, "SCRIPT_FILENAME": script, "REQUEST_METHOD": "GET", "REDIRECT_STATUS": "1", **more}
    done = subprocess.run(["cgi-fcgi", "-bind", "-connect", f"127.0.0.1:{port}"], env=environment, capture_output=True, text=True, check=False,
                          timeout=60)
    return stage.plain(done.stdout.replace("\r", "").replace("\n", " ").strip())


def php_fpm(stage):
    import glob
    programs = sorted(glob.glob("/usr/sbin/php-fpm*"))
    if not programs:
        raise Skip("php-fpm is not installed")
    need("cgi-fcgi")
    need_root()
    port = stage.port()
    page = stage.file("page.php", "<?php echo 'user ', posix_getpwuid(posix_geteuid())['name'] ?? '?';")
    hangs = stage.file("hangs.php", "<?php while (true) { usleep(50000); }")
    # Without process_control_timeout its master kills, a second after it asked, what has not ended yet.
    settings = stage.file("fpm.conf", f"""[global]
error_log = {stage.folder}/error.log
daemonize = no
process_control_timeout = 60s
[www]
user = nobody
group = nogroup
listen = 127.0.0.1:{port}
pm = static
pm.max_children = 2
pm.max_requests = 10
request_terminate_timeout = 2s
""")
    process = stage.start([programs[-1], "-F", "-R", "-y", settings])
    wait_for(lambda: listens(port), "answer of php-fpm")
    master = stage.main_pid(process)
    for _ in range(4):
        stage.say("answer", ask_fpm(stage, port, page))
    workers = wait_for(lambda: len(children_of(master)) == 2 and children_of(master), "workers")
    stage.watch(master)
    stage.watch_any(*workers)
    for _ in range(30):  # more than both may answer
        ask_fpm(stage, port, page)
    wait_for(lambda: len(children_of(master)) == 2 and not set(children_of(master)) & set(workers), "workers' successors")
    stage.say("an answer that never comes", ask_fpm(stage, port, hangs))
    stage.say("answer", ask_fpm(stage, port, page))
    victim = wait_for(lambda: len(children_of(master)) == 2 and children_of(master), "workers")
    kill_one(master, victim[-1], signal.SIGKILL, 2)  # the younger: the other may be ending by itself, after ten requests
    old = children_of(master)
    os.kill(master, signal.SIGUSR2)  # executes itself anew
    wait_for(lambda: len(children_of(master)) == 2 and not set(children_of(master)) & set(old), "workers after a reload")
    stage.watch(master)
    stage.say("answer after a reload", ask_fpm(stage, port, page))
    stage.end("end", process, signal.SIGQUIT)
    stage.log("error", stage.folder + "/error.log", drop="NOTICE: .pool www. child|started", once=True, **STAMPS)
    stage.expected = ["usleep"]  # the hang, which its master ended


# ---- gunicorn ----

APPLICATION = """
import os, signal, time
def app(environ, start):
    path = environ['PATH_INFO']
    if path == '/hang': time.sleep(100)
    if path == '/exit': os._exit(5)
    body = b'x' * 2000 if path == '/long' else b'by %d' % os.getpid() if path == '/who' else b'ok'
    start('200 OK', [('Content-Length', str(len(body)))])
    return [body]
"""


def gunicorn(stage, kind, *more):
    program = need("gunicorn", "/usr/bin/python3")[0]
    port = stage.port()
    stage.borne = r"^killed: "  # its master ends workers that take their time, as they do on a busy machine
    stage.file("shop.py", APPLICATION)
    process = stage.start(["/usr/bin/python3", program, "-k", kind, "-w", "2", "-b", f"127.0.0.1:{port}", "--chdir", stage.folder, "-t", "3",
                           "--graceful-timeout", "5", "-p", stage.folder + "/pid", "--log-file", stage.folder + "/error.log",
                           "--access-logfile", stage.folder + "/access.log", "--access-logformat", "%(r)s %(s)s %(B)s", *more, "shop:app"],
                          env={"PYTHONDONTWRITEBYTECODE": "1"})
    wait_for(lambda: is_served(port), "answer of gunicorn")
    master = stage.main_pid(process)
    workers = wait_for(lambda: len(children_of(master)) == 2 and children_of(master), "workers")
    load(stage, "answers", port, "/long", keep=False)
    stage.watch(master)
    stage.watch_any(*workers)
    os.kill(master, signal.SIGHUP)
    workers = replaced(master, workers, 2)
    load(stage, "answers after a reload", port, "/long", keep=False)
    os.kill(master, signal.SIGTTIN)
    wait_for(lambda: len(children_of(master)) == 3, "a third worker")
    os.kill(master, signal.SIGTTOU)
    wait_for(lambda: len(children_of(master)) == 2, "two workers")
    if kind == "sync":  # a worker that hangs is ended by its master. It is to be one that has worked before: a loop is judged from its second turn on
        answers = {}

        def all_have_worked():
            worker = int(fetch(port, "/who").rpartition("by ")[2])
            answers[worker] = answers.get(worker, 0) + 1
            return all(answers.get(child, 0) >= 3 for child in children_of(master))
        wait_for(all_have_worked, "answers of both workers")
        stage.watch(*children_of(master))
        try:
            stage.say("an answer that never comes", fetch(port, "/hang"))
        except (OSError, http.client.HTTPException) as error:
            stage.say("an answer that never comes", type(error).__name__)
        wait_for(lambda: len(children_of(master)) == 2 and is_served(port), "its successor")
        stage.expected = [r"slept .* in app \(shop.py:5\)"]
    try:
        stage.say("a worker that ends in an answer", fetch(port, "/exit"))
    except (OSError, http.client.HTTPException) as error:
        stage.say("a worker that ends in an answer", type(error).__name__)
    wait_for(lambda: len(children_of(master)) == 2 and is_served(port), "its successor")
    load(stage, "answers after that", port, keep=False)
    os.kill(master, signal.SIGUSR2)
    heir = stage.daemon("pid.2")
    stage.watch(heir)
    stage.watch_any(*wait_for(lambda: len(children_of(heir)) == 2 and children_of(heir), "successor's workers"))
    os.kill(master, signal.SIGTERM)
    stage.say("the first one's end", f"status {process.wait(60)}")
    wait_for(lambda: is_served(port), "answer of the successor")
    load(stage, "answers of the successor", port, keep=False)
    os.kill(heir, signal.SIGTERM)
    wait_for(lambda: not is_alive(heir), "end of the successor")
    stage.log("access", stage.folder + "/access.log", drop="GET /(who)? ")
    stage.log("error", stage.folder + "/error.log", drop="Booting worker|Worker exiting|Handling signal: ttou|SIGKILL|due to signal 15", once=True, **STAMPS)


def gunicorn_sync(stage):
    gunicorn(stage, "sync")


def gunicorn_gthread(stage):
    gunicorn(stage, "gthread", "--threads", "4")


def gunicorn_gevent(stage):
    if shutil.which("gunicorn") and subprocess.run(["/usr/bin/python3", "-c", "import gevent"], capture_output=True, check=False).returncode != 0:
        raise Skip("python3-gevent is not installed")
    gunicorn(stage, "gevent")


FAMILIES = {
    "nginx": nginx, "apache_prefork": apache_prefork, "apache_event": apache_event, "php_fpm": php_fpm, "gunicorn_sync": gunicorn_sync,
    "gunicorn_gthread": gunicorn_gthread, "gunicorn_gevent": gunicorn_gevent, "haproxy": haproxy,
}
