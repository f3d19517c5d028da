/* SPDX-License-Identifier: Apache-2.0 */
/* unit_program.c - paths that allow or forbid execution, and a look at an executable. */
#include "unit_program.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* The length of the longest path in the setting that covers `path`; 0: none does. */
static size_t covered_by(const struct sbx_unit_file *unit, const char *key, const char *path)
{
    size_t at = 0, longest = 0;
    for (const char *value; (value = sbx_unit_file_next(unit, key, &at)) != NULL;) {
        while (*value != '\0') {
            value += strspn(value, " \t\"'-+");
            size_t bytes = strcspn(value, " \t\"'");
            size_t length = bytes > 1 && value[bytes - 1] == '/' ? bytes - 1 : bytes;
            bool is_all = length == 1 && value[0] == '/';
            bool covers = length != 0 && strncmp(path, value, length) == 0 &&
                          (is_all || path[length] == '/' || path[length] == '\0');
            longest = covers && length > longest ? length : longest;
            value += bytes;
        }
    }
    return longest;
}

bool sbx_unit_may_execute(const struct sbx_unit_file *unit, const char *path)
{
    size_t denied = covered_by(unit, "NoExecPaths", path), allowed = covered_by(unit, "ExecPaths", path);
    return denied == 0 || allowed >= denied;
}

/* Is it a 64-bit ELF executable without an interpreter? Scripts and unreadable files are not. */
static bool is_static(int file)
{
    Elf64_Ehdr header;
    if (pread(file, &header, sizeof header, 0) != (ssize_t)sizeof header ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_phentsize != sizeof(Elf64_Phdr)) {
        return false;
    }
    for (unsigned i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr segment;
        uint64_t at = header.e_phoff + (uint64_t)i * sizeof segment;
        if (at > INT64_MAX || pread(file, &segment, sizeof segment, (off_t)at) != (ssize_t)sizeof segment) {
            return false;
        }
        if (segment.p_type == PT_INTERP) {
            return false;
        }
    }
    return true;
}

static bool does_nothing(const char *program)
{
    static const char *const names[] = {"/bin/true", "/usr/bin/true", "/bin/false", "/usr/bin/false"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(program, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

bool sbx_unit_program_can_be_recorded(const char *root, const char *command, char *why, size_t why_bytes)
{
    char program[PATH_MAX / 2], path[PATH_MAX];
    struct stat status;
    command += strspn(command, "@-:+!| \t\"'");
    size_t bytes = strcspn(command, " \t\"'");
    if (bytes == 0 || bytes >= sizeof program) {
        return true;
    }
    memcpy(program, command, bytes);
    program[bytes] = '\0';
    if (does_nothing(program)) {
        snprintf(why, why_bytes,
                 "it runs %s only: the units that it stands for are to be recorded (postgresql: postgresql@)", program);
        return false;
    }
    if (program[0] != '/' || strchr(program, '%') != NULL) {
        return true;
    }
    if (snprintf(path, sizeof path, "%s%s", root, program) >= (int)sizeof path) {
        return true;
    }
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0) {
        return true;
    }
    bool is_regular = fstat(file, &status) == 0 && S_ISREG(status.st_mode), can = true;
    if (is_regular && is_static(file)) {
        snprintf(why, why_bytes, "%s is linked statically: no library can be preloaded into it", program);
        can = false;
    } else if (is_regular &&
               ((status.st_mode & (S_ISUID | S_ISGID)) != 0 || fgetxattr(file, "security.capability", NULL, 0) > 0)) {
        snprintf(why, why_bytes,
                 "%s has rights of its file (set-user-id or capabilities): the loader preloads nothing into it",
                 program);
        can = false;
    }
    close(file);
    return can;
}
