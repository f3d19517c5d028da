/* SPDX-License-Identifier: Apache-2.0 */
/* point_frame.c - presents: where a frame ends (frame_pace.h).
 *
 * The libraries may be loaded late, so the installer looks for them repeatedly. Their handles are pointers and integers
 * that are only passed on, so none of their headers is needed. A program may also fetch a present function by name
 * (vkGetDeviceProcAddr, eglGetProcAddress, SDL_GL_GetProcAddress, dlsym). Those calls use no slot and are not seen. To
 * return the hook instead of the requested function is no solution: the program would keep the pointer, and the hook
 * could never be removed. */
#include "frame_pace.h"
#include "point.h"

#define PRESENTS(type, name, parameters, arguments, op, failed) \
    static type(*real_##name) parameters;                       \
    static type hook_##name parameters                          \
    {                                                           \
        struct sbx_blocking call;                               \
        SBX_SAVE_FRAME_POINTER();                               \
        sbx_present_begin(&call, op);                           \
        type result = real_##name arguments;                    \
        sbx_present_end(&call, failed);                         \
        return result;                                          \
    }

/* SDL2's functions return nothing, SDL3's a bool: the register is passed back as it is. */
PRESENTS(long, SDL_RenderPresent, (void *renderer), (renderer), SBX_OP_SDL_RENDER_PRESENT, false)
PRESENTS(long, SDL_GL_SwapWindow, (void *window), (window), SBX_OP_SDL_SWAP_WINDOW, false)
PRESENTS(long, glXSwapBuffers, (void *display, unsigned long drawable), (display, drawable), SBX_OP_GLX_SWAP_BUFFERS,
         false)
PRESENTS(unsigned, eglSwapBuffers, (void *display, void *surface), (display, surface), SBX_OP_EGL_SWAP_BUFFERS,
         result == 0)
PRESENTS(int, vkQueuePresentKHR, (void *queue, const void *what), (queue, what), SBX_OP_VK_QUEUE_PRESENT, result < 0)

#define POINT(name) SBX_POINT(#name, hook_##name, real_##name, SBX_GROUP_FRAME)
static const struct sbx_point points[] = {
    POINT(SDL_RenderPresent), POINT(SDL_GL_SwapWindow), POINT(glXSwapBuffers),
    POINT(eglSwapBuffers),    POINT(vkQueuePresentKHR),
};
const struct sbx_point_list sbx_points_frame = SBX_POINT_LIST(points);
