//! curl's options (curl 8): how each is spelled, and whether a value follows.

/// One option as it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Given {
    /// The long spelling without dashes; `url` for what is no option.
    pub name: String,
    /// As it was written, for notes.
    pub written: String,
    /// Empty if the option takes none.
    pub value: Vec<u8>,
    /// Whether it is one of curl's.
    pub known: bool,
}

/// Short spellings.
const SHORT: &[(char, &str)] = &[
    ('#', "progress-bar"),
    (':', "next"),
    ('0', "http1.0"),
    ('1', "tlsv1"),
    ('2', "sslv2"),
    ('3', "sslv3"),
    ('4', "ipv4"),
    ('6', "ipv6"),
    ('A', "user-agent"),
    ('B', "use-ascii"),
    ('C', "continue-at"),
    ('D', "dump-header"),
    ('E', "cert"),
    ('F', "form"),
    ('G', "get"),
    ('H', "header"),
    ('I', "head"),
    ('J', "remote-header-name"),
    ('K', "config"),
    ('L', "location"),
    ('M', "manual"),
    ('N', "no-buffer"),
    ('O', "remote-name"),
    ('P', "ftp-port"),
    ('Q', "quote"),
    ('R', "remote-time"),
    ('S', "show-error"),
    ('T', "upload-file"),
    ('U', "proxy-user"),
    ('V', "version"),
    ('X', "request"),
    ('Y', "speed-limit"),
    ('Z', "parallel"),
    ('a', "append"),
    ('b', "cookie"),
    ('c', "cookie-jar"),
    ('d', "data"),
    ('e', "referer"),
    ('f', "fail"),
    ('g', "globoff"),
    ('h', "help"),
    ('i', "include"),
    ('j', "junk-session-cookies"),
    ('k', "insecure"),
    ('l', "list-only"),
    ('m', "max-time"),
    ('n', "netrc"),
    ('o', "output"),
    ('p', "proxytunnel"),
    ('q', "disable"),
    ('r', "range"),
    ('s', "silent"),
    ('t', "telnet-option"),
    ('u', "user"),
    ('v', "verbose"),
    ('w', "write-out"),
    ('x', "proxy"),
    ('y', "speed-time"),
    ('z', "time-cond"),
];

/// Options followed by a value.
const WITH_VALUE: &str = "abstract-unix-socket alt-svc aws-sigv4 cacert capath cert cert-type ciphers config \
    connect-timeout connect-to continue-at cookie cookie-jar create-file-mode crlfile curves data data-ascii \
    data-binary data-raw data-urlencode delegation dns-interface dns-ipv4-addr dns-ipv6-addr dns-servers \
    doh-url dump-header ech egd-file engine etag-compare etag-save expect100-timeout form form-string \
    ftp-account ftp-alternative-to-user ftp-method ftp-port ftp-ssl-ccc-mode happy-eyeballs-timeout-ms \
    haproxy-clientip header help hostpubmd5 hostpubsha256 hsts interface ip-tos ipfs-gateway json \
    keepalive-cnt keepalive-time key key-type krb libcurl limit-rate local-port login-options mail-auth \
    mail-from mail-rcpt max-filesize max-redirs max-time netrc-file noproxy oauth2-bearer output output-dir \
    parallel-max parallel-max-host pass pinnedpubkey preproxy proto proto-default proto-redir proxy \
    proxy-cacert proxy-capath proxy-cert proxy-cert-type proxy-ciphers proxy-crlfile proxy-header proxy-key \
    proxy-key-type proxy-pass proxy-pinnedpubkey proxy-service-name proxy-tls13-ciphers proxy-tlsauthtype \
    proxy-tlspassword proxy-tlsuser proxy-user proxy1.0 pubkey quote random-file range rate referer request \
    request-target resolve retry retry-delay retry-max-time sasl-authzid service-name sigalgs socks4 socks4a \
    socks5 socks5-gssapi-service socks5-hostname speed-limit speed-time stderr telnet-option tftp-blksize \
    time-cond tls-max tls13-ciphers tlsauthtype tlspassword tlsuser trace trace-ascii trace-config \
    unix-socket upload-file upload-flags url url-query user user-agent variable vlan-priority write-out";

/// Options that stand alone, `--no-…` left aside.
const ALONE: &str = "alpn anyauth append basic buffer ca-native cert-status clobber compressed compressed-ssh \
    create-dirs crlf digest disable disable-eprt disable-epsv disallow-username-in-url doh-cert-status \
    doh-insecure eprt epsv fail fail-early fail-with-body false-start form-escape ftp-create-dirs ftp-pasv \
    ftp-pret ftp-skip-pasv-ip ftp-ssl-ccc ftp-ssl-control get globoff haproxy-protocol head http0.9 http1.0 \
    http1.1 http2 http2-prior-knowledge http3 http3-only ignore-content-length include insecure ipv4 ipv6 \
    junk-session-cookies keepalive list-only location location-trusted mail-rcpt-allowfails manual metalink \
    mptcp negotiate netrc netrc-optional next npn ntlm ntlm-wb out-null parallel parallel-immediate path-as-is \
    post301 post302 post303 progress-bar progress-meter proxy-anyauth proxy-basic proxy-ca-native \
    proxy-digest proxy-http2 proxy-insecure proxy-negotiate proxy-ntlm proxy-ssl-allow-beast \
    proxy-ssl-auto-client-cert proxy-tlsv1 proxytunnel raw remote-header-name remote-name remote-name-all \
    remote-time remove-on-error retry-all-errors retry-connrefused sasl-ir sessionid show-error show-headers \
    silent skip-existing socks5-basic socks5-gssapi socks5-gssapi-nec ssl ssl-allow-beast \
    ssl-auto-client-cert ssl-no-revoke ssl-reqd ssl-revoke-best-effort sslv2 sslv3 styled-output \
    suppress-connect-headers tcp-fastopen tcp-nodelay tftp-no-options tls-earlydata tlsv1 tlsv1.0 tlsv1.1 \
    tlsv1.2 tlsv1.3 tr-encoding trace-ids trace-time use-ascii verbose version xattr";

/// Options about what curl shows and where it puts answers: a load does without them.
const HARMLESS: &str = "basic buffer clobber create-dirs create-file-mode disable disallow-username-in-url \
    dump-header fail fail-early fail-with-body form-escape globoff include keepalive libcurl no-buffer \
    no-clobber no-keepalive no-progress-meter out-null output output-dir parallel parallel-immediate parallel-max \
    parallel-max-host path-as-is progress-bar progress-meter raw remote-header-name remote-name remote-name-all \
    remote-time remove-on-error show-error show-headers silent skip-existing stderr styled-output \
    suppress-connect-headers tcp-nodelay trace trace-ascii trace-config trace-ids trace-time verbose \
    write-out xattr";

fn one_of(list: &str, name: &str) -> bool {
    list.split_whitespace().any(|known| known == name)
}

/// Whether an option makes no difference to a load.
pub(super) fn is_harmless(name: &str) -> bool {
    one_of(HARMLESS, name)
}

/// The words after `curl` as options, in order; a word that is none is a `url`.
pub(super) fn read(words: &[Vec<u8>]) -> Vec<Given> {
    let (mut given, mut words, mut only_urls) = (Vec::new(), words.iter(), false);
    while let Some(word) = words.next() {
        let text = String::from_utf8_lossy(word).into_owned();
        let url =
            || Given { name: "url".to_owned(), written: text.clone(), value: word.clone(), known: true };
        if only_urls || text == "-" || !text.starts_with('-') {
            given.push(url());
        } else if text == "--" {
            only_urls = true;
        } else if let Some(name) = text.strip_prefix("--") {
            given.push(long(name, &text, &mut words));
        } else {
            shorts(&text, word, &mut words, &mut given);
        }
    }
    given
}

fn long<'a>(name: &str, written: &str, words: &mut impl Iterator<Item = &'a Vec<u8>>) -> Given {
    // curl itself does not take --name=value, but people write it.
    let (name, attached) = match name.split_once('=') {
        Some((name, value)) if one_of(WITH_VALUE, name) => (name, Some(value.as_bytes().to_vec())),
        _ => (name, None),
    };
    let with_value = one_of(WITH_VALUE, name);
    let alone = one_of(ALONE, name.strip_prefix("no-").unwrap_or(name));
    let value = match attached {
        Some(value) => value,
        None if with_value => words.next().cloned().unwrap_or_default(),
        None => Vec::new(),
    };
    let written = written.split('=').next().unwrap_or_default().to_owned();
    Given { name: name.to_owned(), written, value, known: with_value || alone }
}

/// `-sSLk`, `-XPOST`, `-d@file`.
fn shorts<'a>(
    text: &str,
    word: &[u8],
    words: &mut impl Iterator<Item = &'a Vec<u8>>,
    given: &mut Vec<Given>,
) {
    for (at, c) in text.char_indices().skip(1) {
        let known = SHORT.iter().find(|(short, _)| *short == c).map(|(_, name)| *name);
        let name = known.map_or_else(|| c.to_string(), str::to_owned);
        let mut option = Given { name, written: format!("-{c}"), value: Vec::new(), known: known.is_some() };
        if one_of(WITH_VALUE, &option.name) {
            // All before it is ASCII, so its place in the text and in the word is the same.
            let attached = word.get(at + 1..).unwrap_or_default();
            option.value = if attached.is_empty() {
                words.next().cloned().unwrap_or_default()
            } else {
                attached.to_vec()
            };
            given.push(option);
            return;
        }
        given.push(option);
        if !c.is_ascii() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_all_spellings() {
        for (line, expected) in [
            ("-X POST u", "request=POST url=u"),
            ("-XPOST u", "request=POST url=u"),
            ("--request POST u", "request=POST url=u"),
            ("--request=POST u", "request=POST url=u"),
            ("-sSLk u", "silent show-error location insecure url=u"),
            ("-sXPUT -d@f", "silent request=PUT data=@f"),
            ("-sd x u", "silent data=x url=u"),
            ("--no-keepalive -N u", "no-keepalive no-buffer url=u"),
            ("--url u -- -v", "url=u url=-v"),
            ("--bogus u", "bogus? url=u"),
            ("-@ u", "@? url=u"),
            ("--unheard=of u", "unheard=of? url=u"),
            ("-X", "request"),
            ("-: u -", "next url=u url=-"),
        ] {
            let words: Vec<Vec<u8>> = line.split(' ').map(|word| word.as_bytes().to_vec()).collect();
            let found: Vec<String> = read(&words)
                .into_iter()
                .map(|Given { name, value, known, .. }| {
                    let value = String::from_utf8_lossy(&value).into_owned();
                    let known = if known { "" } else { "?" };
                    if value.is_empty() { format!("{name}{known}") } else { format!("{name}={value}{known}") }
                })
                .collect();
            assert_eq!(found.join(" "), expected, "{line}");
        }
    }

    #[test]
    fn the_tables_agree() {
        for (_, name) in SHORT {
            let alone = one_of(ALONE, name.strip_prefix("no-").unwrap_or(name));
            assert!(alone || one_of(WITH_VALUE, name), "{name}");
        }
        for name in HARMLESS.split_whitespace() {
            let alone = one_of(ALONE, name.strip_prefix("no-").unwrap_or(name));
            assert!(alone || one_of(WITH_VALUE, name), "{name}");
        }
        assert!(!WITH_VALUE.split_whitespace().any(|name| one_of(ALONE, name)));
    }
}
