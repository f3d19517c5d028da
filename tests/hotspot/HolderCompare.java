/* SPDX-License-Identifier: Apache-2.0 */
/* HolderCompare.java - who has the monitor that a thread waits for: asked by the thread that has it, so the truth is known. Objects that were locked before
 * anybody waited, and such as were waited for before; others are locked around them, and the collector moves them. */
public class HolderCompare {
    /* Each thread that waits for a monitor waits for one that the caller has. */
    static native void haveIt();

    /* Says what was told; 0 when all was right. */
    static native int finishHolders();

    static byte[][] garbage = new byte[64][];

    static void holdAndBeWaitedFor(Object lock, int turn) {
        Thread waiter = new Thread(() -> {
            synchronized (lock) {
                garbage[0] = null;
            }
        });
        synchronized (lock) {
            waiter.start();
            while (waiter.getState() != Thread.State.BLOCKED) {
                Thread.onSpinWait();
            }
            for (int i = 0; i < 200; i++) {
                garbage[i % garbage.length] = new byte[1000];
            }
            if (turn % 10 == 0) {
                System.gc();
            }
            haveIt();
        }
        try {
            waiter.join();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void hold(int turns) {
        Object lock = new Object();
        for (int turn = 0; turn < turns; turn++) {
            if (turn % 4 == 0) {
                lock = new Object(); // nobody ever waited for this one
            }
            synchronized (new Object()) {
                holdAndBeWaitedFor(lock, turn);
            }
        }
    }

    public static void main(String[] args) throws Exception {
        System.load(args[0]);
        int turns = Integer.parseInt(args[1]);
        hold(turns);
        if (Runtime.version().feature() >= 21) {
            Runnable body = () -> hold(turns);
            ((Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, body)).join();
        }
        System.exit(finishHolders());
    }
}
