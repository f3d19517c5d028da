/* SPDX-License-Identifier: Apache-2.0 */
/* run_options.c - the table of `run`'s options, its help, and how they are read. */
#include "run_options.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "marks.h"
#include "options.h"
#include "recording_format.h"
#include "run.h"

#define DIGITS "0123456789"

enum {
    OPTION_ANR = SBX_DELIVERY_OPTION_COUNT,
    OPTION_SLOW_MESSAGE,
    OPTION_SLOW_FRAME,
    OPTION_AFTER,
    OPTION_MAX_CPU,
    OPTION_NO_CRASH,
    OPTION_APP,
    OPTION_APP_VERSION,
    OPTION_BESIDE,
    OPTION_QUIET,
    OPTION_COUNT
};
static const struct sbx_option option_table[OPTION_COUNT] = {
    SBX_DELIVERY_OPTION_ROWS("where snapshots and payloads are kept; made when missing\n"
                             "(default $XDG_STATE_HOME/stallbox/spool or ~/.local/state/stallbox/spool)",
                             "deliver payloads there; without it they wait in the spool",
                             "obey the signed policy of the application whose KEYSET FILE begins with:\n"
                             "the policy in FILE, and newer ones from the server (see docs/POLICY.md)"),
    [OPTION_ANR] = {"--anr-ms", 0, "N", "a message open for N ms is a stall of kind anr (default 5000; 0: never)"},
    [OPTION_SLOW_MESSAGE] =
        {"--slow-message-ms", 0, "N",
         "a message that took N ms is a stall of kind slow_message\nwhen it ends (default 1000; 0: never)"},
    [OPTION_SLOW_FRAME] = {"--slow-frame-ms", 0, "N",
                           "a frame that took N ms is a stall of kind slow_frame, and so is a burst of\n"
                           "dropped frames (default 700; 0: never)"},
    [OPTION_AFTER] = {"--after-ms", 0, "N", "go on recording for N ms after a stall before it is kept (default 0)"},
    [OPTION_MAX_CPU] = {"--max-cpu-permille", 0, "N",
                        "record less when recording costs more than N thousandths of the program's CPU time\n"
                        "(1 to 50, default 5; 2.5 is a quarter of one per cent)"},
    [OPTION_NO_CRASH] = {"--no-crash", 0, NULL, "leave fatal signals alone: no handler, and no snapshot of a crash"},
    [OPTION_APP] = {"--app", 0, "NAME",
                    "the application's name, if its executable has another one (python3);\n"
                    "a payload has a number instead of it"},
    [OPTION_APP_VERSION] = {"--app-version", 0, "V", "its version, up to three numbers: 1.4.2"},
    [OPTION_BESIDE] = {"--beside", 0, NULL,
                       "COMMAND takes the place of this process, whose number a service manager knows;\n"
                       "its companion goes on beside it (not with --policy)"},
    [OPTION_QUIET] = {"--quiet", 'q', NULL, "at the end, print errors only"},
};

static_assert(OPTION_COUNT <= 32, "a bit each");

void sbx_usage_run(FILE *out)
{
    fputs("usage: stallbox run [OPTION]... -- COMMAND [ARGUMENT]...\n"
          "\n"
          "Run COMMAND with the recorder preloaded, otherwise unchanged: its input, output, signals and exit status\n"
          "pass through. When its main loop does not answer, the seconds before are kept. They are also kept when it\n"
          "is killed then, or crashes (SIGSEGV, abort).\n"
          "\n",
          out);
    sbx_options_print(option_table, OPTION_COUNT, out);
    fputs("\nSTALLBOX_DISABLE=1 in the environment runs COMMAND without the recorder.\n"
          "\nexample: stallbox run --server http://127.0.0.1:7311 -- redis-server --port 7777\n",
          out);
}

static uint32_t *limit_of(struct sbx_capture_settings *settings, int option)
{
    switch (option) {
    case OPTION_ANR:
        return &settings->anr_ms;
    case OPTION_SLOW_MESSAGE:
        return &settings->slow_message_ms;
    case OPTION_SLOW_FRAME:
        return &settings->slow_frame_ms;
    default:
        return &settings->after_ms;
    }
}

/* Read thousandths with one decimal at most: 5, 2.5. */
static bool read_budget(struct sbx_capture_settings *settings, const char *text)
{
    size_t whole = strspn(text, DIGITS), tenths = text[whole] == '.' ? strspn(text + whole + 1, DIGITS) : 0;
    bool is_fine = whole > 0 && whole <= 2 && tenths <= 1 && text[whole + (tenths != 0 ? 1 + tenths : 0)] == '\0';
    if (!is_fine) {
        sbx_usage_error("run", "option '--max-cpu-permille' needs a number from 1 to 50, as 5 or 2.5, not '%s'", text);
        return false;
    }
    settings->max_cpu_permille = (uint32_t)strtoul(text, NULL, 10);
    settings->max_cpu_tenths = tenths != 0 ? (uint32_t)(text[whole + 1] - '0') : 0;
    return true;
}

static bool read_app_name(struct sbx_run_options *options_out, const char *name)
{
    size_t bytes = strlen(name);
    bool is_fine = bytes < SBX_APP_NAME_MAX;
    for (size_t i = 0; i < bytes; i++) {
        is_fine = is_fine && (unsigned char)name[i] >= ' ' && name[i] != 0x7f;
    }
    if (!is_fine) {
        sbx_usage_error("run", "--app '%s': a name has up to %d letters, and no control characters", name,
                        SBX_APP_NAME_MAX - 1);
    }
    options_out->app_name = name;
    return is_fine;
}

/* Only numbers are accepted, because a payload has no room for anything else and would lose it silently. */
static bool read_app_version(struct sbx_run_options *options_out, const char *version)
{
    int used = 0, count = 0;
    for (const char *at = version; count < 3; count++) {
        if (sscanf(at, "%6u%n", &options_out->app_version[count], &used) != 1 || *at < '0' || *at > '9') {
            break;
        }
        at += used;
        if (*at == '\0') {
            return true;
        }
        if (*at++ != '.') {
            break;
        }
    }
    sbx_usage_error("run", "--app-version '%s' is not one to three numbers, as in 1.4.2", version);
    return false;
}

int sbx_run_options_read(struct sbx_run_options *options_out, int argc, char **argv)
{
    struct sbx_option_reader reader;
    memset(options_out, 0, sizeof *options_out);
    options_out->told = *sbx_policy_default();
    sbx_option_reader_init(&reader, "run", option_table, OPTION_COUNT, argc, argv);
    for (;;) {
        uint64_t number = 0;
        int option = sbx_option_next(&reader);
        switch (option) {
        case OPTION_ANR:
        case OPTION_SLOW_MESSAGE:
        case OPTION_SLOW_FRAME:
        case OPTION_AFTER:
            if (!sbx_option_number(&reader, option, 0, UINT32_MAX, &number)) {
                return SBX_EXIT_USAGE;
            }
            *limit_of(&options_out->told.capture, option) = (uint32_t)number;
            options_out->told_options |= UINT32_C(1) << option;
            break;
        case OPTION_MAX_CPU:
            if (!read_budget(&options_out->told.capture, reader.value)) {
                return SBX_EXIT_USAGE;
            }
            options_out->told_options |= UINT32_C(1) << option;
            break;
        case OPTION_NO_CRASH:
            options_out->told.capture.crash = SBX_CRASH_OFF;
            options_out->told_options |= UINT32_C(1) << option;
            break;
        case OPTION_APP:
            if (!read_app_name(options_out, reader.value)) {
                return SBX_EXIT_USAGE;
            }
            break;
        case OPTION_APP_VERSION:
            if (!read_app_version(options_out, reader.value)) {
                return SBX_EXIT_USAGE;
            }
            break;
        case OPTION_BESIDE:
            options_out->is_beside = true;
            break;
        case OPTION_QUIET:
            options_out->is_quiet = true;
            break;
        case SBX_OPTION_HELP:
            sbx_usage_run(stdout);
            return -1;
        case SBX_OPTION_BAD:
            return SBX_EXIT_USAGE;
        case SBX_OPTION_OPERAND:
            options_out->command = argv + reader.next - 1;
            break;
        case SBX_OPTION_END:
            return sbx_usage_error("run", "no command to run");
        default:
            if (!sbx_delivery_options_take(&options_out->delivery, &reader, option)) {
                return SBX_EXIT_USAGE;
            }
        }
        if (options_out->command != NULL) {
            break;
        }
    }
    if (!sbx_delivery_options_check_server(&options_out->delivery, "run")) {
        return SBX_EXIT_USAGE;
    }
    if (options_out->is_beside && options_out->delivery.policy_path != NULL) {
        return sbx_usage_error("run",
                               "--beside cannot be used with --policy: a policy is judged by how COMMAND ends, and "
                               "nobody would know that");
    }
    const char *wrong = sbx_policy_check(&options_out->told);
    if (wrong != NULL) {
        return sbx_usage_error("run", "the value for %s is out of range", wrong);
    }
    return 0;
}

/* ---- and over a policy ---- */

static bool is_told(const struct sbx_run_options *options, int option)
{
    return (options->told_options >> option & 1) != 0;
}

void sbx_run_options_hold(const struct sbx_run_options *options, struct sbx_policy *policy)
{
    static const int limits[] = {OPTION_ANR, OPTION_SLOW_MESSAGE, OPTION_SLOW_FRAME, OPTION_AFTER};
    struct sbx_policy told = options->told;
    for (size_t i = 0; i < SBX_COUNT_OF(limits); i++) {
        if (is_told(options, limits[i])) {
            *limit_of(&policy->capture, limits[i]) = *limit_of(&told.capture, limits[i]);
        }
    }
    if (is_told(options, OPTION_MAX_CPU)) {
        policy->capture.max_cpu_permille = told.capture.max_cpu_permille;
        policy->capture.max_cpu_tenths = told.capture.max_cpu_tenths;
    }
    if (is_told(options, OPTION_NO_CRASH)) {
        policy->capture.crash = SBX_CRASH_OFF;
    }
}
