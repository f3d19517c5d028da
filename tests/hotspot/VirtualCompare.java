/* SPDX-License-Identifier: Apache-2.0 */
/* VirtualCompare.java - stacks of virtual threads, each compared with the machine's own idea of it: at once, and after the thread has left its
 * carrier and come back, when the frames farther out are still in the heap. Compiled by a JDK that does not know such threads: they are reached by reflection. */
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

public class VirtualCompare extends StackCompare {
    /* All threads that compare are virtual ones. */
    static native void areVirtual();

    final Object shared;

    VirtualCompare(long seed, Object shared) {
        super(seed);
        this.shared = shared;
    }

    @Override
    int leaf(int x) {
        switch (random.nextInt(6)) {
        case 0:
            Thread.yield();
            break;
        case 1:
            LockSupport.parkNanos(1000);
            break;
        case 2:
            synchronized (shared) { // others want it too: who waits leaves its carrier
                compare();
            }
            break;
        default:
            break;
        }
        compare();
        return x + 1;
    }

    static Thread start(Runnable body) throws ReflectiveOperationException {
        return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, body);
    }

    public static void main(String[] args) throws Exception {
        System.load(args[0]);
        areVirtual();
        int turns = Integer.parseInt(args[1]) / 4;
        Object shared = new Object();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            long seed = 2000 + i;
            threads.add(start(() -> {
                StackCompare it = new VirtualCompare(seed, shared);
                for (int turn = 0; turn < turns; turn++) {
                    it.step(turn % 14);
                }
            }));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.exit(finish());
    }
}
