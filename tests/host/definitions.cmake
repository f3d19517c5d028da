# Programs and libraries of test_host_definitions: plugins, wrappers, and the same program by several compilers.
add_executable(own_allocator own_allocator.c)
target_link_libraries(own_allocator PRIVATE ${CMAKE_DL_LIBS})
target_link_options(own_allocator PRIVATE -rdynamic)
add_executable(wrapped wrapped.c)
target_link_libraries(wrapped PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
add_executable(clock_reader clock_reader.c)
target_link_libraries(clock_reader PRIVATE Threads::Threads)
add_executable(late_allocator late_allocator.c)
foreach(module IN ITEMS plugin_own_now plugin_own_lazy plugin_libcs)
    add_library(${module} MODULE own_scope_plugin.c)
    target_compile_definitions(${module} PRIVATE _GNU_SOURCE $<$<NOT:$<STREQUAL:${module},plugin_libcs>>:OWN_FUNCTIONS>)
    target_link_options(${module} PRIVATE -Wl,-z,$<IF:$<STREQUAL:${module},plugin_own_now>,now,lazy>)
endforeach()
foreach(module IN ITEMS wrapper_formats wrapper_v_forms)
    add_library(${module} MODULE wrapper.c)
    target_compile_definitions(${module} PRIVATE _GNU_SOURCE $<$<STREQUAL:${module},wrapper_formats>:WRAP_FORMATS>)
    target_link_libraries(${module} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
endforeach()
foreach(module IN ITEMS relro_opened relro_sealed)
    add_library(${module} MODULE relro_module.c)
    target_compile_definitions(${module} PRIVATE _GNU_SOURCE $<$<STREQUAL:${module},relro_sealed>:IS_SEALED>)
    target_link_options(${module} PRIVATE -Wl,-z,relro,-z,now)
endforeach()
foreach(target IN ITEMS own_allocator late_allocator wrapped clock_reader plugin_own_now plugin_own_lazy plugin_libcs wrapper_formats
        wrapper_v_forms)
    target_compile_options(${target} PRIVATE -fno-builtin) # every call is made as it stands there
endforeach()

sbx_add_test(NAME test_host_definitions SOURCES test_host_definitions.c LINKS host_case LABEL host TIMEOUT 1800)
target_compile_definitions(test_host_definitions PRIVATE HOST_OWN_ALLOCATOR="$<TARGET_FILE:own_allocator>"
    HOST_LATE_ALLOCATOR="$<TARGET_FILE:late_allocator>"
    HOST_WRAPPED="$<TARGET_FILE:wrapped>" HOST_CLOCK_READER="$<TARGET_FILE:clock_reader>"
    HOST_PLUGIN_OWN_NOW="$<TARGET_FILE:plugin_own_now>" HOST_PLUGIN_OWN_LAZY="$<TARGET_FILE:plugin_own_lazy>"
    HOST_PLUGIN_LIBCS="$<TARGET_FILE:plugin_libcs>" HOST_WRAPPER_FORMATS="$<TARGET_FILE:wrapper_formats>"
    HOST_WRAPPER_V_FORMS="$<TARGET_FILE:wrapper_v_forms>" HOST_RELRO_OPENED="$<TARGET_FILE:relro_opened>"
    HOST_RELRO_SEALED="$<TARGET_FILE:relro_sealed>")
add_dependencies(test_host_definitions own_allocator late_allocator wrapped clock_reader plugin_own_now plugin_own_lazy plugin_libcs
    wrapper_formats wrapper_v_forms relro_opened relro_sealed)

# Calls with a stack that is not aligned.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64" AND TARGET at_full_rate)
    add_executable(misaligned misaligned.c)
    target_compile_definitions(misaligned PRIVATE _GNU_SOURCE)
    target_compile_options(misaligned PRIVATE -fno-builtin)
    target_link_libraries(misaligned PRIVATE Threads::Threads)
    target_compile_definitions(test_host_definitions PRIVATE HOST_MISALIGNED="$<TARGET_FILE:misaligned>"
        HOST_AT_FULL_RATE="$<TARGET_FILE:at_full_rate>")
    add_dependencies(test_host_definitions misaligned at_full_rate)
endif()

# Who stands before every function that the library takes from others.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64" AND STALLBOX_HAS_GLIBC)
    enable_language(ASM)
    add_custom_command(OUTPUT every_symbol_stubs.s
        COMMAND ${CMAKE_COMMAND} -E env NM=${CMAKE_NM} ${CMAKE_CURRENT_SOURCE_DIR}/every_symbol.sh
            $<TARGET_FILE:libstallbox> > every_symbol_stubs.s
        DEPENDS libstallbox every_symbol.sh VERBATIM)
    set_source_files_properties(every_symbol_stubs.s PROPERTIES LANGUAGE ASM)
    add_library(every_symbol MODULE every_symbol.c ${PROJECT_SOURCE_DIR}/capture/modules/elf_image.c every_symbol_stubs.s)
    target_include_directories(every_symbol PRIVATE ${PROJECT_SOURCE_DIR}/capture/modules)
    target_link_libraries(every_symbol PRIVATE sbx_recording_format)
    target_compile_definitions(every_symbol PRIVATE _GNU_SOURCE)
    target_compile_options(every_symbol PRIVATE $<$<COMPILE_LANGUAGE:C>:-fno-stack-protector -fvisibility=hidden>)
    target_compile_definitions(test_host_definitions PRIVATE HOST_EVERY_SYMBOL="$<TARGET_FILE:every_symbol>")
    add_dependencies(test_host_definitions every_symbol)
endif()

# Programs with a sanitizer, by each compiler that has it: their run-times differ, and gcc's is a library of its own.
set(sanitized "")
foreach(compiler IN ITEMS gcc clang)
    find_program(SBX_${compiler} ${compiler})
    foreach(sanitizer IN ITEMS thread address)
        if(NOT SBX_${compiler})
            continue()
        endif()
        if(NOT DEFINED SBX_${compiler}_HAS_${sanitizer})
            file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/empty.c "int main(void) { return 0; }\n")
            execute_process(COMMAND ${SBX_${compiler}} -fsanitize=${sanitizer} empty.c -o empty
                WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR} RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
            if(failed EQUAL 0)
                set(SBX_${compiler}_HAS_${sanitizer} TRUE CACHE INTERNAL "")
            else()
                set(SBX_${compiler}_HAS_${sanitizer} FALSE CACHE INTERNAL "")
                message(STATUS "${compiler} has no ${sanitizer} sanitizer here: no test of it")
            endif()
        endif()
        if(NOT SBX_${compiler}_HAS_${sanitizer})
            continue()
        endif()
        set(program ${CMAKE_CURRENT_BINARY_DIR}/${compiler}_${sanitizer})
        add_custom_command(OUTPUT ${program} DEPENDS sanitized.c VERBATIM
            COMMAND ${SBX_${compiler}} -g -O1 -pthread -fsanitize=${sanitizer} ${CMAKE_CURRENT_SOURCE_DIR}/sanitized.c
                -o ${program})
        add_custom_command(OUTPUT ${program}_linked DEPENDS sanitized.c libstallbox VERBATIM
            COMMAND ${SBX_${compiler}} -g -O1 -pthread -fsanitize=${sanitizer} -DIS_LINKED
                -I${PROJECT_SOURCE_DIR}/agent/include ${CMAKE_CURRENT_SOURCE_DIR}/sanitized.c $<TARGET_FILE:libstallbox>
                -Wl,-rpath,$<TARGET_FILE_DIR:libstallbox> -o ${program}_linked)
        list(APPEND sanitized ${program} ${program}_linked)
    endforeach()
endforeach()
if(sanitized)
    add_custom_target(sanitized_programs ALL DEPENDS ${sanitized})
    add_dependencies(test_host_definitions sanitized_programs)
    list(JOIN sanitized "|" sanitized)
    target_compile_definitions(test_host_definitions PRIVATE HOST_SANITIZED="${sanitized}")
endif()
