# The linker of a target that is never shipped is its property SBX_LINKER; empty: the compiler's own. gold takes a third of the CPU time of
# GNU's for a small program, and LLVM's a third of it for one that has all of the server, for which gold takes half; LLVM's needs longer to
# start than gold for a small one. LLVM's describes no jump of a PLT to who unwinds, as the others do.
if(CMAKE_C_COMPILER_ID STREQUAL GNU)
    execute_process(COMMAND ${CMAKE_C_COMPILER} -print-prog-name=ld.gold OUTPUT_VARIABLE gold OUTPUT_STRIP_TRAILING_WHITESPACE)
    find_program(SBX_GOLD ${gold})
endif()
find_program(SBX_LLD ld.lld)
define_property(TARGET PROPERTY SBX_LINKER INITIALIZE_FROM_VARIABLE SBX_LINKER)
if(STALLBOX_SANITIZE AND SBX_GOLD)
    set(SBX_LINKER gold)
elseif(STALLBOX_SANITIZE AND SBX_LLD)
    set(SBX_LINKER lld)
endif()
# One interface target with the warnings and sanitizers every target of ours links.
add_library(sbx_flags INTERFACE)
target_compile_options(sbx_flags INTERFACE
    -Wall -Wextra -Wshadow -Wpointer-arith -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 -Wundef
    -Wimplicit-fallthrough -fno-common -fvisibility=hidden)
target_compile_definitions(sbx_flags INTERFACE _GNU_SOURCE)
target_link_options(sbx_flags INTERFACE $<$<BOOL:$<TARGET_PROPERTY:SBX_LINKER>>:-fuse-ld=$<TARGET_PROPERTY:SBX_LINKER>>)
if(STALLBOX_WERROR)
    target_compile_options(sbx_flags INTERFACE -Werror)
endif()
if(STALLBOX_SANITIZE)
    target_compile_options(sbx_flags INTERFACE -fsanitize=${STALLBOX_SANITIZE} -fno-omit-frame-pointer
        -fno-sanitize-recover=undefined)
    target_link_options(sbx_flags INTERFACE -fsanitize=${STALLBOX_SANITIZE})
endif()
