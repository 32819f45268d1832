use rustix::process::Pid;
use std::io;

/// Reads the memory of another process (process_vm_readv(2)), wholly or not at all. It must not be
/// hidden from this one (ptrace(2), `PTRACE_MODE_ATTACH_REALCREDS`), and does not notice.
pub fn read_memory(process: Pid, address: u64, into: &mut [u8]) -> io::Result<()> {
    let start = usize::try_from(address).map_err(|_| io::Error::from_raw_os_error(libc::EFAULT))?;
    let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let remote = libc::iovec { iov_base: std::ptr::without_provenance_mut(start), iov_len: into.len() };
    // SAFETY: the kernel writes at most its length into `into`, which is borrowed for the call and for which any
    // bytes are values; the other address is one of the other process, and is not followed here.
    let read = unsafe {
        libc::process_vm_readv(process.as_raw_nonzero().get(), &raw const local, 1, &raw const remote, 1, 0)
    };
    match usize::try_from(read) {
        Ok(read) if read == into.len() => Ok(()),
        Ok(_) => Err(io::Error::from_raw_os_error(libc::EFAULT)),
        Err(_) => Err(io::Error::last_os_error()),
    }
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
}
