/* SPDX-License-Identifier: Apache-2.0 */
/* sample.c - the source from which make_corpus makes programs for Apple systems. */
int table[8];

__attribute__((noinline)) static int hidden(int a)
{
    return a * table[a & 7] + 1;
}

static inline int inlined(int a)
{
    return hidden(a) ^ a;
}

__attribute__((noinline)) int visible(int a)
{
    return inlined(a) + inlined(a + 1);
}

int swift_add(int a) __asm("_$s6sample3addyS2iF");
__attribute__((noinline)) int swift_add(int a)
{
    return a + table[1];
}

int main(int count, char **arguments)
{
    (void)arguments;
    return visible(count) + swift_add(count);
}
