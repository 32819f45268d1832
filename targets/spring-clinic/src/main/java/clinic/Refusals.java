package clinic;

import org.springframework.dao.DataAccessException;
import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;
import org.springframework.jdbc.CannotGetJdbcConnectionException;
import org.springframework.transaction.CannotCreateTransactionException;
import org.springframework.web.HttpRequestMethodNotSupportedException;
import org.springframework.web.bind.annotation.ControllerAdvice;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.method.annotation.MethodArgumentTypeMismatchException;
import org.springframework.web.servlet.ModelAndView;
import org.springframework.web.servlet.NoHandlerFoundException;

/** What is answered instead of a page, in a line that says why. */
@ControllerAdvice
class Refusals {
    @ExceptionHandler
    ResponseEntity<String> unknown(NoHandlerFoundException unknown) {
        return text(HttpStatus.NOT_FOUND, "There is no such page.");
    }

    /** An owner whose id is no number is as unknown as one whose number is not taken. */
    @ExceptionHandler
    ModelAndView notAnId(MethodArgumentTypeMismatchException notAnId) {
        return Pages.NO_OWNER;
    }

    @ExceptionHandler
    ResponseEntity<String> method(HttpRequestMethodNotSupportedException wrong) {
        var allowed = String.join(", ", wrong.getSupportedMethods());
        return ResponseEntity.status(HttpStatus.METHOD_NOT_ALLOWED)
                .headers(wrong.getHeaders())
                .contentType(Pages.PLAIN)
                .body("This page takes " + allowed + ".\n");
    }

    @ExceptionHandler
    ResponseEntity<String> parameter(IllegalArgumentException wrong) {
        return text(HttpStatus.BAD_REQUEST, wrong.getMessage());
    }

    @ExceptionHandler({CannotGetJdbcConnectionException.class, CannotCreateTransactionException.class})
    ResponseEntity<String> noConnection() {
        return text(HttpStatus.SERVICE_UNAVAILABLE, "no database connection came free in time");
    }

    @ExceptionHandler
    ResponseEntity<String> database(DataAccessException failure) {
        return text(HttpStatus.INTERNAL_SERVER_ERROR, "the database failed: " + failure.getMostSpecificCause().getMessage());
    }

    private static ResponseEntity<String> text(HttpStatus status, String words) {
        return ResponseEntity.status(status).contentType(Pages.PLAIN).body(words + "\n");
    }
}
