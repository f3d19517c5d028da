# SPDX-License-Identifier: Apache-2.0
"""postgres_alone - a PostgreSQL of a benchmark's own, in a folder of its own, on loopback; and a store of SQLite's copied into one.

It is started as Debian has it, fsync on, and as nobody where root runs it, because PostgreSQL refuses to be root."""
import os
import shutil
import signal
import sqlite3
import subprocess
import time

from served_programs import free_port, postgres_folder

TICKS = os.sysconf("SC_CLK_TCK")


def has_postgres():
    return bool(postgres_folder())


def run_ns(pid):
    """Processor time of a process, all its threads, in nanoseconds."""
    total = 0
    for thread in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/schedstat" % (pid, thread)) as file:
            total += int(file.read().split()[0])
    return total


def children_of(pid):
    found = []
    for thread in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/children" % (pid, thread)) as file:
            found += [int(child) for child in file.read().split()]
    return found


def processor_s(pid):
    """Of a process and its children: those that live, and those that ended and were waited for (by ticks)."""
    total = 0.0
    try:
        with open("/proc/%d/stat" % pid) as file:
            fields = file.read().rsplit(")", 1)[1].split()
        total = run_ns(pid) / 1e9 + (int(fields[13]) + int(fields[14])) / TICKS
        for child in children_of(pid):
            total += processor_s(child)
    except (OSError, IndexError):
        pass  # it ended meanwhile
    return total


def memory_mb(pid):
    """Proportional bytes of a process and its descendants: what is shared counts once."""
    kilobytes, waiting = 0, [pid]
    while waiting:
        one = waiting.pop()
        try:
            with open("/proc/%d/smaps_rollup" % one) as file:
                kilobytes += sum(int(line.split()[1]) for line in file if line.startswith("Pss:"))
            waiting += children_of(one)
        except (OSError, ValueError):
            pass
    return kilobytes / 1024


class Postgres:
    """`folder` is made where it is missing, and used again where it is there. `settings`: NAME=VALUE."""

    def __init__(self, folder, *settings):
        self.folder, self.programs = folder, postgres_folder()
        data = os.path.join(folder, "data")
        who = {}
        os.makedirs(folder, exist_ok=True)
        if os.getuid() == 0:
            who = {"user": "nobody", "group": "nogroup", "extra_groups": []}
            shutil.chown(folder, "nobody", "nogroup")
            for each in (folder, os.path.dirname(folder)):
                os.chmod(each, 0o755)
        self.log = open(os.path.join(folder, "log"), "ab")
        if not os.path.exists(os.path.join(data, "PG_VERSION")):
            subprocess.run([self.programs + "/initdb", "-D", data, "-U", "stallbox", "-A", "trust", "-E", "UTF8", "--locale=C"], check=True,
                           stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, cwd=folder, **who)
        port = free_port()
        self.server = "postgresql://stallbox@127.0.0.1:%d" % port
        self.url = self.server + "/stalls"
        options = ["listen_addresses=127.0.0.1", "unix_socket_directories=" + folder, "port=%d" % port, "max_connections=200"] + list(settings)
        self.process = subprocess.Popen([self.programs + "/postgres", "-D", data] + [word for each in options for word in ("-c", each)],
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, cwd=folder, **who)
        for _ in range(600):
            if subprocess.run([self.programs + "/pg_isready", "-q", "-d", self.server + "/postgres"], check=False).returncode == 0:
                break
            if self.process.poll() is not None:
                raise RuntimeError("PostgreSQL does not start: %s/log" % folder)
            time.sleep(0.1)
        if not sql(self.server + "/postgres", "SELECT 1 FROM pg_database WHERE datname = 'stalls'"):
            sql(self.server + "/postgres", "CREATE DATABASE stalls")

    def processor_s(self):
        return processor_s(self.process.pid)

    def memory_mb(self):
        return memory_mb(self.process.pid)

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
        self.log.close()


def sql(url, *statements):
    """Their rows, each a list of texts."""
    text = "SET client_min_messages = warning; SET search_path = stallbox, public;\n" + ";\n".join(statements) + ";\n"
    out = subprocess.run([postgres_folder() + "/psql", "-X", "-q", "-A", "-t", "-F", "\t", "-v", "ON_ERROR_STOP=1", url], input=text, text=True,
                         capture_output=True, check=False)
    if out.returncode != 0:
        raise RuntimeError(out.stderr.strip())
    return [line.split("\t") for line in out.stdout.splitlines()]


# ---- a store of SQLite's, copied ----

OWN = ("version", "sums_begin", "sum_day")  # what the database has beside the store's rows


def column_sql(name, kind):
    """One value as a field of COPY's text, in SQLite's words."""
    if kind == "bytea":
        text = "'\\\\x' || hex(\"%s\")" % name
    elif kind == "text":
        text = "replace(replace(replace(replace(\"%s\", '\\', '\\\\'), char(9), '\\t'), char(10), '\\n'), char(13), '\\r')" % name
    else:
        text = '"%s"' % name
    return "COALESCE(%s, '\\N')" % text


def copy_store(path, url, tell=lambda what: None):
    """All rows of store.db into the tables that a server made in `url`, which are empty. Triggers do not see them: what they count comes
    with the rows. Indexes that are no keys are made anew afterwards."""
    db = sqlite3.connect(path)
    tables = [row[0] for row in sql(url, "SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'stallbox'::regnamespace AND c.relkind IN"
                                         " ('r', 'p') AND NOT c.relispartition ORDER BY 1")]
    theirs = {row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    tables = [table for table in tables if table in theirs and table not in OWN]
    days = [row[0] for row in db.execute("SELECT DISTINCT day FROM fact WHERE day >= 0")]
    indexes = sql(url, "SELECT i.indexrelid::regclass, pg_get_indexdef(i.indexrelid) FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid"
                       " WHERE c.relnamespace = 'stallbox'::regnamespace AND c.relkind = 'r' AND NOT c.relispartition AND NOT i.indisunique")
    sql(url, *(["SELECT open_day(%d)" % day for day in days] + ["DROP INDEX %s" % name for name, _ in indexes]))
    for table in tables:
        begin = time.monotonic()
        columns = sql(url, "SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = 'stallbox' AND table_name ="
                           " '%s' ORDER BY ordinal_position" % table)
        have = {row[1] for row in db.execute("PRAGMA table_info(%s)" % table)}
        columns = [(name, kind) for name, kind in columns if name in have]
        psql = subprocess.Popen([postgres_folder() + "/psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", url, "-c",
                                 "SET session_replication_role = replica", "-c", "COPY stallbox.%s(%s) FROM STDIN" % (
                                     table, ", ".join('"%s"' % name for name, _ in columns))], stdin=subprocess.PIPE, text=True)
        rows = 0
        line = " || char(9) || ".join(column_sql(name, kind) for name, kind in columns) + " || char(10)"
        for row in db.execute("SELECT %s FROM %s" % (line, table)):
            psql.stdin.write(row[0])
            rows += 1
        psql.stdin.close()
        if psql.wait() != 0:
            raise RuntimeError("%s was not copied" % table)
        tell("%s: %d rows in %.1f s" % (table, rows, time.monotonic() - begin))
    sql(url, *[definition for _, definition in indexes])
    for table, column in sql(url, "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'stallbox' AND is_identity ="
                                  " 'YES'"):
        sql(url, "SELECT setval(pg_get_serial_sequence('stallbox.%s', '%s'), COALESCE(MAX(%s), 0) + 1) FROM %s" % (table, column, column, table))
    sql(url, "VACUUM ANALYZE")  # as the database's own would have, had the stalls come one by one
    db.close()
