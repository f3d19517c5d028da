/* SPDX-License-Identifier: Apache-2.0 */
/* hostile_names.c - a library whose symbols attack the page that shows them.
 *
 * The assembler accepts any text in quotes as a symbol name, as another toolchain would. */
__asm__(".text\n"
        ".globl \"<script>alert(1)</script>\"\n"
        ".type \"<script>alert(1)</script>\", @function\n"
        "\"<script>alert(1)</script>\":\n"
        ".fill 64, 1, 0x90\n"
        ".size \"<script>alert(1)</script>\", 64\n"
        ".globl \"'onload=x <img src=x onerror=y>&amp;\"\n"
        ".type \"'onload=x <img src=x onerror=y>&amp;\", @function\n"
        "\"'onload=x <img src=x onerror=y>&amp;\":\n"
        ".fill 64, 1, 0x90\n"
        ".size \"'onload=x <img src=x onerror=y>&amp;\", 64\n");
