/* SPDX-License-Identifier: Apache-2.0 */
/* test_attachment.c - the control page of a process that is hostile: it may write any value, truncate its file, and
 * hold every lock of the file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attachment.h"
#include "consent_order.h"
#include "shared_mapping.h"
#include "recording_builder.h"

struct fixture {
    char folder[64], path[128];
    struct sbx_recording_builder *builder;
};

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    strcpy(fixture->folder, "/tmp/stallbox-test-attach-XXXXXX");
    if (mkdtemp(fixture->folder) == NULL) {
        return -1;
    }
    snprintf(fixture->path, sizeof fixture->path, "%s/%d-00.rec", fixture->folder, (int)getpid());
    fixture->builder = sbx_recording_builder_create(SBX_RECORDING_SHAPE_SMALL, fixture->path);
    fixture->builder->header->pid = (uint32_t)getpid();
    fixture->builder->header->process_start_ticks = sbx_process_start_ticks((uint32_t)getpid());
    snprintf(fixture->builder->header->spool_path, SBX_PATH_MAX, "%s", fixture->folder);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    sbx_recording_builder_destroy(fixture->builder);
    unlink(fixture->path);
    rmdir(fixture->folder);
    free(fixture);
    return 0;
}

static void test_loc_12_a_lock_that_is_never_let_go_holds_no_order_up(void **state)
{
    const struct fixture *fixture = *state;
    struct sbx_attachment attachment;
    struct sbx_capture_settings settings = {.enabled = 1};
    uint32_t generation;
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = SBX_CONTROL_AT, .l_len = 1};
    int theirs = open(fixture->path, O_RDWR | O_CLOEXEC);
    assert_int_equal(fcntl(theirs, F_OFD_SETLK, &lock), 0);
    assert_int_equal(sbx_attachment_open(&attachment, fixture->path, (uint32_t)getpid()), 0);
    assert_int_equal(sbx_attachment_order(&attachment, &settings, 0, &generation), -EAGAIN);
    close(theirs);
    assert_int_equal(sbx_attachment_order(&attachment, &settings, 0, &generation), 0);
    sbx_attachment_close(&attachment);
}

#ifndef __SANITIZE_THREAD__
static void touch_control(void *context)
{
    const struct sbx_attachment *attachment = context;
    sbx_store_release(&attachment->control->bell, 7); /* order: release bell */
}
#endif

static void test_loc_12_a_file_that_is_cut_short_costs_that_look(void **state)
{
#ifdef __SANITIZE_THREAD__
    (void)state;
    skip(); /* the sanitizer holds a lock at the faulting store, and the jump never releases it */
#else
    struct fixture *fixture = *state;
    struct sbx_attachment attachment;
    struct sbx_consent_told told;
    off_t bytes = (off_t)fixture->builder->header->file_bytes;
    assert_int_equal(sbx_attachment_open(&attachment, fixture->path, (uint32_t)getpid()), 0);
    assert_int_equal(truncate(fixture->path, 0), 0);
    assert_false(sbx_mapping_survive(touch_control, &attachment));
    assert_false(sbx_mapping_survive(touch_control, &attachment)); /* a second time */
    assert_int_equal(sbx_consent_tell(fixture->folder, fixture->folder, SBX_CONSENT_ORDER_READ, 0, &told), 0);
    assert_int_equal(told.told + told.silent, 0);
    assert_int_equal(truncate(fixture->path, bytes), 0);
    assert_true(sbx_mapping_survive(touch_control, &attachment));
    sbx_attachment_close(&attachment);
#endif
}

static void test_loc_12_what_is_no_file_of_an_agent_is_not_mapped(void **state)
{
    struct fixture *fixture = *state;
    struct sbx_attachment attachment;
    off_t bytes = (off_t)fixture->builder->header->file_bytes;
    assert_int_equal(truncate(fixture->path, INT64_C(1) << 40), 0);
    assert_int_equal(sbx_attachment_open(&attachment, fixture->path, (uint32_t)getpid()), -EPROTO);
    assert_int_equal(truncate(fixture->path, bytes), 0);
    char pipe_path[160];
    snprintf(pipe_path, sizeof pipe_path, "%s/pipe", fixture->folder);
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    assert_int_equal(sbx_attachment_open(&attachment, pipe_path, (uint32_t)getpid()), -EPROTO);
    assert_int_equal(unlink(pipe_path), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(fixture->path, 64001, 64001), 0);
        assert_int_equal(sbx_attachment_open(&attachment, fixture->path, (uint32_t)getpid()), -EPROTO);
    }
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_loc_12_a_lock_that_is_never_let_go_holds_no_order_up),
        CASE(test_loc_12_a_file_that_is_cut_short_costs_that_look),
        CASE(test_loc_12_what_is_no_file_of_an_agent_is_not_mapped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
