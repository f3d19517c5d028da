/* SPDX-License-Identifier: Apache-2.0 */
/* Stalls.java - a web server of the JDK's own, whose handlers stall as truth.tsv says it. It prints its port; "/lock" stalls as caseLock(), "/" answers
 * at once, "/exit" ends it. */
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.io.RandomAccessFile;
import java.lang.reflect.Method;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.regex.Pattern;
import java.util.zip.Deflater;

public class Stalls {
    static final int MS = Integer.parseInt(System.getenv().getOrDefault("STALL_MS", "900"));
    static volatile double sink;

    static long soon(int ms) {
        return System.nanoTime() + ms * 1_000_000L;
    }

    /* ---- computing ---- */

    static void caseCompute() {
        summarizeOrders();
    }

    static void summarizeOrders() {
        for (long end = soon(MS); System.nanoTime() < end;) {
            sink = Math.sqrt(sink + 1);
        }
    }

    static int countWays(int steps) {
        return steps < 2 ? 1 : countWays(steps - 1) + countWays(steps - 2);
    }

    static void caseRecursion() {
        for (long end = soon(MS); System.nanoTime() < end;) {
            sink = countWays(20);
        }
    }

    static void caseRegex() {
        matchAddress();
    }

    static void matchAddress() {
        for (long end = soon(MS); System.nanoTime() < end;) {
            sink = Pattern.matches("(a+)+", "a".repeat(16) + "b") ? 1 : 0;
        }
    }

    static void caseText() {
        renderCatalogue();
    }

    static void renderCatalogue() {
        for (long end = soon(MS); System.nanoTime() < end;) {
            StringBuilder text = new StringBuilder();
            for (int i = 0; i < 1000; i++) {
                text.append(String.format("%05d;%s;", i, "pear"));
            }
            sink = text.length();
        }
    }

    static void caseExceptions() {
        parsePrices();
    }

    static void parsePrices() {
        for (long end = soon(MS); System.nanoTime() < end;) {
            try {
                sink = Integer.parseInt("12x");
            } catch (NumberFormatException e) {
                sink = e.getMessage().length();
            }
        }
    }

    static void caseStream() {
        rankOffers();
    }

    static int byPrice(int one, int other) {
        return Integer.compare(one * 31 % 1009, other * 31 % 1009);
    }

    static void rankOffers() {
        List<Integer> offers = new ArrayList<>();
        for (int i = 0; i < 20000; i++) {
            offers.add(i * 7919 % 20011);
        }
        for (long end = soon(MS); System.nanoTime() < end;) {
            sink = offers.stream().sorted(Stalls::byPrice).skip(5).findFirst().get();
        }
    }

    static void caseNative() {
        packBackup();
    }

    static void packBackup() {
        byte[] block = new byte[1 << 20], packed = new byte[1 << 21];
        for (int i = 0; i < block.length; i++) {
            block[i] = (byte) (i * i % 251);
        }
        for (long end = soon(MS); System.nanoTime() < end;) {
            Deflater deflater = new Deflater(9);
            deflater.setInput(block);
            deflater.finish();
            sink = deflater.deflate(packed);
            deflater.end();
        }
    }

    static void caseGc() {
        dropCache();
    }

    static void dropCache() {
        Object[] kept = new Object[400_000];
        for (int i = 0; i < kept.length; i++) {
            kept[i] = new int[i % 40];
        }
        for (long end = soon(MS); System.nanoTime() < end;) {
            System.gc();
        }
        sink = kept.length;
    }

    /* The machine runs with a limit of 16 MB for such memory (tests/stalls/CMakeLists.txt), and these buffers are in use all the while. */
    static void caseDirectMemory() {
        List<ByteBuffer> inUse = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            inUse.add(ByteBuffer.allocateDirect(4 << 20));
        }
        takeBuffer();
        sink = inUse.stream().mapToInt(ByteBuffer::capacity).sum();
    }

    static void takeBuffer() {
        for (long end = soon(MS); System.nanoTime() < end;) {
            try {
                sink = ByteBuffer.allocateDirect(8 << 20).capacity();
            } catch (OutOfMemoryError tooMuch) {
                sink = 0; /* once more */
            }
        }
    }

    /* ---- compiled code that is given up ---- */

    static void caseRetarget() throws Throwable {
        Discounts.repriceAll(soon(MS), 1);
    }

    static void caseRetargetBeside() throws Throwable {
        beside(Discounts::change);
        Discounts.quoteAll(soon(MS));
    }

    /* ---- monitors and locks ---- */

    static final Object TILL = new Object(), VAULT = new Object(), SCALE = new Object(), SHELF = new Object(), GATE = new Object();
    static final ReentrantLock STORE = new ReentrantLock();
    static final ReentrantReadWriteLock PRICES = new ReentrantReadWriteLock();

    interface Holding {
        void run(CountDownLatch held) throws Exception;
    }

    /* Begins `body` on a thread of its own, and returns when it has counted down. */
    static Thread beside(Holding body) throws InterruptedException {
        CountDownLatch held = new CountDownLatch(1);
        Thread thread = new Thread(() -> {
            try {
                body.run(held);
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }, "beside");
        thread.setDaemon(true);
        thread.start();
        held.await();
        return thread;
    }

    static void caseMonitor() throws InterruptedException {
        beside(Stalls::countTill);
        pay();
    }

    static void countTill(CountDownLatch held) {
        synchronized (TILL) {
            held.countDown();
            for (long end = soon(MS); System.nanoTime() < end;) {
                sink = Math.sqrt(sink + 1);
            }
        }
    }

    static void pay() {
        synchronized (TILL) {
            sink += 1;
        }
    }

    static void caseMonitorAsleep() throws InterruptedException {
        beside(Stalls::inspectShelf);
        restock();
    }

    static synchronized void waitForInspector(CountDownLatch held) throws InterruptedException {
        held.countDown();
        Thread.sleep(MS);
    }

    static void inspectShelf(CountDownLatch held) throws InterruptedException {
        waitForInspector(held);
    }

    static synchronized void restock() {
        sink += 1;
    }

    static void caseLock() throws InterruptedException {
        beside(Stalls::compactStore);
        readStore();
    }

    static void compactStore(CountDownLatch held) {
        STORE.lock();
        held.countDown();
        for (long end = soon(MS); System.nanoTime() < end;) {
            sink = Math.sqrt(sink + 1);
        }
        STORE.unlock();
    }

    static void readStore() {
        STORE.lock();
        STORE.unlock();
    }

    static void caseReadLock() throws InterruptedException {
        beside(Stalls::rewritePrices);
        lookUpPrice();
    }

    static void rewritePrices(CountDownLatch held) {
        PRICES.writeLock().lock();
        held.countDown();
        for (long end = soon(MS); System.nanoTime() < end;) {
            sink = Math.sqrt(sink + 1);
        }
        PRICES.writeLock().unlock();
    }

    static void lookUpPrice() {
        PRICES.readLock().lock();
        PRICES.readLock().unlock();
    }

    /* The handler waits for the scale, whose holder waits for the vault, whose holder computes. */
    static void caseChain() throws InterruptedException {
        beside(Stalls::auditVault);
        beside(Stalls::calibrate);
        weigh();
    }

    static void auditVault(CountDownLatch held) {
        synchronized (VAULT) {
            held.countDown();
            for (long end = soon(MS); System.nanoTime() < end;) {
                sink = Math.sqrt(sink + 1);
            }
        }
    }

    static void calibrate(CountDownLatch held) {
        synchronized (SCALE) {
            held.countDown();
            synchronized (VAULT) {
                sink += 1;
            }
        }
    }

    static void weigh() {
        synchronized (SCALE) {
            sink += 1;
        }
    }

    /* Four printers go through the gate one behind the other without a pause, and the handler with them. */
    static void caseConvoy() throws InterruptedException {
        long end = soon(MS);
        for (int i = 0; i < 4; i++) {
            beside(held -> printReceipts(held, end));
        }
        leave(end);
    }

    static void printReceipts(CountDownLatch held, long end) {
        for (held.countDown(); System.nanoTime() < end;) {
            synchronized (GATE) {
                for (long turn = soon(120); System.nanoTime() < turn;) {
                    sink = Math.sqrt(sink + 1);
                }
            }
        }
    }

    static void leave(long end) {
        while (System.nanoTime() < end) {
            synchronized (GATE) {
                sink += 1;
            }
        }
    }

    static void caseDeadlock() throws InterruptedException {
        synchronized (SHELF) {
            beside(Stalls::takeFromBehind);
            takeFromFront();
        }
    }

    static final Object BACK = new Object();

    static void takeFromBehind(CountDownLatch held) {
        synchronized (BACK) {
            held.countDown();
            synchronized (SHELF) {
                sink += 1;
            }
        }
    }

    static void takeFromFront() {
        synchronized (BACK) {
            sink += 1;
        }
    }

    /* ---- class initialisation ---- */

    static final CountDownLatch CATALOGUE_BEGUN = new CountDownLatch(1);

    static class Catalogue {
        static final double SIZE = load();

        static double load() {
            CATALOGUE_BEGUN.countDown();
            for (long end = soon(MS); System.nanoTime() < end;) {
                sink = Math.sqrt(sink + 1);
            }
            return sink;
        }
    }

    static void caseClassInit() throws InterruptedException {
        beside(held -> {
            held.countDown();
            sink = Catalogue.SIZE;
        });
        CATALOGUE_BEGUN.await();
        openCatalogue();
    }

    static void openCatalogue() {
        sink = Catalogue.SIZE;
    }

    static final CountDownLatch ORDERS_BEGUN = new CountDownLatch(1), STOCK_BEGUN = new CountDownLatch(1);

    static void meet(CountDownLatch mine, CountDownLatch other) {
        mine.countDown();
        try {
            other.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static class Orders {
        static final double COUNT = countOrders();

        static double countOrders() {
            meet(ORDERS_BEGUN, STOCK_BEGUN);
            return Stock.COUNT + 1;
        }
    }

    static class Stock {
        static final double COUNT = countStock();

        static double countStock() {
            meet(STOCK_BEGUN, ORDERS_BEGUN);
            return Orders.COUNT + 1;
        }
    }

    static void caseClassDeadlock() throws InterruptedException {
        beside(held -> {
            held.countDown();
            sink = Stock.COUNT;
        });
        sink = Orders.COUNT;
    }

    /* ---- waiting for others ---- */

    static final ExecutorService ONE_WORKER = Executors.newFixedThreadPool(1, body -> {
        Thread thread = new Thread(body, "worker");
        thread.setDaemon(true);
        return thread;
    });

    static void rebuildIndex() {
        for (long end = soon(MS); System.nanoTime() < end;) {
            sink = Math.sqrt(sink + 1);
        }
    }

    static void caseFullPool() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        ONE_WORKER.submit(() -> {
            begun.countDown();
            rebuildIndex();
        });
        begun.await();
        searchPool();
    }

    static void searchPool() throws Exception {
        sink = ONE_WORKER.submit(() -> 1).get();
    }

    /* Pools whose threads have worked before, and rest. */

    static final ExecutorService PRINTERS = Executors.newFixedThreadPool(1, body -> {
        Thread thread = new Thread(body, "printer");
        thread.setDaemon(true);
        return thread;
    });
    static final ForkJoinPool PLANNERS = new ForkJoinPool(1);

    static void renderInvoice() {
        for (long end = soon(MS); System.nanoTime() < end;) {
            sink = Math.sqrt(sink + 1);
        }
    }

    static void caseExecutor() throws Exception {
        PRINTERS.submit(() -> 1).get();
        Thread.sleep(50);
        printInvoice();
    }

    static void printInvoice() throws Exception {
        PRINTERS.submit(Stalls::renderInvoice).get();
    }

    static void sumDistances() {
        for (long end = soon(MS); System.nanoTime() < end;) {
            sink = Math.sqrt(sink + 1);
        }
    }

    static void caseForkJoin() throws Exception {
        PLANNERS.submit(() -> 1).get();
        Thread.sleep(50);
        planRoute();
    }

    static void planRoute() throws Exception {
        PLANNERS.submit(Stalls::sumDistances).get();
    }

    static void caseJoin() throws InterruptedException {
        stopWorker(beside(Stalls::drainQueue));
    }

    static void drainQueue(CountDownLatch begun) {
        begun.countDown();
        for (long end = soon(MS); System.nanoTime() < end;) {
            sink = Math.sqrt(sink + 1);
        }
    }

    static void stopWorker(Thread worker) throws InterruptedException {
        worker.join();
    }

    static final Object ITEMS = new Object();
    static boolean hasItem;

    static void caseWait() throws InterruptedException {
        hasItem = false;
        beside(Stalls::countStockroom);
        reserveItem();
    }

    static void countStockroom(CountDownLatch begun) {
        begun.countDown();
        for (long end = soon(MS); System.nanoTime() < end;) {
            sink = Math.sqrt(sink + 1);
        }
        synchronized (ITEMS) {
            hasItem = true;
            ITEMS.notifyAll();
        }
    }

    static void reserveItem() throws InterruptedException {
        synchronized (ITEMS) {
            while (!hasItem) {
                ITEMS.wait();
            }
        }
    }

    static final Semaphore SEATS = new Semaphore(0);

    static void caseSemaphore() throws InterruptedException {
        beside(Stalls::clearTable);
        takeSeat();
    }

    static void clearTable(CountDownLatch begun) {
        begun.countDown();
        for (long end = soon(MS); System.nanoTime() < end;) {
            sink = Math.sqrt(sink + 1);
        }
        SEATS.release();
    }

    static void takeSeat() throws InterruptedException {
        SEATS.acquire();
    }

    static void caseSleep() throws InterruptedException {
        retryUpload();
    }

    static void retryUpload() throws InterruptedException {
        Thread.sleep(MS);
    }

    static void casePark() {
        backOff();
    }

    static void backOff() {
        for (long end = soon(MS); System.nanoTime() < end;) {
            LockSupport.parkNanos(end - System.nanoTime());
        }
    }

    /* ---- blocking I/O ---- */

    static void caseSocket() throws Exception {
        try (ServerSocket bank = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            beside(begun -> {
                begun.countDown();
                try (Socket asked = bank.accept()) {
                    Thread.sleep(MS);
                    asked.getOutputStream().write(1);
                }
            });
            fetchRate(bank.getLocalPort());
        }
    }

    static void fetchRate(int port) throws IOException {
        try (Socket bank = new Socket(InetAddress.getLoopbackAddress(), port)) {
            sink = bank.getInputStream().read();
        }
    }

    static void caseProcess() throws Exception {
        runConverter();
    }

    static void runConverter() throws Exception {
        sink = new ProcessBuilder("sleep", String.valueOf(MS / 1000.0)).start().waitFor();
    }

    static void casePipe() throws Exception {
        Process export = new ProcessBuilder("sh", "-c", "sleep " + MS / 1000.0 + "; echo done").start();
        readExport(export);
        export.waitFor();
    }

    static void readExport(Process export) throws IOException {
        sink = export.getInputStream().read();
    }

    static void caseFsync() throws IOException {
        File file = new File(System.getenv().getOrDefault("STALLS_DISK", "/var/tmp"), "stalls-java." + ProcessHandle.current().pid());
        try (RandomAccessFile journal = new RandomAccessFile(file, "rw")) {
            syncJournal(journal.getChannel());
        } finally {
            file.delete();
        }
    }

    static void syncJournal(FileChannel journal) throws IOException {
        ByteBuffer entry = ByteBuffer.allocateDirect(1 << 16);
        for (long end = soon(MS); System.nanoTime() < end;) {
            journal.write(entry.clear(), 0);
            journal.force(true);
        }
    }

    /* ---- the server ---- */

    static void handle(HttpExchange exchange) throws IOException {
        String name = exchange.getRequestURI().getPath().substring(1);
        try {
            if (name.equals("healthy")) {
                workBehind();
            } else if (!name.isEmpty() && !name.equals("exit")) {
                Method method = Stalls.class.getDeclaredMethod("case" + Character.toUpperCase(name.charAt(0)) + name.substring(1));
                method.invoke(null);
            }
            exchange.sendResponseHeaders(200, 2);
        } catch (ReflectiveOperationException e) {
            e.printStackTrace();
            exchange.sendResponseHeaders(500, 2);
        }
        try (OutputStream body = exchange.getResponseBody()) {
            body.write("ok".getBytes());
        }
        if (name.equals("exit")) {
            System.exit(0);
        }
    }

    static void rebuildAll() {
        for (long end = soon(4 * MS); System.nanoTime() < end;) {
            sink = Math.sqrt(sink + 1);
        }
    }

    /* Nothing of this is anybody's stall: a ticker, a batch, locks that are held for a moment, a pool that rests, a collection. */
    static void workBehind() {
        ScheduledExecutorService ticker = Executors.newScheduledThreadPool(2);
        ticker.scheduleAtFixedRate(() -> sink = countWays(10), 5, 50, TimeUnit.MILLISECONDS);
        ticker.schedule(System::gc, 400, TimeUnit.MILLISECONDS);
        ExecutorService batch = Executors.newFixedThreadPool(2);
        batch.submit(Stalls::rebuildAll);
        batch.submit(() -> {
            synchronized (TILL) {
                Thread.sleep(20);
            }
            return 0;
        });
    }

    public static void main(String[] arguments) throws Throwable {
        Discounts.warmUp();
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", Stalls::handle);
        server.setExecutor(Executors.newFixedThreadPool(8));
        server.start();
        System.out.println(server.getAddress().getPort());
    }
}
