# SPDX-License-Identifier: Apache-2.0
"""work.py - a small job of many kinds for whoever stands between a program and libc: threads, children, files, sockets, sleeps."""
import multiprocessing
import os
import socket
import subprocess
import sys
import threading
import time


def square(number):
    return number * number


def serve(listener):
    while True:
        client, _ = listener.accept()
        text = client.recv(100)
        client.sendall(text.upper())
        client.close()
        if text == b"end":
            return


def main():
    with open("file", "w", encoding="utf-8") as file:
        for number in range(2000):
            file.write(f"line {number}\n")
            if number % 500 == 0:
                file.flush()
                os.fsync(file.fileno())
    os.chmod("file", 0o640)
    print(os.stat("file").st_size, oct(os.stat("file").st_mode))
    sums = []
    threads = [threading.Thread(target=lambda: sums.append(sum(square(n) for n in range(20000)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(sorted(sums))
    for method in ("fork", "forkserver"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            print(method, pool.map(square, range(6)))
    for _ in range(5):
        subprocess.run(["sh", "-c", "echo child; exit 3"], check=False)
        sys.stdout.flush()
    listener = socket.create_server(("127.0.0.1", 0))
    server = threading.Thread(target=serve, args=(listener,))
    server.start()
    for text in (b"one", b"two", b"end"):
        with socket.create_connection(listener.getsockname()) as client:
            client.sendall(text)
            print(client.recv(100))
    server.join()
    time.sleep(0.05)
    os.unlink("file")


if __name__ == "__main__":
    main()
