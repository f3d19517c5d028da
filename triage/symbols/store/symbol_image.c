/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_image.c - the names of one program or library: a file of compressed chunks. */
#include "symbol_image.h"

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mbedtls/sha256.h>
#include <zstd.h>

#include "stall_crc32c.h"
#include "symbol_chunk.h"

enum {
    ZSTD_LEVEL = 3, /* higher ones take several times as long for a few percent of chunks this small */
    NONE = UINT32_MAX
};

static const char magic[8] = {'s', 'b', 'x', 's', 'y', 'm', 'b', '1'};

/* As it is in the file; numbers little-endian. */
struct header {
    char magic[8];
    uint32_t parser_version;
    uint32_t header_bytes; /* of this */
    uint32_t crc;          /* of header (with 0 here) and directory */
    uint32_t build_id_bytes;
    uint8_t build_id[SBX_IMAGE_BUILD_ID_BYTES_MAX];
    uint8_t digest[SBX_IMAGE_DIGEST_BYTES];
    char name[SBX_IMAGE_NAME_BYTES];
    uint16_t machine, kind, best;
    uint16_t base; /* in units of 4 GiB */
    uint64_t made_s, chunk_count, function_count, place_count, code_bytes;
};
_Static_assert(sizeof(struct header) == 200, "the header has no holes");

struct entry {
    uint64_t number; /* of the chunk: address / SBX_CHUNK_CODE_BYTES */
    uint64_t offset; /* in the file */
    uint32_t bytes, raw_bytes;
    uint32_t crc; /* of the compressed bytes */
    uint32_t unused;
};
_Static_assert(sizeof(struct entry) == 32, "an entry has no holes");

/* A decompressed chunk, in a list by last use. */
struct kept {
    uint8_t *bytes; /* NULL: not kept */
    struct sbx_symbol_chunk chunk;
    uint32_t newer, older;
};

struct sbx_symbol_image {
    int fd;
    struct sbx_image_facts facts;
    struct entry *entries; /* in this machine's byte order */
    struct kept *kept;     /* one an entry */
    uint32_t newest, oldest;
    size_t kept_bytes, cache_bytes;
    ZSTD_DCtx *decompression;
};

const char *sbx_image_kind_name(enum sbx_image_kind kind)
{
    static const char *const names[SBX_IMAGE_KINDS] = {"elf", "macho", "dsym"};
    return (size_t)kind < SBX_IMAGE_KINDS ? names[kind] : names[SBX_IMAGE_ELF];
}

/* ---- writing ---- */

static int write_at(int fd, const void *bytes, size_t count, uint64_t offset)
{
    const char *at = bytes;
    while (count > 0) {
        ssize_t written = pwrite(fd, at, count, (off_t)offset);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return written < 0 ? -errno : -EIO;
        }
        at += written;
        offset += (uint64_t)written;
        count -= (size_t)written;
    }
    return 0;
}

/* The next chunk with names at or behind chunk `number`; *span_inout is the first span that may reach there. False when
 * there is none. */
static bool next_chunk(const struct sbx_span *spans, size_t count, size_t *span_inout, uint64_t *number_inout)
{
    size_t at = *span_inout;
    if (*number_inout > UINT64_MAX / SBX_CHUNK_CODE_BYTES) {
        return false;
    }
    uint64_t begin = *number_inout * SBX_CHUNK_CODE_BYTES;
    while (at < count && spans[at].end <= begin) {
        at++;
    }
    *span_inout = at;
    if (at == count) {
        return false;
    }
    uint64_t first = spans[at].begin / SBX_CHUNK_CODE_BYTES;
    *number_inout = first > *number_inout ? first : *number_inout;
    return true;
}

static size_t count_chunks(const struct sbx_span *spans, size_t count)
{
    size_t chunks = 0, span = 0;
    for (uint64_t number = 0; chunks <= SBX_IMAGE_CHUNKS_MAX && next_chunk(spans, count, &span, &number); number++) {
        chunks++;
    }
    return chunks;
}

/* What a chunk holds, in 64 bits; chunks are made of whole words. */
static uint64_t hash_chunk(const uint8_t *raw, size_t bytes)
{
    uint64_t hash = bytes;
    for (size_t at = 0; at + 4 <= bytes; at += 8) {
        uint64_t word = 0;
        memcpy(&word, raw + at, bytes - at < 8 ? 4 : 8);
        hash = (hash ^ le64toh(word)) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return hash;
}

/* Of all bytes themselves it would be a tenth of the time that parsing takes. Who makes two files whose chunks have equal
 * hashes gains nothing: what is there stays, whether the second is the same or differs. */
static void digest_chunk(mbedtls_sha256_context *digest, uint64_t number, const uint8_t *raw, size_t bytes)
{
    uint64_t facts[3] = {htole64(number), htole64(bytes), htole64(hash_chunk(raw, bytes))};
    (void)mbedtls_sha256_update_ret(digest, (const unsigned char *)facts, sizeof facts); /* it has no way to fail */
}

struct writing {
    int fd;
    uint64_t offset;
    struct entry *entries;
    size_t entry_count;
    struct sbx_chunk_writer *chunks;
    ZSTD_CCtx *compression;
    void *compressed;
    size_t compressed_room;
    mbedtls_sha256_context digest;
};

static int write_chunk(struct writing *writing, uint64_t number, const struct sbx_span *spans, size_t count)
{
    const uint8_t *raw;
    size_t raw_bytes;
    int result =
        sbx_chunk_writer_encode(writing->chunks, number * SBX_CHUNK_CODE_BYTES, spans, count, &raw, &raw_bytes);
    if (result != 0) {
        return result;
    }
    size_t room = ZSTD_compressBound(raw_bytes);
    if (room > writing->compressed_room) {
        void *grown = realloc(writing->compressed, room);
        if (grown == NULL) {
            return -ENOMEM;
        }
        writing->compressed = grown;
        writing->compressed_room = room;
    }
    size_t bytes = ZSTD_compressCCtx(writing->compression, writing->compressed, writing->compressed_room, raw,
                                     raw_bytes, ZSTD_LEVEL);
    if (ZSTD_isError(bytes)) {
        return -ENOMEM;
    }
    digest_chunk(&writing->digest, number, raw, raw_bytes);
    writing->entries[writing->entry_count++] =
        (struct entry){.number = htole64(number),
                       .offset = htole64(writing->offset),
                       .bytes = htole32((uint32_t)bytes),
                       .raw_bytes = htole32((uint32_t)raw_bytes),
                       .crc = htole32(sbx_stall_crc32c(0, writing->compressed, bytes))};
    result = write_at(writing->fd, writing->compressed, bytes, writing->offset);
    writing->offset += bytes;
    return result;
}

static int write_chunks(struct writing *writing, const struct sbx_span *spans, size_t count)
{
    size_t span = 0;
    int result = 0;
    for (uint64_t number = 0; result == 0 && next_chunk(spans, count, &span, &number); number++) {
        size_t behind = span;
        while (behind < count && spans[behind].begin / SBX_CHUNK_CODE_BYTES <= number) {
            behind++;
        }
        result = write_chunk(writing, number, spans + span, behind - span);
    }
    return result;
}

static int write_header(struct writing *writing, const struct sbx_image_facts *facts)
{
    struct header header = {.parser_version = htole32(SBX_SYMBOL_PARSER_VERSION),
                            .header_bytes = htole32(sizeof header),
                            .build_id_bytes = htole32(facts->build_id_bytes),
                            .machine = htole16(facts->machine),
                            .kind = htole16((uint16_t)facts->kind),
                            .best = htole16((uint16_t)facts->best),
                            .base = htole16((uint16_t)(facts->base >> 32)),
                            .made_s = htole64(facts->made_s),
                            .chunk_count = htole64(facts->chunk_count),
                            .function_count = htole64(facts->function_count),
                            .place_count = htole64(facts->place_count),
                            .code_bytes = htole64(facts->code_bytes)};
    memcpy(header.magic, magic, sizeof magic);
    memcpy(header.build_id, facts->build_id, sizeof header.build_id);
    memcpy(header.digest, facts->digest, sizeof header.digest);
    memcpy(header.name, facts->name, sizeof header.name);
    size_t directory_bytes = writing->entry_count * sizeof *writing->entries;
    uint32_t crc = sbx_stall_crc32c(0, &header, sizeof header);
    header.crc = htole32(sbx_stall_crc32c(crc, writing->entries, directory_bytes));
    int result = write_at(writing->fd, writing->entries, directory_bytes, sizeof header);
    return result == 0 ? write_at(writing->fd, &header, sizeof header, 0) : result;
}

int sbx_symbol_image_write(int fd, struct sbx_image_facts *facts, const struct sbx_places *places,
                           const struct sbx_span *spans, size_t count)
{
    size_t chunk_count = count_chunks(spans, count);
    if (chunk_count > SBX_IMAGE_CHUNKS_MAX) {
        return -EFBIG;
    }
    struct writing writing = {.fd = fd, .offset = sizeof(struct header) + chunk_count * sizeof(struct entry)};
    writing.entries = calloc(chunk_count + 1, sizeof *writing.entries);
    writing.chunks = sbx_chunk_writer_create(places);
    writing.compression = ZSTD_createCCtx();
    mbedtls_sha256_init(&writing.digest);
    int result = -ENOMEM;
    if (writing.entries != NULL && writing.chunks != NULL && writing.compression != NULL) {
        result = mbedtls_sha256_starts_ret(&writing.digest, 0) == 0 ? write_chunks(&writing, spans, count) : -EIO;
    }
    if (result == 0) {
        facts->chunk_count = chunk_count;
        facts->function_count = sbx_places_function_count(places);
        facts->place_count = sbx_places_count(places);
        facts->code_bytes = 0;
        for (size_t i = 0; i < count; i++) {
            facts->code_bytes += spans[i].end - spans[i].begin;
        }
        (void)mbedtls_sha256_finish_ret(&writing.digest, facts->digest);
        result = write_header(&writing, facts);
    }
    mbedtls_sha256_free(&writing.digest);
    ZSTD_freeCCtx(writing.compression);
    sbx_chunk_writer_destroy(writing.chunks);
    free(writing.compressed);
    free(writing.entries);
    return result;
}

/* ---- opening ---- */

/* Returns 0, -EBADMSG when the file is shorter, or -errno. */
static int read_at(int fd, void *into, size_t count, uint64_t offset)
{
    char *at = into;
    while (count > 0) {
        ssize_t got = offset > INT64_MAX ? 0 : pread(fd, at, count, (off_t)offset);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return got < 0 ? -errno : -EBADMSG;
        }
        at += got;
        offset += (uint64_t)got;
        count -= (size_t)got;
    }
    return 0;
}

/* What the header says, without believing it yet. */
static int read_header(int fd, struct header *header, struct sbx_image_facts *facts)
{
    int result = read_at(fd, header, sizeof *header, 0);
    if (result != 0) {
        return result;
    }
    if (memcmp(header->magic, magic, sizeof magic) != 0) {
        return -EBADMSG;
    }
    if (le32toh(header->parser_version) != SBX_SYMBOL_PARSER_VERSION) {
        return -EPROTONOSUPPORT;
    }
    *facts = (struct sbx_image_facts){.build_id_bytes = le32toh(header->build_id_bytes),
                                      .machine = le16toh(header->machine),
                                      .kind = (enum sbx_image_kind)le16toh(header->kind),
                                      .best = (enum sbx_symbol_source)le16toh(header->best),
                                      .base = (uint64_t)le16toh(header->base) << 32,
                                      .made_s = le64toh(header->made_s),
                                      .chunk_count = le64toh(header->chunk_count),
                                      .function_count = le64toh(header->function_count),
                                      .place_count = le64toh(header->place_count),
                                      .code_bytes = le64toh(header->code_bytes)};
    memcpy(facts->build_id, header->build_id, sizeof facts->build_id);
    memcpy(facts->digest, header->digest, sizeof facts->digest);
    memcpy(facts->name, header->name, sizeof facts->name);
    bool is_valid = le32toh(header->header_bytes) == sizeof *header && facts->build_id_bytes > 0 &&
                    facts->build_id_bytes <= SBX_IMAGE_BUILD_ID_BYTES_MAX &&
                    le16toh(header->best) < SBX_SYMBOLS_SOURCES && le16toh(header->kind) < SBX_IMAGE_KINDS &&
                    facts->chunk_count <= SBX_IMAGE_CHUNKS_MAX && memchr(facts->name, '\0', sizeof facts->name) != NULL;
    return is_valid ? 0 : -EBADMSG;
}

/* The directory, checked against the header's CRC and the length of the file. */
static int read_directory(struct sbx_symbol_image *image, struct header *header)
{
    size_t count = (size_t)image->facts.chunk_count, bytes = count * sizeof *image->entries;
    struct stat status;
    if (fstat(image->fd, &status) != 0) {
        return -errno;
    }
    if (status.st_size < 0 || (uint64_t)status.st_size < sizeof *header + bytes) {
        return -EBADMSG; /* before memory is taken for it */
    }
    image->entries = malloc(bytes + 1);
    image->kept = calloc(count + 1, sizeof *image->kept);
    if (image->entries == NULL || image->kept == NULL) {
        return -ENOMEM;
    }
    int result = read_at(image->fd, image->entries, bytes, sizeof *header);
    if (result != 0) {
        return result;
    }
    uint32_t crc = le32toh(header->crc);
    header->crc = 0;
    if (sbx_stall_crc32c(sbx_stall_crc32c(0, header, sizeof *header), image->entries, bytes) != crc) {
        return -EBADMSG;
    }
    for (size_t i = 0; i < count; i++) {
        struct entry *entry = &image->entries[i];
        *entry = (struct entry){le64toh(entry->number),    le64toh(entry->offset), le32toh(entry->bytes),
                                le32toh(entry->raw_bytes), le32toh(entry->crc),    0};
        if ((i > 0 && entry->number <= image->entries[i - 1].number) || entry->raw_bytes > SBX_CHUNK_BYTES_MAX ||
            entry->offset > (uint64_t)status.st_size || entry->bytes > (uint64_t)status.st_size - entry->offset) {
            return -EBADMSG;
        }
    }
    return 0;
}

int sbx_symbol_image_open(int fd, size_t cache_bytes, struct sbx_symbol_image **image_out)
{
    struct header header;
    struct sbx_symbol_image *image = calloc(1, sizeof *image);
    if (image == NULL) {
        close(fd);
        return -ENOMEM;
    }
    image->fd = fd;
    image->cache_bytes = cache_bytes;
    image->newest = image->oldest = NONE;
    image->decompression = ZSTD_createDCtx();
    int result = image->decompression == NULL ? -ENOMEM : read_header(fd, &header, &image->facts);
    if (result != 0) {
        image->facts.chunk_count = 0; /* nothing is kept */
    }
    result = result == 0 ? read_directory(image, &header) : result;
    if (result != 0) {
        sbx_symbol_image_close(image);
        return result;
    }
    *image_out = image;
    return 0;
}

void sbx_symbol_image_close(struct sbx_symbol_image *image)
{
    if (image == NULL) {
        return;
    }
    while (image->oldest != NONE) {
        uint32_t at = image->oldest;
        image->oldest = image->kept[at].newer;
        free(image->kept[at].bytes);
    }
    free(image->kept);
    free(image->entries);
    ZSTD_freeDCtx(image->decompression);
    close(image->fd);
    free(image);
}

const struct sbx_image_facts *sbx_symbol_image_facts(const struct sbx_symbol_image *image)
{
    return &image->facts;
}

/* ---- chunks ---- */

/* Decompress chunk `index` into memory of its own, given in *bytes_out, and check it. */
static int load(struct sbx_symbol_image *image, uint32_t index, uint8_t **bytes_out, struct sbx_symbol_chunk *chunk_out)
{
    const struct entry *entry = &image->entries[index];
    uint8_t *compressed = malloc(entry->bytes + 1), *raw = NULL;
    int result = compressed == NULL ? -ENOMEM : read_at(image->fd, compressed, entry->bytes, entry->offset);
    if (result == 0 && sbx_stall_crc32c(0, compressed, entry->bytes) != entry->crc) {
        result = -EBADMSG;
    }
    if (result == 0) {
        raw = malloc(entry->raw_bytes + 1);
        result = raw == NULL ? -ENOMEM : 0;
    }
    if (result == 0) {
        size_t bytes = ZSTD_decompressDCtx(image->decompression, raw, entry->raw_bytes, compressed, entry->bytes);
        result =
            ZSTD_isError(bytes) || bytes != entry->raw_bytes ? -EBADMSG : sbx_symbol_chunk_open(raw, bytes, chunk_out);
    }
    free(compressed);
    if (result != 0) {
        free(raw);
        return result;
    }
    *bytes_out = raw;
    return 0;
}

static void unlink_kept(struct sbx_symbol_image *image, uint32_t index)
{
    const struct kept *kept = &image->kept[index];
    *(kept->newer == NONE ? &image->newest : &image->kept[kept->newer].older) = kept->older;
    *(kept->older == NONE ? &image->oldest : &image->kept[kept->older].newer) = kept->newer;
}

static void link_newest(struct sbx_symbol_image *image, uint32_t index)
{
    image->kept[index].newer = NONE;
    image->kept[index].older = image->newest;
    *(image->newest == NONE ? &image->oldest : &image->kept[image->newest].newer) = index;
    image->newest = index;
}

static const struct sbx_symbol_chunk *chunk_at(struct sbx_symbol_image *image, uint32_t index)
{
    struct kept *kept = &image->kept[index];
    if (kept->bytes != NULL) {
        if (image->newest != index) {
            unlink_kept(image, index);
            link_newest(image, index);
        }
        return &kept->chunk;
    }
    if (load(image, index, &kept->bytes, &kept->chunk) != 0) {
        return NULL;
    }
    link_newest(image, index);
    image->kept_bytes += image->entries[index].raw_bytes;
    while (image->kept_bytes > image->cache_bytes && image->oldest != index) {
        uint32_t oldest = image->oldest;
        unlink_kept(image, oldest);
        free(image->kept[oldest].bytes);
        image->kept[oldest].bytes = NULL;
        image->kept_bytes -= image->entries[oldest].raw_bytes;
    }
    return &kept->chunk;
}

size_t sbx_symbol_image_find(struct sbx_symbol_image *image, uint64_t address, struct sbx_code_frame *frames_out,
                             size_t max)
{
    uint64_t number = address / SBX_CHUNK_CODE_BYTES;
    size_t low = 0, high = (size_t)image->facts.chunk_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (image->entries[middle].number < number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == image->facts.chunk_count || image->entries[low].number != number) {
        return 0;
    }
    const struct sbx_symbol_chunk *chunk = chunk_at(image, (uint32_t)low);
    return chunk == NULL ? 0
                         : sbx_symbol_chunk_find(chunk, (uint32_t)(address % SBX_CHUNK_CODE_BYTES), frames_out, max);
}

int sbx_symbol_image_verify(struct sbx_symbol_image *image)
{
    mbedtls_sha256_context digest;
    uint8_t found[SBX_IMAGE_DIGEST_BYTES] = {0};
    mbedtls_sha256_init(&digest);
    int result = mbedtls_sha256_starts_ret(&digest, 0) == 0 ? 0 : -EIO;
    for (uint32_t i = 0; i < image->facts.chunk_count && result == 0; i++) {
        struct sbx_symbol_chunk chunk;
        uint8_t *bytes = NULL;
        result = load(image, i, &bytes, &chunk);
        if (result == 0) {
            digest_chunk(&digest, image->entries[i].number, bytes, image->entries[i].raw_bytes);
        }
        free(bytes);
    }
    (void)mbedtls_sha256_finish_ret(&digest, found);
    mbedtls_sha256_free(&digest);
    return result == 0 && memcmp(found, image->facts.digest, sizeof found) != 0 ? -EBADMSG : result;
}
