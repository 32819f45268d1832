package clinic;

import java.sql.SQLException;
import java.util.Map;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.web.server.PortInUseException;
import org.springframework.boot.web.server.context.WebServerApplicationContext;
import org.springframework.core.env.MapPropertySource;

/** The clinic, served by Tomcat: pages over rows of PostgreSQL, and the knobs that experiments turn. */
@SpringBootApplication
public class SpringClinic {
    /** PostgreSQL's code of an undefined table. */
    private static final String NO_SUCH_TABLE = "42P01";

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

    /** The one cause that a person can do something about, of many that only say what was being made. */
    private static String reason(Throwable failure) {
        for (var cause = failure; cause != null; cause = cause.getCause()) {
            if (cause instanceof PortInUseException taken) {
                return "port " + taken.getPort() + " is taken; end what listens there, or set CLINIC_PORT to another";
            }
            if (cause instanceof SQLException database) {
                var advice = NO_SUCH_TABLE.equals(database.getSQLState())
                        ? "run targets/clinic.sql in that database first"
                        : "check that PostgreSQL runs there, and the user, password and database in DATABASE_URL";
                var said = database.getMessage().lines().findFirst().orElse("").replaceFirst("\\.$", "");
                return said + "; " + advice;
            }
        }
        return failure.toString();
    }
}
