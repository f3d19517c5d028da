/* SPDX-License-Identifier: Apache-2.0 */
/* family_host.c - a program that leaves processes behind, as daemons and services do.
 *
 *   family_host daemon FOLDER STATUS NAME...   start each NAME as a daemon does (fork, setsid, fork, exec), exit with STATUS
 *   family_host forks FOLDER STATUS NAME...    the same without the exec
 *   family_host workers FOLDER STATUS NAME...  fork a worker for each NAME, wait until all have ended, exit with STATUS
 *   family_host clones FOLDER STATUS           make children that no fork handler sees, wait for them, exit with STATUS
 *   family_host worker FOLDER NAME             the started program: write FOLDER/NAME.pid, serve the fifo FOLDER/NAME
 *
 * A worker waits in poll() and obeys the letters in its fifo: h hang, s stall for 1.5 s, c die of SIGSEGV, e end, x
 * execute itself again, u start a successor "next" and end, w work a fifth of the time from now on, r rest again, n
 * continue as the user nobody. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    NOBODY = 65534
};

static const char *own_path, *folder;
static bool works;

static int work(const char *name);

static void start_apart(const char *name, bool calls_exec)
{
    pid_t first = fork();
    if (first == 0) {
        (void)setsid();
        if (fork() != 0) {
            _exit(0);
        }
        int null = open("/dev/null", O_RDWR);
        for (int fd = 0; fd < 3; fd++) {
            (void)dup2(null, fd);
        }
        if (!calls_exec) {
            _exit(work(name));
        }
        execl(own_path, own_path, "worker", folder, name, (char *)NULL);
        _exit(127);
    }
    waitpid(first, NULL, 0);
}

__attribute__((noinline)) static void family_computes(double seconds)
{
    struct timespec begin, now;
    volatile unsigned sum = 0;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        for (unsigned i = 0; i < 100000; i++) {
            sum += i;
        }
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((double)(now.tv_sec - begin.tv_sec) + (double)(now.tv_nsec - begin.tv_nsec) / 1e9 < seconds);
}

static void obey(char letter, const char *name)
{
    switch (letter) {
    case 'h':
        family_computes(3600);
        break;
    case 's':
        family_computes(1.5);
        break;
    case 'c':
        raise(SIGSEGV);
        break;
    case 'e':
        exit(0);
    case 'w':
    case 'r':
        works = letter == 'w';
        break;
    case 'x':
        execl(own_path, own_path, "worker", folder, name, (char *)NULL);
        _exit(127);
    case 'n':
        if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0) {
            exit(1);
        }
        break;
    case 'u':
        start_apart("next", true);
        exit(0);
    default:
        break;
    }
}

static int work(const char *name)
{
    char path[512], text[32];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    (void)mkfifo(path, 0600);
    struct pollfd fifo = {.fd = open(path, O_RDWR | O_CLOEXEC), .events = POLLIN};
    snprintf(path, sizeof path, "%s/%s.pid", folder, name);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int bytes = snprintf(text, sizeof text, "%d\n", (int)getpid());
    if (fifo.fd < 0 || write(file, text, (size_t)bytes) != bytes) {
        return 1;
    }
    close(file);
    for (;;) {
        char letter = 0;
        if (poll(&fifo, 1, works ? 20 : 100) > 0 && read(fifo.fd, &letter, 1) == 1) {
            obey(letter, name);
        } else if (works) {
            family_computes(0.005);
        }
    }
}

static int serve_by_workers(char **names, int count)
{
    int failed = 0, status;
    for (int i = 0; i < count; i++) {
        if (fork() == 0) {
            _exit(work(names[i]));
        }
    }
    while (wait(&status) > 0) {
        failed |= status;
    }
    return failed;
}

/* One child by a raw clone() and one by _Fork(), which wait, and one that ends at once. Neither fork handlers nor hooks
 * see them begin. */
static int make_clones(void)
{
    int failed = 0;
    for (int way = 0; way < 3; way++) {
        int status = -1;
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
        pid_t pid = way == 1 ? _Fork() : (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
#else
        pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
#endif
        if (pid == 0) {
            for (int i = 0; way < 2 && i < 3; i++) {
                (void)poll(NULL, 0, 10);
            }
            _exit(0);
        }
        failed |= waitpid(pid, &status, 0) != pid || status != 0;
    }
    return failed;
}

int main(int argc, char **argv)
{
    own_path = "/proc/self/exe";
    if (argc == 4 && strcmp(argv[1], "worker") == 0) {
        folder = argv[2];
        return work(argv[3]);
    }
    if (argc == 4 && strcmp(argv[1], "clones") == 0) {
        return make_clones() == 0 ? atoi(argv[3]) : 1;
    }
    if (argc > 4 && strcmp(argv[1], "workers") == 0) {
        folder = argv[2];
        return serve_by_workers(argv + 4, argc - 4) == 0 ? atoi(argv[3]) : 1;
    }
    if (argc < 4 || (strcmp(argv[1], "daemon") != 0 && strcmp(argv[1], "forks") != 0)) {
        return 2;
    }
    folder = argv[2];
    for (int i = 4; i < argc; i++) {
        start_apart(argv[i], strcmp(argv[1], "daemon") == 0);
    }
    if (strcmp(argv[3], "kill") == 0) {
        raise(SIGKILL);
    }
    return atoi(argv[3]);
}
