#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# every_symbol.sh - prints the assembly of one function for each that a library takes from others (every_symbol.c has the
# rest): it notes who calls, and jumps on to the C library's own, with every register as it was.
#
# usage: every_symbol.sh LIBRARY
set -euo pipefail

# What is no function, or is there in some processes only.
is_no_function='^(stdin|stdout|stderr|environ|_r_debug|__rseq_offset|__rseq_size|__gmon_start__|_ITM_.*|__sanitizer_.*)$'
mapfile -t names < <("${NM:-nm}" -D -u "$1" | awk '{ sub(/@.*/, "", $2); print $2 }' | grep -Ev "$is_no_function" | sort -u)
[ ${#names[@]} -gt 20 ] || { echo "every_symbol: $1 takes hardly anything from others" >&2; exit 1; }

echo '.text'
for i in "${!names[@]}"; do
    printf '.globl %s\n.type %s, @function\n%s:\n\tmovq $%d, %%r11\n\tjmp every_symbol_enter\n' \
        "${names[i]}" "${names[i]}" "${names[i]}" "$i"
done
cat <<'END'
every_symbol_enter:
    pushq %rax
    pushq %r11
    movq 16(%rsp), %rax
    subq every_symbol_begin(%rip), %rax
    cmpq every_symbol_bytes(%rip), %rax
    jae 1f
    movq 16(%rsp), %rax
    cmpb $0xe8, -5(%rax) /* a call of its own; hooks call what they replaced through a pointer */
    jne 1f
    movq every_symbol_counts(%rip), %rax
    testq %rax, %rax
    jz 1f
    shlq $6, %r11
    lock incq (%rax, %r11)
    movq (%rsp), %r11
1:  leaq every_symbol_next(%rip), %rax
    movq (%rax, %r11, 8), %r11
    testq %r11, %r11
    jz 2f
    addq $8, %rsp
    popq %rax
    jmpq *%r11
2:  pushq %rdi
    pushq %rsi
    pushq %rdx
    pushq %rcx
    pushq %r8
    pushq %r9
    pushq %r10
    pushq %rbp
    movq %rsp, %rbp
    subq $128, %rsp
    andq $-16, %rsp
    movups %xmm0, (%rsp)
    movups %xmm1, 16(%rsp)
    movups %xmm2, 32(%rsp)
    movups %xmm3, 48(%rsp)
    movups %xmm4, 64(%rsp)
    movups %xmm5, 80(%rsp)
    movups %xmm6, 96(%rsp)
    movups %xmm7, 112(%rsp)
    movq 64(%rbp), %rdi
    call every_symbol_find
    movups (%rsp), %xmm0
    movups 16(%rsp), %xmm1
    movups 32(%rsp), %xmm2
    movups 48(%rsp), %xmm3
    movups 64(%rsp), %xmm4
    movups 80(%rsp), %xmm5
    movups 96(%rsp), %xmm6
    movups 112(%rsp), %xmm7
    movq %rbp, %rsp
    popq %rbp
    popq %r10
    popq %r9
    popq %r8
    popq %rcx
    popq %rdx
    popq %rsi
    popq %rdi
    popq %r11
    popq %rax
    jmp every_symbol_enter
END
printf '.section .rodata\n.globl every_symbol_count\n.hidden every_symbol_count\nevery_symbol_count: .quad %d\n' "${#names[@]}"
printf '.section .data.rel.ro,"aw"\n.globl every_symbol_names\n.hidden every_symbol_names\nevery_symbol_names:\n'
for i in "${!names[@]}"; do
    printf '\t.quad .Lname%d\n' "$i"
done
printf '.section .rodata\n'
for i in "${!names[@]}"; do
    printf '.Lname%d: .asciz "%s"\n' "$i" "${names[i]}"
done
printf '.section .note.GNU-stack,"",@progbits\n'
