use crate::{Binary, Linkage};

/// Why a program is dynamic, and what would change that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DynamicReason {
    /// A library outside the C library.
    Library {
        /// Its name.
        soname: String,
        /// What such a library usually is, if known.
        description: Option<&'static str>,
    },
    /// It asks glibc to look up names (of hosts, users, services) or convert text encodings, for which glibc loads further
    /// libraries at run time, also when linked statically.
    NameServices {
        /// The functions it calls for that.
        functions: Vec<String>,
    },
    /// It loads libraries itself at run time.
    LoadsAtRuntime {
        /// The functions it calls for that.
        functions: Vec<String>,
    },
    /// Nothing but the C library and its parts: a static link would give the same program.
    OnlyLibc,
}

/// Name look-ups that glibc leaves to libraries it loads (nsswitch.conf(5)), and text conversion (iconv(3)).
const NAMES: &[&str] = &units::texts![
    "getaddrinfo" "getnameinfo" "gethostbyname" "gethostbyname2" "gethostbyaddr" "gethostbyname_r"
    "gethostbyaddr_r" "getservbyname" "getservbyport" "getprotobyname" "getpwnam" "getpwuid" "getpwnam_r"
    "getpwuid_r" "getpwent" "getgrnam" "getgrgid" "getgrnam_r" "getgrgid_r" "getgrouplist" "initgroups"
    "getspnam" "iconv_open"
];
const LOADING_FUNCTIONS: &[&str] = &["dlopen", "dlmopen"];

/// Parts of the C library or of the compiler, which come with static forms.
const LIBC: &[&str] = &units::texts![
    "libc.so" "libm.so" "libdl.so" "libpthread.so" "librt.so" "libutil.so" "libmvec.so" "libanl.so"
    "libresolv.so" "libgcc_s.so" "ld-linux" "ld-musl" "ld64.so" "libc.musl-" "linux-vdso"
];

/// Common libraries, by the beginning of their names.
const KNOWN_LIBRARIES: &[(&str, &str)] = &[
    ("libstdc++.so", "the C++ library: g++ -static-libstdc++ takes it in"),
    ("libc++.so", "the C++ library of LLVM"),
    ("libsqlite3.so", "SQLite, a C library: build it in from its source"),
    ("libssl.so", "OpenSSL, a C library"),
    ("libcrypto.so", "OpenSSL's cryptography, a C library"),
    ("libgnutls.so", "GnuTLS, a C library"),
    ("libz.so", "zlib, a C library"),
    ("libzstd.so", "Zstandard, a C library"),
    ("liblzma.so", "xz's compression, a C library"),
    ("libpq.so", "PostgreSQL's client, a C library"),
    ("libmariadb.so", "MariaDB's client, a C library"),
    ("libcurl.so", "curl, a C library"),
    ("libselinux.so", "SELinux's rules, a C library"),
    ("libpam.so", "log-in modules, which it loads while it runs"),
    ("libsystemd.so", "systemd's interface, a C library"),
    ("libtinfo.so", "descriptions of terminals, a C library"),
    ("libncurses", "terminal windows, a C library"),
    ("libreadline.so", "line editing, a C library"),
    ("libacl.so", "access control lists, a C library"),
    ("libattr.so", "extended attributes, a C library"),
    ("libcap.so", "capabilities, a C library"),
    ("libpcre", "regular expressions, a C library"),
    ("libgmp.so", "large numbers, a C library"),
    ("libX11.so", "the X window system's client"),
    ("libjvm.so", "a Java virtual machine"),
    ("libpython", "the Python interpreter"),
    ("libperl.so", "the Perl interpreter"),
];

/// Why this file is not static: empty if it is, or if it is no program.
pub fn dynamic_reasons(binary: &Binary) -> Vec<DynamicReason> {
    if !matches!(binary.kind, Linkage::Dynamic { .. }) {
        return Vec::new();
    }
    let starts = |soname: &str, with: &str| soname.starts_with(with);
    let others = binary.needed.iter().filter(|soname| !LIBC.iter().any(|libc| starts(soname, libc)));
    let mut reasons: Vec<DynamicReason> = others
        .map(|soname| DynamicReason::Library {
            soname: soname.clone(),
            description: KNOWN_LIBRARIES.iter().find(|(name, _)| starts(soname, name)).map(|(_, what)| *what),
        })
        .collect();
    let undefined = binary.undefined.iter().flatten();
    let calls = |names: &[&str]| -> Vec<String> {
        let called = undefined.clone().filter(|symbol| names.contains(&symbol.name.as_str()));
        let mut called: Vec<String> = called.map(|symbol| symbol.name.clone()).collect();
        called.dedup();
        called
    };
    let (names, loads) = (calls(NAMES), calls(LOADING_FUNCTIONS));
    if !names.is_empty() {
        reasons.push(DynamicReason::NameServices { functions: names });
    }
    if !loads.is_empty() {
        reasons.push(DynamicReason::LoadsAtRuntime { functions: loads });
    }
    if reasons.is_empty() {
        reasons.push(DynamicReason::OnlyLibc);
    }
    reasons
}
