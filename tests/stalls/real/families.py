# SPDX-License-Identifier: Apache-2.0
"""families.py - stalls of real families of processes: PostgreSQL, nginx, php-fpm, gunicorn, Apache, a daemon."""
import glob
import os
import shutil
import signal
import subprocess
import tempfile
import time

from stage import PYTHON, Skip, free_port, get, listens, need, wait_for


def need_root():
    if os.getuid() != 0:
        raise Skip("needs root")


# ---- PostgreSQL ----


class Cluster:
    """A server of its own, recorded as the user postgres, and its sessions."""

    def __init__(self, stage, *settings):
        need("psql", "setpriv")
        need_root()
        folders = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
        if not folders:
            raise Skip("PostgreSQL is not installed")
        self.stage, self.folder = stage, tempfile.mkdtemp(prefix="real-postgres-", dir="/var/tmp")
        stage.folders.append(self.folder)
        os.makedirs(stage.spool)
        for path in (stage.folder, self.folder, stage.spool):
            shutil.chown(path, "postgres", "postgres")
        self.data = self.folder + "/data"
        rights = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
        subprocess.run([*rights, folders[-1] + "/initdb", "-N", "-A", "trust", "-D", self.data], check=True, stdout=subprocess.DEVNULL, cwd="/")
        self.port = free_port()
        self.psql = [folders[-1] + "/psql", "-qAtX", "-h", self.folder, "-p", str(self.port), "-U", "postgres"]
        words = [word for setting in ("listen_addresses=", "autovacuum=off", *settings) for word in ("-c", setting)]
        stage.record([folders[-1] + "/postgres", "-D", self.data, "-k", self.folder, "-p", str(self.port), *words], prefix=rights, cwd="/")
        wait_for(lambda: subprocess.run([*self.psql, "-c", "select 1"], capture_output=True, check=False).returncode == 0, 60, "answer of postgres")

    def session(self):
        """One that lives for long enough to be recorded."""
        opened = subprocess.Popen(self.psql, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.stage.processes.append(opened)
        for _ in range(12):
            self.ask(opened, "select 1;")
            time.sleep(0.1)
        return opened

    @staticmethod
    def ask(opened, statement):
        """The first line of the answer; statements without one are followed by one that has."""
        opened.stdin.write(statement + "\n")
        opened.stdin.flush()
        return opened.stdout.readline().strip()


def postgres_sleep(stage):
    cluster = Cluster(stage, "fsync=off")
    cluster.ask(cluster.session(), "select pg_sleep(2);")
    return stage.report()


def postgres_lock(stage):
    cluster = Cluster(stage, "fsync=off")
    keeper, waiter = cluster.session(), cluster.session()
    cluster.ask(keeper, "create table orders (n int); begin; lock table orders; select 1;")
    waiter.stdin.write("select count(*) from orders;\n")
    waiter.stdin.flush()
    time.sleep(2.5)
    cluster.ask(keeper, "commit; select 1;")
    waiter.stdout.readline()
    return stage.report()


def postgres_query(stage):
    cluster = Cluster(stage, "fsync=off", "max_parallel_workers_per_gather=0", "jit=off")
    cluster.ask(cluster.session(), "select count(*) from generate_series(1, 3000) a, generate_series(1, 24000) b where (a * b) % 7 = 3;")
    return stage.report()


def postgres_fsync(stage):
    """Its log of changes lies on a disk whose sync takes 1.5 s."""
    cluster = Cluster(stage, "wal_level=minimal", "max_wal_senders=0", "wal_sync_method=fdatasync", "checkpoint_timeout=1h", "wal_writer_delay=10s")
    folder = stage.slow_disk("--sync-ms", "1500")
    shutil.chown(folder, "postgres", "postgres")
    opened = cluster.session()
    cluster.ask(opened, "create table orders (n int); select pg_switch_wal();")
    cluster.ask(opened, "insert into orders values (0); select 1;")
    segment = cluster.ask(opened, "select pg_walfile_name(pg_current_wal_lsn());")
    path = os.path.join(cluster.data, "pg_wal", segment)
    slow = os.path.join(folder, segment)
    if not os.path.exists(path):
        raise RuntimeError("no log file " + path)
    shutil.copy(path, slow)
    os.chmod(slow, 0o666)
    os.unlink(path)
    os.symlink(slow, path)
    other = cluster.session()
    before = len(stage.reports())
    cluster.ask(other, "insert into orders values (1); select 1;")
    return stage.report(before + 1)


# ---- nginx ----


def nginx(stage, places, head=""):
    need("nginx", "curl")
    need_root()
    port = free_port()
    os.chmod(stage.folder, 0o755)
    settings = stage.file("nginx.conf", f"""
{head}
worker_processes 2; daemon off; pid {stage.folder}/nginx.pid; error_log stderr;
events {{ }}
http {{ access_log off; client_body_temp_path {stage.folder}/b; proxy_temp_path {stage.folder}/p; fastcgi_temp_path {stage.folder}/f;
        uwsgi_temp_path {stage.folder}/u; scgi_temp_path {stage.folder}/s;
        server {{ listen 127.0.0.1:{port}; sendfile off; {places} }} }}
""")
    stage.record(["nginx", "-p", stage.folder, "-c", settings, "-e", "stderr"])
    wait_for(lambda: listens(port), 30, "nginx")
    time.sleep(0.5)
    return port


def nginx_perl(stage):
    """A handler in Perl waits for something."""
    module = "/usr/lib/nginx/modules/ngx_http_perl_module.so"
    if not os.path.exists(module):
        raise Skip("libnginx-mod-http-perl is not installed")
    handler = "perl 'sub { my $r = shift; sleep(2) if $r->uri eq \"/slow\"; $r->send_http_header(\"text/plain\"); $r->print(\"ok\"); return OK; }';"
    port = nginx(stage, f"location / {{ {handler} }}", head=f"load_module {module};")
    for path in ("/", "/", "/", "/", "/slow"):
        get(port, path)
    return stage.report()


# ---- php-fpm, gunicorn ----


def php_loop(stage):
    programs = sorted(glob.glob("/usr/sbin/php-fpm*"))
    if not programs:
        raise Skip("php-fpm is not installed")
    need("cgi-fcgi")
    need_root()
    port = free_port()
    os.chmod(stage.folder, 0o755)
    page = stage.file("page.php", """<?php
function digest($rounds) { $sum = 0; for ($i = 0; $i < $rounds; $i++) { $sum = ($sum * 31 + $i) % 1000003; } return $sum; }
$end = microtime(true) + 2.5;
while (isset($_GET['slow']) && microtime(true) < $end) { digest(100000); }
echo 'by ', getmypid();
""")
    settings = stage.file("fpm.conf", f"[global]\nerror_log = {stage.folder}/error.log\ndaemonize = no\n[www]\nuser = nobody\ngroup = nogroup\n"
                          f"listen = 127.0.0.1:{port}\npm = static\npm.max_children = 2\n")
    stage.record([programs[-1], "-F", "-R", "-y", settings])
    wait_for(lambda: listens(port), 30, "php-fpm")

    def ask(query=""):
        """The worker that answered."""
        environment = {**os.environ, "SCRIPT_FILENAME": page, "REQUEST_METHOD": "GET", "REDIRECT_STATUS": "1", "QUERY_STRING": query}
        answer = subprocess.run(["cgi-fcgi", "-bind", "-connect", f"127.0.0.1:{port}"], env=environment, capture_output=True, check=False,
                                text=True, timeout=60).stdout
        return int(answer.rpartition("by ")[2])
    answers = {}  # of each worker: one that has not come back to accept() has no loop yet, and on a busy machine one may give them all

    def both_are_known():
        """A worker that waited in vain for its recorder has gone on as another user, and is never recorded: its master starts the next."""
        worker = ask()
        answers[worker] = answers.get(worker, 0) + 1
        if answers[worker] >= 5 and not stage.is_recorded(worker):
            os.kill(worker, signal.SIGKILL)
            del answers[worker]
        return len(answers) == 2 and min(answers.values()) >= 5
    wait_for(both_are_known, 60, "answers of both workers")
    ask("slow=1")
    return stage.report()


def gunicorn_hang(stage):
    """A worker hangs until its master ends it."""
    need("gunicorn", "curl")
    port = free_port()
    stage.file("answers.py", "import os\nimport time\n\n\ndef wait_for_stock():\n    while True:\n        time.sleep(0.5)\n\n\ndef app(environ, start):\n"
               "    if environ['PATH_INFO'] == '/hang':\n        wait_for_stock()\n    start('200 OK', [])\n    return [b'%d' % os.getpid()]\n")
    stage.record([PYTHON, shutil.which("gunicorn"), "-w", "2", "-t", "4", "-b", f"127.0.0.1:{port}", "--chdir", stage.folder, "--log-level", "critical",
                  "answers:app"])
    wait_for(lambda: listens(port), 30, "gunicorn")
    answers = {}  # of each worker: on a busy machine one may give them all for a while
    end = time.monotonic() + 30
    while time.monotonic() < end and (len(answers) < 2 or min(answers.values()) < 10):
        worker = get(port, "/")
        answers[worker] = answers.get(worker, 0) + 1
        time.sleep(0.02)
    get(port, "/hang")
    return stage.report()


# ---- Apache ----

def apache_flock(stage):
    """A worker waits for a lock on a file that a sibling holds while a rewrite map's program answers that one."""
    need("apache2", "curl")
    need_root()
    port, modules = free_port(), "/usr/lib/apache2/modules"
    program = stage.file("map", "#!/bin/sh\nwhile read key; do [ \"$key\" = slow ] && sleep 3; echo /page.html; done\n")
    os.chmod(program, 0o755)
    os.chmod(stage.folder, 0o755)
    stage.file("page.html", "x")
    settings = stage.file("apache.conf", f"""
ServerRoot {stage.folder}
ServerName localhost
PidFile {stage.folder}/pid
ErrorLog {stage.folder}/error.log
Listen 127.0.0.1:{port}
Mutex fcntl:{stage.folder} rewrite-map
LoadModule mpm_prefork_module {modules}/mod_mpm_prefork.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule rewrite_module {modules}/mod_rewrite.so
User www-data
Group www-data
StartServers 4
MinSpareServers 4
MaxSpareServers 4
DocumentRoot {stage.folder}
RewriteEngine On
RewriteMap ask "prg:{program}"
RewriteRule ^/(slow|fast)$ ${{ask:$1}} [L]
""")
    os.chmod(stage.folder, 0o777)
    stage.record(["apache2", "-f", settings, "-DFOREGROUND"], start_new_session=True)  # it ends all of its process group
    wait_for(lambda: listens(port), 30, "apache2")
    for _ in range(8):
        get(port, "/page.html")
    time.sleep(1)
    slow = stage.start(["curl", "-s", f"http://127.0.0.1:{port}/slow"])
    time.sleep(0.5)
    get(port, "/fast")
    slow.wait(60)
    stage.report(2)
    return next((report for report in stage.reports() if report["attribution"]["culprit_thread"]), stage.report(2))


# ---- a daemon ----


def redis_daemon(stage):
    """It has put itself into the background, and the command has ended."""
    need("redis-server", "redis-cli")
    port = free_port()
    ended = stage.record(["redis-server", "--port", str(port), "--save", "", "--enable-debug-command", "local", "--dir", stage.folder,
                          "--daemonize", "yes"])
    if ended.wait(60) != 0:
        raise RuntimeError("redis-server did not start")
    wait_for(lambda: listens(port), 30, "redis-server")
    try:
        time.sleep(0.5)
        subprocess.run(["redis-cli", "-p", str(port), "DEBUG", "SLEEP", "2"], stdout=subprocess.DEVNULL, check=True, timeout=60)
        return stage.report()
    finally:
        subprocess.run(["redis-cli", "-p", str(port), "SHUTDOWN", "NOSAVE"], stdout=subprocess.DEVNULL, check=False, timeout=60)


FAMILIES = {
    "postgres_sleep": (postgres_sleep, "sleep", r"^pg_sleep$", None),
    "postgres_lock": (postgres_lock, "lock", r"^LockRelationOid$", None),
    "postgres_query": (postgres_query, "cpu", r"Exec", None),
    "postgres_fsync": (postgres_fsync, "io", r"XLog", None),
    "nginx_perl": (nginx_perl, "sleep", r"[Pp]erl", None),
    "php_loop": (php_loop, "cpu", r"execute|zend|php", None),
    "gunicorn_hang": (gunicorn_hang, "sleep", r"wait_for_stock", None),
    "apache_flock": (apache_flock, "lock|io", r"ap_run_translate_name", r"ap_run_translate_name"),
    "redis_daemon": (redis_daemon, "sleep", r"debugCommand", None),
}
