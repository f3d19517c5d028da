/* SPDX-License-Identifier: Apache-2.0 */
/* present_program.c - a program that draws frames of two milliseconds and, in the middle, one of eighty. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef WITH_SDL2
#include <SDL2/SDL.h>
#else
int SDL_RenderPresent(void *renderer);
#endif

int draw_frames(int count);

static void take_ms(long ms)
{
    const struct timespec pause = {0, ms * 1000000};
    syscall(SYS_nanosleep, &pause, NULL);
}

int draw_frames(int count)
{
#ifdef WITH_SDL2
    setenv("SDL_VIDEODRIVER", "dummy", 1);
    SDL_Window *window = NULL;
    SDL_Renderer *renderer = NULL;
    if (SDL_Init(SDL_INIT_VIDEO) != 0 || (window = SDL_CreateWindow("frames", 0, 0, 64, 64, 0)) == NULL ||
        (renderer = SDL_CreateRenderer(window, -1, SDL_RENDERER_SOFTWARE)) == NULL) {
        return 1;
    }
#else
    int *renderer = &count;
#endif
    for (int i = 0; i < count; i++) {
        take_ms(i == count / 2 ? 80 : 2);
#ifdef WITH_SDL2
        SDL_RenderPresent(renderer);
#else
        if (SDL_RenderPresent(renderer) != 5) {
            return 1;
        }
#endif
    }
#ifdef WITH_SDL2
    SDL_Quit();
#endif
    return 0;
}
