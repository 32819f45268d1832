//! From a program of a plan to an executable one.

use crate::Error;
use crate::guard_protocol::LaunchSpec;
use plan::{Program, RenderContext, Template};
use rustix::fs::{Access, access};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The command word that means this program itself.
const OWN_COMMAND: &str = "torment";

/// The template's text, once the plan is bound: it belongs to no particular arrival.
fn render_text(template: &Template) -> OsString {
    let mut out = Vec::new();
    template.render(&RenderContext { number: 0, seed: 0, extracted: &[] }, 0, &mut out);
    OsString::from_vec(out)
}

/// Absolute, so that it means the same in the guard's working directory.
pub fn folder(program: &Program) -> Result<PathBuf, Error> {
    std::path::absolute(if program.folder.is_empty() { "." } else { &program.folder })
        .map_err(|e| Error::file(&program.name, &program.folder, e))
}

/// How to execute the program; `ourselves` is what `torment` means.
pub fn launch_spec(program: &Program, own_program: &Path) -> Result<LaunchSpec, Error> {
    let words: Vec<OsString> = program.command.iter().map(render_text).collect();
    let folder = folder(program)?;
    let file = |(path, content): &(String, Template)| (folder.join(path), render_text(content).into_vec());
    let files = program.files.iter().map(file).collect();
    Ok(LaunchSpec {
        files,
        limits: program.limits.clone(),
        stop: program.stop.clone(),
        grace: program.grace,
        line: match &program.ready {
            plan::ReadyCondition::Log(text) => Some(text.clone()),
            _ => None,
        },
        task: false,
        ..command_spec(program, own_program, words, folder)?
    })
}

/// How to execute the program that builds it; none if there is none.
pub fn prepare_spec(program: &Program, own_program: &Path) -> Result<Option<LaunchSpec>, Error> {
    if program.prepare.is_empty() {
        return Ok(None);
    }
    let words = program.prepare.iter().map(OsString::from).collect();
    Ok(Some(command_spec(program, own_program, words, folder(program)?)?))
}

/// As [`LaunchSpec::task`], in the program's environment.
fn command_spec(
    program: &Program,
    own_program: &Path,
    words: Vec<OsString>,
    folder: PathBuf,
) -> Result<LaunchSpec, Error> {
    let env: Vec<(OsString, OsString)> =
        program.env.iter().map(|(name, value)| (OsString::from(name), render_text(value))).collect();
    let path = env.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.clone());
    let path = path.or_else(|| std::env::var_os("PATH")).unwrap_or_default();
    let first = words.first().ok_or_else(|| Error::start(&program.name, "its command is empty"))?;
    let program_path = resolve_program(first, &folder, &path, own_program)
        .map_err(|why| Error::start(&program.name, why))?;
    Ok(LaunchSpec { env, ..LaunchSpec::task(&program.name, program_path, words, folder) })
}

/// The file that a command's first word refers to. With a slash it is below the folder, otherwise in PATH.
fn resolve_program(word: &OsStr, folder: &Path, path: &OsStr, own_program: &Path) -> Result<PathBuf, String> {
    if word == OWN_COMMAND {
        return Ok(own_program.to_owned());
    }
    let shown = word.display();
    if word.as_bytes().contains(&b'/') {
        let file = folder.join(word);
        return check_executable(&file)
            .map(|()| file.clone())
            .map_err(|why| format!("'{}' {why}", file.display()));
    }
    let mut refused = None;
    for file in std::env::split_paths(path).map(|place| folder.join(place).join(word)) {
        match check_executable(&file) {
            Ok(()) => return Ok(file),
            Err(why) if file.exists() => refused = refused.or(Some(format!("'{}' {why}", file.display()))),
            Err(_) => {}
        }
    }
    let local = folder.join(word);
    Err(refused.unwrap_or_else(|| match local.is_file() {
        true => format!("'{shown}' is not in PATH, but in its folder: write './{shown}'"),
        false => {
            format!("'{shown}' is not in PATH ({}): install it, or name it with its folder", path.display())
        }
    }))
}

fn check_executable(file: &Path) -> Result<(), String> {
    if !file.exists() {
        return Err("is not there".to_owned());
    }
    if !file.is_file() {
        return Err("is a folder, and a program is expected".to_owned());
    }
    access(file, Access::EXEC_OK)
        .map_err(|_| "may not be executed by this user: see its mode, `chmod +x` may help".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn programs_are_found_or_missed_in_words() {
        let temporary = tempfile::tempdir().expect("the temporary folder is writable");
        let bin = temporary.path().join("bin");
        fs::create_dir(&bin).expect("ours");
        for (name, mode) in [("runs", 0o755), ("data", 0o644)] {
            fs::write(bin.join(name), "#!/bin/sh\n").expect("ours");
            fs::set_permissions(bin.join(name), fs::Permissions::from_mode(mode)).expect("ours");
        }
        let found = |word: &str| {
            resolve_program(OsStr::new(word), temporary.path(), bin.as_os_str(), Path::new("/proc/self/exe"))
        };
        assert_eq!(found("torment"), Ok("/proc/self/exe".into()));
        assert_eq!(found("runs"), Ok(bin.join("runs")));
        assert_eq!(found("bin/runs"), Ok(temporary.path().join("bin/runs")));
        for (word, expected) in [
            ("data", "may not be executed"),
            ("bin/data", "may not be executed"),
            ("./absent", "is not there"),
            ("./bin", "is a folder"),
            ("absent", "is not in PATH"),
        ] {
            let why = found(word).expect_err(word);
            assert!(why.contains(expected), "{word}: {why}");
        }
        fs::write(temporary.path().join("near"), "").expect("ours");
        assert!(found("near").expect_err("not in PATH").contains("write './near'"));
    }
}
