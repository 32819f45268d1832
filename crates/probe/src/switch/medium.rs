//! Through what one side hands over to the other.

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{Errno, read, retry_on_intr, write};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::thread::{futex, sched_yield};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU32, Ordering};
use sys::{Condition, ConditionGuard};

/// One of two sides that take turns. The first gives first.
///
/// All of this is put into the loops that use it: after a system call a return whose target the processor has to guess is dear
/// on some machines (docs/method/probe.md), and that is no part of what is measured.
pub trait Partner {
    /// Lets the other go on.
    fn give(&mut self) -> io::Result<()>;
    /// Waits until it may itself.
    fn take(&mut self) -> io::Result<()>;
}

pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(pipe_with(PipeFlags::CLOEXEC)?)
}

/// So few bytes that they go at once or not at all.
#[inline(always)]
pub fn put(to: &OwnedFd, bytes: &[u8]) -> io::Result<()> {
    let written = retry_on_intr(|| write(to, bytes))?;
    if written == bytes.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}

/// All of so few bytes.
#[inline(always)]
pub fn get<const N: usize>(from: &OwnedFd) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let taken = retry_on_intr(|| read(from, &mut bytes))?;
    if taken == N { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// A byte in a pipe, one in each direction.
pub struct Pipes {
    read: OwnedFd,
    write: OwnedFd,
}

impl Pipes {
    pub fn pair() -> io::Result<(Self, Self)> {
        let ((to_first, from_second), (to_second, from_first)) = (pipe()?, pipe()?);
        Ok((Self { read: to_first, write: from_first }, Self { read: to_second, write: from_second }))
    }
}

impl Partner for Pipes {
    #[inline(always)]
    fn give(&mut self) -> io::Result<()> {
        put(&self.write, &[1])
    }

    #[inline(always)]
    fn take(&mut self) -> io::Result<()> {
        get::<1>(&self.read).map(drop)
    }
}

/// A number of four bytes that comes back as it went, through two pipes.
pub struct Echo {
    pipes: Pipes,
    number: u32,
    asks: bool,
}

impl Echo {
    pub fn pair() -> io::Result<(Self, Self)> {
        let (first, second) = Pipes::pair()?;
        Ok((Self { pipes: first, number: 0, asks: true }, Self { pipes: second, number: 0, asks: false }))
    }
}

impl Partner for Echo {
    #[inline(always)]
    fn give(&mut self) -> io::Result<()> {
        put(&self.pipes.write, &self.number.to_ne_bytes())
    }

    #[inline(always)]
    fn take(&mut self) -> io::Result<()> {
        let number = u32::from_ne_bytes(get(&self.pipes.read)?);
        if !self.asks {
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
pub struct Socket(OwnedFd);

impl Socket {
    pub fn pair() -> io::Result<(Self, Self)> {
        let (first, second) = UnixStream::pair()?;
        Ok((Self(first.into()), Self(second.into())))
    }
}

impl Partner for Socket {
    #[inline(always)]
    fn give(&mut self) -> io::Result<()> {
        put(&self.0, &[1])
    }

    #[inline(always)]
    fn take(&mut self) -> io::Result<()> {
        get::<1>(&self.0).map(drop)
    }
}

/// Two counters of the kernel (eventfd(2)), one for each side.
pub struct Counters {
    own: OwnedFd,
    other: OwnedFd,
}

impl Counters {
    pub fn pair() -> io::Result<(Self, Self)> {
        let first = eventfd(0, EventfdFlags::CLOEXEC)?;
        let second = eventfd(0, EventfdFlags::CLOEXEC)?;
        Ok((Self { own: first.try_clone()?, other: second.try_clone()? }, Self { own: second, other: first }))
    }
}

impl Partner for Counters {
    #[inline(always)]
    fn give(&mut self) -> io::Result<()> {
        put(&self.other, &1_u64.to_ne_bytes())
    }

    #[inline(always)]
    fn take(&mut self) -> io::Result<()> {
        get::<8>(&self.own).map(drop)
    }
}

/// A word that says whose turn it is, and a futex to wait for it (futex(2)).
pub struct Turns<'a> {
    word: &'a AtomicU32,
    flags: futex::Flags,
    own: u32,
}

impl<'a> Turns<'a> {
    /// Side 0 has the first turn.
    pub fn new(word: &'a AtomicU32, flags: futex::Flags, own: u32) -> Self {
        Self { word, flags, own }
    }
}

impl Partner for Turns<'_> {
    #[inline(always)]
    fn give(&mut self) -> io::Result<()> {
        self.word.store(1 - self.own, Ordering::SeqCst);
        futex::wake(self.word, self.flags, 1)?;
        Ok(())
    }

    #[inline(always)]
    fn take(&mut self) -> io::Result<()> {
        while self.word.load(Ordering::SeqCst) != self.own {
            match futex::wait(self.word, self.flags, 1 - self.own, None) {
                Ok(()) | Err(Errno::AGAIN | Errno::INTR) => {}
                Err(why) => return Err(why.into()),
            }
        }
        Ok(())
    }
}

/// The same with a mutex, held but while waiting, and a condition variable.
pub struct Conditioned<'a> {
    held: ConditionGuard<'a>,
    own: u32,
}

impl<'a> Conditioned<'a> {
    pub fn new(condition: &'a Condition, own: u32) -> io::Result<Self> {
        Ok(Self { held: condition.hold()?, own })
    }
}

impl Partner for Conditioned<'_> {
    #[inline(always)]
    fn give(&mut self) -> io::Result<()> {
        self.held.set(1 - self.own);
        Ok(())
    }

    #[inline(always)]
    fn take(&mut self) -> io::Result<()> {
        self.held.wait_for(self.own)
    }
}

/// The processor, offered to whoever wants it (sched_yield(2)): nobody waits for anybody.
pub struct Yields;

impl Partner for Yields {
    #[inline(always)]
    fn give(&mut self) -> io::Result<()> {
        sched_yield();
        Ok(())
    }

    #[inline(always)]
    fn take(&mut self) -> io::Result<()> {
        Ok(())
    }
}
