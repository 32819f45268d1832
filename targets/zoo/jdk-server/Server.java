import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;

public class Server {
    public static void main(String[] arguments) throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 18720), 0);
        server.createContext("/", Server::answer);
        server.start();
    }

    static void answer(HttpExchange exchange) throws IOException {
        try {
            Thread.sleep(20);
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
        }
        byte[] body = "ok\n".getBytes();
        exchange.sendResponseHeaders(200, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }
}
