/* SPDX-License-Identifier: Apache-2.0 */
/* uv_loop.c - a libuv loop that does not know the recorder: one timer's callback reads from a pipe that stays empty for
 * a while.
 *
 *     stallbox run --slow-message-ms 500 -- ./uv_loop; stallbox report ~/.local/state/stallbox/spool */
#include <stdio.h>
#include <unistd.h>
#include <uv.h>

/* Blocking input on the loop's thread. */
static void read_settings(uv_timer_t *timer)
{
    char line[64] = "";
    FILE *slow = popen("sleep 0.8; echo colour=blue", "r");
    if (slow != NULL) {
        if (fgets(line, sizeof line, slow) == NULL) {
            line[0] = 0;
        }
        pclose(slow);
    }
    printf("%s", line);
    uv_close((uv_handle_t *)timer, NULL);
}

static void tick(uv_timer_t *timer)
{
    if (uv_now(timer->loop) > *(uint64_t *)timer->data) {
        uv_close((uv_handle_t *)timer, NULL);
    }
}

int main(void)
{
    uv_loop_t *loop = uv_default_loop();
    uv_timer_t ticking, slow;
    uint64_t end = uv_now(loop) + 1800;
    uv_timer_init(loop, &ticking);
    uv_timer_init(loop, &slow);
    ticking.data = &end;
    uv_timer_start(&ticking, tick, 20, 20);
    uv_timer_start(&slow, read_settings, 500, 0);
    uv_run(loop, UV_RUN_DEFAULT);
    return uv_loop_close(loop) == 0 ? 0 : 1;
}
