/* SPDX-License-Identifier: Apache-2.0 */
/* test_folder.h - a folder of its own for each test, removed afterwards with everything in it. */
#ifndef SBX_TEST_FOLDER_H
#define SBX_TEST_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Make a folder (mode 0700) and return its path. Given: sbx_test_folder_remove(). Ends the program on failure. */
char *sbx_test_folder_make(void);
void sbx_test_folder_remove(char *path);

/* FOLDER/NAME in a buffer that is valid until seven more calls. */
const char *sbx_test_path(const char *folder, const char *name);

bool sbx_test_exists(const char *path);
void sbx_test_write(const char *path, const void *content, size_t bytes);
/* Read the whole file. Given: free. */
uint8_t *sbx_test_read(const char *path, size_t *bytes_out);
/* Count the files (not folders) in `folder` whose names end with `suffix`, dot files included. */
unsigned sbx_test_count(const char *folder, const char *suffix);

/* Does `needle` occur in the bytes? */
bool sbx_test_contains(const void *haystack, size_t bytes, const void *needle, size_t needle_bytes);

#endif
