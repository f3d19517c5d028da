/* SPDX-License-Identifier: Apache-2.0 */
/* present_library.c - a library with the name of SDL's present, which shows nothing and, as SDL3's does,
 * returns something: a fake, for machines without SDL2. */
int SDL_RenderPresent(void *renderer);

int SDL_RenderPresent(void *renderer)
{
    return renderer != 0 ? 5 : 0;
}
