package clinic;

import java.net.URI;
import java.net.URISyntaxException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/** What an experiment changes: environment variables, checked, as properties of Spring Boot. */
final class Knobs {
    static final String BLOCKING = "blocking";
    static final String DEFERRED = "deferred";

    /** The first Java with virtual threads. */
    private static final int VIRTUAL_SINCE = 21;

    private final Map<String, String> environment;

    private Knobs(Map<String, String> environment) {
        this.environment = environment;
    }

    /** A knob that cannot be turned that way. */
    static final class Wrong extends Exception {
        Wrong(String message) {
            super(message);
        }
    }

    static Map<String, Object> properties(Map<String, String> environment) throws Wrong {
        var knobs = new Knobs(environment);
        var properties = new HashMap<String, Object>();
        properties.put("server.port", knobs.number(knobs.given("CLINIC_PORT") ? "CLINIC_PORT" : "SERVER_PORT", 8080, 0, 65_535));

        int threads = knobs.number("CLINIC_THREADS", 200, 1, 100_000);
        properties.put("server.tomcat.threads.max", threads);
        properties.put("server.tomcat.threads.min-spare", Math.min(threads, 10));
        properties.put("spring.threads.virtual.enabled", knobs.virtual());
        properties.put("server.tomcat.max-connections", knobs.number("CLINIC_MAX_CONNECTIONS", 8_192, 1, 1_000_000));
        properties.put("server.tomcat.accept-count", knobs.number("CLINIC_ACCEPT_COUNT", 100, 1, 1_000_000));
        properties.put("server.tomcat.max-keep-alive-requests", knobs.number("CLINIC_KEEP_ALIVE_REQUESTS", 100, -1, 1_000_000_000));
        properties.put("clinic.style", knobs.choice("CLINIC_STYLE", BLOCKING, DEFERRED));

        int pool = knobs.number("CLINIC_POOL", 10, 1, 10_000);
        properties.put("spring.datasource.hikari.maximum-pool-size", pool);
        knobs.database(properties);
        return properties;
    }

    private boolean given(String name) {
        return !environment.getOrDefault(name, "").isEmpty();
    }

    private int number(String name, int standard, int least, int most) throws Wrong {
        if (!given(name)) {
            return standard;
        }
        var text = environment.get(name);
        try {
            int value = Integer.parseInt(text);
            if (value >= least && value <= most) {
                return value;
            }
        } catch (NumberFormatException notANumber) {
            // Refused below, like a number out of range.
        }
        throw new Wrong(name + " is '" + text + "'; it must be a whole number from " + least + " to " + most);
    }

    private String choice(String name, String standard, String other) throws Wrong {
        var text = given(name) ? environment.get(name) : standard;
        if (text.equals(standard) || text.equals(other)) {
            return text;
        }
        throw new Wrong(name + " is '" + text + "'; it must be " + standard + " or " + other);
    }

    private boolean virtual() throws Wrong {
        boolean virtual = choice("CLINIC_VIRTUAL", "false", "true").equals("true");
        int java = Runtime.version().feature();
        if (virtual && java < VIRTUAL_SINCE) {
            throw new Wrong("CLINIC_VIRTUAL is 'true', but this is Java " + java + ", and virtual threads came with "
                    + VIRTUAL_SINCE + "; start it with a later one, as ../java25 does");
        }
        return virtual;
    }

    /** A JDBC URL as it stands; a {@code postgres://} one in the parts that JDBC wants apart. */
    private void database(Map<String, Object> properties) throws Wrong {
        var text = environment.getOrDefault("DATABASE_URL", "");
        if (text.startsWith("jdbc:postgresql:")) {
            properties.put("spring.datasource.url", text);
            return;
        }
        // Not the text itself: there may be a password in it.
        var expected = "DATABASE_URL must be postgres://USER[:PASSWORD]@HOST[:PORT]/DATABASE or jdbc:postgresql://…; ";
        if (!text.startsWith("postgres://") && !text.startsWith("postgresql://")) {
            throw new Wrong(expected + (text.isEmpty() ? "it is not set" : "it starts otherwise"));
        }
        URI uri;
        try {
            uri = new URI(text);
        } catch (URISyntaxException why) {
            throw new Wrong(expected + why.getReason() + " at character " + (why.getIndex() + 1));
        }
        if (uri.getHost() == null || uri.getUserInfo() == null || uri.getPath().length() < 2) {
            throw new Wrong(expected + "the user, the host or the database is missing");
        }
        int port = uri.getPort() < 0 ? 5432 : uri.getPort();
        var database = URLEncoder.encode(uri.getPath().substring(1), StandardCharsets.UTF_8);
        var options = uri.getRawQuery() == null ? "" : "?" + uri.getRawQuery();
        properties.put("spring.datasource.url", "jdbc:postgresql://" + uri.getHost() + ":" + port + "/" + database + options);
        var user = uri.getUserInfo().split(":", 2);
        properties.put("spring.datasource.username", user[0]);
        if (user.length == 2) {
            properties.put("spring.datasource.password", user[1]);
        }
    }
}
