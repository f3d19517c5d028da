/* SPDX-License-Identifier: Apache-2.0 */
/* recording_size.c - how many bytes a recording uses for its contents.
 *
 * usage: recording_size FILE
 * FILE: a live recording or a snapshot. Prints one JSON object: bytes of the ring in use (records and chunk heads),
 * slots of the callstack table in use (nodes, frames; 8 bytes each), records, samples, and the number of samples whose
 * stack differs from that of the previous sample of the same thread. */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "marks.h"
#include "snapshot.h"

static bool is_sample(const struct sbx_record *record)
{
    return record->kind == SBX_RECORD_ALLOC || record->kind == SBX_RECORD_LEAF || record->kind == SBX_RECORD_ASYNC ||
           record->kind == SBX_RECORD_BLOCKED;
}

static unsigned char *read_file(const char *path, size_t *bytes_out)
{
    struct stat status;
    FILE *file = fopen(path, "re");
    unsigned char *bytes = NULL;
    if (file != NULL && fstat(fileno(file), &status) == 0) {
        bytes = malloc((size_t)status.st_size);
        *bytes_out = bytes != NULL ? fread(bytes, 1, (size_t)status.st_size, file) : 0;
    }
    if (file != NULL) {
        fclose(file);
    }
    return bytes;
}

int main(int count, char **arguments)
{
    struct sbx_snapshot *snapshot;
    char why[128] = "cannot be read";
    size_t bytes = 0;
    unsigned char *data = count == 2 ? read_file(arguments[1], &bytes) : NULL;
    if (count != 2) {
        fprintf(stderr, "usage: recording_size FILE\n");
        return 2;
    }
    if (data == NULL || sbx_snapshot_read(data, bytes, &snapshot, why, sizeof why) != 0) {
        fprintf(stderr, "recording_size: %s %s\n", arguments[1], why);
        return 1;
    }
    const struct sbx_recording_header *header = &snapshot->header;
    const struct sbx_chunk *chunks = (const struct sbx_chunk *)(const void *)(data + header->chunks.at);
    const uint64_t *frames = (const uint64_t *)(const void *)(data + header->frames.at);
    const uint64_t *nodes = (const uint64_t *)(const void *)(data + header->nodes.at);
    unsigned long long ring = 0, heads = 0, node_slots = 0, frame_slots = 0, samples = 0, looks = 0, distinct = 0,
                       stacks = 0;
    for (uint32_t i = 0; i < header->chunks.count; i++) {
        if (chunks[i].state != SBX_CHUNK_FREE) {
            ring += chunks[i].committed;
            heads += offsetof(struct sbx_chunk, bytes);
        }
    }
    for (uint32_t i = 0; i < header->nodes.count; i++) {
        node_slots += nodes[i] != 0;
    }
    for (uint32_t i = 0; i < header->frames.count; i++) {
        frame_slots += frames[i] != 0;
    }
    uint32_t *last = calloc(snapshot->thread_count, sizeof *last);
    for (size_t i = 0; last != NULL && i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        if (is_sample(record)) {
            samples++;
            looks += 1 + record->repeats;
            distinct += record->stack != last[record->thread];
            stacks += record->stack != SBX_STACK_NONE && record->stack != SBX_STACK_OVERFLOW;
            last[record->thread] = record->stack;
        }
    }
    printf(
        "{\"ring\":%llu,\"heads\":%llu,\"nodes\":%llu,\"frames\":%llu,\"records\":%zu,\"samples\":%llu,\"looks\":%llu,"
        "\"with_stack\":%llu,\"distinct\":%llu,\"epoch\":%u}\n",
        ring, heads, node_slots, frame_slots, snapshot->record_count, samples, looks, stacks, distinct, header->epoch);
    sbx_snapshot_destroy(snapshot);
    free(last);
    free(data);
    return 0;
}
