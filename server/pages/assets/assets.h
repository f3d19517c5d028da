/* SPDX-License-Identifier: Apache-2.0 */
/* assets.h - files of this folder, which embed.cmake compiles in and the server sends unchanged. Those in vendor/ are
 * third-party libraries. */
#ifndef SBX_ASSETS_H
#define SBX_ASSETS_H

#include <stddef.h>

extern const unsigned char sbx_style_css[];
extern const size_t sbx_style_css_bytes;
extern const unsigned char sbx_icon_svg[];
extern const size_t sbx_icon_svg_bytes;
extern const unsigned char sbx_flame_js[];
extern const size_t sbx_flame_js_bytes;
extern const unsigned char sbx_timeline_js[];
extern const size_t sbx_timeline_js_bytes;
extern const unsigned char sbx_tabs_js[];
extern const size_t sbx_tabs_js_bytes;
extern const unsigned char sbx_vendor_d3[];
extern const size_t sbx_vendor_d3_bytes;
extern const unsigned char sbx_vendor_d3_flame_graph[];
extern const size_t sbx_vendor_d3_flame_graph_bytes;
extern const unsigned char sbx_openapi_json[];
extern const size_t sbx_openapi_json_bytes;

#endif
