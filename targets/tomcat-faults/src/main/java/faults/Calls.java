package faults;

import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Deque;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.ConcurrentMap;

/**
 * Blocking calls of another service. Connections are kept and used again, and there is no limit to
 * their number: each thread that waits has one.
 */
final class Calls {
    private record Idle(Socket socket, InputStream in) {}

    private static final ConcurrentMap<String, Deque<Idle>> IDLE = new ConcurrentHashMap<>();

    private Calls() {}

    static void get(String to, String path) throws IOException {
        int colon = to == null ? -1 : to.lastIndexOf(':');
        if (colon < 1) {
            throw new IllegalArgumentException("to= is to be HOST:PORT");
        }
        Deque<Idle> idle = IDLE.computeIfAbsent(to, key -> new ConcurrentLinkedDeque<>());
        Idle kept = idle.pollFirst();
        if (kept != null) {
            try {
                String status = exchange(kept, to, path);
                idle.addFirst(kept);
                check(status, to);
                return;
            } catch (IOException closedMeanwhile) {
                kept.socket().close();
            }
        }
        Socket socket = new Socket(to.substring(0, colon), Integer.parseInt(to.substring(colon + 1)));
        socket.setTcpNoDelay(true);
        Idle made = new Idle(socket, new BufferedInputStream(socket.getInputStream()));
        String status;
        try {
            status = exchange(made, to, path);
        } catch (IOException failed) {
            socket.close();
            throw failed;
        }
        idle.addFirst(made);
        check(status, to);
    }

    private static void check(String status, String of) {
        if (!status.startsWith("HTTP/1.1 2")) {
            throw new IllegalStateException(of + " answered " + status);
        }
    }

    private static String exchange(Idle connection, String to, String path) throws IOException {
        String request = "GET " + (path == null ? "/" : path) + " HTTP/1.1\r\nHost: " + to + "\r\n\r\n";
        connection.socket().getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
        String status = line(connection.in());
        long length = -1;
        for (String field = line(connection.in()); !field.isEmpty(); field = line(connection.in())) {
            if (field.regionMatches(true, 0, "content-length:", 0, 15)) {
                length = Long.parseLong(field.substring(15).trim());
            }
        }
        if (length < 0) {
            throw new IOException(to + " gave no Content-Length");
        }
        connection.in().skipNBytes(length);
        return status;
    }

    private static String line(InputStream in) throws IOException {
        StringBuilder line = new StringBuilder();
        for (int c = in.read(); c != '\n'; c = in.read()) {
            if (c < 0) {
                throw new EOFException("the connection was closed");
            }
            if (c != '\r') {
                line.append((char) c);
            }
        }
        return line.toString();
    }
}
