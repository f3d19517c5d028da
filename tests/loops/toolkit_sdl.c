/* SPDX-License-Identifier: Apache-2.0 */
/* toolkit_sdl.c - SDL_WaitEvent(), also called in a handler. */
#include <SDL2/SDL.h>
#include <stdlib.h>

#include "toolkit.h"

static bool is_running = true, is_open;
static void (*the_tick)(void);
static SDL_Renderer *renderer;

static Uint32 on_timer(Uint32 interval, void *unused)
{
    SDL_Event event = {.type = SDL_USEREVENT};
    (void)interval;
    (void)unused;
    SDL_PushEvent(&event);
    return 0;
}

void toolkit_tick_soon(void (*tick)(void))
{
    the_tick = tick;
    SDL_AddTimer(20, on_timer, NULL);
}

void toolkit_start(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    SDL_SetMainReady();
    SDL_Window *window;
    if (SDL_Init(SDL_INIT_VIDEO | SDL_INIT_TIMER) != 0 ||
        (window = SDL_CreateWindow("window", 0, 0, 200, 100, SDL_WINDOW_SHOWN)) == NULL ||
        (renderer = SDL_CreateRenderer(window, -1, SDL_RENDERER_SOFTWARE)) == NULL) {
        exit(77);
    }
}

void toolkit_present(void)
{
    SDL_RenderPresent(renderer);
}

static void handle(const SDL_Event *event)
{
    if (event->type == SDL_USEREVENT) {
        the_tick();
    }
}

void toolkit_run(void)
{
    SDL_Event event;
    while (is_running && SDL_WaitEvent(&event)) {
        handle(&event);
    }
}

void toolkit_quit(void)
{
    is_running = false;
}

void toolkit_dialog(void)
{
    SDL_Event event;
    for (is_open = true; is_open && SDL_WaitEvent(&event);) {
        handle(&event);
    }
}

void toolkit_close_dialog(void)
{
    is_open = false;
}

bool toolkit_peek(void)
{
    return false;
}

bool toolkit_await_reply(int fd)
{
    (void)fd;
    return false;
}
