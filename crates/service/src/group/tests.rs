use super::*;

fn all_limits() -> ResourceLimits {
    ResourceLimits { cpus: Some(1.5), memory: Some(Bytes(64 << 20)), pids: Some(100), cores: Vec::new() }
}

fn text(path: PathBuf) -> String {
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// A version 2 hierarchy as on a machine with systemd, with a session two groups deep.
fn unified() -> (tempfile::TempDir, String) {
    let root = tempfile::tempdir().expect("the temporary folder is writable");
    let session = root.path().join("user.slice/session-1.scope");
    fs::create_dir_all(&session).expect("ours");
    for (group, control) in [
        (root.path(), "cpu memory pids"),
        (session.parent().expect("it has one"), "memory pids"),
        (&session, ""),
    ] {
        fs::write(group.join("cgroup.subtree_control"), control).expect("ours");
        fs::write(group.join("cgroup.procs"), "").expect("ours");
    }
    let mounts = format!(
        "22 1 0:20 / /proc rw - proc proc rw\n30 1 0:26 / {} rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
        root.path().display()
    );
    (root, mounts)
}

#[test]
fn version_2_uses_the_nearest_group_that_gives_the_controller_on() {
    let (root, mounts) = unified();
    let own = "0::/user.slice/session-1.scope\n";
    // A process is in one group only: all controllers in one group where possible.
    assert_eq!(one_parent(parse_parents(Path::new("/"), &mounts, own, &all_limits())).folder, root.path());
    let limits = ResourceLimits { cpus: None, ..all_limits() };
    let parent = one_parent(parse_parents(Path::new("/"), &mounts, own, &limits));
    assert_eq!(parent.folder, root.path().join("user.slice"));
    assert_eq!(parent.controllers, ["memory", "pids"]);
    let group = parent.group("torment-x");
    // The kernel creates a group's files with it.
    let made = std::thread::spawn({
        let group = group.clone();
        move || {
            while !group.is_dir() {
                std::thread::yield_now();
            }
            fs::write(group.join("cgroup.procs"), "").expect("ours");
            fs::write(group.join("memory.swap.max"), "max").expect("ours");
        }
    });
    let _ = parent.make("torment-x", &limits);
    made.join().expect("it writes two files");
    assert_eq!(text(group.join("memory.max")), (64 << 20).to_string());
    assert_eq!(text(group.join("pids.max")), "100");
}

fn one_parent(parents: Result<Vec<GroupParent>, String>) -> GroupParent {
    let parents = parents.expect("they can be made");
    assert_eq!(parents.len(), 1);
    parents.into_iter().next().expect("one")
}

#[test]
fn what_is_written() {
    let parent = |unified| GroupParent { folder: PathBuf::new(), unified, controllers: Vec::new() };
    let values = |unified: bool| -> Vec<(&str, String)> {
        let each = ["cpu", "memory", "pids"].into_iter();
        each.flat_map(|c| parent(unified).values(c, &all_limits()))
            .map(|(file, value, _)| (file, value))
            .collect()
    };
    let mib = (64 << 20).to_string();
    assert_eq!(
        values(true),
        [
            ("cpu.max", "150000 100000".to_owned()),
            ("memory.max", mib.clone()),
            ("memory.swap.max", "0".to_owned()),
            ("pids.max", "100".to_owned()),
        ]
    );
    assert_eq!(
        values(false),
        [
            ("cpu.cfs_period_us", "100000".to_owned()),
            ("cpu.cfs_quota_us", "150000".to_owned()),
            ("memory.limit_in_bytes", mib.clone()),
            ("memory.memsw.limit_in_bytes", mib),
            ("pids.max", "100".to_owned()),
        ]
    );
}

#[test]
fn what_is_missing_is_said() {
    let (_root, mounts) = unified();
    let error = parse_parents(Path::new("/"), &mounts.replace("cgroup2", "tmpfs"), "0::/\n", &all_limits())
        .expect_err("nothing is mounted");
    assert!(error.contains("'cpu, memory, pids' are mounted"), "{error}");
    let (root, mounts) = unified();
    fs::write(root.path().join("cgroup.subtree_control"), "memory").expect("ours");
    let error = parse_parents(Path::new("/"), &mounts, "0::/user.slice/session-1.scope\n", &all_limits())
        .expect_err("cpu is not given on");
    assert!(error.contains("gives 'cpu, memory, pids' on") && error.contains("Delegate=yes"), "{error}");
}

#[test]
fn version_1_is_below_the_own_group() {
    let root = tempfile::tempdir().expect("the temporary folder is writable");
    let memory = root.path().join("memory/jobs/1");
    fs::create_dir_all(&memory).expect("ours");
    fs::create_dir_all(root.path().join("cpu,cpuacct")).expect("ours");
    let at = root.path().display();
    let mounts = format!(
        "30 1 0:26 / {at}/memory rw - cgroup cgroup rw,memory\n31 1 0:27 /docker/a {at}/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    );
    let own = "4:memory:/jobs/1\n2:cpu,cpuacct:/docker/a\n0::/\n";
    let limits = ResourceLimits { pids: None, ..all_limits() };
    let parents = parse_parents(Path::new("/"), &mounts, own, &limits).expect("both are there");
    let folders: Vec<_> = parents.iter().map(|p| p.folder.clone()).collect();
    assert_eq!(folders, [root.path().join("cpu,cpuacct"), memory]);
    assert!(parents.iter().all(|place| !place.unified));
}
