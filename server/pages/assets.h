/* SPDX-License-Identifier: Apache-2.0 */
/* assets.h - style.css, icon.svg and openapi.json as they lie in this folder, compiled in by embed.cmake. */
#ifndef SBX_ASSETS_H
#define SBX_ASSETS_H

#include <stddef.h>

extern const unsigned char sbx_style_css[];
extern const size_t sbx_style_css_bytes;
extern const unsigned char sbx_icon_svg[];
extern const size_t sbx_icon_svg_bytes;
extern const unsigned char sbx_openapi_json[];
extern const size_t sbx_openapi_json_bytes;

#endif
