//! curl's options (curl 8): their spellings, and whether they take a value. clap itself would reject unknown options
//! and lose the order; here its lexer splits the words.

use clap_lex::RawArgs;
use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

/// One option as given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ParsedOption {
    /// The long spelling without dashes; `url` for what is not an option.
    pub name: String,
    /// As written, for notes.
    pub written: String,
    /// Empty if the option takes none.
    pub value: Vec<u8>,
    /// Whether curl knows it.
    pub known: bool,
}

impl ParsedOption {
    fn new(name: impl Into<String>, written: impl Into<String>, value: Option<&OsStr>, known: bool) -> Self {
        let value = value.map_or_else(Vec::new, |value| value.as_bytes().to_vec());
        Self { name: name.into(), written: written.into(), value, known }
    }
}

/// curl's options, by their long spelling: `f,fail` has a short one, `request=` takes a value, and `silent~` only
/// concerns what curl shows or where it puts answers, which makes no difference to a load. Those without a value also
/// have the form `--no-…`.
const OPTIONS: &str = "abstract-unix-socket= alpn alt-svc= anyauth a,append aws-sigv4= basic~ buffer~ ca-native cacert= \
    capath= E,cert= cert-status cert-type= ciphers= clobber~ compressed compressed-ssh K,config= \
    connect-timeout= connect-to= C,continue-at= b,cookie= c,cookie-jar= create-dirs~ create-file-mode=~ \
    crlf crlfile= curves= d,data= data-ascii= data-binary= data-raw= data-urlencode= delegation= digest \
    q,disable~ disable-eprt disable-epsv disallow-username-in-url~ dns-interface= dns-ipv4-addr= \
    dns-ipv6-addr= dns-servers= doh-cert-status doh-insecure doh-url= D,dump-header=~ ech= egd-file= \
    engine= eprt epsv etag-compare= etag-save= expect100-timeout= f,fail~ fail-early~ fail-with-body~ \
    false-start F,form= form-escape~ form-string= ftp-account= ftp-alternative-to-user= ftp-create-dirs \
    ftp-method= ftp-pasv P,ftp-port= ftp-pret ftp-skip-pasv-ip ftp-ssl-ccc ftp-ssl-ccc-mode= \
    ftp-ssl-control G,get g,globoff~ happy-eyeballs-timeout-ms= haproxy-clientip= haproxy-protocol \
    I,head H,header= h,help= hostpubmd5= hostpubsha256= hsts= http0.9 0,http1.0 http1.1 http2 \
    http2-prior-knowledge http3 http3-only ignore-content-length i,include~ k,insecure interface= \
    ip-tos= ipfs-gateway= 4,ipv4 6,ipv6 json= j,junk-session-cookies keepalive~ keepalive-cnt= \
    keepalive-time= key= key-type= krb= libcurl=~ limit-rate= l,list-only local-port= L,location \
    location-trusted login-options= mail-auth= mail-from= mail-rcpt= mail-rcpt-allowfails M,manual \
    max-filesize= max-redirs= m,max-time= metalink mptcp negotiate n,netrc netrc-file= netrc-optional \
    :,next N,no-buffer~ noproxy= npn ntlm ntlm-wb oauth2-bearer= out-null~ o,output=~ output-dir=~ \
    Z,parallel~ parallel-immediate~ parallel-max=~ parallel-max-host=~ pass= path-as-is~ pinnedpubkey= \
    post301 post302 post303 preproxy= #,progress-bar~ progress-meter~ proto= proto-default= proto-redir= \
    x,proxy= proxy-anyauth proxy-basic proxy-ca-native proxy-cacert= proxy-capath= proxy-cert= \
    proxy-cert-type= proxy-ciphers= proxy-crlfile= proxy-digest proxy-header= proxy-http2 proxy-insecure \
    proxy-key= proxy-key-type= proxy-negotiate proxy-ntlm proxy-pass= proxy-pinnedpubkey= \
    proxy-service-name= proxy-ssl-allow-beast proxy-ssl-auto-client-cert proxy-tls13-ciphers= \
    proxy-tlsauthtype= proxy-tlspassword= proxy-tlsuser= proxy-tlsv1 U,proxy-user= proxy1.0= \
    p,proxytunnel pubkey= Q,quote= random-file= r,range= rate= raw~ e,referer= J,remote-header-name~ \
    O,remote-name~ remote-name-all~ R,remote-time~ remove-on-error~ X,request= request-target= resolve= \
    retry= retry-all-errors retry-connrefused retry-delay= retry-max-time= sasl-authzid= sasl-ir \
    service-name= sessionid S,show-error~ show-headers~ sigalgs= s,silent~ skip-existing~ socks4= \
    socks4a= socks5= socks5-basic socks5-gssapi socks5-gssapi-nec socks5-gssapi-service= \
    socks5-hostname= Y,speed-limit= y,speed-time= ssl ssl-allow-beast ssl-auto-client-cert ssl-no-revoke \
    ssl-reqd ssl-revoke-best-effort 2,sslv2 3,sslv3 stderr=~ styled-output~ suppress-connect-headers~ \
    tcp-fastopen tcp-nodelay~ t,telnet-option= tftp-blksize= tftp-no-options z,time-cond= tls-earlydata \
    tls-max= tls13-ciphers= tlsauthtype= tlspassword= tlsuser= 1,tlsv1 tlsv1.0 tlsv1.1 tlsv1.2 tlsv1.3 \
    tr-encoding trace=~ trace-ascii=~ trace-config=~ trace-ids~ trace-time~ unix-socket= T,upload-file= \
    upload-flags= url= url-query= B,use-ascii u,user= A,user-agent= variable= v,verbose~ V,version \
    vlan-priority= w,write-out=~ xattr~";

struct KnownOption {
    short: Option<char>,
    name: &'static str,
    has_value: bool,
    is_harmless: bool,
}

impl KnownOption {
    fn all() -> impl Iterator<Item = Self> {
        OPTIONS.split_whitespace().map(|word| {
            let (word, is_harmless) = word.strip_suffix('~').map_or((word, false), |word| (word, true));
            let (word, has_value) = word.strip_suffix('=').map_or((word, false), |word| (word, true));
            let (short, name) = word.split_once(',').unwrap_or(("", word));
            Self { short: short.chars().next(), name, has_value, is_harmless }
        })
    }

    /// By its long spelling.
    fn of(name: &str) -> Option<Self> {
        let positive = name.strip_prefix("no-");
        Self::all().find(|known| known.name == name || !known.has_value && positive == Some(known.name))
    }
}

/// Whether an option makes no difference to a load.
pub(super) fn is_harmless(name: &str) -> bool {
    KnownOption::of(name).is_some_and(|known| known.is_harmless)
}

/// The words after `curl` as options, in order; any other word is a `url`.
pub(super) fn parse(words: &[Vec<u8>]) -> Vec<ParsedOption> {
    let words = RawArgs::new(words.iter().map(|word| OsStr::from_bytes(word)));
    let (mut at, mut all) = (words.cursor(), Vec::new());
    let url = |word: &OsStr| ParsedOption::new("url", word.to_string_lossy(), Some(word), true);
    while let Some(word) = words.next(&mut at) {
        if word.is_escape() {
            all.extend(words.remaining(&mut at).map(url));
        } else if let Some((name, attached)) = word.to_long() {
            let name = name.map_or_else(OsStr::to_string_lossy, Cow::from);
            // curl itself does not accept --name=value, but people write it.
            let known = KnownOption::of(&name).filter(|known| known.has_value || attached.is_none());
            let has_value = known.as_ref().is_some_and(|known| known.has_value);
            let value = has_value.then(|| attached.or_else(|| words.next_os(&mut at)));
            all.push(ParsedOption::new(&*name, format!("--{name}"), value.flatten(), known.is_some()));
        } else if let Some(mut letters) = word.to_short() {
            // `-sSLk`, `-XPOST`, `-d@file`.
            while let Some(letter) = letters.next_flag() {
                let letter = letter.unwrap_or(char::REPLACEMENT_CHARACTER);
                let known = KnownOption::all().find(|known| known.short == Some(letter));
                let name = known.as_ref().map_or_else(|| letter.to_string(), |known| known.name.to_owned());
                let has_value = known.as_ref().is_some_and(|known| known.has_value);
                let value = has_value.then(|| letters.next_value_os().or_else(|| words.next_os(&mut at)));
                all.push(ParsedOption::new(name, format!("-{letter}"), value.flatten(), known.is_some()));
            }
        } else {
            all.push(url(word.to_value_os()));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

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
            ("--unheard=of u", "unheard? url=u"),
            ("--silent=of u", "silent? url=u"),
            ("-és u", "é? silent url=u"),
            ("-X", "request"),
            ("-: u -", "next url=u url=-"),
        ] {
            let words: Vec<Vec<u8>> = line.split(' ').map(|word| word.as_bytes().to_vec()).collect();
            let found: Vec<String> = parse(&words)
                .into_iter()
                .map(|ParsedOption { name, value, known, .. }| {
                    let value = String::from_utf8_lossy(&value).into_owned();
                    let known = if known { "" } else { "?" };
                    if value.is_empty() { format!("{name}{known}") } else { format!("{name}={value}{known}") }
                })
                .collect();
            assert_eq!(found.join(" "), expected, "{line}");
        }
    }

    #[test]
    fn every_option_stands_once() {
        let (mut names, mut shorts) = (BTreeSet::new(), BTreeSet::new());
        for known in KnownOption::all() {
            assert!(names.insert(known.name), "{}", known.name);
            assert!(known.short.is_none_or(|short| shorts.insert(short)), "{}", known.name);
        }
        assert!(
            is_harmless("no-keepalive") && !is_harmless("no-compressed") && !is_harmless("keepalive-time")
        );
    }
}
