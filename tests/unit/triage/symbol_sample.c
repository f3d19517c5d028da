/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_sample.c - a small library whose symbols the tests know: exported, hidden and inlined functions at fixed
 * lines. */
#define EXPORTED __attribute__((visibility("default"), noinline))
#define HIDDEN   __attribute__((visibility("hidden"), noinline))
#define INLINED  static inline __attribute__((always_inline))

volatile int symbol_sample_sink;

int sample_outer(int a);
int sample_hidden(int a);
int sample_last(int a);

#line 100
INLINED int sample_inner(int a)
{
    symbol_sample_sink = a * 3;
    return symbol_sample_sink + a;
}
#line 200
INLINED int sample_middle(int a)
{
    int b = sample_inner(a) + 1;
    symbol_sample_sink += b;
    return b;
}
#line 300
EXPORTED int sample_outer(int a)
{
    int c = sample_middle(a);
    symbol_sample_sink ^= c;
    return c;
}
#line 400
HIDDEN int sample_hidden(int a)
{
    symbol_sample_sink = a - 7;
    return symbol_sample_sink * symbol_sample_sink;
}
#line 500
EXPORTED int sample_last(int a)
{
    return sample_hidden(a) + sample_hidden(a + 1);
}
