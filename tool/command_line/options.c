/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - reads a command line; options.h tells why this is not getopt. */
#include "options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
    WORD_MAX = 32, /* longer words get no hint */
    HINT_DISTANCE = 2,
    HELP_COLUMN = 26,
};

unsigned sbx_word_distance(const char *left, const char *right)
{
    size_t left_length = strlen(left), right_length = strlen(right);
    if (left_length > WORD_MAX || right_length > WORD_MAX) {
        return WORD_MAX;
    }
    /* Levenshtein, one row at a time: row[j] is the distance of left[0..i) to right[0..j). */
    unsigned row[WORD_MAX + 1];
    for (size_t j = 0; j <= right_length; j++) {
        row[j] = (unsigned)j;
    }
    for (size_t i = 1; i <= left_length; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= right_length; j++) {
            unsigned substituted = diagonal + (left[i - 1] != right[j - 1]);
            unsigned removed = row[j] + 1, inserted = row[j - 1] + 1;
            diagonal = row[j];
            unsigned least = removed < inserted ? removed : inserted;
            row[j] = substituted < least ? substituted : least;
        }
    }
    return row[right_length];
}

/* `command`: NULL for a mistake before the command is known. */
__attribute__((format(printf, 2, 0))) static void print_message(const char *command, const char *format,
                                                                va_list arguments)
{
    fprintf(stderr, "stallbox%s%s: ", command == NULL ? "" : " ", command == NULL ? "" : command);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}

int sbx_usage_error(const char *command, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_message(command, format, arguments);
    va_end(arguments);
    fprintf(stderr, "Try 'stallbox%s%s --help'.\n", command == NULL ? "" : " ", command == NULL ? "" : command);
    return SBX_EXIT_USAGE;
}

int sbx_failure(const char *command, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_message(command, format, arguments);
    va_end(arguments);
    return SBX_EXIT_FAILED;
}

void sbx_option_reader_init(struct sbx_option_reader *reader, const char *command, const struct sbx_option *options,
                            size_t option_count, int argc, char **argv)
{
    *reader = (struct sbx_option_reader){
        .command = command, .options = options, .option_count = option_count, .argc = argc, .argv = argv, .next = 1};
}

static int refuse_unknown(const struct sbx_option_reader *reader, const char *given, size_t given_length)
{
    char word[WORD_MAX + 1];
    const char *nearest = NULL;
    unsigned least = HINT_DISTANCE + 1;
    if (given_length <= WORD_MAX) {
        memcpy(word, given, given_length);
        word[given_length] = '\0';
        for (size_t i = 0; i < reader->option_count; i++) {
            unsigned distance = sbx_word_distance(word, reader->options[i].name);
            if (distance < least) {
                least = distance;
                nearest = reader->options[i].name;
            }
        }
    }
    if (nearest != NULL) {
        sbx_usage_error(reader->command, "unknown option '%.*s'; did you mean '%s'?", (int)given_length, given,
                        nearest);
    } else {
        sbx_usage_error(reader->command, "unknown option '%.*s'", (int)given_length, given);
    }
    return SBX_OPTION_BAD;
}

/* Give option `index` its value: `attached`, the rest of its own argument, when that is not NULL, else the next
 * argument. */
static int take_value(struct sbx_option_reader *reader, size_t index, const char *attached)
{
    const struct sbx_option *option = &reader->options[index];
    if (option->value == NULL) {
        if (attached != NULL) {
            sbx_usage_error(reader->command, "option '%s' takes no value, but got '%s'", option->name, attached);
            return SBX_OPTION_BAD;
        }
        return (int)index;
    }
    if (attached != NULL) {
        reader->value = attached;
    } else if (reader->next < reader->argc) {
        reader->value = reader->argv[reader->next++];
    } else {
        sbx_usage_error(reader->command, "option '%s' needs a value: %s %s", option->name, option->name, option->value);
        return SBX_OPTION_BAD;
    }
    if (*reader->value == '\0') {
        sbx_usage_error(reader->command, "option '%s' got an empty value", option->name);
        return SBX_OPTION_BAD;
    }
    return (int)index;
}

int sbx_option_next(struct sbx_option_reader *reader)
{
    reader->value = NULL;
    if (reader->next >= reader->argc) {
        return SBX_OPTION_END;
    }
    const char *argument = reader->argv[reader->next++];
    if (!reader->only_operands && strcmp(argument, "--") == 0) {
        reader->only_operands = true;
        return sbx_option_next(reader);
    }
    if (reader->only_operands || argument[0] != '-' || argument[1] == '\0') { /* a lone "-" is an operand */
        reader->value = argument;
        return SBX_OPTION_OPERAND;
    }
    if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0) {
        return SBX_OPTION_HELP;
    }
    if (argument[1] != '-') {
        for (size_t i = 0; i < reader->option_count; i++) {
            if (reader->options[i].letter == argument[1]) {
                return take_value(reader, i, argument[2] == '\0' ? NULL : argument + 2);
            }
        }
        return refuse_unknown(reader, argument, strlen(argument));
    }
    const char *equals = strchr(argument, '=');
    size_t length = equals == NULL ? strlen(argument) : (size_t)(equals - argument);
    for (size_t i = 0; i < reader->option_count; i++) {
        if (strlen(reader->options[i].name) == length && memcmp(reader->options[i].name, argument, length) == 0) {
            return take_value(reader, i, equals == NULL ? NULL : equals + 1);
        }
    }
    return refuse_unknown(reader, argument, length);
}

bool sbx_option_is_server(const char *command, const char *url)
{
    if (strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0) {
        return true;
    }
    sbx_usage_error(command, "--server '%s' is no http:// or https:// address", url);
    return false;
}

bool sbx_option_number(const struct sbx_option_reader *reader, int option, uint64_t min, uint64_t max,
                       uint64_t *number_out)
{
    const char *text = reader->value;
    char *end = NULL;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    /* strtoull() takes signs and leading space; a number here begins with a digit. */
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || number < min || number > max) {
        sbx_usage_error(reader->command, "option '%s' needs a whole number from %llu to %llu, not '%s'",
                        reader->options[option].name, (unsigned long long)min, (unsigned long long)max, text);
        return false;
    }
    *number_out = number;
    return true;
}

void sbx_options_print(const struct sbx_option *options, size_t option_count, FILE *out)
{
    for (size_t i = 0; i < option_count; i++) {
        const struct sbx_option *option = &options[i];
        char letter[8] = "";
        if (option->letter != 0) {
            snprintf(letter, sizeof letter, "-%c, ", option->letter);
        }
        int width = fprintf(out, "  %s%s%s%s", letter, option->name, option->value == NULL ? "" : " ",
                            option->value == NULL ? "" : option->value);
        if (width > HELP_COLUMN - 2) { /* too long for one line with its help */
            fputc('\n', out);
            width = 0;
        }
        for (const char *line = option->help; *line != '\0';) {
            size_t length = strcspn(line, "\n");
            fprintf(out, "%*s%.*s\n", HELP_COLUMN - width, "", (int)length, line);
            line += length + (line[length] == '\n');
            width = 0;
        }
    }
    fprintf(out, "%-*s%s\n", HELP_COLUMN, "  -h, --help", "this text");
}
