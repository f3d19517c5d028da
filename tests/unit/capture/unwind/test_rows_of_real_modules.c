/* SPDX-License-Identifier: Apache-2.0 */
/* test_rows_of_real_modules.c - the rows of real files, compared with the way elfutils reads the same files.
 *
 * Both sides are evaluated with made-up registers over a memory in which every word is a hash of its address, so equal
 * results mean equal rules. They are compared at both edges of every row, and at regular steps in between. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "code_map_fixture.h"
#include "unwind_rule.h"

enum {
    REGISTERS = 17,
    STRIDE_SAMPLES = 50000
};

/* A file's unwind data, as this project reads them and as elfutils does. */
struct module_file {
    int descriptor;
    uint8_t *bytes;
    size_t size;
    Elf *elf;
    Dwarf_CFI *cfi;
    struct sbx_unwind_rows rows;
    uint32_t skipped;
    uint64_t text_begin, text_end;
};

enum caller_kind {
    KNOWN,
    NO_ROW,
    END_OF_STACK,
    NOT_EXPRESSED
};

struct caller {
    enum caller_kind what;
    uint64_t cfa, pc, fp;
    bool fp_is_known;
};

struct tally {
    uint32_t compared, unsupported, different;
};

/* ---- the made-up machine ---- */

static uint64_t word_at(uint64_t address)
{
    return ((address ^ (address >> 29)) * UINT64_C(0xbf58476d1ce4e5b9)) & ~UINT64_C(7);
}

static void make_registers(uint64_t pc, uint64_t *registers)
{
    for (unsigned i = 0; i < REGISTERS; i++) {
        registers[i] = word_at(UINT64_C(0x1000) + i);
    }
    registers[SBX_DWARF_STACK_POINTER] = UINT64_C(0x7ff012340000);
    registers[SBX_DWARF_RETURN_ADDRESS] = pc;
}

/* ---- elfutils' side ---- */

/* A location expression: DW_OP_stack_value at its end makes it a value, otherwise it is an address. */
static bool evaluate(const Dwarf_Op *operations, size_t count, const uint64_t *registers, uint64_t cfa,
                     uint64_t *value_out, bool *is_value_out)
{
    uint64_t stack[16] = {0};
    unsigned depth = 0;
    *is_value_out = false;
    for (size_t i = 0; i < count; i++) {
        const Dwarf_Op *operation = &operations[i];
        uint8_t atom = operation->atom;
        if (depth >= 15) {
            return false;
        }
        if (atom >= DW_OP_breg0 && atom <= DW_OP_breg16) {
            stack[depth++] = registers[atom - DW_OP_breg0] + operation->number;
        } else if (atom == DW_OP_bregx && operation->number < REGISTERS) {
            stack[depth++] = registers[operation->number] + operation->number2;
        } else if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31) {
            stack[depth++] = atom - DW_OP_lit0;
        } else if (atom == DW_OP_call_frame_cfa) {
            stack[depth++] = cfa;
        } else if (atom == DW_OP_stack_value) {
            *is_value_out = true;
        } else if (depth >= 1 && atom == DW_OP_plus_uconst) {
            stack[depth - 1] += operation->number;
        } else if (depth >= 1 && atom == DW_OP_deref) {
            stack[depth - 1] = word_at(stack[depth - 1]);
        } else if (depth >= 2) {
            uint64_t right = stack[--depth];
            uint64_t *left = &stack[depth - 1];
            switch (atom) {
            case DW_OP_plus:
                *left += right;
                break;
            case DW_OP_and:
                *left &= right;
                break;
            case DW_OP_shl:
                *left <<= right & 63;
                break;
            case DW_OP_mul:
                *left *= right;
                break;
            case DW_OP_ge:
                *left = (int64_t)*left >= (int64_t)right;
                break;
            default:
                return false;
            }
        } else {
            return false;
        }
    }
    *value_out = depth > 0 ? stack[depth - 1] : 0; /* below it may be the CFA that such an expression starts with */
    return depth > 0;
}

/* The value of the caller's register; false when it is lost, or given in a form that is not evaluated here. */
static bool reference_register(Dwarf_Frame *frame, int number, const uint64_t *registers, uint64_t cfa,
                               uint64_t *value_out, bool *is_undefined_out)
{
    Dwarf_Op memory[3], *operations;
    size_t count;
    assert_int_equal(dwarf_frame_register(frame, number, memory, &operations, &count), 0);
    *is_undefined_out = false;
    if (count == 0) {
        *is_undefined_out = operations == memory;
        *value_out = registers[number]; /* NULL: the same value */
        return !*is_undefined_out;
    }
    bool is_value;
    if (!evaluate(operations, count, registers, cfa, value_out, &is_value)) {
        return false;
    }
    *value_out = is_value ? *value_out : word_at(*value_out);
    return true;
}

static struct caller reference_caller(const struct module_file *file, uint64_t pc)
{
    struct caller caller = {.what = NOT_EXPRESSED};
    uint64_t registers[REGISTERS];
    Dwarf_Frame *frame;
    make_registers(pc, registers);
    if (dwarf_cfi_addrframe(file->cfi, pc, &frame) != 0) {
        caller.what = NO_ROW;
        return caller;
    }
    Dwarf_Op *operations;
    size_t count;
    bool is_value, is_undefined;
    assert_int_equal(dwarf_frame_info(frame, NULL, NULL, NULL), SBX_DWARF_RETURN_ADDRESS);
    bool has_cfa = dwarf_frame_cfa(frame, &operations, &count) == 0 &&
                   evaluate(operations, count, registers, 0, &caller.cfa, &is_value);
    if (has_cfa &&
        !reference_register(frame, SBX_DWARF_RETURN_ADDRESS, registers, caller.cfa, &caller.pc, &is_undefined)) {
        caller.what = is_undefined ? END_OF_STACK : NOT_EXPRESSED;
    } else if (has_cfa) {
        caller.what = KNOWN;
        caller.fp_is_known =
            reference_register(frame, SBX_DWARF_FRAME_POINTER, registers, caller.cfa, &caller.fp, &is_undefined);
    }
    free(frame);
    return caller;
}

/* ---- our side ---- */

static uint64_t caller_fp(uint32_t rule, uint64_t cfa, uint64_t fp)
{
    uint32_t field = sbx_rule_fp(rule);
    if (field == SBX_RULE_FP_SAME) {
        return fp;
    }
    return field == SBX_RULE_FP_AT_FP ? word_at(fp) : word_at(cfa - 8 * (uint64_t)field);
}

static struct caller our_caller(const struct module_file *file, uint64_t pc)
{
    struct caller caller = {.what = KNOWN};
    uint64_t registers[REGISTERS];
    make_registers(pc, registers);
    uint64_t sp = registers[SBX_DWARF_STACK_POINTER], fp = registers[SBX_DWARF_FRAME_POINTER];
    uint32_t rule = sbx_unwind_rows_find(&file->rows, pc);
    switch (sbx_rule_kind(rule)) {
    case SBX_RULE_FROM_SP:
        caller.cfa = sp + (uint64_t)sbx_rule_offset(rule);
        break;
    case SBX_RULE_FROM_FP:
        caller.cfa = fp + (uint64_t)sbx_rule_offset(rule);
        break;
    case SBX_RULE_AT_FP:
        caller.cfa = word_at(fp + (uint64_t)sbx_rule_offset(rule));
        break;
    case SBX_RULE_AT_SP:
        caller.cfa = word_at(sp + (uint64_t)sbx_rule_slot_offset(rule)) + sbx_rule_slot_addend(rule);
        break;
    case SBX_RULE_PLT:
        caller.cfa = sp + 8 + ((pc & 15) >= sbx_rule_plt_limit(rule) ? 8 : 0);
        break;
    case SBX_RULE_FROM_REGISTER:
        caller.cfa = registers[sbx_rule_register(rule)] + (uint64_t)sbx_rule_register_offset(rule);
        break;
    default:
        if (rule == SBX_RULE_SIGNAL) {
            caller.cfa = word_at(sp + 160);
            caller.pc = word_at(sp + 168);
            caller.fp = word_at(sp + 120);
            caller.fp_is_known = true;
        } else {
            caller.what = rule == SBX_RULE_NONE ? NO_ROW : rule == SBX_RULE_END ? END_OF_STACK : NOT_EXPRESSED;
        }
        return caller;
    }
    caller.pc = word_at(caller.cfa - 8);
    caller.fp_is_known = sbx_rule_fp(rule) != SBX_RULE_FP_LOST;
    caller.fp = caller_fp(rule, caller.cfa, fp);
    return caller;
}

/* ---- files ---- */

/* The bytes of the loadable segment that holds `address`. */
static bool find_segment(struct module_file *file, uint64_t address, GElf_Phdr *segment_out)
{
    size_t count;
    assert_int_equal(elf_getphdrnum(file->elf, &count), 0);
    for (size_t i = 0; i < count; i++) {
        assert_non_null(gelf_getphdr(file->elf, (int)i, segment_out));
        if (segment_out->p_type == PT_LOAD && address >= segment_out->p_vaddr &&
            address < segment_out->p_vaddr + segment_out->p_filesz) {
            return true;
        }
    }
    return false;
}

/* False when the file does not exist here. */
static bool open_module(const char *path, struct module_file *file)
{
    memset(file, 0, sizeof *file);
    file->descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (file->descriptor < 0) {
        return false;
    }
    struct stat status;
    assert_int_equal(fstat(file->descriptor, &status), 0);
    file->size = (size_t)status.st_size;
    file->bytes = mmap(NULL, file->size, PROT_READ, MAP_PRIVATE, file->descriptor, 0);
    assert_ptr_not_equal(file->bytes, MAP_FAILED);
    elf_version(EV_CURRENT);
    file->elf = elf_begin(file->descriptor, ELF_C_READ_MMAP, NULL);
    assert_non_null(file->elf);
    file->cfi = dwarf_getcfi_elf(file->elf);
    assert_non_null(file->cfi);

    struct sbx_unwind_source source = {.text_begin = UINT64_MAX};
    size_t count;
    assert_int_equal(elf_getphdrnum(file->elf, &count), 0);
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header, segment;
        assert_non_null(gelf_getphdr(file->elf, (int)i, &header));
        if (header.p_type == PT_GNU_EH_FRAME && find_segment(file, header.p_vaddr, &segment)) {
            source.eh_frame_hdr = file->bytes + header.p_offset;
            source.eh_frame_hdr_bytes = header.p_filesz;
            source.eh_frame_hdr_address = header.p_vaddr;
            source.image = file->bytes + segment.p_offset;
            source.image_bytes = segment.p_filesz;
            source.image_address = segment.p_vaddr;
        } else if (header.p_type == PT_LOAD && (header.p_flags & PF_X)) {
            source.text_begin = header.p_vaddr < source.text_begin ? header.p_vaddr : source.text_begin;
            source.text_end = header.p_vaddr + header.p_memsz;
        }
    }
    file->text_begin = source.text_begin;
    file->text_end = source.text_end;
    assert_int_equal(sbx_unwind_rows_build(&source, &file->rows, &file->skipped), 0);
    return true;
}

static void close_module(struct module_file *file)
{
    sbx_unwind_rows_release(&file->rows);
    dwarf_cfi_end(file->cfi);
    elf_end(file->elf);
    munmap(file->bytes, file->size);
    close(file->descriptor);
}

/* ---- comparing ---- */

static void compare_at(const struct module_file *file, uint64_t pc, struct tally *tally)
{
    struct caller ours = our_caller(file, pc), reference = reference_caller(file, pc);
    tally->compared++;
    if (ours.what == NOT_EXPRESSED && reference.what != NO_ROW) {
        tally->unsupported++; /* the walk would end early, which must be rare */
        return;
    }
    bool equal = ours.what == reference.what;
    if (equal && ours.what == KNOWN) {
        equal = ours.cfa == reference.cfa && ours.pc == reference.pc;
        if (ours.fp_is_known) {
            equal = equal && reference.fp_is_known && ours.fp == reference.fp;
        } else {
            tally->unsupported += reference.fp_is_known;
        }
    }
    if (!equal && tally->different++ < 10) {
        print_error("%#lx: ours %d cfa %#lx pc %#lx fp %#lx, reference %d cfa %#lx pc %#lx fp %#lx\n", pc, ours.what,
                    ours.cfa, ours.pc, ours.fp, reference.what, reference.cfa, reference.pc, reference.fp);
    }
}

/* Compare a whole file; false when it does not exist here. */
static bool compare_module(const char *path, double unsupported_max)
{
    struct module_file file;
    struct tally tally = {0};
    if (!open_module(path, &file)) {
        return false;
    }
    for (uint32_t i = 0; i < file.rows.count; i++) {
        uint64_t edge = file.rows.base + file.rows.offsets[i];
        compare_at(&file, edge, &tally);
        compare_at(&file, edge - 1, &tally);
    }
    uint64_t stride = (file.text_end - file.text_begin) / STRIDE_SAMPLES + 1;
    for (uint64_t pc = file.text_begin; pc < file.text_end; pc += stride) {
        compare_at(&file, pc, &tally);
    }
    print_message("%s: %u rows, %u entries skipped, %u addresses compared, %u unsupported, %u different\n", path,
                  file.rows.count, file.skipped, tally.compared, tally.unsupported, tally.different);
    assert_int_equal(tally.different, 0);
    assert_int_equal(file.skipped, 0);
    assert_true(tally.unsupported <= tally.compared * unsupported_max);
    close_module(&file);
    return true;
}

static void test_rows_of_this_process_equal_elfutils(void **state)
{
    (void)state;
    struct code_map_fixture modules;
    uint32_t files = 0;
    code_map_fixture_init(&modules, 1);
    for (uint32_t i = 0; i < modules.module_count; i++) {
        const char *path = modules.paths[i][0] == 0 ? "/proc/self/exe" : modules.paths[i];
        files += compare_module(path, 0.001); /* except the kernel's own module, which is not a file */
    }
    assert_true(files >= 3); /* this program, libc, the loader */
    code_map_fixture_finish(&modules);
}

/* Assembly by hand, C++, and the largest programs, if they are installed. In a few functions libcrypto stores its CFA
 * at an indexed register. */
static void test_rows_of_installed_modules_equal_elfutils(void **state)
{
    (void)state;
    uint32_t files = 0;
    files += compare_module("/usr/lib/x86_64-linux-gnu/libstdc++.so.6", 0.001);
    files += compare_module("/usr/lib/x86_64-linux-gnu/libgcc_s.so.1", 0.001);
    files += compare_module("/usr/lib/x86_64-linux-gnu/libglib-2.0.so.0", 0.001);
    files += compare_module("/usr/lib/x86_64-linux-gnu/libcrypto.so.3", 0.01);
    files += compare_module("/usr/bin/redis-server", 0.001);
    if (files == 0) {
        skip();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_of_this_process_equal_elfutils),
        cmocka_unit_test(test_rows_of_installed_modules_equal_elfutils),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
