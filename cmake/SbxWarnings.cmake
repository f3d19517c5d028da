# One interface target with the warnings and sanitizers every target of ours links.
add_library(sbx_flags INTERFACE)
target_compile_options(sbx_flags INTERFACE
    -Wall -Wextra -Wshadow -Wpointer-arith -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 -Wundef
    -Wimplicit-fallthrough -fno-common -fvisibility=hidden)
target_compile_definitions(sbx_flags INTERFACE _GNU_SOURCE)
if(STALLBOX_WERROR)
    target_compile_options(sbx_flags INTERFACE -Werror)
endif()
if(STALLBOX_SANITIZE)
    target_compile_options(sbx_flags INTERFACE -fsanitize=${STALLBOX_SANITIZE} -fno-omit-frame-pointer
        -fno-sanitize-recover=undefined)
    target_link_options(sbx_flags INTERFACE -fsanitize=${STALLBOX_SANITIZE})
    # It links what is never shipped, in a seventh of the time. It describes no jump of a PLT to who unwinds, as GNU's does: a target that asks
    # somebody else's walk there says so.
    find_program(SBX_LLD ld.lld)
    if(SBX_LLD)
        target_link_options(sbx_flags INTERFACE $<$<NOT:$<BOOL:$<TARGET_PROPERTY:SBX_UNWINDS_PLT>>>:-fuse-ld=lld>)
    endif()
endif()
