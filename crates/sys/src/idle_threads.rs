use crate::errors::check_code;
use rustix::param::page_size;
use rustix::thread::futex;
use std::hint::black_box;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use units::Bytes;

/// What all the threads wait at. They may outlive their creator, so it is never freed.
#[derive(Debug)]
struct Gate {
    /// 0 while shut.
    open: AtomicU32,
    /// Threads with a stack that have reached it.
    arrived: AtomicU32,
    /// Bytes of its stack that each touches first.
    touch: usize,
}

/// Threads that do nothing: each waits at one futex, without a timer, until released.
#[derive(Debug)]
pub struct IdleThreads {
    gate: &'static Gate,
    stack: usize,
    threads: u32,
    /// Threads made without a stack.
    stackless: u32,
}

impl IdleThreads {
    /// No threads yet. They will have stacks of `stack` bytes, and touch `touch` of them.
    pub fn new(stack: Bytes, touch: Bytes) -> Self {
        let size = |bytes: Bytes| usize::try_from(bytes.0).unwrap_or(usize::MAX);
        let gate = Gate { open: AtomicU32::new(0), arrived: AtomicU32::new(0), touch: size(touch) };
        Self { gate: Box::leak(Box::new(gate)), stack: size(stack), threads: 0, stackless: 0 }
    }

    /// Adds one as pthread_create(3) makes it: detached, with a stack of its own and a guard page below. Fails
    /// as pthread_create does, which is with EAGAIN whatever the reason.
    pub fn add_thread(&mut self) -> io::Result<()> {
        let mut attributes = std::mem::MaybeUninit::uninit();
        let mut thread = std::mem::MaybeUninit::uninit();
        // SAFETY: the attributes are initialised before use and destroyed after. The thread runs `wait_at`,
        // which takes a pointer to a gate and gets one that is never freed; the thread's handle is not used.
        unsafe {
            check_code(libc::pthread_attr_init(attributes.as_mut_ptr()))?;
            let attributes = attributes.as_mut_ptr();
            let result = check_code(libc::pthread_attr_setstacksize(attributes, self.stack))
                .and_then(|()| {
                    check_code(libc::pthread_attr_setdetachstate(attributes, libc::PTHREAD_CREATE_DETACHED))
                })
                .and_then(|()| {
                    let gate = std::ptr::from_ref(self.gate).cast_mut().cast();
                    check_code(libc::pthread_create(thread.as_mut_ptr(), attributes, wait_at_gate, gate))
                });
            libc::pthread_attr_destroy(attributes);
            result?;
        }
        self.threads += 1;
        Ok(())
    }

    /// Adds one without a stack: what clone(2) alone makes, and the kernel keeps for it.
    pub fn add_stackless(&mut self) -> io::Result<()> {
        let flags = libc::CLONE_VM
            | libc::CLONE_FS
            | libc::CLONE_FILES
            | libc::CLONE_SIGHAND
            | libc::CLONE_THREAD
            | libc::CLONE_SYSVSEM;
        let mut all_signals = std::mem::MaybeUninit::uninit();
        let mut old_mask = std::mem::MaybeUninit::uninit();
        // SAFETY: the signal sets are filled before they are read. All signals are blocked, and stay so in the
        // new thread, so no handler runs on the stack that it shares with this one; `clone_waiting` says why
        // the rest is sound.
        let done = unsafe {
            libc::sigfillset(all_signals.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_SETMASK, all_signals.as_ptr(), old_mask.as_mut_ptr());
            let done = clone_waiting(flags, self.gate.open.as_ptr());
            libc::pthread_sigmask(libc::SIG_SETMASK, old_mask.as_ptr(), std::ptr::null_mut());
            done
        };
        if done < 0 {
            return Err(io::Error::from_raw_os_error(i32::try_from(-done).unwrap_or(libc::EINVAL)));
        }
        self.stackless += 1;
        Ok(())
    }

    /// Threads made so far.
    pub fn count(&self) -> u64 {
        u64::from(self.threads) + u64::from(self.stackless)
    }

    /// Whether all with a stack have touched it and wait.
    pub fn is_settled(&self) -> bool {
        self.gate.arrived.load(Ordering::Acquire) == self.threads
    }

    /// Releases all of them; they end by themselves, one after the other.
    pub fn release(self) {
        self.gate.open.store(1, Ordering::Release);
        // It cannot fail for an address of ours.
        let _ = futex::wake(&self.gate.open, futex::Flags::PRIVATE, i32::MAX.cast_unsigned());
    }
}

extern "C" fn wait_at_gate(gate: *mut libc::c_void) -> *mut libc::c_void {
    // SAFETY: `IdleThreads::add_thread` passes the address of a gate that is never freed, and to which there
    // are only shared references.
    let gate: &'static Gate = unsafe { &*gate.cast_const().cast() };
    if gate.touch > 0 {
        let top = 0_u8;
        touch(std::ptr::from_ref(&top).addr(), gate.touch);
    }
    gate.arrived.fetch_add(1, Ordering::Release);
    while gate.open.load(Ordering::Acquire) == 0 {
        // Woken, interrupted, or already open: checked again in any case.
        let _ = futex::wait(&gate.open, futex::Flags::PRIVATE, 0, None);
    }
    std::ptr::null_mut()
}

/// Writes to the stack down to `bytes` below `top`, by frames smaller than a page.
#[inline(never)]
fn touch(top: usize, bytes: usize) {
    let mut frame = [1_u8; 1024];
    black_box(&mut frame);
    if top - frame.as_ptr().addr() < bytes {
        touch(top, bytes);
    }
    // After the call, so that this frame lives until the deepest one returns.
    black_box(&frame);
}

/// clone(2) of a thread without a stack: it waits at the futex until that is no longer 0, and ends. Returns
/// minus the error.
///
/// # Safety
/// All signals must be blocked, `flags` must be those of a thread, and `gate` must never be freed. The new
/// thread has this one's stack pointer, but executes only what is written here: that reads the gate, and
/// nothing of the stack.
#[cfg(target_arch = "x86_64")]
unsafe fn clone_waiting(flags: libc::c_int, gate: *const u32) -> i64 {
    let done: i64;
    // SAFETY: in the calling thread this is one system call, which changes rax, rcx and r11. The new thread
    // never leaves it, and touches no memory but the gate.
    unsafe {
        std::arch::asm!(
            "syscall",
            "test rax, rax",
            "jnz 3f",
            "2:",
            "mov eax, {futex}",
            "mov rdi, r12",
            "mov esi, {wait}",
            "xor edx, edx",
            "xor r10d, r10d",
            "syscall",
            "cmp dword ptr [r12], 0",
            "je 2b",
            "mov eax, {exit}",
            "xor edi, edi",
            "syscall",
            "ud2",
            "3:",
            futex = const libc::SYS_futex,
            wait = const (libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG),
            exit = const libc::SYS_exit,
            inlateout("rax") libc::SYS_clone => done,
            in("rdi") i64::from(flags),
            in("rsi") 0_u64,
            in("rdx") 0_u64,
            in("r10") 0_u64,
            in("r8") 0_u64,
            in("r12") gate,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    done
}

/// As above.
///
/// # Safety
/// As above.
#[cfg(target_arch = "aarch64")]
unsafe fn clone_waiting(flags: libc::c_int, gate: *const u32) -> i64 {
    let done: i64;
    // SAFETY: in the calling thread this is one system call, which changes x0. The new thread never leaves it,
    // and touches no memory but the gate.
    unsafe {
        std::arch::asm!(
            "svc #0",
            "cbnz x0, 3f",
            "2:",
            "mov x8, #{futex}",
            "mov x0, x20",
            "mov x1, #{wait}",
            "mov x2, xzr",
            "mov x3, xzr",
            "svc #0",
            "ldr w9, [x20]",
            "cbz w9, 2b",
            "mov x8, #{exit}",
            "mov x0, xzr",
            "svc #0",
            "brk #1",
            "3:",
            futex = const libc::SYS_futex,
            wait = const (libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG),
            exit = const libc::SYS_exit,
            in("x8") libc::SYS_clone,
            inlateout("x0") i64::from(flags) => done,
            in("x1") 0_u64,
            in("x2") 0_u64,
            in("x3") 0_u64,
            in("x4") 0_u64,
            in("x20") gate,
            options(nostack),
        );
    }
    done
}

/// As above.
///
/// # Safety
/// None needed: nothing is done.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
unsafe fn clone_waiting(_flags: libc::c_int, _gate: *const u32) -> i64 {
    -i64::from(libc::ENOSYS)
}

/// The results of the two steps of making a stack: mapping it, with the guard page, and making it writable.
/// `None` for the second if the first fails.
pub fn try_map_stack(stack: Bytes) -> (io::Result<()>, Option<io::Result<()>>) {
    let Some(length) = usize::try_from(stack.0).ok().and_then(|stack| stack.checked_add(page_size())) else {
        return (Err(io::Error::from_raw_os_error(libc::ENOMEM)), None);
    };
    let check = |failed: bool| if failed { Err(io::Error::last_os_error()) } else { Ok(()) };
    // SAFETY: a new mapping placed by the kernel overlaps no existing one; only this one, of which nobody else
    // knows, is changed and unmapped afterwards.
    unsafe {
        let start = libc::mmap(
            std::ptr::null_mut(),
            length,
            libc::PROT_NONE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK,
            -1,
            0,
        );
        let mapped = check(start == libc::MAP_FAILED);
        if mapped.is_err() {
            return (mapped, None);
        }
        let usable = start.byte_add(page_size());
        let changed = libc::mprotect(usable, length - page_size(), libc::PROT_READ | libc::PROT_WRITE);
        let changed = check(changed != 0);
        libc::munmap(start, length);
        (mapped, Some(changed))
    }
}

/// Makes `count` permanent mappings, as in a program that already has many: readable pages, each between two
/// inaccessible ones. Fails when the kernel allows no more.
pub fn occupy_maps(count: u64) -> io::Result<()> {
    let refused = || io::Error::from_raw_os_error(libc::ENOMEM);
    let pairs = usize::try_from(count / 2).map_err(|_| refused())?;
    if pairs == 0 {
        return Ok(());
    }
    let length = pairs.checked_mul(2 * page_size()).ok_or_else(refused)?;
    // SAFETY: as in `try_map_stack`; it is never unmapped.
    unsafe {
        let start = libc::mmap(
            std::ptr::null_mut(),
            length,
            libc::PROT_NONE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        );
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        for pair in 0..pairs {
            if libc::mprotect(start.byte_add(pair * 2 * page_size()), page_size(), libc::PROT_READ) != 0 {
                return Err(io::Error::last_os_error());
            }
        }
    }
    Ok(())
}
