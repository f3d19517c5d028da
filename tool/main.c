/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - `stallbox`: finds the subcommand, and answers --help, --version and typing errors. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "helper_thread.h"
#include "options.h"
#include "run.h"
#include "symbols.h"

static const struct sbx_command commands[] = {
    {"run", "run and record a command, and keep its stalls", sbx_command_run, sbx_usage_run},
    {"report", "say what stalled, and why", sbx_command_report, sbx_usage_report},
    {"show", "show the fields of a payload, and which bytes of it leave the machine", sbx_command_show, sbx_usage_show},
    {"audit", "show what left this machine, and what the server said", sbx_command_audit, sbx_usage_audit},
    {"consent", "show or set the user's answer, and have the server delete its data", sbx_command_consent,
     sbx_usage_consent},
    {"symbols", "keep the names of programs, look them up by build-id", sbx_command_symbols, sbx_usage_symbols},
    {"policy", "sign and verify policies: what a fleet records and sends", sbx_command_policy, sbx_usage_policy},
    {"seal", "make keys that payloads are sealed to, and open sealed ones", sbx_command_seal, sbx_usage_seal},
    {"deliver", "send a spool's payloads to a server, now and as new ones arrive", sbx_command_deliver,
     sbx_usage_deliver},
    {"ctl", "talk to the recorder of a running process", sbx_command_ctl, sbx_usage_ctl},
    {"look", "say what a running process does now, without stopping it", sbx_command_look, sbx_usage_look},
    {"unit", "print or install a systemd drop-in that records a service", sbx_command_unit, sbx_usage_unit},
    {"serve", "collect payloads and show them as pages", sbx_command_serve, sbx_usage_serve},
    {"token", "make and remove tokens for sending to and reading from a server", sbx_command_token, sbx_usage_token},
};
enum {
    COMMAND_COUNT = sizeof commands / sizeof commands[0]
};

static void print_usage(FILE *out)
{
    fputs("usage: stallbox COMMAND [ARGUMENT]...\n"
          "\n"
          "A flight recorder for stalls: it keeps the seconds before an application stopped answering.\n"
          "\n"
          "  stallbox run -- redis-server             record it, unchanged\n"
          "  stallbox report ~/.local/state/stallbox/spool   read the stalls\n"
          "\n"
          "commands:\n",
          out);
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        fprintf(out, "  %-9s %s\n", commands[i].name, commands[i].summary);
    }
    fputs("\n"
          "  stallbox help COMMAND   all of one command (also: stallbox COMMAND --help)\n"
          "  stallbox --version      the version\n"
          "\n"
          "Exit status: 0 done, 1 failed, 2 wrong usage.\n",
          out);
}

static const struct sbx_command *find_command(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i].name, name) == 0) {
            return &commands[i];
        }
    }
    return NULL;
}

static int refuse_command(const char *name)
{
    const struct sbx_command *nearest = NULL;
    unsigned least = 3;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        unsigned distance = sbx_word_distance(name, commands[i].name);
        if (distance < least) {
            least = distance;
            nearest = &commands[i];
        }
    }
    const char *what = name[0] == '-' ? "option" : "command";
    if (nearest != NULL) {
        return sbx_usage_error(NULL, "unknown %s '%s'; did you mean '%s'?", what, name, nearest->name);
    }
    return sbx_usage_error(NULL, "unknown %s '%s'", what, name);
}

static int help(int argc, char **argv)
{
    if (argc > 1) {
        return sbx_usage_error(NULL, "help takes one command, but got '%s' too", argv[1]);
    }
    if (argc == 0) {
        print_usage(stdout);
        return SBX_EXIT_DONE;
    }
    const struct sbx_command *command = find_command(argv[0]);
    if (command == NULL) {
        return refuse_command(argv[0]);
    }
    command->usage(stdout);
    return SBX_EXIT_DONE;
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        print_usage(stderr);
        return SBX_EXIT_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        print_usage(stdout);
        return SBX_EXIT_DONE;
    }
    if (strcmp(name, "--version") == 0) {
        puts("stallbox " STALLBOX_TOOL_VERSION);
        return SBX_EXIT_DONE;
    }
    if (strcmp(name, "help") == 0) {
        return help(argc - 2, argv + 2);
    }
    const struct sbx_command *command = find_command(name);
    if (command == NULL) {
        return refuse_command(name);
    }
    return command->main(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "look") == 0) {
        sbx_helper_thread_offer();
    }
    int status = dispatch(argc, argv);
    /* A full disk shows only here: data that did not reach its file is a failure, whatever the command thought. */
    if ((ferror(stdout) != 0 || fflush(stdout) != 0) && status == SBX_EXIT_DONE) {
        status = sbx_failure(NULL, "standard output: %s", strerror(errno));
    }
    return status;
}
