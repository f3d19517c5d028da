/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - reading a command line: "--name VALUE", "--name=VALUE", "-n VALUE", "--" and operands.
 *
 * This is not getopt, because one table serves the parser, the help text and the hint after a typing error, and because
 * the reader must stop where the application's own command line begins (`stallbox run`). All texts are borrowed from
 * argv. */
#ifndef SBX_OPTIONS_H
#define SBX_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* How a command ends. */
enum sbx_exit {
    SBX_EXIT_DONE = 0,
    SBX_EXIT_FAILED = 1, /* the command was correct, but it failed */
    SBX_EXIT_USAGE = 2,  /* the command line was wrong; nothing was done */
};

struct sbx_option {
    const char *name;  /* "--spool" */
    char letter;       /* 'o' for -o; 0: none */
    const char *value; /* name of its value in the help ("DIR"); NULL: it takes no value */
    const char *help;  /* for people; may contain newlines */
};

enum sbx_option_event {
    SBX_OPTION_END = -1,     /* nothing is left */
    SBX_OPTION_OPERAND = -2, /* reader.value is an operand; it was argv[reader.next - 1] */
    SBX_OPTION_HELP = -3,    /* --help or -h */
    SBX_OPTION_BAD = -4,     /* a message was printed; exit with SBX_EXIT_USAGE */
};

struct sbx_option_reader {
    const char *command; /* for messages: "report" */
    const struct sbx_option *options;
    size_t option_count;
    int argc;
    char **argv;
    int next;           /* index of the next argument */
    bool only_operands; /* "--" was seen */
    const char *value;  /* value of the last option or operand; NULL for an option without a value */
};

/* Start at argv[1]. */
void sbx_option_reader_init(struct sbx_option_reader *reader, const char *command, const struct sbx_option *options,
                            size_t option_count, int argc, char **argv);

/* Read the next option or operand: returns an index into options, or an sbx_option_event. A command that takes another
 * program's command line stops at the first operand, and reads on itself from argv[reader.next - 1]. */
int sbx_option_next(struct sbx_option_reader *reader);

/* Can payloads be sent to this URL: is it http:// or https://? Otherwise prints a message with `command` and the URL,
 * and returns false. */
bool sbx_option_is_server(const char *command, const char *url);

/* Read reader->value as a decimal number within [min, max]. Otherwise prints a message with the option and the value,
 * and returns false. */
bool sbx_option_number(const struct sbx_option_reader *reader, int option, uint64_t min, uint64_t max,
                       uint64_t *number_out);

/* Print "stallbox COMMAND: message" and where to find help on standard error; returns SBX_EXIT_USAGE. */
int sbx_usage_error(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Print "stallbox COMMAND: message" on standard error; returns SBX_EXIT_FAILED. */
int sbx_failure(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Print the table as help text, one paragraph per option. */
void sbx_options_print(const struct sbx_option *options, size_t option_count, FILE *out);

/* The number of letters to change to turn one word into the other; for hints. Words of more than 32 letters count as
 * very different. */
unsigned sbx_word_distance(const char *left, const char *right);

#endif
