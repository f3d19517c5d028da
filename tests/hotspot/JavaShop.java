/* SPDX-License-Identifier: Apache-2.0 */
/* JavaShop.java - a web server of the JDK's own with a pool of threads, whose handlers stall as they are asked to, and a client that asks. */
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URL;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.IntUnaryOperator;

public class JavaShop {
    static final int MS = 1200;
    static final Object TILL = new Object();
    static final ReentrantLock STORE = new ReentrantLock();
    static volatile double sink;
    static volatile boolean isTidy;

    static double price(int ms) {
        long end = System.nanoTime() + ms * 1_000_000L;
        double sum = 1;
        while (System.nanoTime() < end) {
            for (int i = 0; i < 1000; i++) {
                sum = Math.sqrt(sum + i); // computing
            }
        }
        return sum;
    }

    static int fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }

    static int recurse(int ms) {
        long end = System.nanoTime() + ms * 1_000_000L;
        int sum = 0;
        while (System.nanoTime() < end) {
            sum += fib(18);
        }
        return sum;
    }

    static void count(CountDownLatch held) {
        synchronized (TILL) {
            held.countDown();
            sink = price(MS); // holding the till
        }
    }

    static void pay() {
        synchronized (TILL) { // waiting for the till
            sink += 1;
        }
    }

    static void stockUp(CountDownLatch held) {
        STORE.lock();
        try {
            held.countDown();
            sink = price(MS);
        } finally {
            STORE.unlock();
        }
    }

    static void fetch() {
        STORE.lock(); // waiting for the store
        STORE.unlock();
    }

    static void tidy() {
        Object[] kept = new Object[400_000];
        for (int i = 0; i < kept.length; i++) {
            kept[i] = new int[i % 40];
        }
        long end = System.nanoTime() + MS * 1_000_000L;
        while (System.nanoTime() < end) {
            System.gc(); // collecting
        }
        sink = kept.length;
    }

    /* Says how many bytes it took of the heap: a header of 16 bytes each, and the whole a multiple of 8. */
    static void bake() {
        long bytes = 0;
        for (long end = System.nanoTime() + MS * 1_000_000L; System.nanoTime() < end;) {
            for (int i = 0; i < 100; i++) {
                byte[] loaf = new byte[4000]; // baking
                loaf[i] = 1;
                sink += loaf[i];
                bytes += 16 + 4000;
            }
        }
        System.out.println(bytes);
    }

    static void knead(CountDownLatch begun) {
        begun.countDown();
        byte[][] dough = new byte[64][];
        for (int i = 0; !isTidy; i++) {
            dough[i % dough.length] = new byte[1 << 14];
        }
        sink = dough.length;
    }

    static void doze() throws InterruptedException {
        Thread.sleep(MS); // sleeping
    }

    static int inner(IntUnaryOperator shape) {
        return shape.applyAsInt(MS);
    }

    interface Held {
        void run(CountDownLatch held);
    }

    static void besides(Held body) throws InterruptedException {
        CountDownLatch held = new CountDownLatch(1);
        new Thread(() -> body.run(held), "holder").start();
        held.await();
    }

    static void handle(HttpExchange exchange) throws IOException {
        try {
            switch (exchange.getRequestURI().getPath()) {
            case "/compute":
                sink = price(MS);
                break;
            case "/recurse":
                sink = recurse(MS);
                break;
            case "/lambda":
                sink = inner(ms -> (int) price(ms));
                break;
            case "/monitor":
                besides(JavaShop::count);
                pay();
                break;
            case "/lock":
                besides(JavaShop::stockUp);
                fetch();
                break;
            case "/gc":
                besides(JavaShop::knead);
                tidy();
                isTidy = true;
                break;
            case "/allocate":
                bake();
                break;
            case "/sleep":
                doze();
                break;
            default:
                break;
            }
        } catch (InterruptedException e) {
            throw new IOException(e);
        }
        exchange.sendResponseHeaders(200, 2);
        exchange.getResponseBody().write("ok".getBytes());
        exchange.close();
    }

    public static void main(String[] args) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", JavaShop::handle);
        boolean isVirtual = args[0].equals("virtual"); // a thread for each request; compiled by a JDK that has none
        server.setExecutor(isVirtual ? (Executor) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null)
                                     : Executors.newFixedThreadPool(3));
        server.start();
        for (String path : args) {
            if (path.equals("virtual")) {
                continue;
            }
            URL url = new URL("http://127.0.0.1:" + server.getAddress().getPort() + path);
            if (path.equals("/rest")) {
                Thread.sleep(2000);
            } else if (((HttpURLConnection) url.openConnection()).getResponseCode() != 200) {
                System.exit(2);
            }
        }
        System.exit(0);
    }
}
