/* SPDX-License-Identifier: Apache-2.0 */
/* debuginfod.c - fetches debug files by build-id from a debuginfod server. */
#include "debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "build_id.h"
#include "debug_link.h"
#include "symbol_worker.h"

#define MAX_BYTES (UINT64_C(2) << 30)

enum {
    MAX_S = 120,
    IDLE_S = 20, /* libdebuginfod gives up if it received less than 100 KiB in this time */
    LATE_S = 2   /* libdebuginfod may notice its limits this much later */
};

/* ---- the process that fetches ---- */

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* The three functions of libdebuginfod.so.1. */
struct library {
    void *(*begin)(void);
    void (*end)(void *client);
    int (*find_debuginfo)(void *client, const unsigned char *build_id, int bytes, char **path);
    int (*find_executable)(void *client, const unsigned char *build_id, int bytes, char **path);
    void (*set_progress)(void *client, int (*progress)(void *client, long done, long total));
};

static bool load(struct library *library)
{
    void *handle = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        return false;
    }
    *(void **)&library->begin = dlsym(handle, "debuginfod_begin");
    *(void **)&library->end = dlsym(handle, "debuginfod_end");
    *(void **)&library->find_debuginfo = dlsym(handle, "debuginfod_find_debuginfo");
    *(void **)&library->find_executable = dlsym(handle, "debuginfod_find_executable");
    *(void **)&library->set_progress = dlsym(handle, "debuginfod_set_progressfn");
    return library->begin != NULL && library->end != NULL && library->find_debuginfo != NULL &&
           library->find_executable != NULL && library->set_progress != NULL;
}

static uint64_t max_bytes; /* used in the process that fetches */
static volatile sig_atomic_t was_large;

static void note_large(int number)
{
    (void)number;
    was_large = 1; /* and the write fails with an error */
}

static int stop_when_large(void *client, long done, long total)
{
    (void)client;
    was_large = was_large || (done > 0 && (uint64_t)done > max_bytes) || (total > 0 && (uint64_t)total > max_bytes);
    return was_large;
}

static unsigned idle_limit(unsigned max_s)
{
    return max_s < IDLE_S ? max_s : IDLE_S;
}

/* Set the variables that the library reads from its environment. It must not see the user's variables. */
static bool set_environment(const struct sbx_debuginfod *server, unsigned max_s)
{
    static const char *const others[] = {"DEBUGINFOD_VERBOSE", "DEBUGINFOD_PROGRESS", "DEBUGINFOD_HEADERS_FILE",
                                         "DEBUGINFOD_IMA_CERT_PATH"};
    char bytes[24], seconds[16], idle[16];
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        (void)unsetenv(others[i]);
    }
    snprintf(bytes, sizeof bytes, "%llu", (unsigned long long)max_bytes);
    snprintf(seconds, sizeof seconds, "%u", max_s);
    snprintf(idle, sizeof idle, "%u", idle_limit(max_s));
    return setenv("DEBUGINFOD_URLS", server->url, 1) == 0 &&
           setenv("DEBUGINFOD_CACHE_PATH", server->cache_folder, 1) == 0 &&
           setenv("DEBUGINFOD_MAXSIZE", bytes, 1) == 0 && setenv("DEBUGINFOD_MAXTIME", seconds, 1) == 0 &&
           setenv("DEBUGINFOD_TIMEOUT", idle, 1) == 0 && setenv("DEBUGINFOD_RETRY_LIMIT", "1", 1) == 0;
}

/* Send a result, with a descriptor if there is one. */
static void send_result(int socket, int result, int fd)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {.bytes = {0}};
    struct iovec part = {&result, sizeof result};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (fd >= 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(header), &fd, sizeof fd);
    }
    (void)sendmsg(socket, &message, MSG_NOSIGNAL);
}

static int fetch_here(const struct sbx_debuginfod *server, const uint8_t *build_id, size_t bytes, unsigned max_s,
                      int *fd_out)
{
    struct library library;
    const struct rlimit size = {max_bytes, max_bytes}, none = {0, 0};
    int quiet = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (quiet < 0 || dup2(quiet, STDOUT_FILENO) < 0 || dup2(quiet, STDERR_FILENO) < 0 ||
        prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || setrlimit(RLIMIT_FSIZE, &size) != 0 ||
        setrlimit(RLIMIT_CORE, &none) != 0 || signal(SIGXFSZ, note_large) == SIG_ERR) {
        return -errno;
    }
    if (!set_environment(server, max_s)) {
        return -ENOMEM;
    }
    if (!load(&library)) {
        return -ENOSYS;
    }
    void *client = library.begin();
    if (client == NULL) {
        return -ENOMEM;
    }
    library.set_progress(client, stop_when_large);
    uint64_t late_ms = now_ms() + (uint64_t)idle_limit(max_s) * 1000;
    int fd = library.find_debuginfo(client, build_id, (int)bytes, NULL);
    if (fd == -ENOENT && !was_large && now_ms() < late_ms) {
        fd = library.find_executable(client, build_id, (int)bytes, NULL);
    }
    library.end(client);
    *fd_out = fd;
    if (fd == -ENOENT && now_ms() >= late_ms) { /* libdebuginfod returns ENOENT for some time-outs, too */
        fd = -ETIME;
    }
    return fd >= 0 ? 0 : was_large ? -EFBIG : fd;
}

/* ---- the caller ---- */

bool sbx_debuginfod_is_url(const char *url)
{
    bool is_web = strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0;
    for (const char *c = url; *c != '\0'; c++) {
        is_web = is_web && (unsigned char)*c > ' ' && (unsigned char)*c < 0x7f; /* a space would begin another URL */
    }
    return is_web && strlen(url) < 2000;
}

/* Wait for the result until `until_ms`. Returns it, or -ETIME; -ECHILD if the process ended without a result. */
static int receive_result(int socket, uint64_t until_ms, int *fd_out)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
    int result = -ECHILD;
    struct iovec part = {&result, sizeof result};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    for (;;) {
        uint64_t now = now_ms();
        struct pollfd wait = {.fd = socket, .events = POLLIN};
        int ready = now >= until_ms ? 0 : poll(&wait, 1, (int)(until_ms - now));
        if (ready > 0) {
            break;
        }
        if (now_ms() >= until_ms || (ready < 0 && errno != EINTR)) {
            return -ETIME;
        }
    }
    if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof result) {
        return -ECHILD;
    }
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header != NULL && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
        memcpy(fd_out, CMSG_DATA(header), sizeof *fd_out);
    }
    return result == 0 && *fd_out < 0 ? -ECHILD : result;
}

/* The text for a result. */
static void explain(int result, char *why, size_t bytes)
{
    snprintf(why, bytes, "%s",
             result == 0         ? ""
             : result == -ENOENT ? "it has no debug information of this build-id"
             : result == -ENOSYS ? "libdebuginfod.so.1 is not installed"
             : result == -ETIME  ? "it takes longer than it may"
             : result == -EFBIG  ? "what it has of this build-id is larger than it may be"
             : result == -ECHILD ? "fetching from it ended early"
                                 : strerror(-result));
}

int sbx_debuginfod_fetch(const struct sbx_debuginfod *server, const uint8_t *build_id, size_t bytes, int *fd_out,
                         char *why, size_t why_bytes)
{
    int sockets[2] = {-1, -1}, result = 0;
    unsigned max_s = server->max_s == 0 ? MAX_S : server->max_s;
    *fd_out = -1;
    if (!sbx_debuginfod_is_url(server->url) || bytes == 0 || bytes > SBX_IMAGE_BUILD_ID_BYTES_MAX) {
        snprintf(why, why_bytes, "no URL of a debuginfod server");
        return -EINVAL;
    }
    pid_t pid = -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) == 0) {
        pid = fork();
        if (pid == 0) {
            int fd = -1;
            /* Close all other descriptors: the caller may have connections to servers that trust it. */
            int socket = dup2(sockets[1], STDERR_FILENO + 1);
            (void)close_range(STDERR_FILENO + 2, ~0U, 0);
            max_bytes = server->max_bytes == 0 ? MAX_BYTES : server->max_bytes;
            result = fetch_here(server, build_id, bytes, max_s, &fd);
            send_result(socket, result, fd);
            _exit(0);
        }
        result = pid < 0 ? -errno : 0;
        close(sockets[1]);
    } else {
        result = -errno;
    }
    if (pid > 0) {
        uint64_t until_ms = now_ms() + (uint64_t)(max_s + LATE_S) * 1000;
        result = receive_result(sockets[0], until_ms, fd_out);
        kill(pid, SIGKILL); /* it is our child and not waited for yet, so its pid belongs to no other process */
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    if (sockets[0] >= 0) {
        close(sockets[0]);
    }
    result = result == -E2BIG ? -EFBIG : result; /* libdebuginfod uses E2BIG for a file that is too large */
    explain(result, why, why_bytes);
    return result;
}

/* Fetch the file to which dwz moved parts of the file behind `fd`: the server has it by its own build-id. -1: not
 * needed, or the server does not have it. */
static int fetch_alternate(const struct sbx_debuginfod *server, int fd)
{
    uint8_t build_id[SBX_BUILD_ID_BYTES_MAX];
    char why[240];
    int alternate = -1;
    size_t bytes = sbx_debug_alternate_id(fd, build_id);
    return bytes > 0 && sbx_debuginfod_fetch(server, build_id, bytes, &alternate, why, sizeof why) == 0 ? alternate
                                                                                                        : -1;
}

/* Parse the file behind `fd` (taken), and further files from the server, into `out`. */
static int make_image(const struct sbx_debuginfod *server, int fd, const uint8_t *build_id, size_t bytes, int out,
                      char *why, size_t why_bytes)
{
    const struct sbx_making making = {.descriptors = &fd,
                                      .descriptor_count = 1,
                                      .alternate = fetch_alternate(server, fd),
                                      .build_id = build_id,
                                      .build_id_bytes = bytes,
                                      .name = "",
                                      .now_s = (uint64_t)time(NULL),
                                      .out = out};
    return sbx_symbol_worker_make(&making, 0, why, why_bytes);
}

static int image_in_memory(const struct sbx_debuginfod *server, int fd, const uint8_t *build_id, size_t bytes,
                           size_t cache_bytes, struct sbx_symbol_image **image_out, char *why, size_t why_bytes)
{
    int out = memfd_create("symbols", MFD_CLOEXEC);
    if (out < 0) {
        int result = -errno;
        close(fd);
        return result;
    }
    int result = make_image(server, fd, build_id, bytes, out, why, why_bytes);
    if (result != 0) {
        close(out);
        return result;
    }
    result = sbx_symbol_image_open(out, cache_bytes, image_out); /* takes `out` */
    if (result == 0 && (sbx_symbol_image_facts(*image_out)->build_id_bytes != bytes ||
                        memcmp(sbx_symbol_image_facts(*image_out)->build_id, build_id, bytes) != 0 ||
                        sbx_symbol_image_verify(*image_out) != 0)) {
        sbx_symbol_image_close(*image_out);
        result = -EBADMSG;
    }
    if (result != 0) {
        snprintf(why, why_bytes, "reading it gave no valid table of symbols");
    }
    return result;
}

/* If the store has an image with different content, that image stays and is used. */
static int image_in_store(const struct sbx_debuginfod *server, int fd, const uint8_t *build_id, size_t bytes,
                          size_t cache_bytes, struct sbx_symbol_store *store, const struct sbx_store_draft *draft,
                          int out, struct sbx_symbol_image **image_out, char *why, size_t why_bytes)
{
    enum sbx_store_outcome outcome;
    int result = make_image(server, fd, build_id, bytes, out, why, why_bytes);
    close(out);
    if (result != 0) {
        sbx_symbol_store_abandon(store, draft);
        return result;
    }
    result = sbx_symbol_store_commit(store, draft, build_id, bytes, &outcome, NULL);
    if (result == 0) {
        result = sbx_symbol_store_find(store, build_id, bytes, (uint64_t)time(NULL), cache_bytes, image_out);
    }
    if (result != 0) {
        snprintf(why, why_bytes, "it cannot be put into the store: %s", strerror(-result));
    }
    return result;
}

int sbx_debuginfod_image(const struct sbx_debuginfod *server, const uint8_t *build_id, size_t bytes, size_t cache_bytes,
                         struct sbx_symbol_store *store, struct sbx_symbol_image **image_out, char *why,
                         size_t why_bytes)
{
    struct sbx_store_draft draft;
    int fd, out;
    int result = sbx_debuginfod_fetch(server, build_id, bytes, &fd, why, why_bytes);
    if (result != 0) {
        return result;
    }
    if (store != NULL && sbx_symbol_store_begin(store, &draft, &out) == 0) {
        return image_in_store(server, fd, build_id, bytes, cache_bytes, store, &draft, out, image_out, why, why_bytes);
    }
    return image_in_memory(server, fd, build_id, bytes, cache_bytes, image_out, why, why_bytes);
}
