package clinic;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Repository;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

/** The clinic's rows. Each question takes one connection of the pool, and blocks until it is answered. */
@Repository
class Rows {
    record Fortune(int id, String message) {}

    private final JdbcClient jdbc;
    /** Keeps one connection for the two statements of a page. */
    private final TransactionTemplate reading;

    Rows(JdbcClient jdbc, PlatformTransactionManager transactions) {
        this.jdbc = jdbc;
        reading = new TransactionTemplate(transactions);
        reading.setReadOnly(true);
        // Rather now, with one clear message, than at the first request.
        jdbc.sql("SELECT id FROM owners LIMIT 1").query(Integer.class).optional();
    }

    Optional<Owner> owner(int id) {
        return reading.execute(status -> {
            var owner = jdbc.sql("SELECT first_name, last_name, address, city, telephone FROM owners WHERE id = ?")
                    .param(id)
                    .query((row, n) -> new Owner(id, text(row, 1), text(row, 2), text(row, 3), text(row, 4), text(row, 5),
                            new ArrayList<>()))
                    .optional();
            owner.ifPresent(found -> found.pets().addAll(pets(id)));
            return owner;
        });
    }

    private List<Owner.Pet> pets(int owner) {
        return jdbc.sql("""
                        SELECT p.id, p.name, p.birth_date::text, t.name, v.visit_date::text, v.description
                        FROM pets p JOIN types t ON t.id = p.type_id LEFT JOIN visits v ON v.pet_id = p.id
                        WHERE p.owner_id = ? ORDER BY p.id, v.id""")
                .param(owner)
                .query((ResultSet row) -> {
                    var pets = new ArrayList<Owner.Pet>();
                    while (row.next()) {
                        int id = row.getInt(1);
                        if (pets.isEmpty() || pets.get(pets.size() - 1).id() != id) {
                            pets.add(new Owner.Pet(id, text(row, 2), text(row, 4), text(row, 3), new ArrayList<>()));
                        }
                        if (row.getString(5) != null) {
                            pets.get(pets.size() - 1).visits().add(new Owner.Visit(row.getString(5), text(row, 6)));
                        }
                    }
                    return pets;
                });
    }

    /** Commits one new row and gives its id. */
    int insert(OwnerForm owner) {
        return jdbc.sql("""
                        INSERT INTO owners (first_name, last_name, address, city, telephone)
                        VALUES (?, ?, ?, ?, ?) RETURNING id""")
                .params(owner.firstName(), owner.lastName(), owner.address(), owner.city(), owner.telephone())
                .query(Integer.class)
                .single();
    }

    long count() {
        return jdbc.sql("SELECT count(*) FROM owners").query(Long.class).single();
    }

    /** All fortunes and one more, made for this request, in the order of their words. */
    List<Fortune> fortunes() {
        var fortunes = new ArrayList<>(jdbc.sql("SELECT id, message FROM fortunes")
                .query((row, n) -> new Fortune(row.getInt(1), row.getString(2)))
                .list());
        fortunes.add(new Fortune(0, "Additional fortune added at request time."));
        fortunes.sort(Comparator.comparing(Fortune::message));
        return fortunes;
    }

    /** PetClinic lets most columns be NULL; an absent text reads as an empty one. */
    private static String text(ResultSet row, int column) throws SQLException {
        var text = row.getString(column);
        return text == null ? "" : text;
    }
}
