//! The clinic's contract, on SQLite and on PostgreSQL: an acknowledged write is exactly one
//! row. The PostgreSQL part is skipped, with a message, where PostgreSQL is not installed.

use std::collections::HashSet;

use crate::client::{Client, MODELS};
use torment_reference::{BuiltinService, ClinicDatabase, ConcurrencyModel, ServiceConfig};

fn start(model: ConcurrencyModel, database: &ClinicDatabase, connections: usize) -> BuiltinService {
    let config = ServiceConfig { model, database: database.clone(), connections, ..ServiceConfig::default() };
    BuiltinService::start(config).expect("the database is there")
}

fn count(client: &mut Client) -> u64 {
    let answer: serde_json::Value = serde_json::from_slice(&client.get("/owners/count").body).expect("JSON");
    answer["owners"].as_u64().expect("a number")
}

/// The same for every database and model.
fn check_contract(model: ConcurrencyModel, database: &ClinicDatabase) {
    let service = start(model, database, 4);
    let before = count(&mut Client::of(&service));
    let (writers, writes) = (16, 25);
    let ids: Vec<String> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..writers)
            .map(|writer| {
                let service = &service;
                scope.spawn(move || {
                    let mut client = Client::of(service);
                    let mut write = |n| {
                        let form = format!(
                            "first_name=W{writer}&last_name=%3Cb%3E{n}&address=1+Road&city=Bonn&telephone=0{writer}{n}"
                        );
                        let answer = client.post("/owners/new", &form);
                        assert_eq!(answer.status, 302, "{}", answer.text());
                        answer.header("location").expect("302 has a location").to_owned()
                    };
                    (0..writes).map(&mut write).collect::<Vec<_>>()
                })
            })
            .collect();
        writers.into_iter().flat_map(|w| w.join().expect("a writer")).collect()
    });
    let mut client = Client::of(&service);
    assert_eq!(count(&mut client) - before, writers * writes, "{model:?} {database:?}");
    assert_eq!(ids.iter().collect::<HashSet<_>>().len() as u64, writers * writes, "an id was given twice");
    let page = client.get(&ids[0]);
    assert!(page.text().contains("W0 &lt;b&gt;0"), "{}", page.text());

    let refused = client.post("/owners/new", "first_name=A&last_name=+&city=C&telephone=12345678901");
    assert_eq!(refused.status, 400);
    assert_eq!(
        refused.text(),
        "last_name: must not be blank\naddress: must not be blank\ntelephone: must be up to 10 digits\n"
    );
    assert_eq!(count(&mut client) - before, writers * writes, "a refused form became a row");
    // Owner 3 has two pets; the first of them, pet 2 of all, has a visit.
    let page = client.get("/owners/3");
    assert_eq!(page.text().matches("<li>").count(), 2, "{}", page.text());
    assert!(page.text().contains("; 2025-"), "{}", page.text());
    let fortunes = client.get("/fortunes");
    assert_eq!(fortunes.text().matches("<tr>").count(), 14, "a heading, twelve fortunes and one more");
}

#[test]
fn sqlite() {
    for model in MODELS {
        check_contract(model, &ClinicDatabase::Temporary);
    }
}

/// Rows outlive the service; the second start neither seeds again nor loses any.
#[test]
fn a_file_is_kept() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let database: ClinicDatabase =
        folder.path().join("clinic.sqlite").to_str().expect("UTF-8").parse().expect("a path");
    for model in MODELS {
        check_contract(model, &database);
    }
    assert_eq!(count(&mut Client::of(&start(ConcurrencyModel::POOL, &database, 1))), 1_000 + 4 * 400);
}

#[test]
fn postgresql() {
    let Some(server) = testbed::TestPostgres::start() else { return };
    let database: ClinicDatabase = server.url().parse().expect("a URL");
    for model in MODELS {
        check_contract(model, &database);
    }

    // The server drops every connection: a request may fail, then all is well again.
    let service = start(ConcurrencyModel::POOL, &database, 3);
    let mut admin = postgres::Client::connect(&server.url(), postgres::NoTls).expect("it runs");
    let end_all =
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'torment target'";
    assert_eq!(admin.execute(end_all, &[]).expect("we are the superuser"), 3);
    let mut client = Client::of(&service);
    let statuses: Vec<u16> = (0..20).map(|_| client.get("/owners/1").status).collect();
    assert!(statuses.iter().all(|s| [200, 500].contains(s)), "{statuses:?}");
    assert_eq!(statuses[10..], [200; 10], "connections were not made anew");

    let url = server.url();
    drop(server);
    let answer = client.get("/owners/1");
    assert_eq!(answer.status, 500);
    assert!(answer.text().starts_with("the database failed: "), "{}", answer.text());
    let config = ServiceConfig { database: url.parse().expect("a URL"), ..ServiceConfig::default() };
    let message = BuiltinService::start(config).err().expect("the server is gone").to_string();
    assert!(message.starts_with("cannot use PostgreSQL at 127.0.0.1:"), "{message}");
    assert!(message.contains("refused") && message.contains("check that PostgreSQL runs there"), "{message}");
}

#[test]
fn a_bad_file_is_said() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let text = folder.path().join("text");
    std::fs::write(&text, "this is not a database, whatever else it may be; ".repeat(100)).expect("ours");
    for (path, words) in [(folder.path().to_owned(), "unable to open"), (text, "not a database")] {
        let config =
            ServiceConfig { database: ClinicDatabase::Sqlite(path.clone()), ..ServiceConfig::default() };
        let message = BuiltinService::start(config).err().expect("it is no database").to_string();
        assert!(message.contains(words) && message.contains(path.to_str().expect("UTF-8")), "{message}");
    }
}
