//! Topics: what code is for, judged by its names, for readers who do not know a profile's functions.

use record::Profile;

/// Which name is searched.
enum NameKind {
    /// Function, or its source file.
    Function,
    Module,
    Thread,
}
use NameKind::{Function, Module, Thread};

/// Topics, each with parts of names known from runtimes and libraries; the first match wins.
const TOPICS: &[(&str, NameKind, &[&str])] = &[
    ("garbage collection", Thread, &["GC Thread", "G1 ", "ZWorker", "ZDriver", "Shenandoah", "ParGC"]),
    ("compilation of the JVM", Thread, &["C1 Compiler", "C2 Compiler", "JVMCI"]),
    (
        "garbage collection",
        Function,
        &[
            "runtime.gcBgMark",
            "runtime.gcDrain",
            "runtime.gcAssist",
            "runtime.scanobject",
            "runtime.bgsweep",
            "v8::internal::MarkCompact",
            "v8::internal::Scavenge",
            "v8::internal::Scavenger",
            "v8::internal::Heap::Collect",
            "gc_collect_main",
            // HotSpot's serial collector has no thread of its own.
            "satisfy_failed_allocation",
            "do_collection",
            "DefNewGeneration::",
            "TenuredGeneration::collect",
            "VM_GenCollect",
            "VM_CollectForAllocation",
        ],
    ),
    (
        "lock spinning",
        Function,
        &[
            "queued_spin_lock_slowpath",
            "osq_lock",
            "mutex_spin_on_owner",
            "rwsem_spin_on_owner",
            "pthread_spin_lock",
            "runtime.procyield",
            "ObjectMonitor::TrySpin",
            "ObjectMonitor::try_spin",
            "SpinPause",
            "s_lock",
            "perform_spin_delay",
        ],
    ),
    ("page faults", Function, &["handle_mm_fault", "exc_page_fault", "do_user_addr_fault"]),
    (
        "template rendering",
        Function,
        &[
            "thymeleaf",
            "freemarker",
            "velocity",
            "mustache",
            "mustachejava",
            "handlebars",
            "jinja2",
            "django/template",
            "html/template",
            "text/template",
            "askama",
            "minijinja",
            "tera::",
            "pug",
            "ejs/",
        ],
    ),
    (
        "JSON",
        Function,
        &[
            "fasterxml.jackson",
            "google.gson",
            "eclipse.yasson",
            "jakarta.json",
            "javax.json",
            "serde_json",
            "simd_json",
            "encoding/json",
            "json/encoder",
            "json/decoder",
            "v8::internal::Json",
            "cJSON_",
            "rapidjson",
            "nlohmann",
            "yyjson",
        ],
    ),
    ("JSON", Module, &["_json.cpython", "orjson", "ujson", "libjansson"]),
    ("compression", Module, &["libz.so", "libzstd", "libbrotli", "liblz4"]),
    (
        "compression",
        Function,
        &["deflate", "inflate_", "flate2", "compress/flate", "compress/gzip", "ZSTD_", "Brotli"],
    ),
    ("cryptography", Module, &["libcrypto", "libssl", "libgnutls", "libsodium"]),
    (
        "cryptography",
        Function,
        &[
            "javax.crypto",
            "sun.security.",
            "com.sun.crypto",
            "bcrypt",
            "jbcrypt",
            "argon2",
            "scrypt",
            "sha256",
            "sha512",
            "crypto/tls",
            "crypto/internal",
            "crypto/rsa",
            "crypto/elliptic",
            "rustls",
            "aes_gcm",
            "ring_core",
        ],
    ),
    (
        "regular expressions",
        Function,
        &[
            "java.util.regex",
            "regex_automata",
            "regexp.(",
            "pcre2_",
            "v8::internal::RegExp",
            "v8::internal::Irregexp",
            "Builtins_RegExp",
            "regular expression",
            "_sre",
        ],
    ),
    (
        "logging",
        Function,
        &["logback", "logging.log4j", "java.util.logging", "logging/__init__", "zap.(", "zerolog", "logrus"],
    ),
    (
        "mapping of objects to rows",
        Function,
        &[
            "org.hibernate",
            "sqlalchemy",
            "django/db",
            "active_record",
            "gorm.io",
            "diesel::",
            "org.springframework.data",
        ],
    ),
    (
        "the database's driver",
        Function,
        &[
            "org.postgresql",
            "com.mysql",
            "com.zaxxer.hikari",
            "org.h2.",
            "psycopg",
            "asyncpg",
            "jackc/pgx",
            "lib/pq",
            "tokio_postgres",
        ],
    ),
    ("the database's driver", Module, &["libpq.so", "libmysqlclient"]),
    ("SQLite", Function, &["sqlite3"]),
    ("PHP code", Function, &["execute_ex"]),
    ("Perl code", Function, &["Perl_runops_standard"]),
    ("Ruby code", Function, &["rb_vm_exec", "vm_exec_core"]),
    ("Lua code", Function, &["luaV_execute"]),
    (
        "memory allocation",
        Function,
        &[
            "runtime.mallocgc",
            "_int_malloc",
            "_int_free",
            "malloc_consolidate",
            "je_malloc",
            "je_mallocx",
            "mi_malloc",
            "tcmalloc",
            "__libc_malloc",
            "__libc_free",
            "__rust_alloc",
            "CollectedHeap::",
            "MemAllocator::",
        ],
    ),
];
/// Topics of kernel functions only; anything else in the kernel is a system call.
const KERNEL_TOPICS: &[(&str, &[&str])] = &[
    (
        "the kernel's network",
        &["tcp_", "ip_", "ip6_", "inet_", "sock_", "udp_", "net_rx", "napi_", "skb_", "unix_stream"],
    ),
    (
        "switching threads",
        &["__schedule", "schedule_", "try_to_wake_up", "finish_task_switch", "futex_wake", "futex_wait"],
    ),
];
const KERNEL_MODULE: &str = "[kernel]";
/// Topic of system calls without another topic.
const SYSTEM_CALLS: &str = "calls to the kernel";

/// The topics of a profile's functions and threads.
pub struct Topics {
    functions: Vec<Option<&'static str>>,
    threads: Vec<Option<&'static str>>,
}

impl Topics {
    pub fn of(profile: &Profile) -> Self {
        let function = |function: &record::CodeFunction| {
            let (name, library) = (function.name.as_str(), profile.module(function.module));
            if library == KERNEL_MODULE {
                let begins = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
                let known = KERNEL_TOPICS.iter().find(|(_, starts)| begins(starts)).map(|(topic, _)| *topic);
                return topic(&Function, name).or(known).or(Some(SYSTEM_CALLS));
            }
            let file = function.file.as_deref().unwrap_or("");
            topic(&Function, name).or_else(|| topic(&Module, library)).or_else(|| topic(&Function, file))
        };
        Self {
            functions: profile.functions.iter().map(function).collect(),
            threads: profile.threads.iter().map(|name| topic(&Thread, name)).collect(),
        }
    }

    /// The topic of a stack (innermost function first), and the outermost function with the same topic: how
    /// the stack came there. The innermost function with a topic decides; within the kernel, any topic
    /// beats that of system calls.
    pub fn of_stack(&self, thread: u32, frames: &[u32]) -> Option<(&'static str, Option<u32>)> {
        let of = |frame: &u32| self.functions.get(*frame as usize).copied().flatten();
        if let Some(topic) = self.threads.get(thread as usize).copied().flatten() {
            return Some((topic, None));
        }
        let first = frames.iter().find_map(of)?;
        let better = frames.iter().map_while(|frame| of(frame).filter(|topic| is_of_kernel(topic)));
        let topic = if first == SYSTEM_CALLS {
            better.into_iter().find(|topic| *topic != SYSTEM_CALLS).unwrap_or(SYSTEM_CALLS)
        } else {
            first
        };
        Some((topic, frames.iter().rev().find(|frame| of(frame) == Some(topic)).copied()))
    }
}

fn is_of_kernel(topic: &str) -> bool {
    topic == SYSTEM_CALLS
        || KERNEL_TOPICS.iter().any(|(known, _)| *known == topic)
        || matches!(topic, "lock spinning" | "page faults")
}

fn topic(of: &NameKind, name: &str) -> Option<&'static str> {
    let fits = |(_, place, parts): &&(&str, NameKind, &[&str])| {
        std::mem::discriminant(place) == std::mem::discriminant(of)
            && parts.iter().any(|part| has_words(name, part))
    };
    TOPICS.iter().find(fits).map(|(topic, ..)| *topic)
}

/// Whether a name contains these as whole words: `s_lock` is not in `is_locked`. A new word begins with a
/// capital after a lowercase letter, and between letters and other characters.
fn has_words(name: &str, words: &str) -> bool {
    let goes_on = |from: Option<char>, to: Option<char>| match (from, to) {
        (Some(from), Some(to)) => {
            from.is_alphabetic() && to.is_alphabetic() && (to.is_lowercase() || from.is_uppercase())
        }
        _ => false,
    };
    let (first, last) = (words.chars().next(), words.chars().next_back());
    name.match_indices(words).any(|(at, _)| {
        let (before, after) = (&name[..at], &name[at + words.len()..]);
        !goes_on(before.chars().next_back(), first) && !goes_on(last, after.chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_by_whole_words() {
        for (name, expected) in [
            ("s_lock", Some("lock spinning")),
            ("s_lock.isra.0", Some("lock spinning")),
            ("is_locked", None),
            ("is_lock", None),
            ("s_locked", None),
            ("native_queued_spin_lock_slowpath", Some("lock spinning")),
            ("ObjectMonitor::TrySpin_VaryDuration", Some("lock spinning")),
            ("runtime.gcBgMarkWorker", Some("garbage collection")),
            ("v8::internal::MarkCompactCollector::MarkLiveObjects", Some("garbage collection")),
            ("v8::internal::ScavengerCollector::CollectGarbage", Some("garbage collection")),
            ("/app/node_modules/ejs/lib/ejs.js", Some("template rendering")),
            ("/app/nodejs/main.js", None),
            ("pugi::xml_node::child", None),
            ("<serde_json::Error as core::fmt::Display>::fmt", Some("JSON")),
            ("org.eclipse.yasson.internal.JsonBinding.toJson", Some("JSON")),
            ("deflateInit2_", Some("compression")),
            ("java.util.zip.Deflater.deflateBytesBytes", Some("compression")),
            ("sha256_block_data_order_avx2", Some("cryptography")),
            ("org.mindrot.jbcrypt.BCrypt.hashpw", Some("cryptography")),
            ("fscrypt_setup_encryption_info", None),
            ("string_core::push", None),
            ("psycopg2.extensions.execute", Some("the database's driver")),
            ("sqlite3VdbeExec", Some("SQLite")),
            ("Builtins_RegExpExecInternal", Some("regular expressions")),
            ("execute_ex", Some("PHP code")),
            ("je_mallocx", Some("memory allocation")),
            // WildFly's "memory allocation" was its serial collector.
            ("GenCollectedHeap::satisfy_failed_allocation", Some("garbage collection")),
            ("DefNewGeneration::collect", Some("garbage collection")),
            ("VM_GenCollectForAllocation::doit", Some("garbage collection")),
            ("GenCollectedHeap::mem_allocate_work", Some("memory allocation")),
            ("", None),
        ] {
            assert_eq!(topic(&Function, name), expected, "{name}");
        }
        assert_eq!(topic(&Thread, "C2 CompilerThre"), Some("compilation of the JVM"));
        assert_eq!(topic(&Module, "libjansson.so.4"), Some("JSON"));
    }
}
