use super::*;
use proptest::prelude::*;

const NOW_S: u64 = 1_700_000_000;

fn at(path: &str) -> CookieContext<'_> {
    CookieContext { host: "www.example.com", path: path.as_bytes(), tls: true, now_s: NOW_S }
}

fn sent(jar: &CookieJar, context: &CookieContext<'_>) -> String {
    let mut out = Vec::new();
    jar.header(context, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// What is sent to `/` after receiving these headers from there.
fn after(headers: &[&str]) -> String {
    let mut jar = CookieJar::default();
    headers.iter().for_each(|header| jar.set(header.as_bytes(), &at("/")));
    sent(&jar, &at("/"))
}

/// The dialogues of RFC 6265, section 3.1.
#[test]
fn the_examples_of_the_standard() {
    let mut jar = CookieJar::default();
    jar.set(b"SID=31d4d96e407aad42", &at("/"));
    assert_eq!(sent(&jar, &at("/")), "SID=31d4d96e407aad42");
    jar.set(b"SID=31d4d96e407aad42; Path=/; Domain=example.com", &at("/"));
    assert_eq!(sent(&jar, &at("/")), "SID=31d4d96e407aad42");
    jar.set(b"SID=31d4d96e407aad42; Path=/; Secure; HttpOnly", &at("/"));
    jar.set(b"lang=en-US; Path=/; Domain=example.com", &at("/"));
    assert_eq!(sent(&jar, &at("/")), "SID=31d4d96e407aad42; lang=en-US");
    jar.set(b"lang=en-US; Expires=Wed, 09 Jun 2100 10:18:14 GMT", &at("/"));
    assert_eq!(sent(&jar, &at("/")), "SID=31d4d96e407aad42; lang=en-US");
    jar.set(b"lang=; Expires=Sun, 06 Nov 1994 08:49:37 GMT", &at("/"));
    assert_eq!(sent(&jar, &at("/")), "SID=31d4d96e407aad42");
}

#[test]
fn what_a_header_sets() {
    for (header, expected) in [
        ("a=b", "a=b"),
        ("  a  =  b  ;c=d", "a=b"),
        ("a=", "a="),
        ("a=b=c", "a=b=c"),
        ("a=\"b c\", d", "a=\"b c\", d"),
        ("a=b; Unknown; =; ;", "a=b"),
        ("a", ""),
        ("=b", ""),
        (" = b", ""),
        ("", ""),
        (";a=b", ""),
        ("a=b\r\nX: y", ""),
        ("a=b\0", ""),
        ("a=b\tc", "a=b\tc"),
        ("a=b; Path=/; path=/x", ""),
        ("a=b; Path=/x; path=/", "a=b"),
        ("a=b; Path=/x; Path=", "a=b"),
        ("a=b; Path=relative", "a=b"),
        ("a=b; Max-Age=0", ""),
        ("a=b; Max-Age=-1", ""),
        ("a=b; MAX-AGE = 1", "a=b"),
        ("a=b; Max-Age=99999999999999999999", "a=b"),
        ("a=b; Max-Age=-99999999999999999999", ""),
        ("a=b; Max-Age=soon", "a=b"),
        ("a=b; Max-Age=+1; Expires=Thu, 01 Jan 1970 00:00:00 GMT", ""),
        ("a=b; Max-Age=10; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "a=b"),
        ("a=b; Expires=Wed, 31 Dec 1969 00:00:00 GMT", ""),
        ("a=b; Expires=never", "a=b"),
        ("a=b; Domain=example.com", "a=b"),
        ("a=b; Domain=.Example.COM", "a=b"),
        ("a=b; Domain=www.example.com", "a=b"),
        ("a=b; Domain=", "a=b"),
        ("a=b; Domain=xample.com", ""),
        ("a=b; Domain=a.www.example.com", ""),
        ("a=b; Domain=other.com", ""),
        ("a=b; SameSite=Strict; HttpOnly; Secure; Partitioned", "a=b"),
    ] {
        assert_eq!(after(&[header]), expected, "{header:?}");
    }
}

#[test]
fn one_name_and_path_is_one_cookie() {
    assert_eq!(after(&["a=1", "b=2", "a=3"]), "a=3; b=2");
    assert_eq!(after(&["a=1", "b=2", "a=; Max-Age=0"]), "b=2");
    assert_eq!(after(&["a=1", "A=2"]), "a=1; A=2");
    let mut jar = CookieJar::default();
    for (header, path) in [("a=1", "/"), ("a=2; Path=/x", "/"), ("b=3", "/x/y"), ("c=4", "/x/y/z")] {
        jar.set(header.as_bytes(), &at(path));
    }
    assert_eq!(sent(&jar, &at("/")), "a=1");
    assert_eq!(sent(&jar, &at("/x/y/q?p=/r")), "c=4; a=2; b=3; a=1", "longer paths first");
}

#[test]
fn paths_match_whole_folders() {
    for (set, path, matches) in [
        ("/", "/anything", true),
        ("/a", "/a", true),
        ("/a", "/a/", true),
        ("/a", "/a/b", true),
        ("/a", "/a?q", true),
        ("/a", "/ab", false),
        ("/a/", "/a/b", true),
        ("/a/", "/a", false),
        ("/a/b", "/a", false),
        ("/A", "/a", false),
    ] {
        assert_eq!(path_matches(without_query(path.as_bytes()), set.as_bytes()), matches, "{set} {path}");
    }
    for (path, expected) in [
        ("/", "/"),
        ("/a", "/"),
        ("/a/", "/a"),
        ("/a/b?c=/d", "/a"),
        ("/a/b/c", "/a/b"),
        ("", "/"),
        ("*", "/"),
    ] {
        assert_eq!(default_path(path.as_bytes()), expected.as_bytes(), "{path}");
    }
}

#[test]
fn cookies_end_in_time_and_stay_within_tls() {
    let mut jar = CookieJar::default();
    let clear = CookieContext { tls: false, ..at("/") };
    jar.set(b"a=1; Max-Age=10", &at("/"));
    jar.set(b"b=2; Secure", &clear);
    jar.set(b"c=3", &clear);
    assert_eq!(sent(&jar, &CookieContext { now_s: NOW_S + 9, ..at("/") }), "a=1; c=3");
    assert_eq!(sent(&jar, &CookieContext { now_s: NOW_S + 10, ..at("/") }), "c=3");
}

#[test]
fn an_address_has_no_parent_domain() {
    for (host, domain, matches) in [
        ("127.0.0.1", "127.0.0.1", true),
        ("127.0.0.1", "0.0.1", false),
        ("::1", "::1", true),
        ("localhost", "localhost", true),
        ("a.localhost", "localhost", true),
        ("example.com", "www.example.com", false),
    ] {
        assert_eq!(domain_matches(host, domain.as_bytes()), matches, "{host} {domain}");
    }
}

#[test]
fn a_jar_has_its_limits() {
    let mut jar = CookieJar::default();
    let set = |jar: &mut CookieJar, text: String| jar.set(text.as_bytes(), &at("/"));
    set(&mut jar, "oldest=1; Path=/x".to_owned());
    set(&mut jar, "short=1; Max-Age=1".to_owned());
    for n in 2..COOKIES_LIMIT {
        set(&mut jar, format!("c{n}=1"));
    }
    jar.set(b"next=1", &CookieContext { now_s: NOW_S + 1, ..at("/") });
    assert_eq!(jar.cookies.len(), COOKIES_LIMIT, "the one that was over has gone");
    assert!(sent(&jar, &at("/x")).starts_with("oldest=1; c2=1"));
    set(&mut jar, "last=1".to_owned());
    assert_eq!(jar.cookies.len(), COOKIES_LIMIT);
    assert!(sent(&jar, &at("/x")).starts_with("c2=1"), "the oldest has gone");
    set(&mut jar, "c9=2".to_owned());
    assert!(sent(&jar, &at("/")).starts_with("c2=1"), "nothing goes for one that takes its own place");
    assert_eq!(after(&[&format!("a={}", "x".repeat(COOKIE_LIMIT))]), "");
    assert_eq!(after(&[&format!("a={}", "x".repeat(COOKIE_LIMIT - 1))]).len(), COOKIE_LIMIT + 1);
}

proptest! {
    /// What servers set comes back unchanged, the last value of each name, in the order of first mention.
    #[test]
    fn what_was_set_comes_back(cookies in proptest::collection::vec(("[a-e!#$]{1,2}", "[!-:<-~]{0,8}"), 0..30)) {
        let mut expected: Vec<(&str, &str)> = Vec::new();
        let mut jar = CookieJar::default();
        for (name, value) in &cookies {
            jar.set(format!("{name}={value}; Path=/").as_bytes(), &at("/any/where"));
            match expected.iter_mut().find(|(known, _)| known == name) {
                Some(known) => known.1 = value,
                None => expected.push((name, value)),
            }
        }
        let expected: Vec<String> = expected.iter().map(|(name, value)| format!("{name}={value}")).collect();
        prop_assert_eq!(sent(&jar, &at("/")), expected.join("; "));
    }

    #[test]
    fn garbage_never_panics_and_never_breaks_a_header(
        headers in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..60), 0..8),
        path in proptest::collection::vec(any::<u8>(), 0..20),
        host in "[a-z.0-9:]{0,12}",
        tls in any::<bool>(),
        now_s in any::<u64>(),
    ) {
        let context = CookieContext { host: &host, path: &path, tls, now_s };
        let mut jar = CookieJar::default();
        headers.iter().for_each(|header| jar.set(header, &context));
        let mut out = Vec::new();
        jar.header(&context, &mut out);
        prop_assert!(out.iter().all(|&b| b == b'\t' || !b.is_ascii_control()));
    }

    #[test]
    fn odd_attributes_never_panic(
        name in "(?i)path|domain|max-age|expires|secure",
        value in ".{0,30}",
    ) {
        let mut jar = CookieJar::default();
        jar.set(format!("a=b; {name}={value}").as_bytes(), &at("/x/y"));
        prop_assert!(jar.cookies.len() <= 1);
    }
}
