/* SPDX-License-Identifier: Apache-2.0 */
/* mini_debug_info.c - .gnu_debugdata: a symbol table of functions that distributions keep in stripped programs. */
#include "mini_debug_info.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <lzma.h>

enum {
    BYTES_MAX = 64 << 20,        /* size limit of the decompressed file; Fedora's largest have some hundred KB */
    DECODER_BYTES_MAX = 80 << 20 /* memory limit of the decoder, whose dictionary is at most as large as the file */
};

static const Elf_Data *find_section(Elf *elf)
{
    size_t names;
    if (elf_getshdrstrndx(elf, &names) != 0) {
        return NULL;
    }
    for (Elf_Scn *section = elf_nextscn(elf, NULL); section != NULL; section = elf_nextscn(elf, section)) {
        GElf_Shdr header;
        const char *name = gelf_getshdr(section, &header) != NULL ? elf_strptr(elf, names, header.sh_name) : NULL;
        if (name != NULL && strcmp(name, ".gnu_debugdata") == 0 && header.sh_type != SHT_NOBITS) {
            return elf_rawdata(section, NULL);
        }
    }
    return NULL;
}

/* Decode into memory that grows as needed. The size that the header claims is not used. */
int sbx_mini_debug_info_read(Elf *elf, uint8_t **bytes_out, size_t *count_out)
{
    const Elf_Data *section = find_section(elf);
    if (section == NULL || section->d_buf == NULL) {
        return -ENOENT;
    }
    lzma_stream stream = LZMA_STREAM_INIT;
    if (lzma_stream_decoder(&stream, DECODER_BYTES_MAX, 0) != LZMA_OK) {
        return -ENOMEM;
    }
    uint8_t *bytes = NULL;
    size_t room = 0;
    lzma_ret result = LZMA_OK;
    stream.next_in = section->d_buf;
    stream.avail_in = section->d_size;
    while (result == LZMA_OK) {
        if (stream.avail_out == 0) {
            size_t wanted = room == 0 ? 1 << 20 : room * 2;
            uint8_t *grown = wanted > BYTES_MAX ? NULL : realloc(bytes, wanted);
            if (grown == NULL) {
                result = wanted > BYTES_MAX ? LZMA_DATA_ERROR : LZMA_MEM_ERROR;
                break;
            }
            stream.next_out = grown + room;
            stream.avail_out = wanted - room;
            bytes = grown;
            room = wanted;
        }
        result = lzma_code(&stream, LZMA_FINISH);
    }
    *count_out = (size_t)stream.total_out;
    lzma_end(&stream);
    if (result != LZMA_STREAM_END) {
        free(bytes);
        return result == LZMA_MEM_ERROR ? -ENOMEM : -EBADMSG;
    }
    *bytes_out = bytes;
    return 0;
}
