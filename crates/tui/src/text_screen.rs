use crate::{PrintStyle, print};
use crossterm::terminal::{self, EnterAlternateScreen, LeaveAlternateScreen};
use crossterm::{cursor, execute, queue};
use std::io::{self, BufWriter, Write, stderr};
use view::Text;

/// A page of text on standard error, redrawn now and then; restores the terminal's previous content when dropped. Keys keep their meaning:
/// Ctrl-C is a signal.
#[derive(Debug)]
pub struct TextScreen {
    colour: bool,
}

impl TextScreen {
    /// Takes the terminal. Fails if it refuses.
    pub fn open(colour: bool) -> io::Result<Self> {
        execute!(stderr(), EnterAlternateScreen, cursor::Hide)?;
        Ok(Self { colour })
    }

    /// Draws the lines that fit. Fails if the terminal is gone.
    pub fn show(&mut self, lines: &[Text]) -> io::Result<()> {
        let (width, height) = terminal::size()?;
        let style = PrintStyle { colour: self.colour, width: Some(usize::from(width)) };
        let mut page = Vec::new();
        print(&mut page, lines, style)?;
        let mut out = BufWriter::new(stderr());
        queue!(out, cursor::MoveTo(0, 0), terminal::Clear(terminal::ClearType::All))?;
        out.write_all(rows(&page, usize::from(height)))?;
        out.flush()
    }
}

/// The first rows of a page, without the last line end, which would scroll.
fn rows(page: &[u8], height: usize) -> &[u8] {
    let ends = page.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at);
    let end = ends.take(height).last().unwrap_or(page.len());
    &page[..end]
}

impl Drop for TextScreen {
    fn drop(&mut self) {
        // A terminal that is gone needs no restoring.
        let _ = execute!(stderr(), LeaveAlternateScreen, cursor::Show);
    }
}

#[cfg(test)]
mod tests {
    use super::rows;

    #[test]
    fn a_page_ends_with_the_screen() {
        for (page, height, expected) in
            [("a\nb\nc\n", 2, "a\nb"), ("a\nb\n", 2, "a\nb"), ("a\n", 5, "a"), ("", 5, "")]
        {
            assert_eq!(rows(page.as_bytes(), height), expected.as_bytes(), "{page}");
        }
    }
}
