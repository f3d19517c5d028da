/* SPDX-License-Identifier: Apache-2.0 */
/* call_script.c - calls of every family that has a capture point, as a program makes them, and their results.
 *
 * A module that is built several times: lazily bound through a PLT, and bound at once through the GOT alone (-fno-plt)
 * with branch protection. test_point_conformance.c runs it without and with hooks and compares the texts. Values that
 * differ from run to run (descriptors, pids, times) are not written. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

void call_script(char *text, size_t text_bytes, const char *folder);

static char *out;
static size_t out_left;

static void put(const char *format, ...)
{
    va_list rest;
    va_start(rest, format);
    int used = vsnprintf(out, out_left, format, rest);
    va_end(rest);
    if (used > 0 && (size_t)used < out_left) {
        out += used;
        out_left -= (size_t)used;
    }
}

/* The call, its value and its errno; 77 means that the call left errno alone. */
#define CALL(expression)                                          \
    do {                                                          \
        errno = 77;                                               \
        long long value_ = (long long)(expression);               \
        int error_ = errno;                                       \
        put("%s = %lld errno %d\n", #expression, value_, error_); \
    } while (0)

static void allocate(void)
{
    errno = 77;
    void *volatile memory = malloc(100);
    CALL(memory != NULL);
    CALL(malloc_usable_size(memory) >= 100);
    memory = realloc(memory, 5000);
    CALL(memory != NULL);
    free(memory);
    memory = calloc(10, 10);
    CALL(((char *)memory)[99]);
    free(memory);
    volatile size_t huge = SIZE_MAX / 4;
    CALL((memory = malloc(huge)) == NULL);
    CALL((memory = calloc(huge, 8)) == NULL);
    CALL((memory = reallocarray(NULL, huge, 8)) == NULL);
    CALL(((memory = reallocarray(NULL, 10, 8)) != NULL));
    free(memory);
    void *aligned = NULL;
    CALL(posix_memalign(&aligned, 3, 100));
    CALL(posix_memalign(&aligned, 4096, 100));
    CALL((uintptr_t)aligned % 4096);
    free(aligned);
    CALL((aligned = aligned_alloc(256, 512), (uintptr_t)aligned % 256));
    free(aligned);
    CALL((aligned = memalign(128, 5), (uintptr_t)aligned % 128));
    free(aligned);
    CALL((aligned = valloc(5), (uintptr_t)aligned % 4096));
    free(aligned);
    errno = 55;
    free(NULL);
    CALL((aligned = strdup("text"), strcmp(aligned, "text")));
    free(aligned);
    char *mapped;
    CALL((mapped = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) != MAP_FAILED);
    mapped[5000] = 7;
    CALL(madvise(mapped, 8192, MADV_DONTNEED));
    CALL(mapped[5000]);
    CALL(msync(mapped, 8192, MS_ASYNC));
    CALL((mapped = mremap(mapped, 8192, 16384, MREMAP_MAYMOVE)) != MAP_FAILED);
    void *place = mmap(NULL, 16384, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CALL(mremap(mapped, 16384, 16384, MREMAP_MAYMOVE | MREMAP_FIXED, place) == place);
    CALL(munmap(place, 16384));
    CALL(munmap((void *)1, 1));
    CALL(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
}

static void move_data(const char *path)
{
    char buffer[64] = "0123456789";
    struct iovec parts[2] = {{buffer, 4}, {buffer + 4, 6}};
    int fd;
    CALL(open("/nonexistent/file", O_RDONLY));
    CALL((fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0640)) >= 0);
    CALL(open(path, O_RDWR | O_CREAT | O_EXCL, 0640));
    struct stat status;
    CALL((fstat(fd, &status), status.st_mode & 07777));
    CALL(write(fd, buffer, 10));
    CALL(pwrite(fd, buffer, 10, 10));
    CALL(writev(fd, parts, 2));
    CALL(pwritev(fd, parts, 2, 20));
#ifdef RWF_HIPRI /* musl has this from 1.2.5 on */
    CALL(pwritev2(fd, parts, 2, 30, 0));
#endif
    CALL(lseek(fd, 0, SEEK_SET));
    CALL(read(fd, buffer, 5));
    CALL(pread(fd, buffer, 64, 35));
    CALL(readv(fd, parts, 2));
    CALL(preadv(fd, parts, 2, 3));
#ifdef RWF_HIPRI /* musl has this from 1.2.5 on */
    CALL(preadv2(fd, parts, 2, 3, 0));
#endif
    CALL(read(-1, buffer, 5));
    CALL(write(-1, buffer, 5));
    CALL(pread(fd, buffer, 5, -1));
    CALL(readv(fd, parts, -1));
    CALL(fsync(fd));
    CALL(fdatasync(fd));
    CALL(fsync(-1));
    CALL(sync_file_range(fd, 0, 10, SYNC_FILE_RANGE_WRITE));
    CALL(ftruncate(fd, 100));
    CALL(truncate(path, 50));
    CALL(truncate("/nonexistent", 50));
    CALL(fallocate(fd, 0, 0, 200) == 0 || errno == EOPNOTSUPP);
    CALL(posix_fallocate(fd, 0, 300));
    CALL(posix_fallocate(-1, 0, 300));
    int other = open(path, O_RDONLY);
    CALL(other >= 0);
    off_t at = 0;
    int copy;
    char copy_path[300];
    snprintf(copy_path, sizeof copy_path, "%s.copy", path);
    CALL((copy = creat(copy_path, 0600)) >= 0);
    CALL(sendfile(copy, other, &at, 20));
    CALL(at);
    CALL(copy_file_range(other, NULL, copy, NULL, 20, 0));
    CALL(splice(other, NULL, copy, NULL, 20, 0));
    CALL(close(copy));
    CALL(close(copy));
    CALL(openat(AT_FDCWD, copy_path, O_RDONLY | O_DIRECTORY));
    /* locks */
    CALL(flock(fd, LOCK_EX));
    CALL(flock(other, LOCK_EX | LOCK_NB));
    CALL(flock(fd, LOCK_UN));
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 10};
    CALL(fcntl(fd, F_SETLKW, &lock));
    CALL(fcntl(fd, F_GETLK, &lock));
    CALL(fcntl(fd, F_OFD_SETLKW, &(struct flock){.l_type = F_UNLCK, .l_whence = SEEK_SET}));
    CALL(fcntl(fd, F_GETFD));
    CALL(fcntl(fd, F_SETFD, FD_CLOEXEC));
    CALL(fcntl(fd, F_GETFD));
    CALL(fcntl(fd, F_GETFL) & O_ACCMODE);
    CALL(close(fcntl(fd, F_DUPFD_CLOEXEC, 100)));
    CALL(fcntl(-1, F_GETFD));
    CALL(lockf(fd, F_LOCK, 5));
    CALL(lockf(fd, F_ULOCK, 5));
    CALL(close(fd));
    CALL(close(other));
    CALL(close(-1));
}

static void ask_about_files(const char *path, const char *folder)
{
    struct stat status;
    struct stat64 status64;
#ifdef STATX_SIZE
    struct statx extended;
#endif
    struct statfs system_status;
    struct statvfs vfs_status;
    char buffer[4096], name[400], other[400];
    snprintf(name, sizeof name, "%s/name", folder);
    snprintf(other, sizeof other, "%s/other", folder);
    CALL(stat(path, &status));
    CALL(status.st_size);
    CALL(stat("/nonexistent", &status));
    CALL(stat64(path, &status64));
    CALL(lstat(path, &status));
    CALL(lstat64(path, &status64));
    CALL(fstat(-1, &status));
    CALL(fstatat(AT_FDCWD, path, &status, 0));
#ifdef STATX_SIZE /* musl has this from 1.2.5 on */
    CALL(statx(AT_FDCWD, path, 0, STATX_SIZE, &extended));
    CALL(extended.stx_size);
#endif
    CALL(access(path, R_OK));
    CALL(access(path, X_OK));
    CALL(faccessat(AT_FDCWD, path, R_OK, 0));
    CALL(statfs(path, &system_status));
    CALL(statvfs(path, &vfs_status));
    CALL(fstatfs(-1, &system_status));
    CALL(symlink("target", name));
    CALL(readlink(name, buffer, sizeof buffer));
    CALL(readlink(path, buffer, sizeof buffer));
    CALL(readlinkat(AT_FDCWD, name, buffer, 3));
    CALL(realpath(name, buffer) == NULL);
    CALL(realpath(folder, buffer) == buffer);
    CALL(rename(name, other));
    CALL(rename(name, other));
#ifdef RENAME_NOREPLACE /* musl has this from 1.2.6 on */
    CALL(renameat2(AT_FDCWD, other, AT_FDCWD, path, RENAME_NOREPLACE));
#endif
    CALL(unlink(other));
    CALL(unlink(other));
    CALL(link(path, other));
    CALL(remove(other));
    CALL(mkdir(name, 0700));
    CALL(mkdir(name, 0700));
    CALL(mkdirat(AT_FDCWD, other, 0700));
    CALL(rmdir(name));
    CALL(unlinkat(AT_FDCWD, other, AT_REMOVEDIR));
    DIR *listing;
    CALL((listing = opendir(folder)) != NULL);
    int entries = 0;
    errno = 77;
    while (readdir(listing) != NULL) {
        entries++;
    }
    CALL(entries);
    CALL(closedir(listing));
    CALL(opendir("/nonexistent") == NULL);
}

__attribute__((format(printf, 2, 0))) static int print_list(FILE *stream, const char *format, ...)
{
    va_list rest;
    va_start(rest, format);
    int result = vfprintf(stream, format, rest);
    va_end(rest);
    return result;
}

static void use_streams(const char *folder)
{
    char path[400], buffer[2000], *line = NULL;
    size_t line_bytes = 0;
    snprintf(path, sizeof path, "%s/stream", folder);
    FILE *stream;
    CALL(fopen("/nonexistent/file", "r") == NULL);
    CALL((stream = fopen(path, "w+")) != NULL);
    memset(buffer, 'x', sizeof buffer);
    for (int i = 0; i < 5; i++) {
        CALL(fwrite(buffer, 1, sizeof buffer, stream));
    }
    CALL(fputs("\na line\n", stream));
    CALL(fprintf(stream, "%d %s %g %c %ld %d %d %d\n", 1, "two", 3.5, '4', 5L, 6, 7, 8));
    CALL(print_list(stream, "%s %.3f %d\n", "list", 2.25, 9));
    CALL(fprintf(stream, "%5000d\n", 3));
    CALL(fflush(stream));
    CALL(dprintf(fileno(stream), "direct %d\n", 5));
    rewind(stream);
    static char much[10000];
    CALL(fread(much, 10, 1000, stream));
    CALL(fgetc(stream));
    CALL(fgets(buffer, 100, stream) == buffer);
    CALL(strcmp(buffer, "a line\n"));
    CALL(getline(&line, &line_bytes, stream));
    CALL(strcmp(line, "1 two 3.5 4 5 6 7 8\n"));
    CALL(getdelim(&line, &line_bytes, ' ', stream));
    CALL(getc(stream));
    CALL(fgets(buffer, sizeof buffer, stream) == buffer);
    CALL(getline(&line, &line_bytes, stream));
    CALL(getline(&line, &line_bytes, stream));
    CALL(getline(&line, &line_bytes, stream));
    CALL(fgets(buffer, sizeof buffer, stream) == NULL);
    CALL(feof(stream) != 0);
    free(line);
    CALL((stream = freopen("/dev/full", "w", stream)) != NULL);
    CALL(fputs("lost", stream));
    CALL(fflush(stream));
    setvbuf(stream, NULL, _IONBF, 0);
    CALL(fprintf(stream, "lost"));
    CALL(fclose(stream));
    CALL((stream = fopen(path, "r")) != NULL);
    CALL(fwrite("x", 1, 1, stream));
    CALL(fread(buffer, 0, 5, stream));
    CALL(fclose(stream));
    CALL(fflush(NULL));
}

static void talk(void)
{
    int pair[2], listener, client, server;
    char buffer[64] = "hello";
    CALL(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    CALL(send(pair[0], buffer, 5, 0));
    CALL(recv(pair[1], buffer, 64, 0));
    CALL(recv(pair[1], buffer, 64, MSG_DONTWAIT));
    struct iovec part = {buffer, 5};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    struct mmsghdr messages[2] = {{.msg_hdr = message}, {.msg_hdr = message}};
    CALL(sendmsg(pair[0], &message, 0));
    CALL(recvmsg(pair[1], &message, 0));
    CALL(sendmmsg(pair[0], messages, 2, 0));
    CALL(recvmmsg(pair[1], messages, 1, 0, NULL));
    CALL(sendto(pair[0], buffer, 5, 0, NULL, 0));
    CALL(recvfrom(pair[1], buffer, 64, 0, NULL, NULL));
    struct pollfd watched = {.fd = pair[1], .events = POLLIN};
    CALL(poll(&watched, 1, 0));
    CALL(poll(&watched, 1, -1 + 2));
    const struct timespec moment = {0, 1000000};
    CALL(ppoll(&watched, 1, &moment, NULL));
    fd_set set;
    FD_ZERO(&set);
    FD_SET(pair[0], &set);
    struct timeval short_time = {0, 1000};
    CALL(select(pair[0] + 1, NULL, &set, NULL, &short_time));
    CALL(pselect(0, NULL, NULL, NULL, &moment, NULL));
    int queue = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLOUT};
    CALL(epoll_wait(queue, &event, 1, 1));
    CALL(epoll_pwait(queue, &event, 1, 1, NULL));
    CALL(epoll_wait(-1, &event, 1, 1));
    close(queue);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t address_bytes = sizeof address;
    listener = socket(AF_INET, SOCK_STREAM, 0);
    client = socket(AF_INET, SOCK_STREAM, 0);
    CALL(bind(listener, (struct sockaddr *)&address, sizeof address));
    CALL(listen(listener, 1));
    getsockname(listener, (struct sockaddr *)&address, &address_bytes);
    CALL(connect(client, (struct sockaddr *)&address, sizeof address));
    CALL((server = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0);
    CALL(accept(-1, NULL, NULL));
    CALL(connect(-1, (struct sockaddr *)&address, sizeof address));
    close(server);
    close(client);
    close(listener);
    CALL(close(pair[0]) + close(pair[1]));
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST}, *found = NULL;
    CALL(getaddrinfo("127.0.0.1", "80", &hints, &found));
    CALL(getnameinfo(found->ai_addr, found->ai_addrlen, buffer, sizeof buffer, NULL, 0, NI_NUMERICHOST));
    CALL(strcmp(buffer, "127.0.0.1"));
    freeaddrinfo(found);
    CALL(getaddrinfo("no number", "80", &hints, &found));
    CALL(gethostbyname("127.0.0.1") != NULL);
}

static void on_alarm(int number)
{
    (void)number;
}

static void sleep_and_read_clocks(void)
{
    const struct timespec moment = {0, 1000000}, wrong = {0, -1};
    CALL(nanosleep(&moment, NULL));
    CALL(nanosleep(&wrong, NULL));
    CALL(clock_nanosleep(CLOCK_MONOTONIC, 0, &wrong, NULL));
    CALL(clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL));
    CALL(usleep(1000));
    CALL(sleep(0));
    CALL(thrd_sleep(&moment, NULL));
    struct sigaction action = {.sa_handler = on_alarm}, before;
    sigaction(SIGUSR2, &action, &before);
    struct itimerval soon = {.it_value = {0, 20000}}, off = {.it_value = {0, 0}};
    struct sigaction alarm_before;
    sigaction(SIGALRM, &action, &alarm_before);
    struct itimerval timer_before;
    getitimer(ITIMER_REAL, &timer_before);
    setitimer(ITIMER_REAL, &soon, NULL);
    CALL(pause());
    setitimer(ITIMER_REAL, &soon, NULL);
    struct timespec rest, long_time = {5, 0};
    CALL(nanosleep(&long_time, &rest));
    CALL(rest.tv_sec);
    sigset_t set, old;
    sigemptyset(&set);
    CALL(sigtimedwait(&set, NULL, &moment));
    sigaddset(&set, SIGALRM);
    sigprocmask(SIG_BLOCK, &set, &old);
    setitimer(ITIMER_REAL, &soon, NULL);
    CALL(sigwaitinfo(&set, NULL));
    setitimer(ITIMER_REAL, &soon, NULL);
    int number = 0;
    CALL(sigwait(&set, &number));
    CALL(number);
    setitimer(ITIMER_REAL, &soon, NULL);
    CALL(sigsuspend(&old));
    sigprocmask(SIG_SETMASK, &old, NULL);
    setitimer(ITIMER_REAL, &off, NULL);
    sigaction(SIGALRM, &alarm_before, NULL);
    setitimer(ITIMER_REAL, &timer_before, NULL);
    sigaction(SIGUSR2, &before, NULL);
    struct timespec now;
    struct timeval day;
    CALL(clock_gettime(CLOCK_MONOTONIC, &now));
    CALL(clock_gettime(12345, &now));
    CALL(gettimeofday(&day, NULL));
    CALL(time(NULL) > 0);
}

static void make_processes(void)
{
    int status = 0;
    CALL(waitpid(-1, &status, WNOHANG));
    pid_t pid = fork();
    if (pid == 0) {
        void *volatile memory = malloc(10);
        free(memory);
        _exit(3);
    }
    CALL(waitpid(pid, &status, 0) == pid);
    CALL(WEXITSTATUS(status));
    pid = vfork();
    if (pid == 0) {
        _exit(4);
    }
    CALL(wait(&status) == pid);
    CALL(WEXITSTATUS(status));
    char *const arguments[] = {"sh", "-c", "exit 5", NULL};
    CALL(posix_spawn(&pid, "/bin/sh", NULL, NULL, arguments, NULL));
    struct rusage usage;
    CALL(wait4(pid, &status, 0, &usage) == pid);
    CALL(WEXITSTATUS(status));
    CALL(posix_spawnp(&pid, "nonexistent-program", NULL, NULL, arguments, NULL));
    CALL(posix_spawnp(&pid, "true", NULL, NULL, (char *const[]){"true", NULL}, NULL));
    siginfo_t ended;
    CALL(waitid(P_PID, (id_t)pid, &ended, WEXITED));
    CALL(wait3(&status, 0, &usage) > 0);
    CALL(WEXITSTATUS(system("exit 6")));
    CALL(system(NULL) != 0);
    FILE *pipe = popen("echo text; exit 7", "r");
    char buffer[20];
    CALL(fgets(buffer, sizeof buffer, pipe) == buffer);
    CALL(strcmp(buffer, "text\n"));
    CALL(WEXITSTATUS(pclose(pipe)));
}

static void load(void)
{
    void *library;
    CALL(dlopen("libdoes-not-exist.so", RTLD_NOW) == NULL);
    put("%s\n", dlerror());
    CALL((library = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL)) != NULL || (library = dlopen("libm.so.6", 1)) != NULL);
    CALL(dlclose(library));
    CALL((library = dlopen(NULL, RTLD_NOW)) != NULL);
    CALL(dlclose(library));
    CALL(dlopen("/nonexistent/$ORIGIN/x.so", RTLD_NOW) == NULL);
    CALL(dlopen("/etc/passwd", RTLD_NOW) == NULL);
    put("%s\n", dlerror());
}

void call_script(char *text, size_t text_bytes, const char *folder)
{
    char path[300];
    out = text;
    out_left = text_bytes;
    snprintf(path, sizeof path, "%s/data", folder);
    allocate();
    move_data(path);
    ask_about_files(path, folder);
    use_streams(folder);
    talk();
    sleep_and_read_clocks();
    make_processes();
    load();
    put("done\n");
}
