# SPDX-License-Identifier: Apache-2.0
"""served_programs - servers as the benchmarks start them: what is on the command line, and the files they want."""
import glob
import os
import socket
import subprocess

REDIS_SCRIPT = (
    "local k=KEYS[1] local n=redis.call('incr','n:'..k) redis.call('zadd','z:'..k,n%100,'m'..(n%50)) "
    "redis.call('lpush','l:'..k,n) redis.call('ltrim','l:'..k,0,49) redis.call('hset','h:'..k,'f'..(n%20),n) "
    "return #redis.call('zrangebyscore','z:'..k,10,60)+#redis.call('lrange','l:'..k,0,9)")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def redis(port, folder):
    return ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder,
            "--loglevel", "warning"]


def nginx(port, folder, workers=0):
    """Serves /1-KB-file and /1-MB-file from one process, or from so many workers of a master's, each with a recording of its own."""
    os.mkdir(os.path.join(folder, "files"))
    for name, size in (("1-KB-file", 1024), ("1-MB-file", 1 << 20)):
        with open(os.path.join(folder, "files", name), "wb") as out:
            out.write(b"stallbox" * (size // 8))
    temporary = "".join("%s_temp_path %s;" % (kind, folder) for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    configuration = os.path.join(folder, "nginx.conf")
    with open(configuration, "w") as out:
        processes = "user root; worker_processes %d;" % workers if workers else "master_process off;"
        out.write("daemon off; " + processes + " pid %s/pid; error_log stderr; events { worker_connections 256; }"
                  "http { access_log off; sendfile on; keepalive_requests 1000000000; %s server {"
                  "listen 127.0.0.1:%d; root %s/files; } }" % (folder, temporary, port, folder))
    return ["nginx", "-p", folder, "-c", configuration]


def postgres_folder():
    """Where Debian keeps the newest server's programs; "" when there is none."""
    return max(glob.glob("/usr/lib/postgresql/*/bin"), default="")


def postgres(port, folder):
    """A server with pgbench's tables, as the user postgres, whose folder this is."""
    data, log = os.path.join(folder, "data"), os.path.join(folder, "init.log")
    rights = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
    with open(log, "w") as out:
        subprocess.run(rights + [postgres_folder() + "/initdb", "-N", "-A", "trust", "-D", data], check=True, stdout=out, stderr=out, cwd="/")
    return [postgres_folder() + "/postgres", "-D", data, "-k", folder, "-p", str(port), "-h", "127.0.0.1", "-c", "fsync=off",
            "-c", "autovacuum=off", "-c", "max_connections=20"]
