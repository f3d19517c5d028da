/* SPDX-License-Identifier: Apache-2.0 */
/* upload_conditions.c - reads the environment and /sys. */
#include "upload_conditions.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policy.h"
#include "process_facts.h"
#include "temporary_file.h"

enum {
    WORDS_BYTES = 256
};

/* Reads the start of a small file, without its line end; "" if it cannot be read. */
static void read_text(int folder, const char *name, char *text_out, size_t bytes)
{
    int file = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    ssize_t got = file < 0 ? 0 : read(file, text_out, bytes - 1);
    if (file >= 0) {
        close(file);
    }
    text_out[got > 0 ? got : 0] = '\0';
    text_out[strcspn(text_out, "\n")] = '\0';
}

uint32_t sbx_upload_conditions_read(const char *text)
{
    static const char *const names[] = {"unmetered", "charging", "idle"};
    uint32_t held = 0;
    while (*text != '\0') {
        size_t length = strcspn(text, " ,\t");
        for (unsigned i = 0; i < 3; i++) {
            if (strlen(names[i]) == length && memcmp(text, names[i], length) == 0) {
                held |= 1u << i;
            }
        }
        text += length;
        text += strspn(text, " ,\t");
    }
    return held;
}

bool sbx_is_on_mains(const char *power_supplies)
{
    char path[512], type[32], value[32];
    bool has_battery = false, is_online = false;
    DIR *listing = opendir(power_supplies);
    if (listing == NULL) {
        return false; /* not known */
    }
    for (struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
        if (entry->d_name[0] == '.') {
            continue;
        }
        snprintf(path, sizeof path, "%.200s/type", entry->d_name);
        read_text(dirfd(listing), path, type, sizeof type);
        if (strcmp(type, "Battery") == 0) {
            snprintf(path, sizeof path, "%.200s/scope", entry->d_name);
            read_text(dirfd(listing), path, value, sizeof value);
            has_battery |= strcmp(value, "Device") != 0; /* "Device" is the battery of a mouse or similar */
        } else {
            snprintf(path, sizeof path, "%.200s/online", entry->d_name);
            read_text(dirfd(listing), path, value, sizeof value);
            is_online |= strcmp(value, "1") == 0;
        }
    }
    closedir(listing);
    return is_online || !has_battery;
}

uint32_t sbx_upload_conditions(void)
{
    char words[WORDS_BYTES];
    const char *said = getenv(SBX_ENV_CONDITIONS);
    uint32_t held = sbx_is_on_mains("/sys/class/power_supply") ? SBX_UPLOAD_CHARGING : 0;
    if (said == NULL) {
        return held;
    }
    if (said[0] == '@') {
        read_text(AT_FDCWD, said + 1, words, sizeof words);
        said = words;
    }
    return held | sbx_upload_conditions_read(said);
}

/* Reads the application's own conditions, "PID STARTTICKS WORDS". Returns false if there are none, or if the process
 * that wrote them is gone. */
static bool read_word(const char *spool_path, uint32_t *held_out)
{
    char path[4096], text[WORDS_BYTES];
    struct sbx_process_facts facts;
    uint64_t start_ticks;
    uint32_t pid;
    int used = 0, length = snprintf(path, sizeof path, "%s/conditions", spool_path);
    if (length < 0 || (size_t)length >= sizeof path) {
        return false;
    }
    read_text(AT_FDCWD, path, text, sizeof text);
    bool is_held = sbx_temporary_writer(AT_FDCWD, path) == SBX_WRITER_LIVES;
    if (sscanf(text, "%" SCNu32 " %" SCNu64 "%n", &pid, &start_ticks, &used) != 2 || used == 0) {
        return false;
    }
    *held_out = sbx_upload_conditions_read(text + used);
    /* The writer holds a lock on the file. A writer that called exec() has lost the lock, so the pid is checked, too. A
     * pid is meaningful only in our own pid namespace. */
    if (is_held) {
        return true;
    }
    return sbx_process_facts_read(pid, &facts) == 0 && facts.is_running && facts.start_ticks == start_ticks;
}

uint32_t sbx_upload_conditions_of(const char *spool_path)
{
    uint32_t held;
    return spool_path != NULL && read_word(spool_path, &held) ? held : sbx_upload_conditions();
}
