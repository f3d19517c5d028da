# What a test's outcome can depend on besides the code: the time that the machine gives it, and how threads and processes take
# turns. Such a test carries the label "timed": scripts/test runs it once more alone before it counts as failed. A test that lacks the
# label is never repeated. ThreadSanitizer is given timed tests only: the others have one thread. It is not given those either that are timed
# because of processes and pauses, and start no thread: tests/lint/threadless.sh finds it in the list when one does. Nor those of the store alone.
# A cmocka program is timed when its sources ask for a thread, a process, a signal or a pause, when it links one of the
# libraries of tests that do, or when its LABEL is one of a folder of such tests. Other tests name the label themselves.
set(SBX_TIMED_CALLS "fork|vfork|clone|posix_spawn|pthread_create|thrd_create|kill|tgkill|raise|nanosleep|clock_nanosleep|usleep|sleep")
string(APPEND SBX_TIMED_CALLS "|poll|ppoll|select|epoll_wait|timer_create|setitimer|sbx_http_server_start")
set(SBX_TIMED_LIBRARIES recorded_process stalling_process host_case sbx_server_fixture sbx_tls_server sbx_tool_companion sbx_delivery_faults)
set(SBX_TIMED_LABELS host stress)

set(SBX_THREADLESS_TESTS
    test_consent test_family test_look_changing_process test_look_descriptor test_look_process test_open_file_locks test_other_end
    test_recording_folder test_recording_recover test_roster test_rows_cache test_server_token_ring test_server_worker_sandbox test_shared_memory
    test_shared_mapping test_tool_attachment test_tool_attended_processes test_tool_look test_tool_lost_images
    test_tool_snapshot_fates test_tool_spool_watch test_tool_steered_agents test_triage_debuginfod test_triage_elf_finder
    test_triage_symbol_helper test_triage_symbol_store test_triage_symbol_worker test_uploader_durable_file
    test_uploader_hpke_sender test_uploader_pack test_uploader_policy_store test_uploader_sealer test_uploader_spool
    test_uploader_stall_sampling test_uploader_upload_conditions)

# These link the whole server, and start no thread of it: tests/unit/no_thread.c ends them when they do, in builds without a sanitizer.
set(SBX_UNTHREADED_TESTS test_server_store test_server_store_active test_server_store_issues test_server_store_reading test_server_store_sums)

function(sbx_find_timed out label sources links)
    set(${out} FALSE PARENT_SCOPE)
    if(label IN_LIST SBX_TIMED_LABELS)
        set(${out} TRUE PARENT_SCOPE)
    endif()
    foreach(library IN LISTS links)
        if(library IN_LIST SBX_TIMED_LIBRARIES)
            set(${out} TRUE PARENT_SCOPE)
        endif()
    endforeach()
    foreach(source IN LISTS sources)
        file(STRINGS ${source} calls REGEX "(^|[^a-zA-Z0-9_])(${SBX_TIMED_CALLS})\\(" LIMIT_COUNT 1)
        if(calls)
            set(${out} TRUE PARENT_SCOPE)
        endif()
    endforeach()
endfunction()

# A test that has all of the server is linked by LLVM's linker, and others by gold (cmake/SbxWarnings.cmake). Where SBX_LINKS_FAST is not set, tests walk stacks of
# their own.
function(sbx_choose_linker target links)
    if(SBX_LINKS_FAST AND SBX_LLD AND (links MATCHES "sbx_server_(fixture|store)" OR NOT SBX_GOLD))
        set_target_properties(${target} PROPERTIES SBX_LINKER lld)
    elseif(SBX_GOLD)
        set_target_properties(${target} PROPERTIES SBX_LINKER gold)
    endif()
endfunction()

# sbx_add_test(NAME n SOURCES ... LINKS ... [TIMEOUT s] [LABEL l]): one cmocka program, one ctest.
# A test that needs private state links the target that has it; it does not include a .c file.
function(sbx_add_test)
    cmake_parse_arguments(arg "" "NAME;TIMEOUT;LABEL" "SOURCES;LINKS" ${ARGN})
    if(NOT STALLBOX_BUILD_TESTS)
        return()
    endif()
    add_executable(${arg_NAME} ${arg_SOURCES})
    target_link_libraries(${arg_NAME} PRIVATE sbx_flags ${arg_LINKS} cmocka)
    sbx_choose_linker(${arg_NAME} "${arg_LINKS}")
    if(SBX_LINKS_FAST) # what tests say is compiled in half the time like this; what they test is compiled as it ships
        target_compile_options(${arg_NAME} PRIVATE -O0 -g1 -Wno-format-truncation)
    endif()
    if(NOT arg_LABEL)
        set(arg_LABEL unit)
    endif()
    sbx_find_timed(is_timed "${arg_LABEL}" "${arg_SOURCES}" "${arg_LINKS}")
    if(arg_NAME IN_LIST SBX_UNTHREADED_TESTS AND NOT STALLBOX_SANITIZE)
        target_sources(${arg_NAME} PRIVATE ${PROJECT_SOURCE_DIR}/tests/unit/no_thread.c)
        target_link_options(${arg_NAME} PRIVATE -Wl,--wrap=pthread_create,--wrap=MHD_start_daemon)
    endif()
    if(STALLBOX_SANITIZE STREQUAL thread AND (NOT is_timed OR arg_NAME IN_LIST SBX_THREADLESS_TESTS OR arg_NAME IN_LIST SBX_UNTHREADED_TESTS))
        set_target_properties(${arg_NAME} PROPERTIES EXCLUDE_FROM_ALL TRUE) # one thread: nothing to find
        return()
    endif()
    if(is_timed)
        list(APPEND arg_LABEL timed)
        set(timeout 600) # where forty others want the processor, what takes 67 s alone took more than 240
    else()
        set(timeout 300) # only a test that hangs takes so long; it is not repeated, so a busy machine must not stop it
    endif()
    if(arg_TIMEOUT)
        set(timeout ${arg_TIMEOUT})
    endif()
    add_test(NAME ${arg_NAME} COMMAND ${arg_NAME})
    set_tests_properties(${arg_NAME} PROPERTIES TIMEOUT ${timeout} LABELS "${arg_LABEL}")
    if(STALLBOX_SANITIZE MATCHES address) # what is used after it was freed is found while no more than this was freed since; more is fresh pages, and dear to fork
        set_tests_properties(${arg_NAME} PROPERTIES ENVIRONMENT ASAN_OPTIONS=quarantine_size_mb=1)
    endif()
    if(STALLBOX_SANITIZE STREQUAL thread) # not what SQLite and others do in memory of their own: that took a server's test up to half of its CPU time, most of them some per cent
        set_tests_properties(${arg_NAME} PROPERTIES ENVIRONMENT TSAN_OPTIONS=ignore_noninstrumented_modules=1)
    endif()
endfunction()

# sbx_divide_rounds(TEST...): what these programs do again and again, they do a fifth as often (ROUNDS_DIVISOR) where each instruction is emulated or
# checked, which takes five to a hundred times as long: a sanitizer needs few rounds to see a wrong access or a race, and an emulator's
# memory is this machine's, which the other builds have all rounds on.
function(sbx_divide_rounds)
    set(divisor 1)
    if(STALLBOX_SANITIZE OR CMAKE_CROSSCOMPILING_EMULATOR)
        set(divisor 5)
    endif()
    foreach(name IN LISTS ARGN)
        if(TARGET ${name})
            target_compile_definitions(${name} PRIVATE ROUNDS_DIVISOR=${divisor})
        endif()
    endforeach()
endfunction()

# sbx_run_alone(TEST...): nothing else runs beside them: no other test (RUN_SERIAL), and no other preset's (label "alone", scripts/test).
function(sbx_run_alone)
    foreach(name IN LISTS ARGN)
        set_property(TEST ${name} PROPERTY RUN_SERIAL TRUE)
        set_property(TEST ${name} APPEND PROPERTY LABELS alone)
    endforeach()
endfunction()

# sbx_run_apart(TEST...): what computes and has to be in time, or is run by an emulator and has to be. No other preset's tests run beside them,
# and of their own as many as there are processors (scripts/test; under the emulator one more): a thread that computes has one for itself.
function(sbx_run_apart)
    foreach(name IN LISTS ARGN)
        set_property(TEST ${name} APPEND PROPERTY LABELS alone)
    endforeach()
endfunction()

# sbx_add_fuzz_target(NAME n LINKS ...): tests/fuzz/n/fuzz.c with LLVMFuzzerTestOneInput and tests/fuzz/n/corpus.
# With STALLBOX_BUILD_FUZZERS (clang) it is a libFuzzer program fuzz_n, which begins with the corpus; in every build without a sanitizer it
# is also replay_n, a test that runs each file of the corpus once.
function(sbx_add_fuzz_target)
    cmake_parse_arguments(arg "" "NAME" "LINKS" ${ARGN})
    set(folder ${PROJECT_SOURCE_DIR}/tests/fuzz/${arg_NAME})
    if(STALLBOX_BUILD_FUZZERS)
        add_executable(fuzz_${arg_NAME} ${folder}/fuzz.c)
        target_link_libraries(fuzz_${arg_NAME} PRIVATE sbx_flags ${arg_LINKS})
        target_include_directories(fuzz_${arg_NAME} PRIVATE ${PROJECT_SOURCE_DIR}/tests/fuzz)
        target_link_options(fuzz_${arg_NAME} PRIVATE -fsanitize=fuzzer)
    endif()
    if(STALLBOX_BUILD_TESTS AND NOT STALLBOX_SANITIZE)
        add_executable(replay_${arg_NAME} ${folder}/fuzz.c ${PROJECT_SOURCE_DIR}/tests/fuzz/replay_main.c)
        target_link_libraries(replay_${arg_NAME} PRIVATE sbx_flags ${arg_LINKS})
        target_include_directories(replay_${arg_NAME} PRIVATE ${PROJECT_SOURCE_DIR}/tests/fuzz)
        sbx_choose_linker(replay_${arg_NAME} "${arg_LINKS}")
        add_test(NAME replay_${arg_NAME} COMMAND replay_${arg_NAME} ${folder}/corpus)
        set_tests_properties(replay_${arg_NAME} PROPERTIES TIMEOUT 300 LABELS fuzz-replay)
    endif()
endfunction()
