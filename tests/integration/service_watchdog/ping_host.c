/* SPDX-License-Identifier: Apache-2.0 */
/* ping_host.c - a service manager with one socket, and a service that pings it.
 *
 *   ping_host manage NAME USEC OUT COMMAND...   bind NAME ("/path" or "@abstract"), start COMMAND with NOTIFY_SOCKET and
 *                                               WATCHDOG_USEC, write what arrives to OUT; ends with COMMAND's status
 *   ping_host WAY END                           ping seven times, half of WATCHDOG_USEC apart, then END
 *
 * WAY: lib (sd_notify of libsystemd), send (sendto), write (connect, then write).
 * END: hang (for three times WATCHDOG_USEC, because time in which the recorder's own thread gets no processor is not
 * part of a silence), stop (the same, after STOPPING=1), exit, slow (like exit, with pings that are seven tenths of
 * WATCHDOG_USEC apart). The pings come from a thread that is not the main thread. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct sockaddr_un address = {.sun_family = AF_UNIX};
static socklen_t address_bytes;
static const char *way, *end;
static unsigned long watchdog_us;
static int (*notify)(int, const char *);
static int descriptor = -1;

static void set_address(const char *name)
{
    size_t bytes = strlen(name);
    memcpy(address.sun_path, name, bytes);
    address.sun_path[0] = name[0] == '@' ? '\0' : name[0];
    address_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + bytes);
}

static void say(const char *text)
{
    ssize_t sent;
    if (notify != NULL) {
        sent = notify(0, text);
    } else if (strcmp(way, "write") == 0) {
        sent = write(descriptor, text, strlen(text));
    } else {
        sent = sendto(descriptor, text, strlen(text), MSG_NOSIGNAL, (const struct sockaddr *)&address, address_bytes);
    }
    if (sent <= 0) {
        exit(3);
    }
}

__attribute__((noinline)) static void ping_computes(unsigned long microseconds)
{
    struct timespec begin, now;
    volatile unsigned sum = 0;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        for (unsigned i = 0; i < 100000; i++) {
            sum += i;
        }
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((unsigned long)(now.tv_sec - begin.tv_sec) * 1000000 + (unsigned long)now.tv_nsec / 1000 -
                 (unsigned long)begin.tv_nsec / 1000 <
             microseconds);
}

static void *ping(void *unused)
{
    (void)unused;
    prctl(PR_SET_NAME, "pinger");
    say("READY=1\nSTATUS=up");
    for (int i = 0; i < 6; i++) {
        say("WATCHDOG=1");
        usleep((useconds_t)(strcmp(end, "slow") == 0 ? watchdog_us / 10 * 7 : watchdog_us / 2));
    }
    say("STATUS=the last\nWATCHDOG=1");
    if (strcmp(end, "stop") == 0) {
        say("STOPPING=1");
    }
    if (strcmp(end, "hang") == 0 || strcmp(end, "stop") == 0) {
        ping_computes(3 * watchdog_us);
    }
    exit(0);
}

static int manage(char **arguments)
{
    char text[4096];
    set_address(arguments[0]);
    int file = open(arguments[2], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    int listener = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (file < 0 || listener < 0 || bind(listener, (const struct sockaddr *)&address, address_bytes) != 0) {
        perror("ping_host: socket");
        return 1;
    }
    setenv("NOTIFY_SOCKET", arguments[0], 1);
    setenv("WATCHDOG_USEC", arguments[1], 1);
    pid_t pid = fork();
    if (pid == 0) {
        execvp(arguments[3], arguments + 3);
        _exit(127);
    }
    for (int status;;) {
        struct pollfd readable = {.fd = listener, .events = POLLIN};
        if (poll(&readable, 1, 50) > 0) {
            ssize_t got = recv(listener, text, sizeof text - 1, 0);
            text[got > 0 ? got : 0] = '\n';
            if (got > 0 && write(file, text, (size_t)got + 1) < 0) {
                return 1;
            }
        } else if (waitpid(pid, &status, WNOHANG) == pid) {
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
        }
    }
}

int main(int argc, char **argv)
{
    if (argc > 5 && strcmp(argv[1], "manage") == 0) {
        return manage(argv + 2);
    }
    const char *name = getenv("NOTIFY_SOCKET"), *microseconds = getenv("WATCHDOG_USEC");
    if (argc != 3 || name == NULL || microseconds == NULL) {
        return 2;
    }
    way = argv[1];
    end = argv[2];
    watchdog_us = strtoul(microseconds, NULL, 10);
    set_address(name);
    if (strcmp(way, "lib") == 0) {
        void *library = dlopen("libsystemd.so.0", RTLD_NOW);
        notify = library != NULL ? (int (*)(int, const char *))dlsym(library, "sd_notify") : NULL;
        if (notify == NULL) {
            return 77;
        }
    } else {
        descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (strcmp(way, "write") == 0 && connect(descriptor, (const struct sockaddr *)&address, address_bytes) != 0) {
            return 3;
        }
    }
    pthread_t thread;
    if (pthread_create(&thread, NULL, ping, NULL) != 0) {
        return 3;
    }
    for (;;) {
        poll(NULL, 0, 100); /* the main thread answers all the time */
    }
}
