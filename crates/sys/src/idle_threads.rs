use rustix::thread::futex;
use std::hint::black_box;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use units::Bytes;

/// What a guard page below a stack takes, and the unit in which a stack is mapped.
fn page() -> usize {
    rustix::param::page_size()
}

/// What all threads of a crowd wait at. They may outlive whoever made it: it is never freed.
#[derive(Debug)]
struct Gate {
    /// 0 while it is shut.
    open: AtomicU32,
    /// Threads with a stack that have come to it.
    arrived: AtomicU32,
    /// How much of its stack each touches before.
    touch: usize,
}

/// Threads that do nothing: each waits at one futex, without a timer, until all may go.
#[derive(Debug)]
pub struct IdleThreads {
    gate: &'static Gate,
    stack: usize,
    /// Threads made with a stack.
    threads: u32,
    /// Threads made without.
    raw: u32,
}

impl IdleThreads {
    /// Nobody yet. Threads will have stacks of this size, and touch so much of them.
    pub fn new(stack: Bytes, touch: Bytes) -> Self {
        let size = |bytes: Bytes| usize::try_from(bytes.0).unwrap_or(usize::MAX);
        let gate = Gate { open: AtomicU32::new(0), arrived: AtomicU32::new(0), touch: size(touch) };
        Self { gate: Box::leak(Box::new(gate)), stack: size(stack), threads: 0, raw: 0 }
    }

    /// One more, as pthread_create(3) makes it: with a stack of its own, a guard page below it, and nobody who waits for
    /// its end. Fails with what pthread_create says, which is EAGAIN whatever the reason is.
    pub fn add_thread(&mut self) -> io::Result<()> {
        let done = |error: libc::c_int| match error {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(error)),
        };
        let mut attributes = std::mem::MaybeUninit::uninit();
        let mut thread = std::mem::MaybeUninit::uninit();
        // SAFETY: the attributes are initialised before they are used and destroyed after. The thread runs `wait_at`, which
        // takes a pointer to a gate and gets one that is never freed; the number that the thread gets is not used.
        unsafe {
            done(libc::pthread_attr_init(attributes.as_mut_ptr()))?;
            let attributes = attributes.as_mut_ptr();
            let made = done(libc::pthread_attr_setstacksize(attributes, self.stack))
                .and_then(|()| {
                    done(libc::pthread_attr_setdetachstate(attributes, libc::PTHREAD_CREATE_DETACHED))
                })
                .and_then(|()| {
                    let gate = std::ptr::from_ref(self.gate).cast_mut().cast();
                    done(libc::pthread_create(thread.as_mut_ptr(), attributes, wait_at, gate))
                });
            libc::pthread_attr_destroy(attributes);
            made?;
        }
        self.threads += 1;
        Ok(())
    }

    /// One more that has no stack at all: what clone(2) alone makes, and the kernel keeps for it.
    pub fn add_stackless(&mut self) -> io::Result<()> {
        let flags = libc::CLONE_VM
            | libc::CLONE_FS
            | libc::CLONE_FILES
            | libc::CLONE_SIGHAND
            | libc::CLONE_THREAD
            | libc::CLONE_SYSVSEM;
        let mut all = std::mem::MaybeUninit::uninit();
        let mut before = std::mem::MaybeUninit::uninit();
        // SAFETY: the sets of signals are filled before they are read. With all signals blocked, and so for the new thread
        // for ever, no handler is run on the stack that it shares with this one; `clone_waiting` says why the rest is sound.
        let done = unsafe {
            libc::sigfillset(all.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
            let done = clone_waiting(flags, self.gate.open.as_ptr());
            libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut());
            done
        };
        if done < 0 {
            return Err(io::Error::from_raw_os_error(i32::try_from(-done).unwrap_or(libc::EINVAL)));
        }
        self.raw += 1;
        Ok(())
    }

    /// How many were made.
    pub fn made(&self) -> u64 {
        u64::from(self.threads) + u64::from(self.raw)
    }

    /// Whether all that have a stack have touched it and wait.
    pub fn is_settled(&self) -> bool {
        self.gate.arrived.load(Ordering::Acquire) == self.threads
    }

    /// Lets all of them go; they end by themselves, one after the other.
    pub fn release(self) {
        self.gate.open.store(1, Ordering::Release);
        // It fails for no address of our own.
        let _ = futex::wake(&self.gate.open, futex::Flags::PRIVATE, i32::MAX.cast_unsigned());
    }
}

/// What a thread with a stack does.
extern "C" fn wait_at(gate: *mut libc::c_void) -> *mut libc::c_void {
    // SAFETY: `Crowd::thread` gives the address of a gate that is never freed, and of which nobody has more than a
    // shared reference.
    let gate: &'static Gate = unsafe { &*gate.cast_const().cast() };
    if gate.touch > 0 {
        let top = 0_u8;
        touch(std::ptr::from_ref(&top).addr(), gate.touch);
    }
    gate.arrived.fetch_add(1, Ordering::Release);
    while gate.open.load(Ordering::Acquire) == 0 {
        // Woken, or interrupted, or it was opened before: looked at again in any case.
        let _ = futex::wait(&gate.open, futex::Flags::PRIVATE, 0, None);
    }
    std::ptr::null_mut()
}

/// Writes to the stack down to `bytes` below `top`, by frames that are smaller than a page.
#[inline(never)]
fn touch(top: usize, bytes: usize) {
    let mut frame = [1_u8; 1024];
    black_box(&mut frame);
    if top - frame.as_ptr().addr() < bytes {
        touch(top, bytes);
    }
    // After the call, so that this frame is there until the deepest has been.
    black_box(&frame);
}

/// clone(2) of a thread that has no stack: it waits at the futex until that is no longer 0, and ends. Minus the error.
///
/// # Safety
/// All signals must be blocked, `flags` must be those of a thread, and `gate` must never be freed. The new thread has the
/// stack pointer of this one, but executes only what is written here: that reads the gate, and nothing of the stack.
#[cfg(target_arch = "x86_64")]
unsafe fn clone_waiting(flags: libc::c_int, gate: *const u32) -> i64 {
    let done: i64;
    // SAFETY: in the thread that calls this it is one system call, of which the kernel changes rax, rcx and r11. The new
    // thread never leaves it, and touches no memory but the gate.
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
    // SAFETY: in the thread that calls this it is one system call, of which the kernel changes x0. The new thread never
    // leaves it, and touches no memory but the gate.
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
/// None is needed: nothing is done.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
unsafe fn clone_waiting(_flags: libc::c_int, _gate: *const u32) -> i64 {
    -i64::from(libc::ENOSYS)
}

/// What becomes of the two steps in which a stack is made: its place, with the guard page, and the right to write to it.
/// None of the second if the first fails.
pub fn try_map_stack(stack: Bytes) -> (io::Result<()>, Option<io::Result<()>>) {
    let Some(length) = usize::try_from(stack.0).ok().and_then(|stack| stack.checked_add(page())) else {
        return (Err(io::Error::from_raw_os_error(libc::ENOMEM)), None);
    };
    let last = |failed: bool| if failed { Err(io::Error::last_os_error()) } else { Ok(()) };
    // SAFETY: a new mapping of which the kernel chooses the place touches none that exists; what is changed and taken back
    // afterwards is this one, of which nobody else knows.
    unsafe {
        let start = libc::mmap(
            std::ptr::null_mut(),
            length,
            libc::PROT_NONE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK,
            -1,
            0,
        );
        let mapped = last(start == libc::MAP_FAILED);
        if mapped.is_err() {
            return (mapped, None);
        }
        let usable = start.byte_add(page());
        let changed = libc::mprotect(usable, length - page(), libc::PROT_READ | libc::PROT_WRITE);
        let changed = last(changed != 0);
        libc::munmap(start, length);
        (mapped, Some(changed))
    }
}

/// Makes so many mappings that stay, as of a program that has many already: pages that may be read, each between two that
/// may not. Fails when the kernel allows no more.
pub fn occupy_maps(count: u64) -> io::Result<()> {
    let refused = || io::Error::from_raw_os_error(libc::ENOMEM);
    let pairs = usize::try_from(count / 2).map_err(|_| refused())?;
    if pairs == 0 {
        return Ok(());
    }
    let length = pairs.checked_mul(2 * page()).ok_or_else(refused)?;
    // SAFETY: as in `map_stack`; it is never taken back.
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
            if libc::mprotect(start.byte_add(pair * 2 * page()), page(), libc::PROT_READ) != 0 {
                return Err(io::Error::last_os_error());
            }
        }
    }
    Ok(())
}
