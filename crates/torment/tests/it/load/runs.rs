//! Runs are named, found and compared by the real binary.

use crate::program::target::TargetProcess;
use crate::program::{LoadTurn, Sandbox};
use serde_json::Value;

/// A short load with this name.
fn run(sandbox: &Sandbox, target: &str, name: &str) {
    let arguments =
        ["run", target, "-r", "200", "-d", "8s", "--name", name, "--tag", "pool=10", "--tag", "nightly"];
    let (ended, json) = sandbox.load(arguments);
    assert!([0, 99].contains(&ended.code()), "{ended}");
    assert_eq!((&json["name"], &json["tags"][0]), (&name.into(), &"pool=10".into()), "{ended}");
}

fn ids(list: &Value) -> Vec<String> {
    let runs = list["runs"].as_array().expect("a list");
    runs.iter().map(|run| run["id"].as_str().expect("an id").to_owned()).collect()
}

/// Whether it is a single XML element with all elements closed and all characters allowed; enough to tell whether a
/// name has escaped its place.
fn is_well_formed(xml: &str) -> bool {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = xml.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>").unwrap_or_default().trim();
    let mut elements = 0;
    while let Some((text, tail)) = rest.split_once('<') {
        let ends: Vec<&str> =
            text.split('&').skip(1).filter_map(|part| part.split_once(';').map(|(name, _)| name)).collect();
        let known =
            |name: &&str| matches!(*name, "amp" | "lt" | "gt" | "quot" | "apos") || name.starts_with('#');
        if text.contains('>') || text.matches('&').count() != ends.len() || !ends.iter().all(known) {
            return false;
        }
        let Some((tag, after)) = tail.split_once('>') else { return false };
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop() != Some(name) {
                return false;
            }
        } else {
            // Attributes: quotes are balanced, and none contains the beginning of an element.
            if tag.matches('"').count() % 2 != 0 || tag.contains('<') {
                return false;
            }
            elements += 1;
            if !tag.ends_with('/') {
                open.push(tag.split_whitespace().next().unwrap_or_default());
            }
        }
        rest = after;
    }
    open.is_empty() && rest.trim().is_empty() && elements > 0
}

/// Failed once because of a single answer of 41 ms: ten times a tenth of a second exceeds whatever a busy machine adds.
#[test]
fn a_slower_target_is_worse_than_the_baseline() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let target = TargetProcess::start(&sandbox, &["--model", "async"]);
    run(&sandbox, &target.url("/delay?ms=100"), "before");
    run(&sandbox, &target.url("/delay?ms=100"), "again <b>&\"'|");
    run(&sandbox, &target.url("/delay?ms=1000"), "after");

    // By name, by number and by prefix they are the same runs.
    let listed = sandbox.torment(["list", "--format", "json"]).expect(0).json();
    let ids = ids(&listed);
    for (asked, expected) in
        [("after", 0), ("last", 0), ("last~1", 1), ("again <b>&\"'|", 1), ("before", 2), ("last~2", 2)]
    {
        let (_, shown) = sandbox.json(["show", asked]);
        assert_eq!(shown["id"], *ids[expected], "{asked}");
    }

    let junit = sandbox.path("report.xml");
    let path = junit.to_str().expect("UTF-8");
    let worse = sandbox.torment(["compare", "--baseline", "before", "after", "--junit", path]);
    assert_eq!(worse.code(), 90, "{worse}");
    assert!(worse.stdout.contains("“after” is slower: p50"), "{worse}");
    let xml = std::fs::read_to_string(&junit).expect("it was asked for");
    assert!(is_well_formed(&xml), "{xml}");
    assert!(xml.contains("<failure message=\"worse: response p50 ×"), "{xml}");

    // Without a baseline it is only reported.
    let said = sandbox.torment(["compare", "before", "after"]).expect(0);
    assert!(said.stdout.contains("slower"), "{said}");
    // The other way round it is better, even if twice as much counts as noise.
    let better = sandbox.torment(["compare", "--baseline", "after", "last~2", "--tolerance", "100%"]);
    // The first second of the slow one has no answer: its throughput may stay undecided.
    assert!([0, 91].contains(&better.code()), "{better}");
    assert!(better.stdout.contains("faster") || better.stdout.contains("better: p50"), "{better}");

    // As much again is more than a busy machine adds: these two are the same, or undecided.
    let same = sandbox.torment([
        "compare",
        "--baseline",
        "before",
        "again <b>&\"'|",
        "--tolerance",
        "100%",
        "--junit",
        path,
    ]);
    assert!([0, 91].contains(&same.code()), "{same}");
    let xml = std::fs::read_to_string(&junit).expect("it was asked for");
    assert!(is_well_formed(&xml) && xml.contains("again &lt;b&gt;&amp;&quot;&apos;|"), "{xml}");

    let (_, json) = sandbox.json(["compare", "before", "after"]);
    assert_eq!(
        (&json["standing"], &json["verdicts"][0]["standing"]),
        (&"worse".into(), &"worse".into()),
        "{json:#}"
    );
    let measures = json["measures"].as_array().expect("a list");
    let p50 = measures.iter().find(|measure| measure["id"] == "response_p50").expect("it was measured");
    let factor = p50["differences"][1]["factor"].as_f64().expect("a number");
    assert!((5.0..11.0).contains(&factor), "1 s against 100 ms: {p50:#}");

    let csv =
        sandbox.torment(["compare", "before", "again <b>&\"'|", "after", "--format", "csv"]).expect(0).stdout;
    let rows: Vec<Vec<String>> = csv.lines().map(cells).collect();
    assert!(rows.len() > 10 && rows.iter().all(|row| row.len() == rows[0].len()), "{csv}");
    assert!(rows.iter().any(|row| row[1] == "again <b>&\"'|"), "{csv}");
    let markdown = sandbox.torment(["compare", "before", "after", "--format", "markdown"]).expect(0).stdout;
    assert!(markdown.contains("| measure | before | after |\n| --- | --- | --- |"), "{markdown}");
    let single = sandbox.torment(["show", "after", "--format", "markdown"]).expect(0).stdout;
    assert!(single.contains("| response p99 |"), "{single}");
    let seconds = sandbox.torment(["show", "after", "--format", "ndjson"]).expect(0).stdout;
    let first: Value = serde_json::from_str(seconds.lines().next().expect("a second")).expect("is JSON");
    assert!(seconds.lines().count() >= 8 && first["second"] == 0, "{seconds}");

    let shown = sandbox.torment(["show", "after"]).expect(0).stdout;
    assert!(shown.contains('█') && shown.contains("p99"), "{shown}");
    let plain = sandbox.torment(["show", "after", "--plain"]).expect(0).stdout;
    assert!(!plain.contains('█') && plain.contains('#'), "{plain}");
}

/// Bad arguments are rejected, with these words, before anything is done.
#[track_caller]
fn refused(sandbox: &Sandbox, arguments: &[&str], words: &[&str]) {
    let ended = sandbox.torment(arguments.iter().copied());
    assert_eq!(ended.code(), 2, "{ended}");
    assert!(words.iter().all(|word| ended.stderr.contains(word)), "{ended}");
}

/// The cells of a CSV line.
fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                cell.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(std::mem::take(&mut cell)),
            letter => cell.push(letter),
        }
    }
    assert!(!quoted, "a quote is open: {line}");
    cells.push(cell);
    cells
}

#[test]
fn runs_are_named_tagged_and_listed() {
    let sandbox = Sandbox::new();
    let git = |words: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.current_dir(sandbox.path(".")).args(["-c", "user.name=n", "-c", "user.email=e"]).args(words);
        // If a git hook runs the tests, these name another repository.
        git.env_remove("GIT_DIR").env_remove("GIT_WORK_TREE").env_remove("GIT_INDEX_FILE");
        Some(String::from_utf8(git.output().ok()?.stdout).expect("git says text").trim().to_owned())
    };
    git(&["init"]);
    git(&["commit", "--allow-empty", "--message=one"]);
    // Where git is not installed, a run has none.
    let commit = git(&["rev-parse", "--short=12", "HEAD"]);
    let short = |more: &[&str]| {
        let arguments = [&["run", "null", "-r", "100", "-d", "100ms"][..], more].concat();
        sandbox.torment(arguments).measured();
    };
    short(&["--name", "one", "--tag", "pool=10"]);
    short(&["--name", "two", "--tag", "pool=20", "--tag", "nightly"]);
    short(&[]);
    let names = |more: &[&str]| -> Vec<Value> {
        let arguments = [&["list", "--format", "json"][..], more].concat();
        let list = sandbox.torment(arguments).expect(0).json();
        list["runs"].as_array().expect("a list").iter().map(|run| run["name"].clone()).collect()
    };
    let (one, two) = (Value::from("one"), Value::from("two"));
    assert_eq!(names(&[]), [Value::Null, two.clone(), one.clone()]);
    assert_eq!(names(&["--name", "one"]), std::slice::from_ref(&one));
    assert_eq!(names(&["--tag", "pool"]), [two.clone(), one.clone()]);
    assert_eq!(names(&["--tag", "pool", "--tag", "nightly"]), std::slice::from_ref(&two));
    assert_eq!(names(&["--since", "1h", "--limit", "1"]), [Value::Null]);
    assert_eq!(names(&["--target", "elsewhere"]), [Value::Null; 0]);
    assert_eq!(names(&["--command", "find"]), [Value::Null; 0]);
    assert_eq!(names(&["--verdict", "running"]), [Value::Null; 0]);
    let list = sandbox.torment(["list", "--tag", "nightly"]).expect(0).stdout;
    assert!(list.contains("two") && list.contains("pool=20  nightly"), "{list}");
    let none = sandbox.torment(["list", "--name", "three"]).expect(0).stdout;
    assert!(none.contains("no run matches"), "{none}");
    let csv = sandbox.torment(["list", "--format", "csv"]).expect(0).stdout;
    let rows: Vec<Vec<String>> = csv.lines().map(cells).collect();
    assert!(rows.len() == 4 && rows.iter().all(|row| row.len() == rows[0].len()), "{csv}");
    assert_eq!(
        sandbox.json(["show", "two"]).1["commit"].as_str(),
        commit.as_deref(),
        "of the folder that torment was started in"
    );
    let shown = sandbox.torment(["show", "two"]).expect(0).stdout;
    let commit = commit.map(|commit| format!(" · commit {commit}")).unwrap_or_default();
    assert!(shown.contains(&format!(" · two{commit} · pool=20 · nightly")), "{shown}");

    sandbox.torment(["name", "last", "three"]).expect(0);
    sandbox.torment(["tag", "three", "pool=30", "nightly"]).expect(0);
    sandbox.torment(["tag", "three", "nightly", "--remove"]).expect(0);
    let (_, shown) = sandbox.json(["show", "three"]);
    assert_eq!(
        (&shown["name"], &shown["tags"]),
        (&"three".into(), &serde_json::json!(["pool=30"])),
        "{shown:#}"
    );
    sandbox.torment(["name", "three", "--remove"]).expect(0);
    sandbox.torment(["show", "three"]).expect_error(1, &["no run 'three'", "torment list"]);
    sandbox
        .torment(["show", "twoo"])
        .expect_error(1, &["no run 'twoo' among the 3 kept", "did you mean two?"]);

    refused(
        &sandbox,
        &["run", "null", "-r", "1", "--name", "last"],
        &["last and last~N mean the latest runs"],
    );
    refused(&sandbox, &["run", "null", "-r", "1", "--tag", "two words"], &["it contains a space"]);
    sandbox.torment(["compare", "one"]).expect_error(2, &["one run to compare; expected two to 8"]);
    sandbox.torment(["compare", "one", "three"]).expect_error(1, &["no run 'three'"]);
    sandbox
        .torment(["compare", "one", "there.json"])
        .expect_error(1, &["no file 'there.json'", "torment list"]);
    sandbox
        .torment(["run", "null", "-r", "1", "--format", "csv"])
        .expect_error(2, &["--format csv", "compare, list and show"]);
    refused(&sandbox, &["list", "--since", "yesterday"], &["'yesterday' is not a moment"]);
    sandbox
        .torment(["show", "two", "--logs", "--format", "csv"])
        .expect_error(2, &["logs are printed as text only"]);
}

#[test]
fn this_test_can_tell_xml_from_what_only_looks_like_it() {
    let xml =
        |inside: &str| is_well_formed(&format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{inside}\n"));
    for good in ["<a/>", "<a b=\"c\"><d/>x &lt; y</a>"] {
        assert!(xml(good), "{good}");
    }
    for bad in ["", "<a>", "<a></b>", "<a>x & y</a>", "<a b=\"c\"d\"/>", "<a>x > y</a>", "<a/>x"] {
        assert!(!xml(bad), "{bad}");
    }
}
