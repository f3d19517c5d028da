/* SPDX-License-Identifier: Apache-2.0 */
/* present_library.c - a fake of SDL's library for machines without SDL2. Its present function shows nothing and returns
 * a value, as SDL3's does. */
int SDL_RenderPresent(void *renderer);

int SDL_RenderPresent(void *renderer)
{
    return renderer != 0 ? 5 : 0;
}
