/* SPDX-License-Identifier: Apache-2.0 */
/* sdl_frames.c - a game loop over SDL2 that does not know the recorder: one frame waits until a level is loaded.
 *
 *     SDL_VIDEODRIVER=dummy stallbox run --slow-frame-ms 400 -- ./sdl_frames */
#include <SDL.h>
#include <stdio.h>

/* Runs on the render thread, which is the mistake. */
static void load_level(void)
{
    SDL_Delay(800);
}

static void draw(SDL_Renderer *renderer, int frame)
{
    SDL_SetRenderDrawColor(renderer, (Uint8)frame, 0, 0, 255);
    SDL_RenderClear(renderer);
    SDL_RenderPresent(renderer);
}

int main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    if (SDL_Init(SDL_INIT_VIDEO) != 0) {
        fprintf(stderr, "SDL: %s\n", SDL_GetError());
        return 1;
    }
    SDL_Window *window = SDL_CreateWindow("frames", 0, 0, 64, 64, 0);
    SDL_Renderer *renderer = window != NULL ? SDL_CreateRenderer(window, -1, SDL_RENDERER_SOFTWARE) : NULL;
    for (int frame = 0; renderer != NULL && frame < 90; frame++) {
        SDL_Event event;
        while (SDL_PollEvent(&event)) {
        }
        if (frame == 45) {
            load_level();
        }
        draw(renderer, frame);
        SDL_Delay(16);
    }
    SDL_Quit();
    return renderer != NULL ? 0 : 1;
}
