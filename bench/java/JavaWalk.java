/* SPDX-License-Identifier: Apache-2.0 */
/* JavaWalk.java - a stack of 24 Java frames, compiled or interpreted, from whose leaf native code measures. */
public class JavaWalk {
    static native int measure(int rounds, boolean json, String what);

    static int down(int depth, int rounds, boolean json, String what) {
        return depth == 0 ? measure(rounds, json, what) : down(depth - 1, rounds, json, what) + 1;
    }

    public static void main(String[] args) throws InterruptedException {
        Thread.sleep(500); // the recorder begins at a program's first waits
        System.load(args[0]);
        for (int i = 0; i < 30000; i++) { // rounds 0 measure nothing: until it is compiled
            down(22, 0, false, args[3]);
        }
        down(22, Integer.parseInt(args[1]), Boolean.parseBoolean(args[2]), args[3]);
        System.exit(0);
    }
}
