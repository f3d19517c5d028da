/* SPDX-License-Identifier: Apache-2.0 */
/* bench_symbols.c - names for code: a lookup in the store, compared with a warm llvm-symbolizer on a pipe, and with
 * addr2line, which gets all addresses at once. The work is equal (the whole chain of inlined calls, demangled names).
 * Also the complete parsing of a program, compared with llvm-gsymutil.
 *
 * The program to look up is the `stallbox` of the same build, or the one in STALLBOX_BENCH_PROGRAM. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "build_id.h"
#include "rounds.h"
#include "symbol_chunk.h"
#include "symbol_file.h"
#include "symbol_store.h"

enum {
    ADDRESSES = 2000, /* distinct frames in a payload */
    ROUNDS_DEFAULT = 15,
    FRAMES_MAX = 64,
    CACHE_BYTES = 32 << 20,
    LINE_BYTES = 65536
};

static struct sbx_symbol_frame frames[FRAMES_MAX];
static uint64_t addresses[ADDRESSES], neighbours[ADDRESSES]; /* each neighbour is in the same chunk */
static uint64_t siblings[ADDRESSES];                         /* each is in the same functions, including inlined ones */
static char folder[] = "/tmp/bench_symbols.XXXXXX", store_folder[64], gsym_path[64];

static void die(const char *what)
{
    fprintf(stderr, "bench_symbols: %s\n", what);
    exit(1);
}

/* Runs a program and discards its output. Gets its wall time in ms and peak memory in MiB. */
static void run(char *const *arguments, double *ms_out, double *mib_out)
{
    double begin = bench_now_ns();
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        execvp(arguments[0], arguments);
        _exit(127);
    }
    int status;
    struct rusage usage;
    if (pid < 0 || wait4(pid, &status, 0, &usage) != pid || status != 0) {
        die(arguments[0]);
    }
    *ms_out = (bench_now_ns() - begin) / 1e6;
    *mib_out = (double)usage.ru_maxrss / 1024;
}

static struct sbx_symbol_image *open_image(const char *program, uint64_t *bytes_out)
{
    uint8_t build_id[SBX_BUILD_ID_BYTES_MAX];
    struct sbx_symbol_store *store;
    struct sbx_symbol_image *image;
    struct sbx_store_entry *entries;
    size_t count;
    int fd = open(program, O_RDONLY | O_CLOEXEC);
    size_t id_bytes = fd < 0 ? 0 : sbx_build_id_read(fd, build_id);
    if (id_bytes == 0 || sbx_symbol_store_open(store_folder, "default", false, &store) != 0 ||
        sbx_symbol_store_find(store, build_id, id_bytes, 0, CACHE_BYTES, &image) != 0 ||
        sbx_symbol_store_list(store, &entries, &count) != 0) {
        die("the program is not in the store");
    }
    *bytes_out = entries[0].file_bytes;
    free(entries);
    close(fd);
    sbx_symbol_store_close(store);
    return image;
}

/* Do two addresses have the same chain of functions? */
static bool are_siblings(struct sbx_symbol_image *image, uint64_t a, uint64_t b)
{
    static struct sbx_code_frame frames_of_a[FRAMES_MAX], frames_of_b[FRAMES_MAX];
    static char names[FRAMES_MAX][4096]; /* names are borrowed until the next lookup */
    size_t count = sbx_symbol_image_find(image, a, frames_of_a, FRAMES_MAX);
    for (size_t i = 0; i < count; i++) {
        snprintf(names[i], sizeof names[i], "%s", frames_of_a[i].name);
    }
    if (sbx_symbol_image_find(image, b, frames_of_b, FRAMES_MAX) != count) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], frames_of_b[i].name) != 0) {
            return false;
        }
    }
    return true;
}

static bool is_taken(uint64_t address, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (addresses[i] == address || siblings[i] == address) {
            return true;
        }
    }
    return false;
}

/* Returns another address in the same functions that is in neither list (their first `count` entries are chosen
 * already); 0: there is none nearby. */
static uint64_t find_sibling(struct sbx_symbol_image *image, uint64_t address, size_t count)
{
    for (uint64_t distance = 1; distance <= 256; distance++) {
        uint64_t tried[] = {address + distance, address > distance ? address - distance : address};
        for (size_t i = 0; i < 2; i++) {
            if (!is_taken(tried[i], count) && tried[i] != address && are_siblings(image, address, tried[i])) {
                return tried[i];
            }
        }
    }
    return 0;
}

/* Chooses addresses with a name, spread over the range of the image, by trying addresses. */
static void choose_addresses(struct sbx_symbol_image *image)
{
    uint64_t begin = UINT64_MAX, end = 0, random = 3;
    struct sbx_code_frame frame;
    for (uint64_t at = 0; at < UINT64_C(1) << 28; at += 256) {
        if (sbx_symbol_image_find(image, at, &frame, 1) > 0) {
            begin = at < begin ? at : begin;
            end = at;
        }
    }
    if (end <= begin) {
        die("nothing is named");
    }
    for (size_t i = 0, tries = 0; i < ADDRESSES; tries++) {
        if (tries > 1000 * ADDRESSES) {
            die("the program is too small");
        }
        random = random * UINT64_C(6364136223846793005) + 1;
        addresses[i] = begin + (random >> 20) % (end - begin);
        bool is_named = !is_taken(addresses[i], i) && sbx_symbol_image_find(image, addresses[i], &frame, 1) > 0;
        siblings[i] = is_named ? find_sibling(image, addresses[i], i) : 0;
        i += siblings[i] != 0;
    }
    for (size_t i = 0; i < ADDRESSES;) {
        random = random * UINT64_C(6364136223846793005) + 1;
        neighbours[i] =
            addresses[i] / SBX_CHUNK_CODE_BYTES * SBX_CHUNK_CODE_BYTES + (random >> 20) % SBX_CHUNK_CODE_BYTES;
        i += sbx_symbol_image_find(image, neighbours[i], &frame, 1) > 0;
    }
}

/* A running llvm-symbolizer with one pipe for requests and one for answers. */
struct pipe_pair {
    FILE *requests, *answers;
};

static struct pipe_pair start_symbolizer(const char *program)
{
    int to[2], from[2];
    char object[512];
    snprintf(object, sizeof object, "--obj=%s", program);
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) {
        die("no pipes");
    }
    if (fork() == 0) {
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        execlp("llvm-symbolizer", "llvm-symbolizer", "--inlines", "--output-style=LLVM", object, (char *)NULL);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    return (struct pipe_pair){fdopen(to[1], "w"), fdopen(from[0], "r")};
}

static void ask_symbolizer(struct pipe_pair *pair, uint64_t address)
{
    static char line[LINE_BYTES];
    fprintf(pair->requests, "0x%llx\n", (unsigned long long)address);
    fflush(pair->requests);
    do {
        if (fgets(line, sizeof line, pair->answers) == NULL) {
            die("llvm-symbolizer is missing, or ended");
        }
    } while (line[0] != '\n');
}

static void look_up_all(struct sbx_symbol_file *file, const uint64_t *list)
{
    enum sbx_symbol_source source;
    for (size_t i = 0; i < ADDRESSES; i++) {
        if (sbx_symbol_file_find(file, list[i], frames, FRAMES_MAX, &source) == 0) {
            die("a name was lost");
        }
    }
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Times of single lookups, in ns. On a busy machine, the mean includes time slices of others, and the median does
 * not. */
struct times {
    double mean, p50, p99;
};

static struct times times_of(double *each)
{
    struct times times = {.mean = 0};
    for (size_t i = 0; i < ADDRESSES; i++) {
        times.mean += each[i] / ADDRESSES;
    }
    qsort(each, ADDRESSES, sizeof *each, compare_doubles);
    times.p50 = each[ADDRESSES / 2];
    times.p99 = each[ADDRESSES * 99 / 100];
    return times;
}

static struct times time_ours(struct sbx_symbol_file *file, const uint64_t *list)
{
    static double each[ADDRESSES];
    enum sbx_symbol_source source;
    for (size_t i = 0; i < ADDRESSES; i++) {
        double begin = bench_now_ns();
        (void)sbx_symbol_file_find(file, list[i], frames, FRAMES_MAX, &source);
        each[i] = bench_now_ns() - begin;
    }
    return times_of(each);
}

static struct times time_theirs(struct pipe_pair *pair, const uint64_t *list)
{
    static double each[ADDRESSES];
    for (size_t i = 0; i < ADDRESSES; i++) {
        double begin = bench_now_ns();
        ask_symbolizer(pair, list[i]);
        each[i] = bench_now_ns() - begin;
    }
    return times_of(each);
}

enum {
    MEAN,
    MEAN_PEER,
    MEAN_BATCH,
    P99,
    P99_PEER,
    NEIGHBOUR,
    SIBLING,
    SIBLING_PEER,
    SIBLING_P50,
    SIBLING_P50_PEER,
    PAYLOAD,
    COLD,
    PARSE,
    PARSE_PEER,
    MEMORY,
    MEMORY_PEER,
    BYTES,
    BYTES_PEER,
    FILE_BYTES,
    SERIES
};
static struct bench_series series[SERIES];

static void measure_round(const char *program, struct sbx_symbol_file *file, struct pipe_pair *pair)
{
    double ms, mib;
    look_up_all(file, addresses); /* makes the peer's caches warm, because a running peer is used repeatedly */
    double begin = bench_now_ns();
    look_up_all(file, addresses);
    double all = bench_now_ns() - begin;
    bench_series_add(&series[MEAN], all / ADDRESSES);
    bench_series_add(&series[PAYLOAD], all / 1e6);
    bench_series_add(&series[P99], time_ours(file, addresses).p99);
    struct times theirs = time_theirs(pair, addresses);
    bench_series_add(&series[P99_PEER], theirs.p99);
    bench_series_add(&series[MEAN_PEER], theirs.mean);
    theirs = time_theirs(pair, siblings);
    bench_series_add(&series[SIBLING_PEER], theirs.mean);
    bench_series_add(&series[SIBLING_P50_PEER], theirs.p50);

    static char texts[ADDRESSES][20], *batch[ADDRESSES + 5];
    size_t words = 0;
    batch[words++] = "addr2line";
    batch[words++] = "-fiC";
    batch[words++] = "-e";
    batch[words++] = (char *)program;
    for (size_t i = 0; i < ADDRESSES; i++) {
        snprintf(texts[i], sizeof texts[i], "%llx", (unsigned long long)addresses[i]);
        batch[words++] = texts[i];
    }
    run(batch, &ms, &mib);
    bench_series_add(&series[MEAN_BATCH], ms * 1e6 / ADDRESSES);

    uint64_t bytes;
    struct sbx_symbol_file *cold = sbx_symbol_file_of_image(open_image(program, &bytes));
    begin = bench_now_ns();
    look_up_all(cold, addresses);
    bench_series_add(&series[COLD], (bench_now_ns() - begin) / 1e6);
    struct times new_ones = time_ours(cold, siblings); /* the names are demangled already, but these answers are new */
    bench_series_add(&series[SIBLING], new_ones.mean);
    bench_series_add(&series[SIBLING_P50], new_ones.p50);
    begin = bench_now_ns();
    look_up_all(cold, neighbours);
    bench_series_add(&series[NEIGHBOUR], (bench_now_ns() - begin) / ADDRESSES);
    sbx_symbol_file_close(cold);
    bench_series_add(&series[BYTES], (double)bytes / 1e6);

    char fresh[80], gsym_option[96];
    snprintf(fresh, sizeof fresh, "%s/fresh", folder);
    snprintf(gsym_option, sizeof gsym_option, "--out-file=%s", gsym_path);
    char *remove[] = {"rm", "-rf", fresh, NULL};
    char *ours[] = {BENCH_STALLBOX, "symbols", "add", "--store", fresh, (char *)program, NULL};
    char convert[512];
    snprintf(convert, sizeof convert, "--convert=%s", program);
    char *convert_theirs[] = {BENCH_GSYMUTIL, "--num-threads=1", convert, gsym_option, NULL};
    run(ours, &ms, &mib);
    bench_series_add(&series[PARSE], ms);
    bench_series_add(&series[MEMORY], mib);
    run(remove, &ms, &mib);
    run(convert_theirs, &ms, &mib);
    bench_series_add(&series[PARSE_PEER], ms);
    bench_series_add(&series[MEMORY_PEER], mib);
    struct stat status;
    bench_series_add(&series[BYTES_PEER], stat(gsym_path, &status) == 0 ? (double)status.st_size / 1e6 : 0);
    bench_series_add(&series[FILE_BYTES], stat(program, &status) == 0 ? (double)status.st_size / 1e6 : 0);
}

int main(int count, char **arguments)
{
    struct bench_options options = {.rounds = ROUNDS_DEFAULT};
    if (!bench_read_options(count, arguments, &options)) {
        return 2;
    }
    const char *program = getenv("STALLBOX_BENCH_PROGRAM");
    program = program == NULL ? BENCH_STALLBOX : program;
    if (mkdtemp(folder) == NULL) {
        die(strerror(errno));
    }
    snprintf(store_folder, sizeof store_folder, "%s/store", folder);
    snprintf(gsym_path, sizeof gsym_path, "%s/gsym", folder);
    double ms, mib;
    uint64_t bytes;
    char *add[] = {BENCH_STALLBOX, "symbols", "add", "--store", store_folder, (char *)program, NULL};
    run(add, &ms, &mib);
    struct sbx_symbol_image *image = open_image(program, &bytes);
    choose_addresses(image);
    struct sbx_symbol_file *file = sbx_symbol_file_of_image(image);
    struct pipe_pair pair = start_symbolizer(program);
    look_up_all(file, addresses);
    (void)time_theirs(&pair, addresses); /* makes it warm */
    for (int round = 0; round < options.rounds; round++) {
        measure_round(program, file, &pair);
    }
    const char *pipe = "llvm-symbolizer pipe", *gsym = "llvm-gsymutil";
    const struct {
        struct bench_line line;
        int ours, peer;
    } lines[] = {
        {{"symbols", "lookup, warm, mean", "ns", pipe, "ratio <= 0.01"}, MEAN, MEAN_PEER},
        {{"symbols", "lookup, warm, mean", "ns", "addr2line, all at once", "ratio <= 0.01"}, MEAN, MEAN_BATCH},
        {{"symbols", "lookup, not asked before, chunk warm, mean", "ns", pipe, NULL}, NEIGHBOUR, MEAN_PEER},
        {{"symbols", "lookup, not asked before, names demangled, mean", "ns", pipe, "ratio <= 0.01"},
         SIBLING,
         SIBLING_PEER},
        {{"symbols", "lookup, not asked before, names demangled, p50", "ns", pipe, "ratio <= 0.01"},
         SIBLING_P50,
         SIBLING_P50_PEER},
        {{"symbols", "lookup, warm, p99", "ns", pipe, NULL}, P99, P99_PEER},
        {{"symbols", "2,000 frames, warm", "ms", NULL, "value <= 5"}, PAYLOAD, -1},
        {{"symbols", "2,000 frames, nothing decompressed", "ms", NULL, NULL}, COLD, -1},
        {{"symbols", "parsed and stored, wall", "ms", gsym, "ratio <= 1"}, PARSE, PARSE_PEER},
        {{"symbols", "parsed and stored, peak memory", "MiB", gsym, "ratio <= 0.5"}, MEMORY, MEMORY_PEER},
        {{"symbols", "stored bytes", "MB", "GSYM", NULL}, BYTES, BYTES_PEER},
        {{"symbols", "stored bytes", "MB", "the program", NULL}, BYTES, FILE_BYTES},
    };
    bench_print_heading(options.json, "names for code");
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        bench_print(options.json, &lines[i].line, &series[lines[i].ours],
                    lines[i].peer < 0 ? NULL : &series[lines[i].peer]);
    }
    fclose(pair.requests); /* this ends the program */
    fclose(pair.answers);
    while (wait(NULL) > 0) {
    }
    sbx_symbol_file_close(file);
    char *remove[] = {"rm", "-rf", folder, NULL};
    run(remove, &ms, &mib);
    return 0;
}
