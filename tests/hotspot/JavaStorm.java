/* SPDX-License-Identifier: Apache-2.0 */
/* JavaStorm.java - threads that do all that moves a stack or what describes it, while each is interrupted a thousand times a second and more: they
 * collect, load and unload classes, are compiled and thrown back into the interpreter, throw, recurse until the stack
 * ends, call native code that calls back, and end. */
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

public class JavaStorm {
    /* Interrupts the calling thread from now on, until it ends. */
    static native void interruptMe();

    /* Says what was seen; 0 when all was well. */
    static native int finish();

    static native int callBack(StackCompare.Task task, int depth);

    static volatile boolean isOver;
    static final AtomicLong WORK = new AtomicLong();

    public interface Shape {
        int area(int x);
    }

    public static class Square implements Shape {
        @Override
        public int area(int x) {
            return x * x;
        }
    }

    /* Defines its own copy of a class, which dies with it. */
    static class OneClass extends ClassLoader {
        final byte[] bytes;

        OneClass(byte[] bytes) {
            super(null);
            this.bytes = bytes;
        }

        @Override
        protected Class<?> findClass(String name) throws ClassNotFoundException {
            if (!name.equals("JavaStorm$Guest")) {
                return JavaStorm.class.getClassLoader().loadClass(name);
            }
            return defineClass(name, bytes, 0, bytes.length);
        }
    }

    /* Defined again and again: compiled code that knew one of them is thrown away for the next. */
    public static class Guest implements Shape {
        @Override
        public int area(int x) {
            int sum = 0;
            for (int i = 0; i < 2000; i++) {
                sum += (x + i) % 7;
            }
            return sum;
        }
    }

    static int use(Shape shape, int x) {
        int sum = 0;
        for (int i = 0; i < 50; i++) {
            sum += shape.area(x + i);
        }
        return sum;
    }

    static void loadAndUnload(byte[] guest) throws ReflectiveOperationException {
        Shape square = new Square();
        for (int turn = 0; !isOver; turn++) {
            Shape shape = (Shape) new OneClass(guest).loadClass("JavaStorm$Guest").getDeclaredConstructor().newInstance();
            for (int i = 0; i < 60; i++) {
                WORK.addAndGet(use(square, i) + use(shape, i));
            }
        }
    }

    static void collect() throws InterruptedException {
        List<byte[]> kept = new ArrayList<>();
        for (int turn = 0; !isOver; turn++) {
            for (int i = 0; i < 2000; i++) {
                byte[] bytes = new byte[100 + i];
                if (i % 50 == 0) {
                    kept.add(bytes);
                }
            }
            if (turn % 20 == 0) {
                kept.clear();
                System.gc();
            }
            Thread.sleep(1);
        }
    }

    static int fall(int depth) {
        if (depth == 0) {
            throw new IllegalStateException("far down");
        }
        return depth % 3 == 0 ? fall(depth - 1) : fall(depth - 1) + 1;
    }

    static int forever(int depth) {
        return forever(depth + 1) + 1;
    }

    static void throwing() {
        for (int turn = 0; !isOver; turn++) {
            try {
                fall(turn % 40);
            } catch (IllegalStateException e) {
                WORK.addAndGet(e.getStackTrace().length);
            }
            if (turn % 5000 == 0) {
                try {
                    forever(0);
                } catch (StackOverflowError e) {
                    WORK.incrementAndGet();
                }
            }
        }
    }

    static int bounce(int depth) {
        return depth <= 0 ? Math.floorMod(System.nanoTime(), 7) : callBack(JavaStorm::bounce, depth - 1);
    }

    static void crossing() {
        while (!isOver) {
            WORK.addAndGet(bounce(6));
        }
    }

    static void ending() throws InterruptedException {
        while (!isOver) {
            Thread short1 = start(() -> use(new Square(), 3));
            Thread short2 = start(() -> bounce(3));
            Thread.sleep(5);
            short1.join();
            short2.join();
        }
    }

    interface Body {
        void run() throws Exception;
    }

    static Thread start(Body body) {
        Thread thread = new Thread(() -> {
            interruptMe();
            try {
                body.run();
            } catch (Exception e) {
                e.printStackTrace();
                System.exit(3);
            }
        });
        thread.start();
        return thread;
    }

    static final Object SHARED = new Object();

    static int deep(int depth) {
        if (depth == 0) {
            Thread.yield();
            return bounce(2);
        }
        if (depth % 5 == 0) {
            synchronized (SHARED) {
                WORK.incrementAndGet();
            }
        }
        return deep(depth - 1) + 1;
    }

    /* What a virtual thread does: it leaves its carrier far in, and comes back to frames that are in the heap. */
    static void beVirtual() {
        for (int turn = 0; !isOver; turn++) {
            interruptMe();
            WORK.addAndGet(deep(turn % 30));
            try {
                fall(turn % 20);
            } catch (IllegalStateException e) {
                LockSupport.parkNanos(1000);
            }
            use(new Square(), turn);
        }
    }

    static Thread startVirtual(Runnable body) throws ReflectiveOperationException {
        return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, body);
    }

    public static void main(String[] args) throws Exception {
        System.load(args[0]);
        byte[] guest;
        try (InputStream in = JavaStorm.class.getResourceAsStream("JavaStorm$Guest.class")) {
            guest = in.readAllBytes();
        }
        List<Thread> threads = new ArrayList<>();
        threads.add(start(() -> loadAndUnload(guest)));
        threads.add(start(JavaStorm::collect));
        threads.add(start(JavaStorm::throwing));
        threads.add(start(JavaStorm::crossing));
        threads.add(start(JavaStorm::ending));
        for (int i = 0; args.length > 2 && i < 6; i++) {
            threads.add(startVirtual(JavaStorm::beVirtual));
        }
        Thread.sleep(Long.parseLong(args[1]) * 1000);
        isOver = true;
        for (Thread thread : threads) {
            thread.join();
        }
        System.exit(finish());
    }
}
