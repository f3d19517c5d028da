// SPDX-License-Identifier: Apache-2.0
// Orders.java - a service on Java's own http server, four threads in a pool: /alloc makes some thousands of short-lived objects for each answer, /lock takes a
// lock that all requests share two hundred times. All answers of a path have the same length. usage: java Orders.java PORT
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;

public class Orders {
    private static final Object stock = new Object();
    private static final long[] left = new long[64];

    private static long price(int order) {
        Map<String, Long> items = new HashMap<>();
        List<String> names = new ArrayList<>();
        for (int i = 0; i < 300; i++) {
            String name = "item " + (order + i) % 100;
            items.merge(name, (long) i, Long::sum);
            names.add(name.toUpperCase());
        }
        long sum = names.size();
        for (long value : items.values()) {
            sum += value;
        }
        return sum;
    }

    private static long reserve(int order) {
        long sum = 0;
        for (int i = 0; i < 200; i++) {
            synchronized (stock) {
                left[(order + i) % left.length]++;
                sum += left[i % left.length];
            }
        }
        return sum;
    }

    private static void answer(HttpExchange exchange, long value) throws IOException {
        byte[] body = String.format("%020d%n", value).getBytes(StandardCharsets.US_ASCII);
        exchange.sendResponseHeaders(200, body.length);
        try (OutputStream out = exchange.getResponseBody()) {
            out.write(body);
        }
    }

    public static void main(String[] arguments) throws IOException {
        System.setProperty("sun.net.httpserver.nodelay", "true");
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(arguments[0])), 0);
        server.setExecutor(Executors.newFixedThreadPool(4));
        server.createContext("/alloc", exchange -> answer(exchange, price((int) System.nanoTime() & 0xff)));
        server.createContext("/lock", exchange -> answer(exchange, reserve((int) System.nanoTime() & 0xff)));
        server.start();
    }
}
