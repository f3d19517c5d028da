// SPDX-License-Identifier: Apache-2.0
// messages.m - Objective-C and blocks without Apple's headers: names with spaces and brackets, and one of Swift's.
__attribute__((objc_root_class)) @interface Sum
+ (int)ofNumbersBelow:(int)limit;
- (int)add:(int)a to:(int)b;
@end
@interface Sum (More)
- (int)more:(int)a;
@end

int counter;

static inline int mix(int a)
{
    return a * 3 + counter;
}

@implementation Sum
+ (int)ofNumbersBelow:(int)limit
{
    int sum = 0;
    for (int i = 0; i < limit; i++) {
        sum += mix(i) ^ limit;
    }
    return sum;
}

- (int)add:(int)a to:(int)b
{
    int sum = b;
    for (int i = 0; i < a; i++) {
        sum = sum * mix(a) + i;
    }
    return sum;
}
@end

@implementation Sum (More)
- (int)more:(int)a
{
    counter += mix(a);
    return counter;
}
@end

int swift_add(int a) __asm("_$s4main3addyS2iF");
__attribute__((noinline)) int swift_add(int a)
{
    return a * 7 + counter;
}

int main(void)
{
    int (^block)(int) = ^(int a) {
      return swift_add(a) * counter;
    };
    return block(3);
}
