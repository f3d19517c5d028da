/* SPDX-License-Identifier: Apache-2.0 */
/* symbols_verbs.h - the verbs of `stallbox symbols`, and their request. */
#ifndef SBX_SYMBOLS_VERBS_H
#define SBX_SYMBOLS_VERBS_H

#include <stdbool.h>
#include <stddef.h>

struct sbx_symbols_request {
    const char *store;  /* folder; NULL: the usual one */
    const char *tenant; /* whose symbols */
    const char **symbol_dirs, **index_paths;
    size_t symbol_dir_count, index_path_count;
    const char **operands; /* behind the verb */
    size_t operand_count;
    bool json;
    const char *server_url, *token_path, *ca_path; /* add: to a server instead of a store; NULL: none */
    const char *debuginfod;                        /* URL; NULL: no server is asked */
    const char *output;                            /* names: folder for the maps; NULL: the current folder */
    const char *mapping;                           /* names: the mapping file of an obfuscator of classes; NULL: none */
};

/* Each does its verb and returns the exit status; everything of the request is borrowed. */
int sbx_symbols_lookup(const struct sbx_symbols_request *request);
int sbx_symbols_add(const struct sbx_symbols_request *request);
int sbx_symbols_send(const struct sbx_symbols_request *request); /* add, to a server */
int sbx_symbols_names(const struct sbx_symbols_request *request);
int sbx_symbols_list(const struct sbx_symbols_request *request);
int sbx_symbols_remove(const struct sbx_symbols_request *request);

#endif
