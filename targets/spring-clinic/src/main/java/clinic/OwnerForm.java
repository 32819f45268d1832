package clinic;

import org.springframework.web.bind.annotation.BindParam;

/** What a new owner fills in; a field that is not sent is null. */
record OwnerForm(
        @BindParam("first_name") String firstName,
        @BindParam("last_name") String lastName,
        String address,
        String city,
        String telephone) {

    /** A line of reason for each bad field; empty if all are good. */
    String mistakes() {
        var reasons = new StringBuilder();
        check(reasons, "first_name", firstName);
        check(reasons, "last_name", lastName);
        check(reasons, "address", address);
        check(reasons, "city", city);
        check(reasons, "telephone", telephone);
        return reasons.toString();
    }

    private static void check(StringBuilder reasons, String name, String value) {
        String reason;
        if (value == null || value.isBlank()) {
            reason = "must not be blank";
        } else if (value.codePointCount(0, value.length()) > 255) {
            reason = "must not be longer than 255 characters";
        } else if (value.chars().anyMatch(Character::isISOControl)) {
            reason = "must not hold control characters";
        } else if (name.equals("telephone") && !value.matches("[0-9]{1,10}")) {
            reason = "must be up to 10 digits";
        } else {
            return;
        }
        reasons.append(name).append(": ").append(reason).append('\n');
    }
}
