/* SPDX-License-Identifier: Apache-2.0 */
/* StackCompare.java - stacks of all kinds, each compared with the machine's own idea of it: methods that call each other at random,
 * by virtual, interface and static calls, method handles, lambdas, reflection and native methods, with monitors and exceptions, often enough
 * to be compiled and inlined. */
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.util.SplittableRandom;
import java.util.function.IntUnaryOperator;

public class StackCompare {
    /* Compares the calling thread's stack. */
    static native void compare();

    /* Calls task.run(depth) from native code. */
    static native int callBack(Task task, int depth);

    /* Prints what was compared; 0 when all were alike. */
    static native int finish();

    interface Task {
        int run(int depth);
    }

    static final MethodHandle HANDLE, BARE;
    static final Method REFLECTED;

    static {
        try {
            HANDLE = MethodHandles.lookup().findVirtual(StackCompare.class, "step",
                MethodType.methodType(int.class, int.class));
            BARE = MethodHandles.lookup().findStatic(StackCompare.class, "bare", MethodType.methodType(int.class));
            REFLECTED = StackCompare.class.getDeclaredMethod("step", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    final SplittableRandom random;

    StackCompare(long seed) {
        random = new SplittableRandom(seed);
    }

    int leaf(int x) {
        compare();
        return x + 1;
    }

    int small(int x) {
        return x > 0 ? leaf(x) : leaf(-x);
    }

    static int fixed(StackCompare self, int depth) {
        return self.step(depth);
    }

    synchronized int locked(int depth) {
        return step(depth) + 1;
    }

    int thrown(int depth) {
        try {
            if (step(depth) > Integer.MIN_VALUE) {
                throw new IllegalStateException();
            }
            return 0;
        } catch (IllegalStateException e) {
            return small(depth);
        } finally {
            small(depth + 1);
        }
    }

    int loops(int depth) {
        int sum = 0;
        for (int i = 0; i < 3; i++) {
            sum += i == 1 ? step(depth) : small(i);
        }
        return sum;
    }

    int arguments(int depth, long a, double b, float c, Object d, long e, double f, int g, int h, int i) {
        return step(depth) + (int) (a + b + c + e + f + g + h + i) + (d == null ? 0 : 1);
    }

    int handled(int depth) {
        try {
            return (int) HANDLE.invokeExact(this, depth);
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    /* No argument and no variable: called by a handle, its frame begins where the handle's last argument lay. */
    static int bare() {
        compare();
        return 1;
    }

    static int handledBare() {
        try {
            return (int) BARE.invokeExact();
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    int reflected(int depth) {
        try {
            return (Integer) REFLECTED.invoke(this, depth);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    int step(int depth) {
        if (depth <= 0) {
            return small(depth);
        }
        switch (random.nextInt(12)) {
        case 0:
            return fixed(this, depth - 1);
        case 1:
            return locked(depth - 1);
        case 2:
            return random.nextInt(8) == 0 ? thrown(depth - 1) : small(depth);
        case 3:
            return random.nextInt(4) == 0 ? loops(depth - 1) : step(depth - 1);
        case 4:
            return arguments(depth - 1, depth, 2.0, 3.0f, this, 4, 5.0, 6, 7, 8);
        case 5:
            return handled(depth - 1);
        case 6:
            return reflected(depth - 1);
        case 7: {
            IntUnaryOperator lambda = x -> step(x);
            return lambda.applyAsInt(depth - 1);
        }
        case 8:
            return callBack(this::step, depth - 1);
        case 9: {
            Task task = new Task() {
                @Override
                public int run(int x) {
                    return step(x) + 1;
                }
            };
            return task.run(depth - 1);
        }
        case 10:
            return handledBare() + step(depth - 1);
        default:
            return small(depth) + step(depth - 1);
        }
    }

    public static void main(String[] args) throws Exception {
        System.load(args[0]);
        int turns = Integer.parseInt(args[1]), threads = 2;
        Thread[] others = new Thread[threads];
        for (int i = 0; i < threads; i++) {
            long seed = 1000 + i;
            others[i] = new Thread(() -> {
                StackCompare it = new StackCompare(seed);
                for (int turn = 0; turn < turns; turn++) {
                    it.step(turn % 14);
                }
            });
            others[i].start();
        }
        for (Thread other : others) {
            other.join();
        }
        System.exit(finish());
    }
}
