/* SPDX-License-Identifier: Apache-2.0 */
/* platform.c - reads os-release, uname and sysconf, and makes the values coarse. */
#include "platform.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "durable_file.h"

enum {
    OS_RELEASE_BYTES_MAX = 64 << 10,
    OS_MAJOR_MAX = 9999, /* the date of a rolling release would show the day of its last update */
};

/* ID and ID_LIKE values of os-release(5). The numbers are those of Platform.os. */
static const struct {
    const char *id;
    uint32_t os;
} distributions[] = {
    {"debian", 1},
    {"ubuntu", 2},
    {"fedora", 3},
    {"rhel", 4},
    {"centos", 4},
    {"rocky", 4},
    {"almalinux", 4},
    {"ol", 4},
    {"sles", 5},
    {"suse", 5},
    {"opensuse", 5},
    {"opensuse-leap", 5},
    {"opensuse-tumbleweed", 5},
    {"arch", 6},
    {"alpine", 7},
};

static uint32_t distribution_of(const char *id, size_t length)
{
    for (size_t i = 0; i < sizeof distributions / sizeof distributions[0]; i++) {
        if (strlen(distributions[i].id) == length && memcmp(distributions[i].id, id, length) == 0) {
            return distributions[i].os;
        }
    }
    return 0;
}

/* Is `line` an assignment to `name`? Gets the value without its quotes. */
static int take_value(const char *line, size_t bytes, const char *name, const char **value_out, size_t *length_out)
{
    size_t name_bytes = strlen(name);
    if (bytes <= name_bytes || memcmp(line, name, name_bytes) != 0 || line[name_bytes] != '=') {
        return 0;
    }
    const char *value = line + name_bytes + 1;
    size_t length = bytes - name_bytes - 1;
    if (length >= 2 && (value[0] == '"' || value[0] == '\'') && value[length - 1] == value[0]) {
        value++;
        length -= 2;
    }
    *value_out = value;
    *length_out = length;
    return 1;
}

void sbx_platform_parse_os_release(const char *text, size_t bytes, struct sbx_platform *platform)
{
    platform->os = 0;
    platform->os_major = 0;
    for (const char *at = text, *end = text + bytes; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t line_bytes = (size_t)((newline == NULL ? end : newline) - at);
        const char *value;
        size_t length;
        if (take_value(at, line_bytes, "ID", &value, &length)) {
            platform->os = distribution_of(value, length);
        } else if (take_value(at, line_bytes, "VERSION_ID", &value, &length)) {
            uint32_t major = 0;
            for (size_t i = 0; i < length && value[i] >= '0' && value[i] <= '9' && major <= OS_MAJOR_MAX; i++) {
                major = major * 10 + (uint32_t)(value[i] - '0');
            }
            platform->os_major = major <= OS_MAJOR_MAX ? major : 0;
        }
        at += line_bytes + 1;
    }
}

/* Reads up to three digits at *at, and moves *at. Not with sscanf(), whose %u accepts a sign, and reads "-2" as
 * 4294967294. */
static uint32_t take_number(const char **at)
{
    uint32_t number = 0;
    for (int i = 0; i < 3 && **at >= '0' && **at <= '9'; i++, ++*at) {
        number = number * 10 + (uint32_t)(**at - '0');
    }
    return number;
}

void sbx_platform_parse_kernel(const char *release, struct sbx_platform *platform)
{
    const char *at = release;
    platform->kernel_major = take_number(&at);
    platform->kernel_minor = at > release && *at == '.' ? (at++, take_number(&at)) : 0;
}

uint32_t sbx_platform_log2(uint64_t value)
{
    uint32_t power = 0;
    while (power < 40 && value > (UINT64_C(3) << power) / 2) { /* above 1.5 * 2^power the next power is nearer */
        power++;
    }
    return power;
}

void sbx_platform_read(struct sbx_platform *platform_out)
{
    *platform_out = (struct sbx_platform){.os = 0};
    uint8_t *text;
    size_t bytes;
    /* /etc/os-release is usually a link, which the reader does not follow. The link's target is the same on all
     * distributions. */
    if (sbx_durable_file_read(AT_FDCWD, "/etc/os-release", OS_RELEASE_BYTES_MAX, &text, &bytes) == 0 ||
        sbx_durable_file_read(AT_FDCWD, "/usr/lib/os-release", OS_RELEASE_BYTES_MAX, &text, &bytes) == 0) {
        sbx_platform_parse_os_release((const char *)text, bytes, platform_out);
        free(text);
    }
    struct utsname name;
    if (uname(&name) == 0) {
        sbx_platform_parse_kernel(name.release, platform_out);
    }
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    platform_out->log2_cores = cores > 0 ? sbx_platform_log2((uint64_t)cores) : 0;
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page_bytes > 0) {
        platform_out->log2_ram_gib = sbx_platform_log2((uint64_t)pages * (uint64_t)page_bytes >> 30);
    }
}
