/* SPDX-License-Identifier: Apache-2.0 */
/* Discounts.java - code that is thrown away again and again: what was compiled has the target of a call site built in, and each new target ends that code. */
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MutableCallSite;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;

class Discounts {
    static final MethodHandle[] TARGETS = IntStream.range(0, 16).mapToObj(i -> MethodHandles.constant(int.class, i)).toArray(MethodHandle[]::new);
    static final MutableCallSite DISCOUNT = new MutableCallSite(TARGETS[0]);
    static final MethodHandle ASK = DISCOUNT.dynamicInvoker();

    static int discounted(int price) throws Throwable {
        return price - (price * (int) ASK.invokeExact() >> 6);
    }

    static int discountAll() throws Throwable {
        int sum = 0;
        for (int price = 0; price < 3_000; price++) {
            sum += discounted(price);
        }
        return sum;
    }

    static void repriceAll(long end, int turnsOfOne) throws Throwable {
        for (int turn = 0; System.nanoTime() < end; turn++) {
            if (turn % turnsOfOne == 0) {
                DISCOUNT.setTarget(TARGETS[turn % TARGETS.length]);
            }
            Stalls.sink += discountAll();
        }
    }

    static void quoteAll(long end) throws Throwable {
        while (System.nanoTime() < end) {
            Stalls.sink += discountAll();
        }
    }

    /* Beside it. */
    static void change(CountDownLatch begun) {
        begun.countDown();
        int turn = 0;
        for (long end = Stalls.soon(Stalls.MS); System.nanoTime() < end; turn++) {
            DISCOUNT.setTarget(TARGETS[turn % TARGETS.length]);
            LockSupport.parkNanos(200_000);
        }
    }

    /* So that there is code to be given up. */
    static void warmUp() throws Throwable {
        repriceAll(Stalls.soon(400), Integer.MAX_VALUE);
        quoteAll(Stalls.soon(100));
    }
}
