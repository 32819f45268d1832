use rustix::process::Pid;
use std::io;

/// Reads another process's memory (process_vm_readv(2)), all of it or nothing. Needs access to the process
/// (ptrace(2), `PTRACE_MODE_ATTACH_REALCREDS`), which does not notice.
pub fn read_memory(process: Pid, address: u64, into: &mut [u8]) -> io::Result<()> {
    let length = into.len();
    match read(process, &[piece(address, length)?], into)? {
        read if read == length => Ok(()),
        _ => Err(io::Error::from_raw_os_error(libc::EFAULT)),
    }
}

/// Reads equally long pieces, at most 1024 (`IOV_MAX`), by one call; `into` has room for all. Returns how many
/// were read: it stops before the first that cannot be read whole.
pub fn read_memory_pieces(process: Pid, addresses: &[u64], into: &mut [u8]) -> io::Result<usize> {
    let length = into.len() / addresses.len().max(1);
    let pieces = addresses.iter().map(|address| piece(*address, length)).collect::<io::Result<Vec<_>>>()?;
    let read = read(process, &pieces, into)?;
    Ok(read.checked_div(length).unwrap_or(addresses.len()))
}

fn piece(address: u64, length: usize) -> io::Result<libc::iovec> {
    let start = usize::try_from(address).map_err(|_| io::Error::from_raw_os_error(libc::EFAULT))?;
    Ok(libc::iovec { iov_base: std::ptr::without_provenance_mut(start), iov_len: length })
}

fn read(process: Pid, pieces: &[libc::iovec], into: &mut [u8]) -> io::Result<usize> {
    let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let (process, count) = (process.as_raw_nonzero().get(), pieces.len() as libc::c_ulong);
    // SAFETY: the kernel writes at most its length into `into`, which is borrowed for the call and for which
    // any bytes are valid; the other addresses are the other process's, and are not followed here.
    let read = unsafe { libc::process_vm_readv(process, &raw const local, 1, pieces.as_ptr(), count, 0) };
    usize::try_from(read).map_err(|_| io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::getpid;

    #[test]
    fn own_memory_and_none() {
        let there = [7_u8, 8, 9];
        let mut here = [0; 3];
        read_memory(getpid(), there.as_ptr().addr() as u64, &mut here).expect("it is our own");
        assert_eq!(here, there);
        let error = read_memory(getpid(), 8, &mut here).expect_err("nothing is there");
        assert_eq!(error.raw_os_error(), Some(libc::EFAULT));
        assert!(read_memory(getpid(), u64::MAX, &mut here).is_err());
    }

    #[test]
    fn pieces_as_far_as_they_are_there() {
        let there = [1_u8, 2, 3, 4, 5, 6];
        let at = |place: usize| there[place..].as_ptr().addr() as u64;
        let mut here = [0; 8];
        let read =
            read_memory_pieces(getpid(), &[at(4), at(0), 8, at(2)], &mut here).expect("the first is ours");
        assert_eq!((read, &here[..4]), (2, &[5, 6, 1, 2][..]));
        assert!(read_memory_pieces(getpid(), &[8, at(0)], &mut here).is_err(), "not even the first");
        assert_eq!(read_memory_pieces(getpid(), &[], &mut here).expect("there is nothing to read"), 0);
    }
}
