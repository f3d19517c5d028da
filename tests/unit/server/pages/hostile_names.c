/* SPDX-License-Identifier: Apache-2.0 */
/* hostile_names.c - a library whose symbols are an attack on the page that shows them.
 *
 * The assembler takes any text in quotes as a symbol's name, as it would from any stranger's toolchain. */
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
