/* SPDX-License-Identifier: Apache-2.0 */
/* CodeChurn.java - compiled code that is thrown away again and again, so that other methods come to lie where it lay: classes that differ in names
 * and lines, each loaded, run until it is compiled, compared with the machine's own idea of the stack, and collected. */
import java.io.IOException;
import java.io.InputStream;

public class CodeChurn {
    public interface Guest {
        int go(int depth);
    }

    /* For guests, which are of other loaders. */
    public static void look() {
        StackCompare.compare();
    }

    public static class Guest0 implements Guest {
        @Override
        public int go(int depth) {
            return depth == 0 ? last0() : go(depth - 1) + 1;
        }

        int last0() {
            look();
            return 0;
        }
    }

    public static class Guest1 implements Guest {
        static final int UNUSED0 = 0;
        @Override
        public int go(int depth) {
            return depth == 0 ? last1() : go(depth - 1) + 1;
        }

        int last1() {
            look();
            return 1;
        }
    }

    public static class Guest2 implements Guest {
        static final int UNUSED0 = 0;
        static final int UNUSED1 = 1;
        @Override
        public int go(int depth) {
            return depth == 0 ? last2() : go(depth - 1) + 1;
        }

        int last2() {
            look();
            return 2;
        }
    }

    public static class Guest3 implements Guest {
        static final int UNUSED0 = 0;
        static final int UNUSED1 = 1;
        static final int UNUSED2 = 2;
        @Override
        public int go(int depth) {
            return depth == 0 ? last3() : go(depth - 1) + 1;
        }

        int last3() {
            look();
            return 3;
        }
    }

    public static class Guest4 implements Guest {
        static final int UNUSED0 = 0;
        static final int UNUSED1 = 1;
        static final int UNUSED2 = 2;
        static final int UNUSED3 = 3;
        @Override
        public int go(int depth) {
            return depth == 0 ? last4() : go(depth - 1) + 1;
        }

        int last4() {
            look();
            return 4;
        }
    }

    public static class Guest5 implements Guest {
        static final int UNUSED0 = 0;
        static final int UNUSED1 = 1;
        static final int UNUSED2 = 2;
        static final int UNUSED3 = 3;
        static final int UNUSED4 = 4;
        @Override
        public int go(int depth) {
            return depth == 0 ? last5() : go(depth - 1) + 1;
        }

        int last5() {
            look();
            return 5;
        }
    }

    public static class Guest6 implements Guest {
        static final int UNUSED0 = 0;
        static final int UNUSED1 = 1;
        static final int UNUSED2 = 2;
        static final int UNUSED3 = 3;
        static final int UNUSED4 = 4;
        static final int UNUSED5 = 5;
        @Override
        public int go(int depth) {
            return depth == 0 ? last6() : go(depth - 1) + 1;
        }

        int last6() {
            look();
            return 6;
        }
    }

    public static class Guest7 implements Guest {
        static final int UNUSED0 = 0;
        static final int UNUSED1 = 1;
        static final int UNUSED2 = 2;
        static final int UNUSED3 = 3;
        static final int UNUSED4 = 4;
        static final int UNUSED5 = 5;
        static final int UNUSED6 = 6;
        @Override
        public int go(int depth) {
            return depth == 0 ? last7() : go(depth - 1) + 1;
        }

        int last7() {
            look();
            return 7;
        }
    }

    /* Defines its own copy of one guest, which dies with it. */
    static class OneGuest extends ClassLoader {
        final String name;

        OneGuest(String name) {
            super(null);
            this.name = name;
        }

        @Override
        protected Class<?> findClass(String wanted) throws ClassNotFoundException {
            if (!wanted.equals(name)) {
                return CodeChurn.class.getClassLoader().loadClass(wanted);
            }
            try (InputStream in = CodeChurn.class.getResourceAsStream("/" + name + ".class")) {
                byte[] bytes = in.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
    }

    static void once(int turn) throws ReflectiveOperationException {
        Class<?> guest = new OneGuest("CodeChurn$Guest" + turn % 8).loadClass("CodeChurn$Guest" + turn % 8);
        Guest it = (Guest) guest.getDeclaredConstructor().newInstance();
        for (int i = 0; i < 12; i++) {
            it.go(2);
        }
    }

    public static void main(String[] args) throws Exception {
        System.load(args[0]);
        int turns = Integer.parseInt(args[1]);
        for (int turn = 0; turn < turns; turn++) {
            once(turn);
            if (turn % 4 == 3) {
                System.gc();
            }
        }
        System.exit(StackCompare.finish());
    }
}
