//! The clinic: pages over database rows, as in a plain web application. A handler either
//! answers at once or returns a query; each model decides who waits for that.

use std::fmt::Write;

use crate::answer::Answer;
use crate::database::{DatabaseError, Fortune, OWNER_FIELDS, Owner, OwnerFields, Session};
use crate::fault::FaultWork;
use crate::form;
use crate::request_parser::Request;
use crate::route::Route;

/// A page's query to the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Query {
    Owner(i32),
    NewOwner(OwnerFields),
    CountOwners,
    Fortunes,
}

/// An answer, or what leads to it.
#[derive(Debug)]
pub(crate) enum HandlerResult {
    Answer(Answer),
    Query(Query),
    /// The work of a fault page.
    Fault(FaultWork),
}

pub(crate) fn handle_page(route: Route, request: &Request<'_>) -> HandlerResult {
    match route {
        Route::Owner => match request.path.trim_start_matches("/owners/").parse() {
            Ok(id) => HandlerResult::Query(Query::Owner(id)),
            Err(_) => HandlerResult::Answer(no_owner()),
        },
        Route::NewOwner => match parse_owner(&request.body) {
            Ok(fields) => HandlerResult::Query(Query::NewOwner(fields)),
            Err(reasons) => HandlerResult::Answer(Answer::text(400, reasons)),
        },
        Route::CountOwners => HandlerResult::Query(Query::CountOwners),
        Route::Fortunes => HandlerResult::Query(Query::Fortunes),
        _ => HandlerResult::Answer(Answer::html(200, HOME)),
    }
}

/// Queries the database; blocks until it has answered.
pub(crate) fn run_query(query: &Query, session: &mut dyn Session) -> Answer {
    let answer = match query {
        Query::Owner(id) => session
            .owner(*id)
            .map(|owner| owner.map_or_else(no_owner, |o| Answer::html(200, owner_page(*id, &o)))),
        Query::NewOwner(fields) => session
            .insert_owner(fields)
            .map(|id| Answer::text(302, "").header("location", format!("/owners/{id}"))),
        Query::CountOwners => session.count_owners().map(|n| Answer::json(format!("{{\"owners\":{n}}}\n"))),
        Query::Fortunes => session.fortunes().map(|fortunes| Answer::html(200, fortunes_page(fortunes))),
    };
    answer.unwrap_or_else(|DatabaseError(words)| Answer::text(500, format!("the database failed: {words}\n")))
}

const HOME: &str = "<!doctype html>
<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Clinic</title></head>
<body><h1>Welcome</h1><p>The clinic keeps owners, their pets and their visits.</p>
<ul><li><a href=\"/owners/1\">The first owner</a></li><li><a href=\"/fortunes\">Fortunes</a></li></ul>
</body></html>
";

fn no_owner() -> Answer {
    Answer::html(404, "<!doctype html><title>Not found</title><p>There is no such owner.</p>\n")
}

/// Parses and validates the form; errors are one line for each bad field.
fn parse_owner(body: &[u8]) -> Result<OwnerFields, String> {
    let mut owner = OwnerFields::default();
    for (name, value) in form::parse_form(body).map_err(|reason| format!("form: {reason}\n"))? {
        if let Some(field) = OWNER_FIELDS.iter().position(|field| *field == name) {
            owner[field] = value;
        }
    }
    let mut reasons = String::new();
    for (name, value) in OWNER_FIELDS.into_iter().zip(&owner) {
        let reason = if value.trim().is_empty() {
            "must not be blank"
        } else if value.chars().count() > 255 {
            "must not be longer than 255 characters"
        } else if value.chars().any(char::is_control) {
            "must not hold control characters"
        } else if name == "telephone" && !(value.len() <= 10 && value.bytes().all(|b| b.is_ascii_digit())) {
            "must be up to 10 digits"
        } else {
            continue;
        };
        let _ = writeln!(reasons, "{name}: {reason}");
    }
    if reasons.is_empty() { Ok(owner) } else { Err(reasons) }
}

fn owner_page(id: i32, owner: &Owner) -> String {
    let [first_name, last_name, address, city, telephone] =
        owner.fields.each_ref().map(|field| form::escape_html(field));
    let mut page = String::with_capacity(1_024);
    let _ = write!(
        page,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Owner {id}</title></head>\n\
         <body><h1>Owner</h1>\n<table>\n<tr><th>Name</th><td>{first_name} {last_name}</td></tr>\n<tr><th>Address</th><td>{address}</td></tr>\n\
         <tr><th>City</th><td>{city}</td></tr>\n<tr><th>Telephone</th><td>{telephone}</td></tr>\n</table>\n<h2>Pets</h2>\n<ul>\n",
    );
    for pet in &owner.pets {
        let _ = write!(
            page,
            "<li>{}, {}, born {}",
            form::escape_html(&pet.name),
            form::escape_html(&pet.kind),
            form::escape_html(&pet.birth_date)
        );
        for visit in &pet.visits {
            let _ = write!(
                page,
                "; {}: {}",
                form::escape_html(&visit.date),
                form::escape_html(&visit.description)
            );
        }
        page.push_str("</li>\n");
    }
    page.push_str("</ul>\n</body></html>\n");
    page
}

/// All fortunes and one more, added for this request, in alphabetical order.
fn fortunes_page(mut fortunes: Vec<Fortune>) -> String {
    fortunes.push(Fortune { id: 0, message: "Additional fortune added at request time.".to_owned() });
    fortunes.sort_by(|a, b| a.message.cmp(&b.message));
    let mut page = String::with_capacity(2_048);
    page.push_str(
        "<!doctype html>\n<html><head><meta charset=\"utf-8\"><title>Fortunes</title></head><body><table>\n\
         <tr><th>id</th><th>message</th></tr>\n",
    );
    for fortune in &fortunes {
        let message = form::escape_html(&fortune.message);
        let _ = writeln!(page, "<tr><td>{}</td><td>{message}</td></tr>", fortune.id);
    }
    page.push_str("</table></body></html>\n");
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, expected: Result<[&str; 5], &str>) {
        let found = parse_owner(body.as_bytes());
        let expected = expected.map(|values| values.map(str::to_owned)).map_err(str::to_owned);
        assert_eq!(found, expected, "{body}");
    }

    #[test]
    fn the_form_is_checked_field_by_field() {
        let with =
            |telephone: &str| format!("first_name=A&last_name=B&address=C+1&city=D&telephone={telephone}");
        check(&with("0123456789"), Ok(["A", "B", "C 1", "D", "0123456789"]));
        check(&with("01234567890"), Err("telephone: must be up to 10 digits\n"));
        check(&with("12a"), Err("telephone: must be up to 10 digits\n"));
        check(&with("%D9%A1"), Err("telephone: must be up to 10 digits\n"));
        check(&with("%zz"), Err("form: '%' must be followed by two hexadecimal digits\n"));
        check(&with("1").replace("=B", "=+"), Err("last_name: must not be blank\n"));
        check(&with("1").replace("=D", "=D%00"), Err("city: must not hold control characters\n"));
        check(
            "",
            Err("first_name: must not be blank\nlast_name: must not be blank\naddress: must not be blank\n\
                 city: must not be blank\ntelephone: must not be blank\n"),
        );
    }

    #[test]
    fn fortunes_are_sorted_and_escaped() {
        let page = fortunes_page(vec![
            Fortune { id: 2, message: "b".to_owned() },
            Fortune { id: 1, message: "<script>".to_owned() },
        ]);
        let at = |words: &str| page.find(words).unwrap_or_else(|| panic!("{words} is not in {page}"));
        assert!(at("&lt;script&gt;") < at("Additional") && at("Additional") < at("<td>b</td>"));
        assert!(!page.contains("<script>"));
    }
}
