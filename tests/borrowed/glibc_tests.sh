#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# glibc_tests.sh SOURCE OUT JOBS - compiles glibc's tests against the installed C library, without building glibc: first what
# they share (support/), then each test by itself. What wants the inside of the library does not compile, and is left out.
set -euo pipefail
source=$1 out=$2 jobs=$3
folders=(nptl sysdeps/pthread sysdeps/nptl signal rt posix misc io socket setjmp debug time stdlib malloc libio dlfcn sysdeps/unix/sysv/linux)
mkdir -p "$out/support" "$out/stub" "$out/bin"
: >"$out/stub/config.h"

# The source's own headers come after the system's: only what those do not have is taken from there.
{
    printf '%s\n' -O2 -w -std=gnu11 -D_GNU_SOURCE -D_ISOMAC -DMODULE_NAME=testsuite -DTIMEOUTFACTOR=3 -include limits.h
    printf '%s\n' '-Dlibc_hidden_proto(x)=' '-Dattribute_hidden=' -D_STACK_GROWS_DOWN=1
    printf -- '-D%s_PATH=\\"%s\\"\n' SRCDIR "$source" OBJDIR "$out" ROOTSBINDIR /sbin SBINDIR /sbin BINDIR /bin SYSCONFDIR /etc \
        LOCALEDIR /usr/lib/locale COMPLOCALEDIR /usr/lib/locale INSTDIR /usr LIBDIR /usr/lib SLIBDIR /lib \
        OBJDIR_ELF_LDSO /lib64/ld-linux-x86-64.so.2 INSTDIR_ELF_LDSO /lib64/ld-linux-x86-64.so.2
    for folder in . support include nptl sysdeps/nptl sysdeps/pthread sysdeps/x86 sysdeps/generic sysdeps/unix/sysv/linux; do
        printf -- '-idirafter %s\n' "$source/$folder"
    done
    printf -- '-idirafter %s\n' "$out/stub"
} >"$out/flags"

for file in "$source"/support/*.c; do
    name=$(basename "$file" .c)
    case $name in
        support_test_main) ;;
        tst-* | test-* | echo-container | links-dso-program* | shell-container | true-container | *_main | check_nss) continue ;;
    esac
    gcc "@$out/flags" -c -o "$out/support/$name.o" "$file" || echo "left out: support/$name" >&2
done
rm -f "$out/libsupport.a"
ar rc "$out/libsupport.a" "$out"/support/*.o

compile_one() { # SOURCE OUT FILE
    local name=${3#"$1"/}
    name=${name%.c}
    # Calls that the compiler would answer itself are what is tested.
    gcc "@$2/flags" -fno-builtin -o "$2/bin/${name//\//+}" "$3" "$2/libsupport.a" -lpthread -ldl -lrt -lm 2>/dev/null || echo "left out: $name" >&2
}
export -f compile_one
for folder in "${folders[@]}"; do
    find "$source/$folder" -maxdepth 1 \( -name 'tst-*.c' -o -name 'test-*.c' -o -name 'bug-*.c' \) -print0
done | xargs -0 -P "$jobs" -n 1 bash -c 'compile_one "$@"' _ "$source" "$out"
find "$out/bin" -type f | wc -l
