package clinic;

import org.springframework.stereotype.Controller;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.ResponseBody;

/** The pages that wait for nothing. */
@Controller
class PlainController {
    @GetMapping("/")
    String home() {
        return "home";
    }

    @GetMapping(path = "/healthz", produces = "text/plain;charset=utf-8")
    @ResponseBody
    String healthz() {
        return "ok\n";
    }
}
