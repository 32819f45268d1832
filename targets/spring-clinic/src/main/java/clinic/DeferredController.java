package clinic;

import jakarta.annotation.PreDestroy;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.http.ResponseEntity;
import org.springframework.stereotype.Controller;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.ResponseBody;
import org.springframework.web.context.request.async.DeferredResult;
import org.springframework.web.servlet.ModelAndView;

/** No thread of Tomcat waits: it is given back at once, and another writes the answer when there is one. */
@Controller
@ConditionalOnProperty(name = "clinic.style", havingValue = Knobs.DEFERRED)
class DeferredController {
    private final Pages pages;
    /** One thread for each connection of the pool: more would only wait for one. */
    private final ExecutorService database;
    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor(work -> new Thread(work, "timer"));

    DeferredController(Pages pages, @Value("${spring.datasource.hikari.maximum-pool-size}") int pool) {
        this.pages = pages;
        database = Executors.newFixedThreadPool(pool, work -> new Thread(work, "database"));
    }

    @GetMapping("/owners/{id}")
    DeferredResult<ModelAndView> owner(@PathVariable int id) {
        return later(() -> pages.owner(id));
    }

    @PostMapping("/owners/new")
    DeferredResult<ResponseEntity<String>> newOwner(OwnerForm owner) {
        return later(() -> pages.newOwner(owner));
    }

    @GetMapping("/owners/count")
    @ResponseBody
    DeferredResult<Pages.Count> count() {
        return later(pages::count);
    }

    @GetMapping("/fortunes")
    DeferredResult<ModelAndView> fortunes() {
        return later(pages::fortunes);
    }

    @GetMapping("/json")
    @ResponseBody
    DeferredResult<Pages.Message> json(@RequestParam(required = false) String ms) {
        var result = new DeferredResult<Pages.Message>();
        timer.schedule(() -> result.setResult(Pages.HELLO), Pages.nanos(ms), TimeUnit.NANOSECONDS);
        return result;
    }

    private <T> DeferredResult<T> later(Supplier<T> work) {
        var result = new DeferredResult<T>();
        database.execute(() -> {
            try {
                result.setResult(work.get());
            } catch (RuntimeException failure) {
                result.setErrorResult(failure);
            }
        });
        return result;
    }

    @PreDestroy
    void stop() {
        timer.shutdownNow();
        database.shutdownNow();
    }
}
