use crate::{Architecture, Binary, LoaderCache};

/// Input to the loader's search for a library.
#[derive(Debug, Clone, Copy)]
pub struct LibrarySearch<'a> {
    /// The file that needs it.
    pub binary: &'a Binary,
    /// That file's folder, for `$ORIGIN`.
    pub origin: &'a str,
    /// The program's loader.
    pub interpreter: Option<&'a str>,
    /// The environment's `LD_LIBRARY_PATH`.
    pub library_path: Option<&'a str>,
    /// `/etc/ld.so.cache`.
    pub cache: &'a LoaderCache,
    /// `/etc/ld-musl-ARCH.path`, which musl's loader reads instead.
    pub musl_path: Option<&'a str>,
}

/// The files that the loader would try for the library `name`, in its order (ld.so(8)); the first that exists and is
/// for the same architecture is the one. Default folders differ between distributions: all the usual
/// ones are included.
pub fn library_candidates(name: &str, search: &LibrarySearch<'_>) -> Vec<String> {
    if name.contains('/') {
        return vec![name.to_owned()];
    }
    let musl = search.interpreter.is_some_and(|loader| loader.contains("ld-musl-"));
    if musl && (name == "libc.so" || name.starts_with("libc.musl-")) {
        // musl's loader is its C library.
        return search.interpreter.map(str::to_owned).into_iter().collect();
    }
    let within = |folders: &str| -> Vec<String> {
        let folders = folders.split([':', ';', '\n']).filter(|folder| !folder.is_empty());
        folders.map(|folder| format!("{}/{name}", expand(folder, search))).collect()
    };
    let of = |folders: Option<&str>| folders.map(within).unwrap_or_default();
    // RPATH counts only without a RUNPATH.
    let rpath = search.binary.rpath.as_deref().filter(|_| search.binary.runpath.is_none());
    let mut candidates = of(rpath);
    candidates.extend(of(search.library_path));
    candidates.extend(of(search.binary.runpath.as_deref()));
    if musl {
        candidates.extend(of(search.musl_path.or(Some("/lib:/usr/local/lib:/usr/lib"))));
    } else {
        candidates.extend(search.cache.paths(name).map(str::to_owned));
        for folder in default_folders(search.binary) {
            candidates.push(format!("{folder}/{name}"));
        }
    }
    candidates
}

fn expand(folder: &str, search: &LibrarySearch<'_>) -> String {
    let lib = if search.binary.bits == 64 { "lib64" } else { "lib" };
    let platform = match search.binary.machine {
        Architecture::X86_64 => "x86_64",
        Architecture::AARCH64 => "aarch64",
        _ => "",
    };
    [("ORIGIN", search.origin), ("LIB", lib), ("PLATFORM", platform)].into_iter().fold(
        folder.to_owned(),
        |text, (name, value)| {
            text.replace(&format!("${{{name}}}"), value).replace(&format!("${name}"), value)
        },
    )
}

/// Debian's multiarch folders, then everyone else's.
fn default_folders(binary: &Binary) -> Vec<String> {
    let triplet = match (binary.machine, binary.bits) {
        (Architecture::X86_64, 64) => Some("x86_64-linux-gnu"),
        (Architecture::X86_64, _) => Some("x86_64-linux-gnux32"),
        (Architecture::AARCH64, _) => Some("aarch64-linux-gnu"),
        (Architecture(3), _) => Some("i386-linux-gnu"),
        _ => None,
    };
    let debian = triplet.into_iter().flat_map(|t| [format!("/lib/{t}"), format!("/usr/lib/{t}")]);
    let wide = if binary.bits == 64 { &["/lib64", "/usr/lib64"][..] } else { &[] };
    let all = wide.iter().chain(&["/lib", "/usr/lib"]).map(|folder| (*folder).to_owned());
    debian.chain(all).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Linkage;

    fn program() -> Binary {
        Binary {
            bits: 64,
            big_endian: false,
            machine: Architecture::X86_64,
            kind: Linkage::Dynamic { pie: true },
            interpreter: None,
            soname: None,
            needed: Vec::new(),
            runpath: None,
            rpath: None,
            undefined: None,
            exported: Vec::new(),
            has_symbols: false,
            has_debug: false,
            build_id: None,
            problems: Vec::new(),
        }
    }

    #[test]
    fn the_loaders_order() {
        let cache = LoaderCache::default();
        let mut needs = program();
        needs.rpath = Some("/old".to_owned());
        fn at<'a>(needs: &'a Binary, cache: &'a LoaderCache) -> LibrarySearch<'a> {
            LibrarySearch {
                binary: needs,
                origin: "/opt/bin",
                interpreter: Some("/lib64/ld-linux-x86-64.so.2"),
                library_path: Some("/mine::/other"),
                cache,
                musl_path: None,
            }
        }
        let found = library_candidates("libx.so", &at(&needs, &cache));
        assert_eq!(found[..3], ["/old/libx.so", "/mine/libx.so", "/other/libx.so"]);
        assert!(found.contains(&"/lib64/libx.so".to_owned()));
        needs.runpath = Some("$ORIGIN/../${LIB}".to_owned());
        let found = library_candidates("libx.so", &at(&needs, &cache));
        assert_eq!(found[..3], ["/mine/libx.so", "/other/libx.so", "/opt/bin/../lib64/libx.so"]);
        assert_eq!(library_candidates("/abs/libx.so", &at(&needs, &cache)), ["/abs/libx.so"]);
    }

    #[test]
    fn the_loader_of_musl_is_its_library() {
        let (cache, needs) = (LoaderCache::default(), program());
        let at = LibrarySearch {
            binary: &needs,
            origin: "/",
            interpreter: Some("/lib/ld-musl-x86_64.so.1"),
            library_path: None,
            cache: &cache,
            musl_path: Some("/a\n/b\n"),
        };
        assert_eq!(library_candidates("libc.musl-x86_64.so.1", &at), ["/lib/ld-musl-x86_64.so.1"]);
        assert_eq!(library_candidates("libz.so.1", &at), ["/a/libz.so.1", "/b/libz.so.1"]);
    }
}
