//! Mechanisms by which one side hands over to the other.

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{Errno, read, retry_on_intr, write};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::thread::{futex, sched_yield};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU32, Ordering};
use sys::{Condition, ConditionGuard};

/// One of two sides that take turns. The first passes first.
///
/// All of this is inlined into the loops that use it: after a system call a return whose target the processor has to guess is
/// expensive on some machines (docs/method/probe.md), and must not be measured.
pub trait TurnTaker {
    /// Lets the other side go on.
    fn pass_turn(&mut self) -> io::Result<()>;
    /// Waits for its own turn.
    fn await_turn(&mut self) -> io::Result<()>;
}

pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(pipe_with(PipeFlags::CLOEXEC)?)
}

/// So few bytes that they are written at once or not at all.
#[inline(always)]
pub fn write_bytes(to: &OwnedFd, bytes: &[u8]) -> io::Result<()> {
    let written = retry_on_intr(|| write(to, bytes))?;
    if written == bytes.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}

/// Reads all `N` bytes.
#[inline(always)]
pub fn read_bytes<const N: usize>(from: &OwnedFd) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let taken = retry_on_intr(|| read(from, &mut bytes))?;
    if taken == N { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// A byte in a pipe, one pipe per direction.
pub struct PipeEnd {
    read: OwnedFd,
    write: OwnedFd,
}

impl PipeEnd {
    pub fn pair() -> io::Result<(Self, Self)> {
        let ((to_first, from_second), (to_second, from_first)) = (pipe()?, pipe()?);
        Ok((Self { read: to_first, write: from_first }, Self { read: to_second, write: from_second }))
    }
}

impl TurnTaker for PipeEnd {
    #[inline(always)]
    fn pass_turn(&mut self) -> io::Result<()> {
        write_bytes(&self.write, &[1])
    }

    #[inline(always)]
    fn await_turn(&mut self) -> io::Result<()> {
        read_bytes::<1>(&self.read).map(drop)
    }
}

/// A four-byte number that comes back unchanged, through two pipes.
pub struct EchoEnd {
    pipes: PipeEnd,
    number: u32,
    is_client: bool,
}

impl EchoEnd {
    pub fn pair() -> io::Result<(Self, Self)> {
        let (first, second) = PipeEnd::pair()?;
        Ok((
            Self { pipes: first, number: 0, is_client: true },
            Self { pipes: second, number: 0, is_client: false },
        ))
    }
}

impl TurnTaker for EchoEnd {
    #[inline(always)]
    fn pass_turn(&mut self) -> io::Result<()> {
        write_bytes(&self.pipes.write, &self.number.to_ne_bytes())
    }

    #[inline(always)]
    fn await_turn(&mut self) -> io::Result<()> {
        let number = u32::from_ne_bytes(read_bytes(&self.pipes.read)?);
        if !self.is_client {
            self.number = number;
            return Ok(());
        }
        if number != self.number {
            return Err(io::Error::other(format!("{} was sent, {number} came back", self.number)));
        }
        self.number = number.wrapping_add(1);
        Ok(())
    }
}

/// A byte in a pair of Unix sockets.
pub struct SocketEnd(OwnedFd);

impl SocketEnd {
    pub fn pair() -> io::Result<(Self, Self)> {
        let (first, second) = UnixStream::pair()?;
        Ok((Self(first.into()), Self(second.into())))
    }
}

impl TurnTaker for SocketEnd {
    #[inline(always)]
    fn pass_turn(&mut self) -> io::Result<()> {
        write_bytes(&self.0, &[1])
    }

    #[inline(always)]
    fn await_turn(&mut self) -> io::Result<()> {
        read_bytes::<1>(&self.0).map(drop)
    }
}

/// Two kernel counters (eventfd(2)), one per side.
pub struct EventfdEnd {
    own: OwnedFd,
    other: OwnedFd,
}

impl EventfdEnd {
    pub fn pair() -> io::Result<(Self, Self)> {
        let first = eventfd(0, EventfdFlags::CLOEXEC)?;
        let second = eventfd(0, EventfdFlags::CLOEXEC)?;
        Ok((Self { own: first.try_clone()?, other: second.try_clone()? }, Self { own: second, other: first }))
    }
}

impl TurnTaker for EventfdEnd {
    #[inline(always)]
    fn pass_turn(&mut self) -> io::Result<()> {
        write_bytes(&self.other, &1_u64.to_ne_bytes())
    }

    #[inline(always)]
    fn await_turn(&mut self) -> io::Result<()> {
        read_bytes::<8>(&self.own).map(drop)
    }
}

/// A word that says whose turn it is, and a futex to wait for it (futex(2)).
pub struct FutexEnd<'a> {
    word: &'a AtomicU32,
    flags: futex::Flags,
    own: u32,
}

impl<'a> FutexEnd<'a> {
    /// Side 0 has the first turn.
    pub fn new(word: &'a AtomicU32, flags: futex::Flags, own: u32) -> Self {
        Self { word, flags, own }
    }
}

impl TurnTaker for FutexEnd<'_> {
    #[inline(always)]
    fn pass_turn(&mut self) -> io::Result<()> {
        self.word.store(1 - self.own, Ordering::SeqCst);
        futex::wake(self.word, self.flags, 1)?;
        Ok(())
    }

    #[inline(always)]
    fn await_turn(&mut self) -> io::Result<()> {
        while self.word.load(Ordering::SeqCst) != self.own {
            match futex::wait(self.word, self.flags, 1 - self.own, None) {
                Ok(()) | Err(Errno::AGAIN | Errno::INTR) => {}
                Err(why) => return Err(why.into()),
            }
        }
        Ok(())
    }
}

/// The same with a mutex, held except while waiting, and a condition variable.
pub struct CondvarEnd<'a> {
    guard: ConditionGuard<'a>,
    own: u32,
}

impl<'a> CondvarEnd<'a> {
    pub fn new(condition: &'a Condition, own: u32) -> io::Result<Self> {
        Ok(Self { guard: condition.lock()?, own })
    }
}

impl TurnTaker for CondvarEnd<'_> {
    #[inline(always)]
    fn pass_turn(&mut self) -> io::Result<()> {
        self.guard.set(1 - self.own);
        Ok(())
    }

    #[inline(always)]
    fn await_turn(&mut self) -> io::Result<()> {
        self.guard.wait_for(self.own)
    }
}

/// Yields the processor to any other thread (sched_yield(2)): no side waits.
pub struct YieldEnd;

impl TurnTaker for YieldEnd {
    #[inline(always)]
    fn pass_turn(&mut self) -> io::Result<()> {
        sched_yield();
        Ok(())
    }

    #[inline(always)]
    fn await_turn(&mut self) -> io::Result<()> {
        Ok(())
    }
}
