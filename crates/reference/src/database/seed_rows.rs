//! The clinic's initial rows: the same in every run and in both databases, so that
//! measurements read the same data. Tables and columns are those of Spring PetClinic.

use std::fmt::Write;

/// Owners at the start.
pub(crate) const OWNERS: usize = 1_000;

const FIRST: [&str; 10] =
    ["George", "Betty", "Eduardo", "Harold", "Peter", "Jean", "Jeff", "Maria", "David", "Carlos"];
const LAST: [&str; 10] = units::texts![
    "Franklin" "Davis" "Rodriquez" "O''Brien" "McTavish" "Coleman" "Black" "Escobito" "Schroeder" "Estaban"
];
const STREETS: [&str; 5] = ["Liberty St.", "Cardinal Ave.", "Commerce St.", "Friendly St.", "Fair Way"];
const CITIES: [&str; 5] = ["Madison", "Sun Prairie", "McFarland", "Windsor", "Monona"];
const TYPES: [&str; 6] = ["cat", "dog", "lizard", "snake", "bird", "hamster"];
const PETS: [&str; 8] = ["Leo", "Basil", "Rosy", "Jewel", "Iggy", "Max", "Lucky", "Mulligan"];
const VISITS: [&str; 4] = ["rabies shot", "neutered", "spayed", "check-up"];
/// One holds a script and one is not ASCII: a page without escaping shows it.
const FORTUNES: [&str; 12] = [
    "fortune: No such file or directory",
    "A computer scientist is someone who fixes things that aren''t broken.",
    "After enough decimal places, nobody gives a damn.",
    "A bad random number generator: 1, 1, 1, 1, 1, 4.33e+67, 1, 1, 1",
    "A computer program does what you tell it to do, not what you want it to do.",
    "Emacs is a nice operating system, but I prefer UNIX.",
    "Any program that runs right is obsolete.",
    "A list is only as strong as its weakest link.",
    "Feature: A bug with seniority.",
    "Computers make very fast, very accurate mistakes.",
    "<script>alert(\"This should not be displayed in a browser alert box.\");</script>",
    "フレームワークのベンチマーク",
];

/// Statements that fill empty tables; the ids follow from the order, starting at 1.
pub(crate) fn statements() -> String {
    let mut sql = String::with_capacity(256 * 1024);
    rows(&mut sql, "types (name)", TYPES.iter().map(|t| format!("'{t}'")));
    rows(
        &mut sql,
        "owners (first_name, last_name, address, city, telephone)",
        (0..OWNERS).map(|n| {
            let (first, last) = (FIRST[n % 10], LAST[n / 10 % 10]);
            let (street, city) = (STREETS[n % 5], CITIES[n / 5 % 5]);
            format!("'{first}', '{last}', '{} {street}', '{city}', '6085{n:06}'", n + 1)
        }),
    );
    // Owner n has n mod 3 pets, pet n has n mod 3 visits: some have none.
    let pets: Vec<usize> = (0..OWNERS).flat_map(|owner| std::iter::repeat_n(owner + 1, owner % 3)).collect();
    rows(
        &mut sql,
        "pets (name, birth_date, type_id, owner_id)",
        pets.iter().enumerate().map(|(n, owner)| {
            let (year, month, day) = (2010 + n % 15, 1 + n % 12, 1 + n % 28);
            format!("'{}', '{year}-{month:02}-{day:02}', {}, {owner}", PETS[n % 8], 1 + n % 6)
        }),
    );
    let visits = (0..pets.len()).flat_map(|pet| std::iter::repeat_n(pet, pet % 3));
    rows(
        &mut sql,
        "visits (pet_id, visit_date, description)",
        visits.enumerate().map(|(n, pet)| {
            format!("{}, '2025-{:02}-{:02}', '{}'", pet + 1, 1 + n % 12, 1 + n % 28, VISITS[n % 4])
        }),
    );
    rows(&mut sql, "fortunes (message)", FORTUNES.iter().map(|f| format!("'{f}'")));
    sql
}

fn rows(sql: &mut String, table: &str, rows: impl Iterator<Item = String>) {
    let _ = write!(sql, "INSERT INTO {table} VALUES");
    for (n, row) in rows.enumerate() {
        let _ = write!(sql, "{}\n({row})", if n == 0 { "" } else { "," });
    }
    sql.push_str(";\n");
}
