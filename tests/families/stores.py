# SPDX-License-Identifier: Apache-2.0
"""stores.py - databases that fork: PostgreSQL, redis with its savers."""
import glob
import os
import re
import shutil
import signal
import socket
import subprocess

from stage import Skip, children_of, command_of, is_alive, need, need_root, wait_for

# ---- PostgreSQL ----

CLUSTER = {}  # one that both runs begin with


def postgres_programs():
    folders = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    if not folders:
        raise Skip("PostgreSQL is not installed")
    return folders[-1]


def cluster(stage, binaries):
    """A copy of a cluster that was made once."""
    if "folder" not in CLUSTER:
        CLUSTER["folder"] = stage.folder + "-cluster"
        os.mkdir(CLUSTER["folder"])
        shutil.chown(CLUSTER["folder"], "postgres", "postgres")
        subprocess.run(["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", binaries + "/initdb", "-N", "-A", "trust", "-D", CLUSTER["folder"]],
                       check=True, stdout=subprocess.DEVNULL, cwd="/")
    subprocess.run(["cp", "-a", CLUSTER["folder"], stage.folder + "/data"], check=True)


def postgres(stage):
    binaries = postgres_programs()
    need("setpriv", "psql")
    need_root()
    port = stage.port()
    stage.own("postgres")
    cluster(stage, binaries)
    psql = [binaries + "/psql", "-X", "-h", stage.folder, "-p", str(port), "-U", "postgres", "-v", "VERBOSITY=terse"]

    def start():
        process = stage.start([binaries + "/postgres", "-D", stage.folder + "/data", "-k", stage.folder, "-p", str(port), "-c", "listen_addresses=",
                               "-c", "fsync=off", "-c", "restart_after_crash=on", "-c", "log_line_prefix=%b ", "-c", "log_min_messages=log",
                               "-c", "autovacuum=off"], cwd="/")
        wait_for(lambda: subprocess.run([binaries + "/pg_isready", "-q", "-h", stage.folder, "-p", str(port)], check=False).returncode == 0,
                 "answer of postgres")
        return process

    def ask(what, *statements):
        stage.run(what, psql + [word for statement in statements for word in ("-c", statement)])

    def session(statement):
        """A session that has answered once and stays."""
        opened = subprocess.Popen(psql + ["-qAt"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        stage.processes.append(opened)
        opened.stdin.write(statement + "\n")
        opened.stdin.flush()
        return opened, opened.stdout.readline().strip()

    def close(what, opened, text):
        """What the server said to it, and not how psql puts it into words: that hangs on whether it has read that already."""
        said = re.sub(r"\d{4,}", "NUMBER", opened.communicate(text, timeout=60)[0]).split("\n")
        stage.say(what, *[line for line in said if "with payload" in line or "administrator" in line or not re.search("server|WARNING|before or while processing", line)])

    process = start()
    master = stage.main_pid(process)
    ask("tables", "create table a (i int primary key, t text)", "insert into a select i, repeat('x', 50) from generate_series(1, 20000) i",
        "select count(*), sum(length(t)) from a", "copy (select * from a where i < 4) to stdout")
    ask("many processes for one statement", "set max_parallel_workers_per_gather = 2; set parallel_setup_cost = 0; set min_parallel_table_scan_size = 0;"
        " select count(*) from a x join a y using (t) where x.i < 40")
    ask("an error", "select 1 / 0", "select nothing from nowhere")
    ask("a time-out", "set statement_timeout = 200; select pg_sleep(30)")
    ask("a waiter that gives up", "set lock_timeout = 100; begin; lock a; select 1; commit")
    stage.run("what a bench says", ["sh", "-c", f"{binaries}/pgbench -i -q -s 1 -h {stage.folder} -p {port} -U postgres postgres >{stage.folder}/init 2>&1; echo $?;"
               f"{binaries}/pgbench -n -c 4 -t 50 -h {stage.folder} -p {port} -U postgres postgres 2>&1 | grep -E 'processed|failed'"])
    keeper, pid = session("select pg_backend_pid();")
    stage.watch(master)
    stage.watch(int(pid))
    listener, _ = session("listen news; select 1;")
    ask("a notice to another", "notify news, 'hello'")
    close("who listened", listener, "select 2;\n")
    victim, pid = session("select pg_backend_pid();")
    os.kill(int(pid), signal.SIGTERM)
    wait_for(lambda: not is_alive(pid), "end of a session")
    close("a session that was ended", victim, "select 3;\n")
    victim, pid = session("select pg_backend_pid();")
    stage.watch(int(pid))
    old = children_of(master)
    os.kill(int(pid), signal.SIGSEGV)  # all sessions end, and the database recovers
    wait_for(lambda: not set(old) & set(children_of(master)), "recovery")
    wait_for(lambda: subprocess.run([binaries + "/pg_isready", "-q", "-h", stage.folder, "-p", str(port)], check=False).returncode == 0, "answer")
    close("a session that crashed", victim, "select 4;\n")
    close("one beside it", keeper, "select 5;\n")
    ask("after that", "select count(*) from a")
    for how, number in (("smart", signal.SIGTERM), ("fast", signal.SIGINT), ("immediate", signal.SIGQUIT)):
        last, _ = session("select 6;")
        os.kill(stage.main_pid(process), number)
        if how == "smart":  # waits for sessions
            wait_for(lambda: "smart shutdown" in open(stage.folder + "/out", encoding="utf-8").read(), "word of it")
            stage.say("smart shutdown waits", process.poll())
            close("its last session", last, "select 7;\n")
        stage.say(how, f"status {process.wait(60)}")
        if how != "smart":
            close("its last session", last, "select 8;\n")
        process = start()
    stage.watch(stage.main_pid(process))
    ask("in the end", "select count(*) from a")
    stage.end("end", process, signal.SIGINT)
    stage.log("log", stage.folder + "/out", drop="shared memory|Broken pipe|redo|invalid record|invalid magic number|unexpected pageaddr|checkpoint|last known up|FATAL:  the database system is|received fast shutdown.*again",
              once=True, pid=r"(?<=PID )\d+|\(PID \d+\)", time=r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d( UTC)?", age=r"\d+\.\d+ s")
    stage.expected = ["died by SIGSEGV"]


# ---- redis ----


def redis(stage):
    program, client = need("redis-server", "redis-cli")
    port = stage.port()
    log = stage.folder + "/log"
    process = stage.start([program, "--port", str(port), "--dir", stage.folder, "--save", "", "--appendonly", "yes", "--logfile", log,
                           "--enable-debug-command", "yes", "--rdb-key-save-delay", "0"])

    def ask(*words):
        return subprocess.run([client, "-p", str(port), *words], capture_output=True, text=True, check=False, timeout=60).stdout.strip()

    def saved():
        """That the saver has ended, and how."""
        wait_for(lambda: "rdb_bgsave_in_progress:0" in ask("INFO", "persistence") and "aof_rewrite_in_progress:0" in ask("INFO", "persistence"),
                 "end of the saver")
        return [line.strip() for line in ask("INFO", "persistence").splitlines() if "_status:" in line]
    wait_for(lambda: ask("PING") == "PONG", "answer of redis")
    master = stage.main_pid(process)
    stage.watch(master)
    stage.say("filled", ask("DEBUG", "POPULATE", "100000", "key", "40"), ask("SET", "one", "1"))
    before = ask("DEBUG", "DIGEST")
    for way in ("BGSAVE", "BGREWRITEAOF"):
        stage.say(way, ask(way), *saved(), os.path.getsize(glob.glob(stage.folder + "/dump.rdb")[0]))
    ask("CONFIG", "SET", "rdb-key-save-delay", "1000")
    stage.say("a long save", ask("BGSAVE"))
    saver = wait_for(lambda: children_of(master), "saver")[0]
    stage.say("writes meanwhile", *[ask("SET", f"k{i}", "v") for i in range(20)], command_of(saver).split()[0])
    stage.watch(saver)  # one that is killed while its recorder begins leaves a file for the next companion
    os.kill(saver, signal.SIGKILL)
    stage.say("its saver is killed", *saved())
    stage.say("a long save again", ask("BGSAVE"))
    saver = wait_for(lambda: children_of(master), "saver")[0]
    stage.watch(saver)
    os.kill(saver, signal.SIGUSR1)  # how redis itself ends it
    stage.say("its saver is asked to end", *saved())
    ask("CONFIG", "SET", "rdb-key-save-delay", "0")
    stage.say("last save", ask("BGSAVE"), *saved())
    stage.say("keys", ask("DBSIZE"), len(before), ask("DEBUG", "RELOAD"), ask("DEBUG", "DIGEST") == ask("DEBUG", "DIGEST"))
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"PING\r\n")
        stage.say("answer", connection.recv(100).decode().strip())
    stage.say("forks", re.findall(r"total_forks:\d+", ask("INFO", "stats")))
    stage.end("end", process)
    stage.log("log", log, drop=r"Received SIGUSR1 in child|MB|RDB age|maximum|Increased|Done loading|keys loaded|memory|Redis version|THP|DB loaded|pid=|PID:|^\s*$|_\._|Port:|DB saved on",
              once=True, time=r"\d+:\w \d+ \w{3} \d{4} [\d:.]+", pid=r"(?<=pid )\d+|\b\d+(?=:)|\(\d{6,}\)", age=r"\d+\.\d+ seconds", file=r"\d+\.(base|incr)\.\w+|temp-\S+")


FAMILIES = {"postgres": postgres, "redis": redis}
