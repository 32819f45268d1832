package clinic;

import java.util.concurrent.TimeUnit;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.http.ResponseEntity;
import org.springframework.stereotype.Controller;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.ResponseBody;
import org.springframework.web.servlet.ModelAndView;

/** The thread that took the request waits for what it needs. */
@Controller
@ConditionalOnProperty(name = "clinic.style", havingValue = Knobs.BLOCKING)
class BlockingController {
    private final Pages pages;

    BlockingController(Pages pages) {
        this.pages = pages;
    }

    @GetMapping("/owners/{id}")
    ModelAndView owner(@PathVariable int id) {
        return pages.owner(id);
    }

    @PostMapping("/owners/new")
    ResponseEntity<String> newOwner(OwnerForm owner) {
        return pages.newOwner(owner);
    }

    @GetMapping("/owners/count")
    @ResponseBody
    Pages.Count count() {
        return pages.count();
    }

    @GetMapping("/fortunes")
    ModelAndView fortunes() {
        return pages.fortunes();
    }

    @GetMapping("/json")
    @ResponseBody
    Pages.Message json(@RequestParam(required = false) String ms) throws InterruptedException {
        TimeUnit.NANOSECONDS.sleep(Pages.nanos(ms));
        return Pages.HELLO;
    }
}
