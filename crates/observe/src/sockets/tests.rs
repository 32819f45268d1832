use super::*;
use crate::watch_scope::WatchedTree;
use record::watch::{TreeWindow, WatchedProcesses as About};
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Command, Stdio};

fn cast(pid: u32, listens: &[SocketAddr]) -> WatchedTree {
    let listens = listens.iter().map(ToString::to_string).collect();
    WatchedTree { about: About { pid, listens, ..About::default() }, pids: vec![pid] }
}

fn cut(sockets: &mut SocketSource, scene: &WatchScope) -> Window {
    let subjects = vec![TreeWindow::default(); scene.subjects.len()];
    let mut window = Window { subjects, ..Window::default() };
    sockets.cut(scene, &mut window);
    window
}

/// On an address that no other test uses: others' recently closed connections count, too.
fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.7.1:0").expect("a port is free");
    let at = listener.local_addr().expect("it is bound");
    (listener, at)
}

#[test]
fn queues_clients_and_peers() {
    let ((service, at), (downstream, there)) = (listen(), listen());
    let scene = WatchScope { subjects: vec![cast(std::process::id(), &[at])], ..WatchScope::default() };
    let mut sockets = SocketSource::new(vec![at]);
    let waiting: Vec<TcpStream> = (0..4).map(|_| TcpStream::connect(at).expect("there is room")).collect();
    let mut pool: Vec<TcpStream> =
        (0..3).map(|_| TcpStream::connect(there).expect("there is room")).collect();
    sockets.read(&scene);
    // A socket that is merely dropped stays open while another test's child, about to exec, has it too.
    let close = |stream: TcpStream| stream.shutdown(std::net::Shutdown::Both).expect("it is connected");
    for _ in 0..4 {
        close(service.accept().expect("there are four").0);
    }
    close(pool.pop().expect("there are three"));
    let (accepted, _) = downstream.accept().expect("there are some");
    let window = cut(&mut sockets, &scene);
    let part = &window.subjects[0];
    assert_eq!(part.listeners.len(), 1);
    assert_eq!(part.listeners[0].address, at.to_string());
    assert_eq!(part.listeners[0].queued, 4, "the most seen");
    assert!(part.listeners[0].backlog > 4, "{part:?}");
    let peer = part.peers.iter().find(|peer| peer.address == there.to_string()).expect("it was connected to");
    assert_eq!((peer.established, peer.least, peer.most), (2.5, 2, 3));
    assert_eq!(part.clients, 0, "they were accepted, and closed");
    assert_eq!(window.own.ports.used, 4, "also those that one end has closed");
    assert!(window.own.ports.limit > 1000);
    assert!(sockets.missing().is_empty());
    drop((waiting, accepted));
    assert_eq!(cut(&mut sockets, &scene).subjects[0].listeners[0].queued, 0, "it begins anew");
}

#[test]
fn queues_and_clients_of_a_local_socket() {
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("s");
    let listener = UnixListener::bind(&path).expect("the path is free");
    let address = format!("{LOCAL}{}", path.display());
    let about = About { listens: vec![address.clone()], ..About::default() };
    let subject = WatchedTree { about, pids: vec![std::process::id()] };
    let scene = WatchScope { subjects: vec![subject], ..WatchScope::default() };
    let mut sockets = SocketSource::default();
    let clients = [1, 2, 3].map(|_| UnixStream::connect(&path).expect("there is room"));
    sockets.read(&scene);
    let (accepted, _) = listener.accept().expect("there are three");
    let part = cut(&mut sockets, &scene).subjects.remove(0);
    assert_eq!(part.listeners.len(), 1, "{part:?}");
    assert_eq!((&part.listeners[0].address, part.listeners[0].queued), (&address, 3), "the most seen");
    assert!(part.listeners[0].backlog >= 3, "{part:?}");
    assert_eq!(part.clients, 3, "accepted or not");
    drop((clients, accepted));
}

#[test]
fn who_is_no_subject_has_no_peers() {
    let (_service, at) = listen();
    let (_other, there) = listen();
    let _connection = TcpStream::connect(there).expect("there is room");
    let client = TcpStream::connect(at).expect("there is room");
    let mut child = std::process::Command::new("sleep").arg("20").spawn().expect("there is sleep");
    let scene = WatchScope { subjects: vec![cast(child.id(), &[at])], ..WatchScope::default() };
    let part = cut(&mut SocketSource::default(), &scene).subjects.remove(0);
    child.kill().expect("it runs");
    child.wait().expect("it was started here");
    assert_eq!(part.clients, 1);
    assert_eq!(part.peers, [], "the connection is of another process");
    drop(client);
}

/// PgBouncer had ten connections to PostgreSQL, and up to eighteen were counted: another service made one
/// for each request.
#[test]
fn what_others_connect_to_the_same_address_is_not_the_subjects() {
    let (_downstream, there) = listen();
    let connected = || {
        let connect = format!("exec 3<>/dev/tcp/{}/{} && echo and && sleep 20", there.ip(), there.port());
        let mut child = Command::new("bash").args(["-c", &connect]).stdout(Stdio::piped()).spawn()?;
        child.stdout.as_mut().expect("it is piped").read_exact(&mut [0; 3]).map(|()| child)
    };
    let scene = WatchScope { subjects: vec![cast(std::process::id(), &[])], ..WatchScope::default() };
    let mut sockets = SocketSource::default();
    let mine = [(); 2].map(|()| TcpStream::connect(there).expect("there is room"));
    let mut others = vec![connected().expect("there is bash")];
    sockets.read(&scene);
    // Descriptors are not walked again within a second.
    others.push(connected().expect("there is bash"));
    let part = cut(&mut sockets, &scene).subjects.remove(0);
    for mut child in others {
        child.kill().expect("it runs");
        child.wait().expect("it was started here");
    }
    let peer = part.peers.iter().find(|peer| peer.address == there.to_string()).expect("it was connected to");
    assert_eq!((peer.established, peer.most), (2.0, 2), "{peer:?}");
    drop(mine);
}

#[test]
fn connections_that_ended_first_wait_at_their_end() {
    let (downstream, there) = listen();
    let scene = WatchScope { subjects: vec![cast(std::process::id(), &[])], ..WatchScope::default() };
    let mut sockets = SocketSource::default();
    let kept = TcpStream::connect(there).expect("there is room");
    sockets.read(&scene);
    for _ in 0..3 {
        let client = TcpStream::connect(there).expect("there is room");
        drop(client);
    }
    for _ in 0..4 {
        drop(downstream.accept().expect("there are four"));
    }
    // The last packets may still be in transit.
    let end = std::time::Instant::now() + Duration::from_secs(10);
    loop {
        let part = cut(&mut sockets, &scene).subjects.remove(0);
        let peer = part.peers.into_iter().find(|peer| peer.address == there.to_string());
        if peer.as_ref().is_some_and(|peer| peer.time_wait == 3) {
            break;
        }
        assert!(std::time::Instant::now() < end, "{peer:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(kept);
}
