package faults;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.locks.ReentrantLock;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.apache.catalina.Context;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.startup.Tomcat;

/** A service each of whose paths is slow for one known reason. */
public final class Faults extends HttpServlet {
    private interface Handler {
        void handle(HttpServletRequest request) throws Exception;
    }

    private static final int CHUNK_KB = 64;
    private static final long FILE_BYTES = 64L << 20;
    private static final long ROUNDS_PER_MS = roundsPerMs();

    private final Map<String, Handler> handlers = Map.ofEntries(
            Map.entry("/ok", request -> {}),
            Map.entry("/dbsleep", request -> sql("select pg_sleep(" + number(request, "ms", 50) / 1000.0 + ")")),
            Map.entry("/dbrow", request -> sql("update faults_hot set n = n + 1 where id = 1; "
                    + "select pg_sleep(" + number(request, "ms", 0) / 1000.0 + ")")),
            Map.entry("/dbcpu", request -> sql("select count(*) from generate_series(1, "
                    + number(request, "rows", 20_000) + ") as g where md5(g::text) like 'a%'")),
            Map.entry("/dbidle", request -> idleInTransaction(number(request, "ms", 50))),
            Map.entry("/cpu", request -> burn(number(request, "ms", 5))),
            Map.entry("/sync", request -> inSynchronizedBlock(number(request, "ms", 5))),
            Map.entry("/lock", request -> inLock(number(request, "ms", 5))),
            Map.entry("/sleep", request -> Thread.sleep(number(request, "ms", 100))),
            Map.entry("/call", request -> Calls.get(request.getParameter("to"), request.getParameter("path"))),
            Map.entry("/gc", request -> allocate(number(request, "kb", 256))),
            Map.entry("/file", request -> append(number(request, "kb", 4))));

    private final HikariDataSource database;
    private final Object monitor = new Object();
    private final ReentrantLock lock = new ReentrantLock();
    /** What /gc retains: more than half of the heap, in chunks, the oldest replaced first. */
    private final AtomicReferenceArray<Object> retained =
            new AtomicReferenceArray<>((int) (Runtime.getRuntime().maxMemory() / 1024 * 55 / 100 / CHUNK_KB));
    private final AtomicLong chunks = new AtomicLong();
    private final FileChannel file;
    private final AtomicLong written = new AtomicLong();

    private Faults(HikariDataSource database, FileChannel file) {
        this.database = database;
        this.file = file;
    }

    @Override
    protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
        Handler handler = handlers.get(request.getRequestURI());
        response.setContentType("text/plain");
        if (handler == null) {
            answer(response, 404, "no such fault\n");
        } else if (database == null && request.getRequestURI().startsWith("/db")) {
            answer(response, 503, "DATABASE_URL is not set\n");
        } else {
            try {
                handler.handle(request);
                answer(response, 200, "ok\n");
            } catch (IllegalArgumentException wrong) {
                answer(response, 400, wrong.getMessage() + "\n");
            } catch (Exception failed) {
                answer(response, 500, failed + "\n");
            }
        }
    }

    private static void answer(HttpServletResponse response, int status, String text) throws IOException {
        response.setStatus(status);
        response.setContentLength(text.length());
        response.getWriter().write(text);
    }

    private static long number(HttpServletRequest request, String name, long otherwise) {
        String given = request.getParameter(name);
        long number = given == null ? otherwise : Long.parseLong(given);
        if (number < 0 || number > 1_000_000) {
            throw new IllegalArgumentException(name + " is to be from 0 to 1000000, not " + number);
        }
        return number;
    }

    private void sql(String statement) throws SQLException {
        try (Connection connection = database.getConnection(); Statement run = connection.createStatement()) {
            run.execute(statement);
        }
    }

    private void idleInTransaction(long ms) throws SQLException, InterruptedException {
        try (Connection connection = database.getConnection(); Statement run = connection.createStatement()) {
            connection.setAutoCommit(false);
            run.execute("select n from faults_hot where id = 1");
            Thread.sleep(ms);
            connection.commit();
        }
    }

    /** Work of a fixed size rather than of a fixed time, so that more threads do not make more of it. */
    private static void burn(long ms) {
        long value = System.nanoTime() | 1;
        for (long round = ms * ROUNDS_PER_MS; round > 0; round--) {
            value = mix(value);
        }
        if (value == 0) {
            throw new IllegalStateException("xorshift never becomes 0");
        }
    }

    private static long mix(long value) {
        for (int i = 0; i < 1_000; i++) {
            value ^= value << 13;
            value ^= value >>> 7;
            value ^= value << 17;
        }
        return value;
    }

    /** Measured once it is compiled: 200 threads that interpret it would keep the compiler from its processor. */
    private static long roundsPerMs() {
        long value = 1;
        long took = 0;
        for (int batch = 0; batch < 20; batch++) {
            long began = System.nanoTime();
            for (int i = 0; i < 2_000; i++) {
                value = mix(value);
            }
            took = System.nanoTime() - began;
        }
        return value == 0 ? 1 : Math.max(1, 2_000 * 1_000_000L / took);
    }

    private void inSynchronizedBlock(long ms) throws InterruptedException {
        synchronized (monitor) {
            Thread.sleep(ms);
        }
    }

    private void inLock(long ms) throws InterruptedException {
        lock.lock();
        try {
            Thread.sleep(ms);
        } finally {
            lock.unlock();
        }
    }

    /** Small objects that live long enough to be copied and marked: dear for every collector. */
    private void allocate(long kb) {
        for (long left = kb; left > 0; left -= CHUNK_KB) {
            Object[] chunk = new Object[CHUNK_KB * 8];
            for (int i = 0; i < chunk.length; i++) {
                chunk[i] = new byte[100];
            }
            retained.set((int) (chunks.getAndIncrement() % retained.length()), chunk);
        }
    }

    private void append(long kb) throws IOException {
        int bytes = (int) kb * 1024;
        file.write(ByteBuffer.allocate(bytes), written.getAndAdd(bytes) % FILE_BYTES);
        file.force(true);
    }

    private static String setting(String name, String otherwise) {
        String given = System.getenv(name);
        return given == null || given.isEmpty() ? otherwise : given;
    }

    private static HikariDataSource database(String url) throws SQLException {
        if (url.isEmpty()) {
            return null;
        }
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(url);
        config.setMaximumPoolSize(Integer.parseInt(setting("POOL", "10")));
        HikariDataSource database = new HikariDataSource(config);
        try (Connection connection = database.getConnection(); Statement run = connection.createStatement()) {
            run.execute("create table if not exists faults_hot (id int primary key, n bigint not null)");
            run.execute("insert into faults_hot values (1, 0) on conflict do nothing");
        }
        return database;
    }

    public static void main(String[] arguments) throws Exception {
        boolean virtual = Boolean.parseBoolean(setting("VIRTUAL", "false"));
        if (virtual && Runtime.version().feature() < 21) {
            System.err.println("VIRTUAL=true wants JDK 21 or later, this is " + Runtime.version());
            System.exit(2);
        }
        Logger.getLogger("org.apache").setLevel(Level.WARNING);
        Path path = Path.of(setting("FILE", System.getProperty("java.io.tmpdir") + File.separator
                + "tomcat-faults-" + ProcessHandle.current().pid() + ".log"));
        FileChannel file = FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        path.toFile().deleteOnExit();
        Path base = Files.createTempDirectory("tomcat-faults");
        base.toFile().deleteOnExit();

        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(base.toString());
        Connector connector = new Connector();
        connector.setPort(Integer.parseInt(setting("PORT", "8080")));
        connector.setProperty("address", "127.0.0.1");
        connector.setProperty("maxKeepAliveRequests", "-1");
        connector.setProperty("maxThreads", setting("WORKERS", "200"));
        connector.setThrowOnFailure(true);
        if (virtual) {
            connector.setProperty("useVirtualThreads", "true");
        }
        tomcat.setConnector(connector);
        Context context = tomcat.addContext("", base.toString());
        Tomcat.addServlet(context, "faults", new Faults(database(setting("DATABASE_URL", "")), file));
        context.addServletMappingDecoded("/*", "faults");
        tomcat.start();
        System.out.println("listening on http://127.0.0.1:" + connector.getLocalPort());
        tomcat.getServer().await();
    }
}
