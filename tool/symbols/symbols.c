/* SPDX-License-Identifier: Apache-2.0 */
/* symbols.c - `stallbox symbols`: the command line of its verbs. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols.h"
#include "options.h"
#include "symbol_store_option.h"
#include "symbols_verbs.h"

enum {
    OPTION_STORE,
    OPTION_TENANT,
    OPTION_SYMBOLS,
    OPTION_MODULES,
    OPTION_JSON,
    OPTION_SERVER,
    OPTION_TOKEN_FILE,
    OPTION_CA_FILE,
    OPTION_DEBUGINFOD,
    OPTION_OUTPUT,
    OPTION_MAPPING,
    OPTION_COUNT
};
static const struct sbx_option options[OPTION_COUNT] = {
    [OPTION_STORE] = {"--store", 'S', "DIR|URL",
                      "where symbols are kept (default $XDG_DATA_HOME/stallbox/symbols\nor "
                      "~/.local/share/stallbox/symbols); for many "
                      "machines redis://HOST:PORT,\nredis+cluster://HOST:PORT,... or unix:PATH"},
    [OPTION_TENANT] = {"--tenant", 't', "NAME",
                       "the owner of the symbols, where several share a store (default " SBX_SYMBOL_TENANT ")"},
    [OPTION_SYMBOLS] = {"--symbols", 's', "DIR",
                        "lookup: also look for programs and debug files here; may be repeated"},
    [OPTION_MODULES] = {"--modules", 'm', "FILE",
                        "lookup: a spool's list of where modules lie (SPOOL/modules);\nmay be repeated"},
    [OPTION_JSON] = {"--json", 'j', NULL, "list: one JSON object a line"},
    [OPTION_SERVER] = {"--server", 'u', "URL", "add, names: send them to this server instead (stallbox serve)"},
    [OPTION_TOKEN_FILE] = {"--token-file", 'T', "FILE",
                           "add, names: its first line is the secret that the server requires"},
    [OPTION_CA_FILE] = {"--ca-file", 0, "FILE",
                        "add, names: trust only servers whose certificate an authority in\nFILE (PEM) has signed"},
    [OPTION_DEBUGINFOD] = {"--debuginfod", 0, "URL", "lookup: ask this debuginfod server for missing names"},
    [OPTION_OUTPUT] = {"--output", 'o', "DIR", "names: write the maps into this folder (default: the current one)"},
    [OPTION_MAPPING] = {"--mapping", 0, "FILE",
                        "names: the original names of obfuscated classes (mapping.txt of R8 or ProGuard)"},
};

struct verb {
    const char *name;
    int (*run)(const struct sbx_symbols_request *request);
    unsigned options; /* bits of the options that it takes */
    size_t operands_min, operands_max;
    const char *wants; /* for the message */
};
#define BIT(option) (1u << (option))
static const struct verb verbs[] = {
    {"add", sbx_symbols_add,
     BIT(OPTION_STORE) | BIT(OPTION_TENANT) | BIT(OPTION_SERVER) | BIT(OPTION_TOKEN_FILE) | BIT(OPTION_CA_FILE), 1,
     SIZE_MAX, "symbols add FILE|DIR..."},
    {"names", sbx_symbols_names,
     BIT(OPTION_OUTPUT) | BIT(OPTION_MAPPING) | BIT(OPTION_SERVER) | BIT(OPTION_TOKEN_FILE) | BIT(OPTION_CA_FILE), 1,
     SIZE_MAX, "symbols names FILE|DIR..."},
    {"list", sbx_symbols_list, BIT(OPTION_STORE) | BIT(OPTION_TENANT) | BIT(OPTION_JSON), 0, 0, "symbols list"},
    {"remove", sbx_symbols_remove, BIT(OPTION_STORE) | BIT(OPTION_TENANT), 1, SIZE_MAX, "symbols remove BUILD-ID..."},
    {"lookup", sbx_symbols_lookup,
     BIT(OPTION_STORE) | BIT(OPTION_TENANT) | BIT(OPTION_SYMBOLS) | BIT(OPTION_MODULES) | BIT(OPTION_DEBUGINFOD), 2,
     SIZE_MAX, "symbols lookup BUILD-ID OFFSET..."},
};

void sbx_usage_symbols(FILE *out)
{
    fputs(
        "usage: stallbox symbols add [OPTION]... FILE|DIR...\n"
        "       stallbox symbols add --server URL [OPTION]... FILE|DIR...\n"
        "       stallbox symbols names [OPTION]... FILE|DIR...\n"
        "       stallbox symbols list [OPTION]...\n"
        "       stallbox symbols remove [OPTION]... BUILD-ID...\n"
        "       stallbox symbols lookup [OPTION]... BUILD-ID OFFSET...\n"
        "\n"
        "Names for code. add reads programs, libraries, debug files and dSYMs (ELF, Mach-O) completely, and keeps\n"
        "their names. list prints them, remove removes them. Names that were not used for 45 days are removed\n"
        "automatically. Split debug information (.dwo, .dwp) is found beside the program, or given with it.\n"
        "\n"
        "add --server sends the files, compressed, to a server, which reads them; also a runtime's map of names\n"
        "(provider-NAME.map). Stalls without names are named again there.\n"
        "\n"
        "names reads sources of Python and JavaScript, and classes of Java, without running the program. It writes "
        "the\n"
        "names that their functions have in stalls into maps of names for report and serve (--symbols), or sends them\n"
        "to a server. For Python, DIR corresponds to an entry of sys.path of the program.\n"
        "\n"
        "lookup prints one JSON object a line for each OFFSET, a file-relative virtual address in hex, as addr2line "
        "takes it:\n"
        "{\"offset\",\"frames\":[{\"function\",\"file\",\"line\",\"inlined\"}],\"source\":\"dwarf|symtab|dynsym|none\"}"
        ", leaf first.\n"
        "For Mach-O, BUILD-ID is a UUID, and OFFSET counts from the begin of the image, as in crash reports.\n"
        "lookup asks the store first. Then it looks for the file with that build-id, also in the usual places of\n"
        "this machine.\n"
        "\n",
        out);
    sbx_options_print(options, OPTION_COUNT, out);
}

static int choose_verb(const char *name, const struct verb **verb_out)
{
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strcmp(verbs[i].name, name) == 0) {
            *verb_out = &verbs[i];
            return SBX_EXIT_DONE;
        }
    }
    return sbx_usage_error("symbols", "unknown verb '%s'; there are add, names, list, remove and lookup", name);
}

/* Check that the request has what the verb needs. */
static int check(const struct verb *verb, const struct sbx_symbols_request *request, unsigned given)
{
    if (verb == NULL) {
        return sbx_usage_error("symbols", "it wants a verb: add, names, list, remove or lookup");
    }
    for (unsigned option = 0; option < OPTION_COUNT; option++) {
        if ((given & ~verb->options & BIT(option)) != 0) {
            return sbx_usage_error("symbols", "%s has no %s", verb->name, options[option].name);
        }
    }
    unsigned of_store = BIT(OPTION_STORE) | BIT(OPTION_TENANT),
             of_server = BIT(OPTION_TOKEN_FILE) | BIT(OPTION_CA_FILE);
    if (request->server_url != NULL && (given & of_store) != 0) {
        return sbx_usage_error("symbols", "symbols go to a server or into a store: --server or --store");
    }
    if (request->server_url != NULL && request->output != NULL) {
        return sbx_usage_error("symbols", "maps go to a server or into a folder: --server or --output");
    }
    if (request->server_url == NULL && (given & of_server) != 0) {
        return sbx_usage_error("symbols", "--token-file and --ca-file are for a --server");
    }
    if (request->operand_count < verb->operands_min || request->operand_count > verb->operands_max) {
        return sbx_usage_error("symbols", "it wants: %s", verb->wants);
    }
    return SBX_EXIT_DONE;
}

/* Returns SBX_EXIT_DONE to go on, or the exit status; *help_out: only help was wanted. */
static int read_options(int argc, char **argv, struct sbx_symbols_request *request, const struct verb **verb_out,
                        bool *help_out)
{
    struct sbx_option_reader reader;
    unsigned given = 0;
    sbx_option_reader_init(&reader, "symbols", options, OPTION_COUNT, argc, argv);
    for (;;) {
        int event = sbx_option_next(&reader), status = SBX_EXIT_DONE;
        given |= event >= 0 ? BIT(event) : 0;
        switch (event) {
        case OPTION_STORE:
            request->store = reader.value;
            break;
        case OPTION_TENANT:
            request->tenant = reader.value;
            break;
        case OPTION_SYMBOLS:
            request->symbol_dirs[request->symbol_dir_count++] = reader.value;
            break;
        case OPTION_MODULES:
            request->index_paths[request->index_path_count++] = reader.value;
            break;
        case OPTION_JSON:
            request->json = true;
            break;
        case OPTION_SERVER:
            request->server_url = reader.value;
            break;
        case OPTION_TOKEN_FILE:
            request->token_path = reader.value;
            break;
        case OPTION_CA_FILE:
            request->ca_path = reader.value;
            break;
        case OPTION_DEBUGINFOD:
            request->debuginfod = reader.value;
            break;
        case OPTION_MAPPING:
            request->mapping = reader.value;
            break;
        case OPTION_OUTPUT:
            request->output = reader.value;
            break;
        case SBX_OPTION_OPERAND:
            if (*verb_out == NULL) {
                status = choose_verb(reader.value, verb_out);
            } else {
                request->operands[request->operand_count++] = reader.value;
            }
            break;
        case SBX_OPTION_HELP:
            *help_out = true;
            return SBX_EXIT_DONE;
        case SBX_OPTION_END:
            return check(*verb_out, request, given);
        default:
            return SBX_EXIT_USAGE;
        }
        if (status != SBX_EXIT_DONE) {
            return status;
        }
    }
}

int sbx_command_symbols(int argc, char **argv)
{
    struct sbx_symbols_request request = {.tenant = SBX_SYMBOL_TENANT};
    const struct verb *verb = NULL;
    bool help = false;
    int status = SBX_EXIT_FAILED;
    request.symbol_dirs = calloc((size_t)argc, sizeof *request.symbol_dirs); /* no more of each than arguments */
    request.index_paths = calloc((size_t)argc, sizeof *request.index_paths);
    request.operands = calloc((size_t)argc, sizeof *request.operands);
    if (request.symbol_dirs == NULL || request.index_paths == NULL || request.operands == NULL) {
        sbx_failure("symbols", "%s", strerror(ENOMEM));
        goto free_request;
    }
    status = read_options(argc, argv, &request, &verb, &help);
    if (help) {
        sbx_usage_symbols(stdout);
    } else if (status == SBX_EXIT_DONE) {
        status = verb->run(&request);
    }

free_request:
    free(request.operands);
    free(request.index_paths);
    free(request.symbol_dirs);
    return status;
}
