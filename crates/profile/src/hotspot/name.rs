//! Readable class names.

/// Converts the VM's class name: `app/A$Inner`, `[Ljava/lang/String;`,
/// `app/A$$Lambda$85+0x00007faad40a2eb0`. Drops the address and number of a class generated at run time:
/// they differ between runs.
pub(super) fn class_name(internal: &str) -> String {
    let element = internal.trim_start_matches('[');
    let dimensions = internal.len() - element.len();
    let base = match element {
        _ if dimensions == 0 => element,
        "B" => "byte",
        "C" => "char",
        "D" => "double",
        "F" => "float",
        "I" => "int",
        "J" => "long",
        "S" => "short",
        "Z" => "boolean",
        _ => element.strip_prefix('L').and_then(|name| name.strip_suffix(';')).unwrap_or(element),
    };
    let end = ["+0x", "/0x", ".0x"].iter().filter_map(|address| base.find(address)).min();
    let base = &base[..end.unwrap_or(base.len())];
    let end = base.find("$$Lambda").map(|at| at + "$$Lambda".len());
    let base = &base[..end.unwrap_or(base.len())];
    base.replace('/', ".") + &"[]".repeat(dimensions)
}

#[cfg(test)]
mod tests {
    use super::class_name;

    #[test]
    fn classes_are_named_as_in_source() {
        for (internal, expected) in [
            ("java/lang/Object", "java.lang.Object"),
            ("[[Ljava/lang/String;", "java.lang.String[][]"),
            ("[B", "byte[]"),
            ("B", "B"),
            ("app/A$$Lambda$85+0x00007faad40a2eb0", "app.A$$Lambda"),
            ("app/A$$Lambda$85/0x00007faad40a2eb0", "app.A$$Lambda"),
            ("java/lang/invoke/LambdaForm$MH+0x1", "java.lang.invoke.LambdaForm$MH"),
            ("", ""),
        ] {
            assert_eq!(class_name(internal), expected);
        }
    }
}
