//! Valid server messages, split wherever the network splits them, and invalid ones.

use super::message::{MessageReader, write_cstring, write_message};
use super::*;
use plan::{DatabaseAddress, Statement, Template};
use proptest::prelude::*;

const ROW: &[u8] = b"\0\x01\0\0\0\x01x";

fn database() -> DatabaseAddress {
    DatabaseAddress {
        host: "/run/pg".to_owned(),
        port: 5433,
        user: "me".to_owned(),
        password: None,
        name: "db".to_owned(),
        tls: false,
        insecure: false,
    }
}

fn session(password: Option<&str>) -> SessionSetup {
    let database = DatabaseAddress { password: password.map(Template::literal), ..database() };
    let statement = |text: &str| Statement { text: text.to_owned(), parameters: Vec::new() };
    SessionSetup::new(&database, &[statement("select 1"), statement("select a from nowhere")], 7)
}

fn encode_messages(messages: &[(u8, &[u8])]) -> Vec<u8> {
    let mut out = Vec::new();
    for (kind, body) in messages {
        write_message(*kind, &mut out, |out| out.extend_from_slice(body));
    }
    out
}

fn error(fields: &[(u8, &str)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (field, text) in fields {
        out.push(*field);
        write_cstring(text, &mut out);
    }
    out.push(0);
    out
}

/// The completions of exchange 5, given these pieces in sequence.
fn run_pieces(pieces: &[&[u8]]) -> (Vec<Result<String, Failure>>, Result<(), Failure>) {
    let mut sql = Sql::new(Arc::new(session(None)));
    sql.login = None;
    sql.execution.begin(5, 1, true);
    let (mut completions, mut result) = (Vec::new(), Ok(()));
    for piece in pieces {
        result = sql.handle_bytes(piece, 0, &mut completions);
        if result.is_err() {
            break;
        }
    }
    let answer = |completion: Completion| {
        assert_eq!(completion.exchange, 5);
        completion.result.map(|answer| {
            let body = answer.content.expect("it is wanted").body;
            String::from_utf8_lossy(&body).into_owned()
        })
    };
    (completions.into_iter().map(answer).collect(), result)
}

#[test]
fn an_answer_is_told_with_the_end_of_its_statement() {
    let database = |why: &str| Failure::Database(why.to_owned());
    let strange = |why: &str| Failure::Protocol(why.to_owned());
    let refused = error(&[(b'V', "ERROR"), (b'C', "22012"), (b'M', "division by zero"), (b'D', "geheim")]);
    let ended = error(&[(b'V', "FATAL"), (b'C', "57P01"), (b'M', "terminating connection")]);
    let open = "the statement leaves a transaction open; each statement is a transaction of its own";
    let copy = "COPY cannot be measured: its data has no place in a plan; use select or insert";
    type Case<'a> = (&'a [(u8, &'a [u8])], Vec<Result<&'a str, Failure>>, Result<(), Failure>);
    let cases: [Case<'_>; 13] = [
        (&[(b'2', b""), (b'D', ROW), (b'C', b"SELECT 1\0"), (b'Z', b"I")], vec![Ok("SELECT 1")], Ok(())),
        (&[(b'2', b""), (b'N', b"x"), (b'S', b"a\0b\0"), (b'I', b""), (b'Z', b"I")], vec![Ok("")], Ok(())),
        (&[(b'2', b""), (b'D', ROW), (b'C', b"SELECT 1\0")], vec![], Ok(())),
        (
            &[(b'2', b""), (b'D', ROW), (b'E', &refused), (b'Z', b"I")],
            vec![Err(database("22012 division by zero"))],
            Ok(()),
        ),
        (&[(b'E', &ended)], vec![], Err(database("57P01 terminating connection"))),
        (&[(b'C', b"BEGIN\0"), (b'Z', b"T")], vec![Err(database(open))], Err(Failure::Closed)),
        (
            &[(b'E', &refused), (b'Z', b"E")],
            vec![Err(database("22012 division by zero"))],
            Err(Failure::Closed),
        ),
        (&[(b'2', b""), (b'H', b"\0\0\0")], vec![], Err(database(copy))),
        (&[(b'2', b""), (b'G', b"\0\0\0")], vec![], Err(database(copy))),
        (&[(b'C', b"A\0"), (b'C', b"B\0")], vec![], Err(strange("a second result of one statement"))),
        (&[(b'2', b""), (b'Z', b"I")], vec![], Err(strange("the end of a statement before its result"))),
        (
            &[(b'C', b"A\0"), (b'Z', b"I"), (b'Z', b"I")],
            vec![Ok("A")],
            Err(strange("a message that has no place here")),
        ),
        (&[(b'x', b"")], vec![], Err(strange("a message that has no place here"))),
    ];
    for (messages, expected, end) in cases {
        let expected: Vec<_> = expected.into_iter().map(|told| told.map(str::to_owned)).collect();
        let bytes = encode_messages(messages);
        assert_eq!(run_pieces(&[&bytes]), (expected.clone(), end.clone()), "{messages:?}");
        for at in 0..=bytes.len() {
            let (first, second) = bytes.split_at(at);
            assert_eq!(
                run_pieces(&[first, second]),
                (expected.clone(), end.clone()),
                "{messages:?} cut at {at}"
            );
        }
    }
    let web = b"HTTP/1.1 400 Bad Request\r\n\r\n";
    assert_eq!(run_pieces(&[web]).1, Err(strange("a message of an impossible length")));
}

#[test]
fn what_nobody_waits_for_keeps_the_connection_busy_until_it_is_over() {
    let mut sql = Sql::new(Arc::new(session(None)));
    sql.login = None;
    let mut completions = Vec::new();
    sql.execution.begin(5, 1, false);
    assert!(sql.cancel(5));
    sql.each_open(&mut |exchange, _| panic!("{exchange} is forgotten"));
    sql.handle_bytes(&encode_messages(&[(b'2', b""), (b'D', ROW)]), 0, &mut completions).expect("valid");
    assert_eq!(sql.room(), 0);
    sql.handle_bytes(&encode_messages(&[(b'C', b"SELECT 1\0"), (b'Z', b"I")]), 0, &mut completions)
        .expect("valid");
    assert_eq!((sql.room(), completions.len()), (1, 0));
}

/// Kinds and bodies, as far as kept.
fn read_messages(pieces: &[&[u8]]) -> Result<Vec<(u8, Vec<u8>)>, &'static str> {
    let (mut messages, mut found) = (MessageReader::default(), Vec::new());
    for mut piece in pieces.iter().copied() {
        while let Some(message) = messages.next(&mut piece)? {
            found.push((message.kind, message.body.to_vec()));
        }
        assert!(piece.is_empty(), "nothing is left lying");
    }
    Ok(found)
}

#[test]
fn a_long_complaint_is_kept_in_part() {
    let long = error(&[(b'M', "short"), (b'q', &"x".repeat(100_000))]);
    let bytes = encode_messages(&[(b'E', &long), (b'Z', b"I")]);
    let (first, second) = bytes.split_at(20_000);
    let found = read_messages(&[first, second]).expect("valid");
    assert_eq!((found.len(), &found[0].1[..7], &found[1].1[..]), (2, &b"Mshort\0"[..], &b"I"[..]));
    assert!(found[0].1.len() < 20_000);
}

/// Logs in, with one batch of server messages per turn; returns what the client sent, or why there is no
/// session.
fn login(session: &SessionSetup, turns: &[&[u8]]) -> Result<(Vec<u8>, bool), String> {
    let (mut login, mut messages, mut out) = (Login::new(), MessageReader::default(), Vec::new());
    login.write_next(session, false, &mut out);
    for turn in turns {
        login.handle_bytes(turn, &mut messages, session, &mut out).map_err(|why| why.to_string())?;
    }
    Ok((out, login.is_ready()))
}

#[test]
fn a_login_is_what_the_protocol_says() {
    let ready: (u8, &[u8]) = (b'Z', b"I");
    let parsed: (u8, &[u8]) = (b'1', b"");
    let welcome = encode_messages(&[(b'R', &[0; 4]), (b'S', b"a\0b\0"), (b'K', &[0; 8]), ready]);
    let startup =
        b"\0\0\0\x4b\0\x03\0\0user\0me\0database\0db\0application_name\0torment\0client_encoding\0UTF8\0\0";
    let prepare = b"P\0\0\0\x12s0\0select 1\0\0\0P\0\0\0\x1fs1\0select a from nowhere\0\0\0S\0\0\0\x04";
    let (plain, geheim) = (session(None), session(Some("geheim")));
    let done = encode_messages(&[parsed, parsed, ready]);
    let all = |secret: &[u8]| Ok(([&startup[..], secret, prepare].concat(), true));
    assert_eq!(login(&plain, &[&welcome, &done]), all(b""));
    let clear = encode_messages(&[(b'R', &[0, 0, 0, 3])]);
    assert_eq!(login(&geheim, &[&clear, &welcome, &done]), all(b"p\0\0\0\x0bgeheim\0"));
    let md5 = encode_messages(&[(b'R', &[0, 0, 0, 5, 1, 2, 3, 4])]);
    assert_eq!(
        login(&geheim, &[&md5, &welcome, &done]),
        all(b"p\0\0\0\x28md5b14011fe0f401b6263e95742f8b595fd\0")
    );
    assert_eq!(login(&plain, &[&welcome, &encode_messages(&[parsed])]).map(|(_, ready)| ready), Ok(false));

    let says = |code, message, position| {
        encode_messages(&[(
            b'E',
            &error(&[(b'S', "FATAL"), (b'C', code), (b'M', message), (b'P', position)]),
        )])
    };
    let relation =
        [encode_messages(&[parsed]), says("42P01", "relation \"nowhere\" does not exist", "15")].concat();
    let scram = encode_messages(&[(b'R', b"\0\0\0\x0aSCRAM-SHA-256\0\0")]);
    let cases: [(&SessionSetup, &[&[u8]], &str); 12] = [
        (
            &plain,
            &[&clear],
            "the server wants a password for user \"me\", and none is given: write \
             postgres://me:{env:PGPASSWORD}@",
        ),
        (&plain, &[&scram], "wants a password"),
        (
            &geheim,
            &[&encode_messages(&[(b'R', b"\0\0\0\x0aSCRAM-SHA-256-PLUS\0\0")])],
            "a login other than SCRAM-SHA-256",
        ),
        (&geheim, &[&scram, &welcome], "without the proof"),
        (
            &geheim,
            &[&scram, &encode_messages(&[(b'R', b"\0\0\0\x0br=x,s=,i=1")])],
            "a challenge to somebody else",
        ),
        (&geheim, &[&encode_messages(&[(b'R', b"\0\0\0\x0c")])], "what was not said"),
        (&geheim, &[&encode_messages(&[(b'R', &[0, 0, 0, 7])])], "asks for GSSAPI; torment has"),
        (
            &plain,
            &[&says("28P01", "password authentication failed", "")],
            "failed (28P01); check user and password",
        ),
        (
            &plain,
            &[&says("53300", "sorry, too many clients already", "")],
            "already (53300); --pool is 7: lower it",
        ),
        (
            &plain,
            &[&says("3D000", "database \"db\" does not exist", "")],
            "says: database \"db\" does not exist (3D000)",
        ),
        (
            &plain,
            &[&welcome, &relation],
            "the server refuses statement 2: relation \"nowhere\" does not exist (42P01) at: nowhere",
        ),
        (
            &plain,
            &[b"HTTP/1.1 400 Bad Request\r\n\r\n"],
            "it does not speak PostgreSQL's protocol: a message of an impossible length; check host and \
             port",
        ),
    ];
    for (session, turns, expected) in cases {
        let why = login(session, turns).expect_err(expected);
        assert!(why.contains(expected), "{why}");
        assert!(!why.contains("geheim") && !format!("{session:?}").contains("geheim"));
    }
}

#[test]
fn tls_is_asked_for_first_and_nothing_comes_before_it() {
    let (mut login, mut out) = (Login::new(), Vec::new());
    let session = session(None);
    login.write_next(&session, true, &mut out);
    assert_eq!(out, b"\0\0\0\x08\x04\xd2\x16\x2f");
    assert!(login.awaits_tls());
    for (answer, expected) in
        [(&b"N"[..], "no TLS"), (b"SS", "does not answer as"), (b"H", "does not answer as")]
    {
        let why = login.handle_tls_answer(answer).expect_err(expected).to_string();
        assert!(why.contains(expected), "{why}");
    }
    login.handle_tls_answer(b"S").expect("valid");
    assert!(login.is_securing());
    out.clear();
    login.write_next(&session, true, &mut out);
    assert_eq!(out[4..8], [0, 3, 0, 0]);
}

/// Messages of existing kinds, with bodies that need not make sense.
fn messages() -> impl Strategy<Value = Vec<u8>> {
    let kind = prop::sample::select(b"RSKZ123TDCIENAGHWncdst".to_vec());
    let body = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..40),
        prop::sample::select(vec![
            b"I".to_vec(),
            b"SELECT 1\0".to_vec(),
            vec![0; 4],
            b"\0\0\0\x0br=,s=,i=9".to_vec()
        ])
    ];
    prop::collection::vec((kind, body), 0..20).prop_map(|all| {
        encode_messages(&all.iter().map(|(kind, body)| (*kind, &body[..])).collect::<Vec<_>>())
    })
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        messages(),
        prop::collection::vec(any::<u8>(), 0..200),
        (messages(), any::<Vec<u8>>()).prop_map(|(a, b)| [a, b].concat())
    ]
}

proptest! {
    #[test]
    fn wherever_it_is_cut_the_same_is_seen(bytes in messages(), cuts: Vec<prop::sample::Index>) {
        let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        ends.extend([0, bytes.len()]);
        ends.sort_unstable();
        let pieces: Vec<&[u8]> = ends.windows(2).map(|ends| &bytes[ends[0]..ends[1]]).collect();
        prop_assert_eq!(read_messages(&pieces), read_messages(&[&bytes]));
        prop_assert_eq!(run_pieces(&pieces), run_pieces(&[&bytes]));
    }

    #[test]
    fn nothing_a_server_says_is_a_panic(pieces in prop::collection::vec(bytes(), 0..4), scram: bool) {
        let mut pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
        let _ = run_pieces(&pieces);
        let begun = encode_messages(&[(b'R', b"\0\0\0\x0aSCRAM-SHA-256\0\0")]);
        if scram {
            pieces.insert(0, &begun);
        }
        let _ = login(&session(Some("geheim")), &pieces);
    }
}
