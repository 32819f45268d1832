package clinic;

import java.util.List;

/** A person whose animals are treated. */
record Owner(int id, String firstName, String lastName, String address, String city, String telephone, List<Pet> pets) {
    record Pet(int id, String name, String kind, String birthDate, List<Visit> visits) {}

    record Visit(String date, String description) {}
}
