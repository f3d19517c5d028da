/* SPDX-License-Identifier: Apache-2.0 */
/* process_facts.c - reads from /proc about a process that a recording names. */
#include "process_facts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Read a small file completely and end it with NUL. Returns its length or -errno. */
static int read_text(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    ssize_t got;
    do {
        got = read(fd, text, size - 1);
    } while (got < 0 && errno == EINTR);
    int error = got < 0 ? -errno : 0;
    close(fd);
    if (error != 0) {
        return error;
    }
    text[got] = 0;
    return (int)got;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "8a6b...-....\n": 16 bytes in the kernel's text form of a UUID, with dashes anywhere. */
static int parse_boot_id(const char *text, uint8_t boot_id_out[16])
{
    unsigned digits = 0;
    for (; *text != 0 && *text != '\n' && digits < 32; text++) {
        int digit = hex_digit(*text);
        if (digit >= 0) {
            boot_id_out[digits / 2] = (uint8_t)(digits % 2 == 0 ? digit << 4 : boot_id_out[digits / 2] | digit);
            digits++;
        } else if (*text != '-') {
            return -EINVAL;
        }
    }
    return digits == 32 ? 0 : -EINVAL;
}

/* PF_EXITING of the kernel (include/linux/sched.h). The mappings of a process, and with them the locks on the mapped
 * files, are released before the process is a zombie: a waiter that gets such a lock may see the process in between. */
#define IS_ENDING 0x4u

int sbx_process_stat_parse(const char *text, struct sbx_process_stat *stat_out)
{
    const char *at = strrchr(text, ')'); /* the name may contain anything */
    if (at == NULL || at[1] != ' ' || at[2] == 0) {
        return -EINVAL;
    }
    *stat_out = (struct sbx_process_stat){.state = at[2]};
    at += 2; /* field 3 */
    for (int field = 3; field < 22; field++) {
        at = strchr(at, ' ');
        if (at == NULL) {
            return -EINVAL;
        }
        at++;
        if (field + 1 == 9) {
            stat_out->is_ending = (strtoul(at, NULL, 10) & IS_ENDING) != 0;
        } else if (field + 1 == 20) {
            stat_out->threads = (uint32_t)strtoul(at, NULL, 10);
        }
    }
    char *end;
    errno = 0;
    stat_out->start_ticks = strtoull(at, &end, 10);
    return errno == 0 && end != at ? 0 : -EINVAL;
}

int sbx_process_facts_read(uint32_t pid, struct sbx_process_facts *facts_out)
{
    char path[64], text[1024];
    struct sbx_process_stat process = {0};
    *facts_out = (struct sbx_process_facts){.is_running = false};
    struct stat namespace;
    facts_out->pid_namespace = stat("/proc/self/ns/pid", &namespace) == 0 ? (uint64_t) namespace.st_ino : 0;
    int got = read_text("/proc/sys/kernel/random/boot_id", text, sizeof text);
    if (got < 0) {
        return got;
    }
    int error = parse_boot_id(text, facts_out->boot_id);
    if (error != 0) {
        return error;
    }
    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    got = read_text(path, text, sizeof text);
    if (got == -ENOENT || got == -ESRCH) {                        /* ended before the open, or before the read */
        return access("/proc/self/stat", F_OK) == 0 ? 0 : -errno; /* unless /proc cannot be read at all */
    }
    if (got < 0) {
        return got;
    }
    error = sbx_process_stat_parse(text, &process);
    facts_out->start_ticks = process.start_ticks;
    /* a zombie records nothing any more */
    facts_out->is_running = error == 0 && process.state != 'Z' && process.state != 'X' && !process.is_ending;
    return error;
}
