use crate::{ImportedPlan, from_curl};
use proptest::prelude::*;
use toml::{Table, Value};

fn import(command: &str) -> (Table, ImportedPlan) {
    let imported = from_curl(command).unwrap_or_else(|e| panic!("{command}: {e}"));
    let table = imported.plan.parse().unwrap_or_else(|e| panic!("{e}\n{}", imported.plan));
    for note in &imported.notes {
        let comments: String = imported.plan.replace("\n# ", " ");
        let found = note
            .split_once(": ")
            .map_or(comments.contains(note.as_str()), |(_, rest)| comments.contains(rest));
        assert!(found, "not in the plan: {note}\n{}", imported.plan);
    }
    (table, imported)
}

fn request(command: &str) -> Table {
    let (table, imported) = import(command);
    let Some(Value::Table(request)) = table.get("request") else { panic!("{}", imported.plan) };
    request.clone()
}

fn headers(table: &Table) -> Vec<&str> {
    table.get("headers").map_or_else(Vec::new, |headers| {
        headers.as_array().expect("a list").iter().filter_map(Value::as_str).collect()
    })
}

/// As copied by Chrome 120 and later on Linux.
const CHROME: &str = r#"curl 'https://shop.example/api/cart?x=1' \
  -H 'accept: application/json, text/plain, */*' \
  -H 'accept-language: de-DE,de;q=0.9' \
  -H 'authorization: Bearer eyJhbGciOi' \
  -H 'content-type: application/json' \
  -b 'session=abc; theme=dark' \
  -H 'origin: https://shop.example' \
  -H 'priority: u=1, i' \
  -H 'sec-ch-ua: "Chromium";v="130", "Not?A_Brand";v="99"' \
  -H 'user-agent: Mozilla/5.0 (X11; Linux x86_64)' \
  --data-raw $'{"name":"it\'s","note":"a\\nb\u0021"}' \
  --compressed ;"#;

#[test]
fn chrome() {
    let (table, imported) = import(CHROME);
    assert_eq!(table["target"]["url"].as_str(), Some("https://shop.example/"));
    let request = request(CHROME);
    assert_eq!(request["url"].as_str(), Some("/api/cart?x=1"));
    assert_eq!(request["body"].as_str(), Some(r#"{"name":"it's","note":"a\nb!"}"#));
    assert!(!request.contains_key("method"), "a body means POST");
    assert_eq!(
        headers(&request),
        [
            "accept: application/json, text/plain, */*",
            "accept-language: de-DE,de;q=0.9",
            "authorization: {env:AUTHORIZATION}",
            "content-type: application/json",
            "origin: https://shop.example",
            "priority: u=1, i",
            "sec-ch-ua: \"Chromium\";v=\"130\", \"Not?A_Brand\";v=\"99\"",
            "user-agent: Mozilla/5.0 (X11; Linux x86_64)",
            "Accept-Encoding: gzip, deflate, br",
            "Cookie: {env:COOKIE}",
        ]
    );
    for secret in ["eyJhbGciOi", "abc"] {
        assert!(!imported.plan.contains(secret) && !imported.notes.concat().contains(secret), "{secret}");
    }
    assert!(
        imported.notes.iter().any(|note| note.ends_with("export AUTHORIZATION='…'")),
        "{:?}",
        imported.notes
    );
    assert!(imported.notes.iter().any(|note| note.ends_with("export COOKIE='…'")), "{:?}", imported.notes);
}

/// As copied by Firefox.
#[test]
fn firefox() {
    let (table, imported) = import(
        "curl 'http://127.0.0.1:8080/login' --compressed -X POST -H 'User-Agent: Mozilla/5.0' \
         -H 'Accept: text/html' -H 'Accept-Encoding: gzip, deflate, br, zstd' \
         -H 'Content-Type: application/x-www-form-urlencoded' -H 'Connection: keep-alive' \
         -H 'Upgrade-Insecure-Requests: 1' -H 'TE: trailers' --data-raw 'user=anna&password=x%20y&next=%2F'",
    );
    let request = table["request"].as_table().expect("one request");
    let form = "user = 'anna'\npassword = '{env:PASSWORD}'\nnext = '/'".parse::<Table>().expect("valid");
    assert_eq!(request["form"].as_table(), Some(&form));
    let names: Vec<&str> = headers(request).iter().filter_map(|line| line.split(':').next()).collect();
    assert_eq!(
        names,
        ["User-Agent", "Accept", "Accept-Encoding", "Content-Type", "Upgrade-Insecure-Requests"]
    );
    let notes = imported.notes.join("\n");
    assert!(notes.contains("'Connection' is left out") && notes.contains("'TE' is left out"), "{notes}");
    assert!(notes.contains("export PASSWORD") && !notes.contains("x%20y"), "{notes}");
}

#[test]
fn options_make_requests() {
    for (command, expected) in [
        ("curl http://h", "url = \"/\""),
        ("curl h/a?b=c#d", "url = \"/a?b=c\""),
        ("curl -XDELETE http://h/1", "method = \"DELETE\"\nurl = \"/1\""),
        ("curl -I http://h/", "method = \"HEAD\"\nurl = \"/\""),
        ("curl -sSLk -o /dev/null -w '%{http_code}' -m 2.5 http://h/", "timeout = \"2.5s\"\nurl = \"/\""),
        ("curl -G -d a=1 -d b=2 http://h/?c", "url = \"/?c&a=1&b=2\""),
        ("curl -G --data-urlencode 'q=a b&c' http://h/", "url = \"/?q=a+b%26c\""),
        ("curl --url-query 'q=ü' --url http://h/", "url = \"/?q=%C3%BC\""),
        (
            "curl -d @body.txt http://h/ -H content-type:text/plain",
            "body_file = \"body.txt\"\nheaders = [\"content-type: text/plain\"]\nurl = \"/\"",
        ),
        ("curl --data-raw @x -H 'Content-Type:' http://h/", "body = \"@x\"\nurl = \"/\""),
        ("curl -T f.bin http://h/f", "body_file = \"f.bin\"\nmethod = \"PUT\"\nurl = \"/f\""),
        (
            "curl --json '{\"a\":1}' http://h/",
            "body = '{\"a\":1}'\nheaders = [\"Content-Type: application/json\", \"Accept: application/json\"]\nurl = \"/\"",
        ),
        (
            "curl -A me -e http://r/ -r 0-9 http://h/",
            "headers = [\"User-Agent: me\", \"Referer: http://r/\", \"Range: bytes=0-9\"]\nurl = \"/\"",
        ),
        ("curl -H 'X;' -H 'Y:' -H ': z' http://h/", "headers = [\"X: \"]\nurl = \"/\""),
        ("curl 'http://h/[1-20]/[a-z]'", "url = \"/{1..20}/[a-z]\""),
        ("curl -g 'http://h/[1-20]'", "url = \"/[1-20]\""),
        (
            "curl \"http://h/?t=$T\" -H \"X-Token: $T\"",
            "headers = [\"X-Token: {env:T}\"]\nurl = \"/?t={env:T}\"",
        ),
        (
            "curl 'http://h/?api_key=k1&a=b' -H 'X-Api-Key: k1'",
            "headers = [\"X-Api-Key: {env:X_API_KEY}\"]\nurl = \"/?api_key={env:API_KEY}&a=b\"",
        ),
    ] {
        let found = request(command);
        let expected: Table = expected.parse().expect(expected);
        assert_eq!(found, expected, "{command}");
    }
}

#[test]
fn options_about_the_target_stand_there() {
    for (command, expected) in [
        ("curl -k --http2 https://h/x", "http = \"2\"\ninsecure = true\nurl = \"https://h/\""),
        ("curl --http1.1 h:81", "http = \"1\"\nurl = \"http://h:81/\""),
        ("curl --unix-socket /run/a.sock http://h/", "unix_socket = \"/run/a.sock\"\nurl = \"http://h/\""),
        ("curl -u me:pw http://h/", "basic = \"me:{env:PASSWORD}\"\nurl = \"http://h/\""),
        ("curl -u me http://h/", "basic = \"me:{env:PASSWORD}\"\nurl = \"http://h/\""),
        ("curl -u \"me:$PW\" http://h/", "basic = \"me:{env:PW}\"\nurl = \"http://h/\""),
        ("curl -u \"$ME\" http://h/", "basic = \"{env:ME}\"\nurl = \"http://h/\""),
        ("curl -u \"$ME:pw\" http://h/", "basic = \"{env:ME}:{env:PASSWORD}\"\nurl = \"http://h/\""),
        ("curl -u \"me:pw$PW\" http://h/", "basic = \"me:{env:PASSWORD}{env:PW}\"\nurl = \"http://h/\""),
        ("curl -u 'm{e:pw' http://h/", "basic = \"m{e:{env:PASSWORD}\"\nurl = \"http://h/\""),
        ("curl -u pw: http://h/", "basic = \"{env:TOKEN}:\"\nurl = \"http://h/\""),
        ("curl http://pw@h/", "basic = \"{env:TOKEN}:\"\nurl = \"http://h/\""),
        ("curl http://me:p%40w@h/", "basic = \"me:{env:PASSWORD}\"\nurl = \"http://h/\""),
        ("curl --oauth2-bearer tok http://h/", "bearer = \"{env:TOKEN}\"\nurl = \"http://h/\""),
        ("curl http://h/a http://h/b -H a:1", "headers = [\"a: 1\"]\nurl = \"http://h/\""),
    ] {
        let (table, imported) = import(command);
        let expected: Table = expected.parse().expect(expected);
        assert_eq!(table["target"].as_table(), Some(&expected), "{command}\n{}", imported.plan);
        assert!(!imported.plan.contains("pw") && !imported.plan.contains("p@w"), "{}", imported.plan);
    }
}

#[test]
fn what_is_not_carried_over_is_named() {
    for (command, named) in [
        ("curl -L http://h/", "-L: redirects are not followed"),
        ("curl --proxy http://p:1 http://h/", "--proxy is not carried over: requests go straight"),
        ("curl -U me:pw http://h/", "-U is not carried over"),
        ("curl --bogus http://h/", "--bogus is not known and left out"),
        ("curl -b jar.txt http://h/", "-b jar.txt is not carried over: cookie files"),
        ("curl -F f=@a.png -F a=b http://h/", "-F with a file (f)"),
        ("curl --data-urlencode a@f http://h/", "no file is encoded here"),
        ("curl -d @a -d b http://h/", "the files are left out"),
        ("curl -d @- http://h/", "standard input"),
        ("curl -d @f http://h/", "strips the line breaks from f"),
        ("curl -X CONNECT http://h/", "-X CONNECT is not carried over: this is not a method"),
        ("curl -m soon http://h/", "-m soon is not a number of seconds"),
        ("curl http://h/{a,b}", "curl would expand {a,b}"),
        ("curl http://h/a/../b", "'..'"),
        ("curl -d '{\"a\":\"{uuid}\"}' http://h/", "holds '{uuid}'"),
        ("curl -u a:b -H 'Authorization: x' http://h/", "'Authorization' wins"),
        ("curl http://h/ http://i/", "goes to http://i, and a plan has one target"),
        ("curl http://h/ -: -k http://h/", "differ from those of the first"),
        ("curl http://h/ | jq .", "'| jq …' is not carried over"),
        ("curl http://h/ ftp://h/", "one of the URLs is left out: 'ftp://h' is not an http://"),
        ("curl http://h/ --next -s", "what follows the last --next has no URL"),
        ("curl http://h/ --unix-socket", "--unix-socket has no value"),
        ("wget x; curl http://h/", "'wget …' is not a curl command"),
        ("curl http://h/ -H 'Content-Length: 3'", "'Content-Length' is left out: it follows from the body"),
        ("curl http://h/ -H $'X: a\\nb'", "'X' is left out: its value holds a line break"),
        ("curl http://h/ -H 'nonsense'", "is not a header"),
    ] {
        let (_, imported) = import(command);
        assert!(imported.notes.iter().any(|note| note.contains(named)), "{command}: {:?}", imported.notes);
    }
    for harmless in
        ["-sSv -o x --fail -w y --no-progress-meter", "--globoff --tcp-nodelay -i -N", "-Z --no-keepalive"]
    {
        let (_, imported) = import(&format!("curl {harmless} http://h/"));
        assert!(imported.notes.is_empty(), "{harmless}: {:?}", imported.notes);
    }
}

/// Plans and their comments are edited and shared. Each of these secrets once appeared in clear.
#[test]
fn no_secret_stands_in_a_plan_or_a_note() {
    let commands = [
        // Basic authorization as much documentation shows it: a token instead of a user.
        "curl -u hunter2: http://h/",
        "curl http://hunter2@h/",
        "curl -u \"$NAME:hunter2\" http://h/",
        "curl -u \"me:hunter2$MORE\" http://h/",
        "curl http://h/ --next -u hunter2: http://h/b",
        // Beside a shell variable.
        "curl -H \"Authorization: Basic hunter2$MORE\" http://h/",
        "curl -b \"sid=hunter2; lang=$LANG\" http://h/",
        "curl --oauth2-bearer \"hunter2$MORE\" http://h/",
        // What the shell would have run.
        "curl -H \"Authorization: Basic $(echo -n me:hunter2 | base64)\" http://h/",
        "curl -H \"X-Api-Key: ${KEY:-hunter2}\" http://h/",
        "curl http://h/ | curl -u me:hunter2 -T - http://i/",
        "PASSWORD=hunter2; curl http://h/",
        // Bodies of any media type.
        "curl -F user=me -F password=hunter2 http://h/",
        "curl -F 'login={\"password\":\"hunter2\"};type=application/json' http://h/",
        "curl -d '{\"password\": \"hunter2\"}' http://h/",
        "curl -d '[{\"password\": \"hunter2\"}]' -H 'Content-Type: text/plain' http://h/",
        "curl -d 'login={\"password\":\"hunter2\"}' http://h/",
        // Options that are not carried over, and mistakes.
        "curl --socks5 me:hunter2@p:1080 http://h/",
        "curl --variable TOKEN=hunter2 http://h/",
        "curl -H 'X-Api-Key=hunter2' http://h/",
        "curl -H hunter2 http://h/",
        "curl -F password:hunter2 http://h/",
        // Elsewhere in URLs, and under other names.
        "curl -e http://me:hunter2@r/ http://h/",
        "curl 'http://h/?sig=hunter2&X-Amz-Signature=hunter2'",
        "curl -H 'X-Auth-Key: hunter2' http://h/",
        // A URL within a URL: their boundaries caused a panic.
        "curl 'http://h/?next=http://me:hunter2@i/'",
        "curl 'http://h/?token=hunter2&next=http://a@b'",
        "curl 'http://h/?token=http://me:hunter2@i/'",
        // Beside a shell variable, in fields.
        "curl \"http://h/?token=hunter2$MORE\"",
        "curl -e \"http://me:hunter2$MORE@r/\" http://h/",
        "curl -d \"password=hunter2$MORE\" http://h/",
        "curl -d \"{\\\"password\\\":\\\"hunter2$MORE\\\"}\" http://h/",
    ];
    let tells = |command: &&str| {
        let (_, imported) = import(command);
        imported.plan.contains("hunter2") || imported.notes.concat().contains("hunter2")
    };
    assert_eq!(commands.into_iter().filter(tells).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn what_stands_beside_a_variable_is_kept_where_it_is_no_secret() {
    for (header, expected) in [
        ("Authorization: Bearer $T", "Authorization: Bearer {env:T}"),
        ("Authorization: Token token=$T", "Authorization: Token token={env:T}"),
        ("Cookie: a=$A; b=$B", "Cookie: a={env:A}; b={env:B}"),
        ("Cookie: a=$A; b=c", "Cookie: a={env:A}{env:COOKIE}"),
        ("X-Page: x$A", "X-Page: x{env:A}"),
    ] {
        assert_eq!(headers(&request(&format!("curl -H \"{header}\" http://h/"))), [expected]);
    }
}

#[test]
fn several_urls_and_commands_are_several_requests() {
    let (table, imported) = import(
        "curl 'http://h/a' -H 'x: 1' ;\ncurl 'http://h/b' -d y \\\n -H 'x: 1' --next http://h/c http://other/d",
    );
    let requests = table["request"].as_array().expect("a list");
    let names: Vec<&str> = requests.iter().filter_map(|request| request["name"].as_str()).collect();
    assert_eq!(names, ["GET /a", "POST /b", "GET /c"]);
    assert!(imported.plan.contains("# [[request]]\n# name = \"GET /d\""), "{}", imported.plan);
}

#[test]
fn forms_of_text_become_bodies() {
    let request =
        request("curl -F 'a=b c' -F 'j={\"x\":1};type=application/json' --form-string '@=@' http://h/");
    assert_eq!(headers(&request), ["Content-Type: multipart/form-data; boundary=torment-7d1f0c5a9b3e"]);
    let body = request["body"].as_str().expect("text");
    assert_eq!(body.matches("--torment-7d1f0c5a9b3e\r\n").count(), 3);
    assert!(body.contains("name=\"j\"\r\nContent-Type: application/json\r\n\r\n{\"x\":1}\r\n"), "{body}");
    assert!(body.ends_with("@\r\n--torment-7d1f0c5a9b3e--\r\n"), "{body}");
}

#[test]
fn bytes_that_are_no_text_stay_as_they_are() {
    let request = request(r"curl --data-binary $'\xff\x00\x01' http://h/");
    assert_eq!(request["body_base64"].as_str(), Some("/wAB"));
}

#[test]
fn refuses_with_advice() {
    for (command, advice) in [
        ("", "expected a curl command"),
        ("wget http://h/", "found 'wget …'; expected a curl command"),
        ("curl", "has no URL"),
        ("curl -s", "has no URL"),
        ("curl 'http://h/", "unclosed"),
        ("curl ^\"http://h/^\" ^\n -H ^\"a: b^\"", "Copy as cURL (bash)"),
        ("curl ftp://h/", "http:// or https://"),
        ("curl http://h:99999/", "port from 1"),
    ] {
        let error = from_curl(command).expect_err(command).to_string();
        assert!(error.contains(advice), "{command}: {error}");
    }
    for fine in ["$ curl h", "sudo curl h", "A=b /usr/bin/curl h"] {
        from_curl(fine).expect(fine);
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn argument() -> impl Strategy<Value = String> {
    let option = prop::sample::select(vec![
        "-X",
        "-H",
        "-d",
        "--data-raw",
        "--data-binary",
        "--data-urlencode",
        "--json",
        "-F",
        "-u",
        "-b",
        "-A",
        "-e",
        "-m",
        "-I",
        "-G",
        "-k",
        "-L",
        "--next",
        "-T",
        "--url-query",
        "--unix-socket",
        "--oauth2-bearer",
        "--compressed",
        "--http2",
        "-sS",
        "--no-such",
        "--form-string",
        "-r",
        "-x",
        "http://h/",
        "http://i/a?b=c",
    ]);
    prop_oneof![
        2 => option.prop_map(str::to_owned),
        2 => any::<String>(),
        1 => "[ -~\n\r\t]{0,30}",
        1 => "[a-zA-Z-]{1,8}: .{0,20}",
        1 => "http://[a-z]{1,3}(:[0-9]{1,4})?/.{0,20}",
        1 => "[\"'{}#\\[\\]=\n\\\\.0-9a-z:$]{0,20}",
    ]
}

proptest! {
    #[test]
    fn whatever_is_given_the_plan_is_toml(arguments in prop::collection::vec(argument(), 0..12)) {
        let words: Vec<String> = arguments.iter().map(|argument| quoted(argument)).collect();
        if let Ok(imported) = from_curl(&format!("curl http://h/ {}", words.join(" "))) {
            let table: Result<Table, _> = imported.plan.parse();
            prop_assert!(table.is_ok(), "{:?}\n{}", table, imported.plan);
        }
    }

    #[test]
    fn a_body_arrives_as_it_was_given(body in any::<String>()) {
        let command = format!("curl http://h/ -H 'Content-Type: text/plain' --data-raw {}", quoted(&body));
        let request = request(&command);
        let found = request.get("body").and_then(Value::as_str).unwrap_or_default();
        prop_assert_eq!(found, body);
    }

    #[test]
    fn no_text_makes_it_panic(text in ".*") {
        let _ = from_curl(&text);
        let _ = from_curl(&format!("curl {text}"));
    }
}
