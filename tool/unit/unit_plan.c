/* SPDX-License-Identifier: Apache-2.0 */
/* unit_plan.c - makes a drop-in from settings, or the reasons why not. */
#include "unit_plan.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "unit_program.h"

enum {
    FILE_MIB = 16, /* the least for LimitFSIZE=: a recording has 7 MiB, and 66 with the largest policy */
    TASKS = 64     /* two recorder threads per process, and the threads of the companion */
};

#define WHY_NO_POLICY                                                                                                \
    "--policy is given up when the service crashes under it: how it ends learns its parent alone, which is systemd " \
    "here, and not a companion beside it"

struct making {
    const struct sbx_unit_file *unit;
    const struct sbx_unit_wish *wish;
    FILE *body, *notes, *obstacles;
    bool is_refused;
    char spool[512]; /* as in a unit file, with specifiers */
    char why[300];   /* of why_filtered() */
};

static const char *value(const struct making *making, const char *key)
{
    return sbx_unit_file_value(making->unit, key);
}

static bool is(const struct making *making, const char *key, const char *wanted)
{
    const char *given = value(making, key);
    return given != NULL && strcasecmp(given, wanted) == 0;
}

/* A setting prevents the recording, and `line` would change it. */
static void need(struct making *making, const char *line, const char *why)
{
    if (making->wish->loosens && line != NULL) {
        fprintf(making->body, "# Loosened, as it was asked for: %s\n%s\n", why, line);
        fprintf(making->obstacles, "loosened: %s (%s)\n", line, why);
        return;
    }
    fprintf(making->obstacles, "%s%s%s\n", why, line != NULL ? "; --loosen adds " : "", line != NULL ? line : "");
    making->is_refused = true;
}

static void note(struct making *making, const char *text)
{
    fprintf(making->notes, "# %s\n", text);
}

/* ---- which way ---- */

/* Does `stallbox run` pass this signal on (tool/companion/child.c)? */
static bool is_handed_on(const char *number)
{
    static const char *const names[] = {"HUP", "INT", "QUIT", "TERM", "USR1", "USR2", "WINCH", "CONT", "TSTP", "ALRM"};
    number += strncasecmp(number, "SIG", 3) == 0 ? 3 : 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcasecmp(number, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_nothing(const char *duration)
{
    return duration == NULL || strtoul(duration, NULL, 10) == 0;
}

/* Why the filter of system calls does not allow a companion; NULL: it does. */
static const char *why_filtered(struct making *making)
{
    char calls[160];
    enum sbx_unit_caller caller = making->wish->server != NULL ? SBX_UNIT_SENDER : SBX_UNIT_COMPANION;
    switch (sbx_unit_filter_judge(making->unit, caller, making->wish->expand, calls, sizeof calls)) {
    case SBX_UNIT_FILTER_NONE:
    case SBX_UNIT_FILTER_ALLOWS:
        return NULL;
    case SBX_UNIT_FILTER_UNKNOWN:
        snprintf(making->why, sizeof making->why,
                 "SystemCallFilter= has the set %s, and nobody here knows whether a companion may call what it calls",
                 calls);
        return making->why;
    default:
        snprintf(making->why, sizeof making->why, "SystemCallFilter= does not allow what a companion calls: %s", calls);
        return making->why;
    }
}

/* Why the service cannot have a companion; NULL: it can. */
static const char *why_no_companion(struct making *making)
{
    const struct sbx_unit_file *unit = making->unit;
    size_t at = 0;
    if (is(making, "Type", "forking") && value(making, "PIDFile") == NULL) {
        return "Type=forking without PIDFile= has systemd guess the main process: the only one in the service that "
               "systemd itself is "
               "the parent of, which a companion would be as well; with PIDFile= there can be one";
    }
    const char *filtered = why_filtered(making);
    if (filtered != NULL) {
        return filtered;
    }
    if (!sbx_unit_may_execute(unit, making->wish->command)) {
        return "NoExecPaths= does not let the stallbox command run";
    }
    at = 0;
    for (const char *command; (command = sbx_unit_file_next(unit, "ExecStart", &at)) != NULL;) {
        if (memchr(command, '@', strspn(command, "@-:+!|")) != NULL) {
            return "ExecStart=@ gives the program another name, which the companion cannot";
        }
    }
    return NULL;
}

/* Why the main process must be the service itself; NULL: it need not. */
static const char *why_main(const struct making *making)
{
    const char *kill_signal = value(making, "KillSignal"), *access = value(making, "NotifyAccess");
    bool takes_all = access != NULL && strcmp(access, "all") == 0;
    if ((is(making, "Type", "notify") || is(making, "Type", "notify-reload")) && !takes_all) {
        return "Type=notify believes the main process only, and that has to be the service itself";
    }
    if (!is_nothing(value(making, "WatchdogSec"))) {
        return "WatchdogSec= wants pings of the main process, and that has to be the service itself";
    }
    if (making->wish->has_socket || value(making, "Sockets") != NULL || is(making, "StandardInput", "socket")) {
        return "sockets that systemd opened are meant for the main process, and that has to be the service itself";
    }
    size_t at = 0;
    if (sbx_unit_file_next(making->unit, "SystemCallFilter", &at) != NULL) {
        return "SystemCallFilter= may end a companion for a call that nobody foresaw, and that must not end the "
               "service";
    }
    if (kill_signal != NULL && !is_handed_on(kill_signal)) {
        return "KillSignal= is a signal that the companion does not hand on";
    }
    return NULL;
}

/* Choose a way, and give the reason against the previous one. */
static enum sbx_unit_way choose_way(struct making *making, const char **why_out)
{
    const struct sbx_unit_wish *wish = making->wish;
    const char *no_companion = why_no_companion(making), *main_process = why_main(making);
    bool has_policy = wish->policy != NULL;
    *why_out = no_companion != NULL ? no_companion : main_process;
    if (wish->way != SBX_UNIT_ANY) {
        return wish->way;
    }
    if (*why_out == NULL) {
        return SBX_UNIT_RUN;
    }
    if (no_companion == NULL && has_policy) {
        *why_out = WHY_NO_POLICY "; without --policy there is one";
    }
    return no_companion == NULL && !has_policy ? SBX_UNIT_BESIDE : SBX_UNIT_PRELOAD;
}

/* ---- what stands in either way ---- */

static uint64_t bytes_of(const char *text)
{
    char *end;
    uint64_t number = strtoull(text, &end, 10);
    switch (*end) {
    case 'K':
        return number << 10;
    case 'M':
        return number << 20;
    case 'G':
    case 'T':
        return number << 30;
    default:
        return end == text ? UINT64_MAX : number; /* "infinity" */
    }
}

static void look_at_filter(struct making *making)
{
    char calls[1024], line[1100], why[1300];
    switch (sbx_unit_filter_judge(making->unit, SBX_UNIT_RECORDER, making->wish->expand, calls, sizeof calls)) {
    case SBX_UNIT_FILTER_KILLS:
        snprintf(line, sizeof line, "SystemCallFilter=%s", calls);
        snprintf(why, sizeof why, "SystemCallFilter= would kill the service at calls of the recorder: %s", calls);
        need(making, line, why);
        break;
    case SBX_UNIT_FILTER_UNKNOWN:
        snprintf(why, sizeof why,
                 "SystemCallFilter= has the set %s, and there is no systemd-analyze that knows what is in it", calls);
        need(making, NULL, why);
        break;
    case SBX_UNIT_FILTER_REFUSES:
        note(making, "SystemCallFilter= refuses some calls of the recorder with an error: samples may be missing.");
        break;
    case SBX_UNIT_FILTER_ALLOWS:
        note(making, "SystemCallFilter= allows every call that the recorder makes.");
        break;
    case SBX_UNIT_FILTER_NONE:
        break;
    }
}

static void look_at_limits(struct making *making)
{
    const char *file_size = value(making, "LimitFSIZE"), *tasks = value(making, "TasksMax");
    char line[64];
    if (file_size != NULL && bytes_of(file_size) < (uint64_t)FILE_MIB << 20) {
        snprintf(line, sizeof line, "LimitFSIZE=%dM", FILE_MIB);
        need(making, line, "LimitFSIZE= is smaller than a recording, which is a file");
    }
    if (tasks != NULL && strchr(tasks, '%') == NULL && bytes_of(tasks) < TASKS) {
        snprintf(line, sizeof line, "TasksMax=%d", TASKS);
        need(making, line, "TasksMax= leaves no room for the recorder's threads, two a process");
    }
    if (value(making, "MemoryMax") != NULL || value(making, "MemoryHigh") != NULL) {
        note(making, "MemoryMax=/MemoryHigh= count the recordings too: 7 MiB of shared memory a recorded process.");
    }
    if (sbx_unit_file_is_set(making->unit, "MemoryDenyWriteExecute")) {
        note(making, "MemoryDenyWriteExecute= stays: the recorder makes no memory executable.");
    }
    if (sbx_unit_file_is_set(making->unit, "NoNewPrivileges")) {
        note(making, "NoNewPrivileges= stays: the recorder wants none.");
    }
}

static void look_at_files(struct making *making)
{
    const struct sbx_unit_file *unit = making->unit;
    char line[1200], why[1300];
    if (value(making, "RootDirectory") != NULL || value(making, "RootImage") != NULL) {
        need(making, NULL, "RootDirectory=/RootImage= gives it another root, in which the recorder is not installed");
    }
    if (!sbx_unit_may_execute(unit, making->wish->library)) {
        snprintf(line, sizeof line, "ExecPaths=%s", making->wish->library);
        need(making, line, "NoExecPaths= does not let the recorder's library be mapped");
    }
    static const char *const hiding[] = {"InaccessiblePaths", "ReadOnlyPaths", "TemporaryFileSystem",
                                         "InaccessibleDirectories", "ReadOnlyDirectories"};
    for (size_t i = 0; i < sizeof hiding / sizeof hiding[0]; i++) {
        if (sbx_unit_file_has_word(unit, hiding[i], "/dev/shm") ||
            sbx_unit_file_has_word(unit, hiding[i], "-/dev/shm")) {
            snprintf(why, sizeof why, "%s=/dev/shm leaves the recording no place", hiding[i]);
            need(making, NULL, why);
        }
    }
    if (sbx_unit_file_has_word(unit, "UnsetEnvironment", "LD_PRELOAD")) {
        need(making, NULL, "UnsetEnvironment=LD_PRELOAD takes the recorder out again");
    }
}

static void look_at_programs(struct making *making)
{
    size_t at = 0;
    unsigned count = 0;
    for (const char *command; (command = sbx_unit_file_next(making->unit, "ExecStart", &at)) != NULL; count++) {
        char why[1200];
        if (!sbx_unit_program_can_be_recorded(making->wish->root, command, why, sizeof why)) {
            need(making, NULL, why);
        }
    }
    if (count == 0) {
        need(making, NULL, "it has no ExecStart=: there is nothing to record");
    }
}

/* Choose a folder that systemd makes for the service's user, of a kind that the unit does not use, so that the variable
 * that names such folders keeps its value. */
static void choose_spool(struct making *making)
{
    static const struct {
        const char *setting, *mode, *specifier;
    } kinds[] = {{"StateDirectory", "StateDirectoryMode", "%S"},
                 {"CacheDirectory", "CacheDirectoryMode", "%C"},
                 {"LogsDirectory", "LogsDirectoryMode", "%L"}};
    const struct sbx_unit_wish *wish = making->wish;
    if (wish->spool != NULL) {
        size_t used = 0;
        for (const char *at = wish->spool; *at != '\0' && used + 3 < sizeof making->spool; at++) {
            making->spool[used++] = *at;
            if (*at == '%') {
                making->spool[used++] = '%';
            }
        }
        making->spool[used] = '\0';
        if (is(making, "ProtectSystem", "strict") || is(making, "ProtectSystem", "full") ||
            sbx_unit_file_is_set(making->unit, "ProtectSystem")) {
            fprintf(making->body, "# --spool: it has to be writable.\nReadWritePaths=%s\n", making->spool);
        }
        return;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (value(making, kinds[i].setting) != NULL) {
            continue;
        }
        bool is_dynamic = sbx_unit_file_is_set(making->unit, "DynamicUser");
        snprintf(making->spool, sizeof making->spool, "%s/%sstallbox-spool/%%N", kinds[i].specifier,
                 is_dynamic ? "private/" : "");
        fprintf(making->body,
                "# The spool: a folder of the service's own user, the only one that it may write to besides its own.\n"
                "%s=stallbox-spool/%%N\n%s=0700\n",
                kinds[i].setting, kinds[i].mode);
        return;
    }
    need(making, NULL,
         "it uses StateDirectory=, CacheDirectory= and LogsDirectory= itself: name a spool with --spool DIR");
}

/* ---- the lines ---- */

/* Print a word of a command line, without specifiers and variables. */
static void print_word(FILE *out, const char *word)
{
    fputc('"', out);
    for (; *word != '\0'; word++) {
        if (*word == '%' || *word == '$') {
            fputc(*word, out);
        } else if (*word == '"' || *word == '\\') {
            fputc('\\', out);
        }
        fputc(*word, out);
    }
    fputc('"', out);
}

static void print_option(FILE *out, const char *option, const char *word)
{
    if (word != NULL) {
        fprintf(out, " %s ", option);
        print_word(out, word);
    }
}

static void write_run(struct making *making, bool is_beside)
{
    const struct sbx_unit_wish *wish = making->wish;
    size_t at = 0;
    fputs("ExecStart=\n", making->body);
    for (const char *command; (command = sbx_unit_file_next(making->unit, "ExecStart", &at)) != NULL;) {
        int prefixes = (int)strspn(command, "-:+!|");
        fprintf(making->body, "ExecStart=%.*s%s run --quiet%s --spool \"%s\"", prefixes, command, wish->command,
                is_beside ? " --beside" : "", making->spool);
        print_option(making->body, "--server", wish->server);
        print_option(making->body, "--token-file", wish->token_file);
        print_option(making->body, "--policy", wish->policy);
        fprintf(making->body, " -- %s\n", command + prefixes);
    }
    if (is(making, "Type", "forking")) {
        note(making,
             "PIDFile= names the main process. The companion goes on in the background, and ends with the service.");
    }
}

/* Print what the unit itself preloads, if anything. */
static void print_preloaded(struct making *making)
{
    size_t at = 0;
    for (const char *line; (line = sbx_unit_file_next(making->unit, "Environment", &at)) != NULL;) {
        const char *found = strstr(line, "LD_PRELOAD=");
        if (found != NULL) {
            found += sizeof "LD_PRELOAD=" - 1;
            fprintf(making->body, ":%.*s", (int)strcspn(found, " \t\"'"), found);
        }
    }
}

static void write_preload(struct making *making)
{
    const struct sbx_unit_wish *wish = making->wish;
    fprintf(making->body, "Environment=\"LD_PRELOAD=%s", wish->library);
    print_preloaded(making);
    fprintf(making->body, "\" \"STALLBOX_AUTOSTART=0\" \"STALLBOX_SPOOL=%s\"\n", making->spool);
    note(making, "Each process of the service is recorded from its first wait on (STALLBOX_AUTOSTART=0).");
    note(making, "Snapshots wait in the spool: `stallbox report` reads them, `stallbox deliver` sends them.");
    if (value(making, "User") == NULL && !sbx_unit_file_is_set(making->unit, "DynamicUser")) {
        note(making, "It starts as root. If it changes to another user, that user cannot write into the spool: such a "
                     "process makes");
        note(making,
             "no snapshots itself, and there is no companion to do it. Its recording is found when it has died.");
    }
    if (wish->server != NULL || wish->policy != NULL) {
        note(making, "--server and --policy are for a companion; here `stallbox deliver` takes them.");
    }
    if (value(making, "EnvironmentFile") != NULL) {
        note(making, "An LD_PRELOAD in its EnvironmentFile= would replace this one.");
    }
}

/* Can a companion inside the service reach a server? */
static void look_at_network(struct making *making)
{
    const struct sbx_unit_file *unit = making->unit;
    size_t at = 0;
    const char *families = sbx_unit_file_next(unit, "RestrictAddressFamilies", &at);
    bool is_list = families != NULL && families[0] != '~';
    if (making->wish->server == NULL) {
        return;
    }
    if (is_list && !sbx_unit_file_has_word(unit, "RestrictAddressFamilies", "AF_INET") &&
        !sbx_unit_file_has_word(unit, "RestrictAddressFamilies", "AF_INET6")) {
        need(making, "RestrictAddressFamilies=AF_INET AF_INET6",
             "RestrictAddressFamilies= lets nothing reach the server from within; without --server, `stallbox deliver` "
             "sends");
    }
    if (sbx_unit_file_is_set(unit, "PrivateNetwork")) {
        need(
            making, NULL,
            "PrivateNetwork= lets nothing reach the server from within; leave --server out and use `stallbox deliver`");
    }
}

static void make(struct making *making, struct sbx_unit_plan *plan)
{
    const char *why;
    plan->way = choose_way(making, &why);
    if ((plan->way == SBX_UNIT_RUN && why != NULL) ||
        (plan->way == SBX_UNIT_BESIDE && why_no_companion(making) != NULL)) {
        need(making, NULL, why);
    }
    if (plan->way == SBX_UNIT_BESIDE && making->wish->policy != NULL) {
        need(making, NULL, WHY_NO_POLICY);
    }
    if (plan->way == SBX_UNIT_BESIDE && why != NULL) {
        fprintf(making->notes, "# The command becomes the service, and its companion goes on beside it: %s.\n", why);
    }
    if (plan->way == SBX_UNIT_PRELOAD && why != NULL) {
        fprintf(making->notes, "# The library is preloaded, and there is no companion: %s.\n", why);
    }
    look_at_programs(making);
    look_at_files(making);
    look_at_filter(making);
    look_at_limits(making);
    choose_spool(making);
    if (plan->way != SBX_UNIT_PRELOAD) {
        look_at_network(making);
        write_run(making, plan->way == SBX_UNIT_BESIDE);
    } else {
        write_preload(making);
    }
}

int sbx_unit_plan_make(const struct sbx_unit_file *unit, const struct sbx_unit_wish *wish,
                       struct sbx_unit_plan *plan_out)
{
    struct making making = {.unit = unit, .wish = wish};
    char *body = NULL, *notes = NULL, *obstacles = NULL;
    size_t body_bytes, notes_bytes, obstacles_bytes;
    int result = -ENOMEM;
    *plan_out = (struct sbx_unit_plan){.way = SBX_UNIT_ANY};
    making.body = open_memstream(&body, &body_bytes);
    making.notes = open_memstream(&notes, &notes_bytes);
    making.obstacles = open_memstream(&obstacles, &obstacles_bytes);
    if (making.body != NULL && making.notes != NULL && making.obstacles != NULL) {
        make(&making, plan_out);
        result = 0;
    }
    FILE *const streams[] = {making.body, making.notes, making.obstacles};
    for (size_t i = 0; i < 3; i++) {
        if (streams[i] != NULL && fclose(streams[i]) != 0) {
            result = -ENOMEM;
        }
    }
    if (result == 0 && !making.is_refused &&
        asprintf(&plan_out->drop_in,
                 "# Made by `stallbox unit %s`; `stallbox unit %s --remove` takes it away.\n%s\n[Service]\n%s",
                 wish->name, wish->name, notes, body) < 0) {
        plan_out->drop_in = NULL;
        result = -ENOMEM;
    }
    plan_out->obstacles = obstacles;
    free(body);
    free(notes);
    if (result != 0) {
        sbx_unit_plan_free(plan_out);
    }
    return result;
}

void sbx_unit_plan_free(struct sbx_unit_plan *plan)
{
    free(plan->drop_in);
    free(plan->obstacles);
    plan->drop_in = plan->obstacles = NULL;
}
