package clinic;

import java.net.URI;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.stereotype.Component;
import org.springframework.web.servlet.ModelAndView;

/** What the pages say, however their requests wait. Each asks the database and blocks until it has answered. */
@Component
class Pages {
    record Message(String message) {}

    record Count(long owners) {}

    static final MediaType PLAIN = MediaType.parseMediaType("text/plain;charset=utf-8");
    static final Message HELLO = new Message("Hello, World!");
    static final ModelAndView NO_OWNER = new ModelAndView("no-owner", HttpStatus.NOT_FOUND);

    private static final double MOST_MS = 600_000;

    private final Rows rows;

    Pages(Rows rows) {
        this.rows = rows;
    }

    ModelAndView owner(int id) {
        return rows.owner(id).map(owner -> new ModelAndView("owner", Map.of("owner", owner))).orElse(NO_OWNER);
    }

    /** To the new owner once the row is committed. Without a session, or anything else that outlives the request. */
    ResponseEntity<String> newOwner(OwnerForm owner) {
        var mistakes = owner.mistakes();
        if (!mistakes.isEmpty()) {
            return ResponseEntity.badRequest().contentType(PLAIN).body(mistakes);
        }
        return ResponseEntity.status(HttpStatus.FOUND).location(URI.create("/owners/" + rows.insert(owner))).build();
    }

    Count count() {
        return new Count(rows.count());
    }

    ModelAndView fortunes() {
        return new ModelAndView("fortunes", Map.of("fortunes", rows.fortunes()));
    }

    /** A time in milliseconds as nanoseconds; none if it is not said. */
    static long nanos(String ms) {
        if (ms == null) {
            return 0;
        }
        try {
            double value = Double.parseDouble(ms);
            if (value >= 0 && value <= MOST_MS) {
                return Math.round(value * TimeUnit.MILLISECONDS.toNanos(1));
            }
        } catch (NumberFormatException notANumber) {
            // Refused below, like a number out of range.
        }
        throw new IllegalArgumentException("ms is '" + ms + "'; it must be a number from 0 to " + (int) MOST_MS);
    }
}
