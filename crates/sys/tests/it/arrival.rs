//! The kernel's timestamps of when bytes arrive.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// The timestamp precedes the read, however late that is, and follows the write.
#[test]
fn the_age_is_the_time_in_the_kernel() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
    torment_sys::enable_receive_timestamps(&listener).expect("the kernel is new enough");
    let mut client = TcpStream::connect(listener.local_addr().expect("it is bound")).expect("it listens");
    let (server, _) = listener.accept().expect("somebody connects");
    let mut buffer = [0; 100];
    // The kernel starts timestamping a moment after the first socket asks for it.
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let sending = Instant::now();
        client.write_all(b"12345").expect("it is open");
        let sent = Instant::now();
        std::thread::sleep(Duration::from_millis(20));
        let reading = Instant::now();
        let (n, age) = torment_sys::recv_with_age(&server, &mut buffer).expect("bytes");
        assert_eq!(&buffer[..n], b"12345");
        let Some(age) = age else {
            assert!(Instant::now() < deadline, "no stamp");
            continue;
        };
        // The age is wall-clock time, which may be slewed.
        let slewed = Duration::from_millis(1);
        assert!(age <= sending.elapsed() + slewed, "{age:?}");
        assert!(age + slewed >= reading - sent, "{age:?} and {:?} between", reading - sent);
        break;
    }
}

#[test]
fn a_unix_socket_gives_bytes_without_a_stamp() {
    let (mut client, server) = UnixStream::pair().expect("two descriptors");
    torment_sys::enable_receive_timestamps(&server).expect("the option is taken");
    client.write_all(b"1").expect("it is open");
    assert_eq!(torment_sys::recv_with_age(&server, &mut [0; 9]).expect("a byte"), (1, None));
    drop(client);
    assert_eq!(torment_sys::recv_with_age(&server, &mut [0; 9]).expect("the end"), (0, None));
}
