package clinic;

import java.util.Map;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.web.server.context.WebServerApplicationContext;
import org.springframework.core.env.MapPropertySource;

/** The clinic, served by Tomcat: pages over rows of PostgreSQL, and the knobs that experiments turn. */
@SpringBootApplication
public class SpringClinic {
    public static void main(String[] args) {
        Map<String, Object> knobs;
        try {
            knobs = Knobs.properties(System.getenv());
        } catch (Knobs.Wrong wrong) {
            System.err.println("spring-clinic: " + wrong.getMessage());
            System.exit(2);
            return;
        }
        var application = new SpringApplication(SpringClinic.class);
        application.addInitializers(
                context -> context.getEnvironment().getPropertySources().addFirst(new MapPropertySource("knobs", knobs)));
        try {
            var context = (WebServerApplicationContext) application.run(args);
            System.out.println("listening on http://127.0.0.1:" + context.getWebServer().getPort());
        } catch (RuntimeException failure) {
            System.err.println("spring-clinic: " + reason(failure));
            System.exit(1);
        }
    }

    /** The innermost cause, which is the one that names an address, a user or a port. */
    private static String reason(Throwable failure) {
        var cause = failure;
        while (cause.getCause() != null) {
            cause = cause.getCause();
        }
        return cause.getMessage();
    }
}
