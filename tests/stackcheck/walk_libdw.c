/* SPDX-License-Identifier: Apache-2.0 */
/* walk_libdw.c - the third opinion: elfutils' unwinder on the same bytes. Asked only where the other two differ. */
#include <elfutils/libdwfl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walks.h"

struct libdw_walker {
    Dwfl *dwfl;
    pid_t pid;
    struct target_memory *memory;
    const struct target_stack *stack;
    struct walked_stack *walked;
};

static int find_no_debuginfo(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base, const char *file,
                             const char *link, GElf_Word crc, char **found)
{
    (void)module;
    (void)user;
    (void)name;
    (void)base;
    (void)file;
    (void)link;
    (void)crc;
    (void)found;
    return -1; /* the others read only .eh_frame */
}

static pid_t next_thread(Dwfl *dwfl, void *context, void **thread)
{
    (void)dwfl;
    struct libdw_walker *walker = context;
    if (*thread != NULL) {
        return 0;
    }
    *thread = walker;
    return walker->pid;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *context, void **thread)
{
    (void)dwfl;
    (void)tid;
    *thread = context;
    return true;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *word, void *context)
{
    (void)dwfl;
    struct libdw_walker *walker = context;
    uint64_t value;
    if (!target_memory_read(walker->memory, walker->stack, address, &value)) {
        return false;
    }
    *word = value;
    return true;
}

static bool set_registers(Dwfl_Thread *thread, void *context)
{
    struct libdw_walker *walker = context;
    const struct user_regs_struct *r = &walker->stack->registers;
    const Dwarf_Word values[] = {r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi, r->rbp, r->rsp, r->r8,
                                 r->r9,  r->r10, r->r11, r->r12, r->r13, r->r14, r->r15, r->rip};
    return dwfl_thread_state_registers(thread, 0, sizeof values / sizeof values[0], values);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
    .next_thread = next_thread,
    .get_thread = get_thread,
    .memory_read = read_memory,
    .set_initial_registers = set_registers,
};

struct libdw_walker *libdw_walker_create(pid_t pid)
{
    static const Dwfl_Callbacks callbacks = {
        .find_elf = dwfl_linux_proc_find_elf,
        .find_debuginfo = find_no_debuginfo,
    };
    struct libdw_walker *walker = calloc(1, sizeof *walker);
    if (walker == NULL) {
        return NULL;
    }
    walker->pid = pid;
    walker->dwfl = dwfl_begin(&callbacks);
    if (walker->dwfl == NULL || dwfl_linux_proc_report(walker->dwfl, pid) != 0 ||
        dwfl_report_end(walker->dwfl, NULL, NULL) != 0 ||
        !dwfl_attach_state(walker->dwfl, NULL, pid, &thread_callbacks, walker)) {
        libdw_walker_destroy(walker);
        return NULL;
    }
    return walker;
}

void libdw_walker_destroy(struct libdw_walker *walker)
{
    if (walker != NULL) {
        if (walker->dwfl != NULL) {
            dwfl_end(walker->dwfl);
        }
        free(walker);
    }
}

static int take_frame(Dwfl_Frame *frame, void *context)
{
    struct walked_stack *walked = ((struct libdw_walker *)context)->walked;
    Dwarf_Addr pc;
    bool is_activation;
    if (!dwfl_frame_pc(frame, &pc, &is_activation) || walked->count == FRAMES_MAX) {
        return DWARF_CB_ABORT;
    }
    if (pc == 0 && walked->count > 0) {
        return DWARF_CB_ABORT; /* a zero return address is the end, not a frame */
    }
    walked->exact[walked->count] = is_activation;
    walked->pc[walked->count++] = pc;
    return DWARF_CB_OK;
}

void libdw_walk(struct libdw_walker *walker, struct target_memory *memory, const struct target_stack *stack,
                struct walked_stack *walked_out)
{
    walker->memory = memory;
    walker->stack = stack;
    walker->walked = walked_out;
    walked_out->count = 0;
    walked_out->gap_frames = 0;
    walked_out->end = dwfl_getthread_frames(walker->dwfl, walker->pid, take_frame, walker) == 0 ? 0 : -1;
}

const char *libdw_function_at(struct libdw_walker *walker, uint64_t address)
{
    Dwfl_Module *module = dwfl_addrmodule(walker->dwfl, address);
    const char *name = module == NULL ? NULL : dwfl_module_addrname(module, address);
    return name == NULL ? "?" : name;
}
