//! The manual's pages as text: fenced blocks, headings, links, quotations.

use crate::program::repository;
use std::path::{Path, PathBuf};

pub struct ManualPage {
    /// Relative to the repository, with `/` between folders.
    pub name: String,
    pub text: String,
}

/// The lines between two fences.
pub struct FencedBlock {
    /// The words after the opening fence: a language and attributes.
    pub words: Vec<String>,
    /// 0-based: the first line after the opening fence, and the closing one.
    pub from: usize,
    pub to: usize,
    pub lines: Vec<String>,
}

impl FencedBlock {
    pub fn language(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    /// The attribute `KEY=`.
    pub fn says(&self, key: &str) -> Option<&str> {
        self.words.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    }
}

/// README.md, ARCHITECTURE.md and everything in docs/.
pub fn pages() -> Vec<ManualPage> {
    let mut files = vec![repository().join("README.md"), repository().join("ARCHITECTURE.md")];
    below(&repository().join("docs"), &mut files);
    files.sort();
    files.into_iter().map(|file| ManualPage::read(&file)).collect()
}

fn below(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
        let path = entry.expect("a folder can be read").path();
        if path.is_dir() {
            below(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "md") {
            files.push(path);
        }
    }
}

impl ManualPage {
    fn read(file: &Path) -> Self {
        let name = file.strip_prefix(repository()).expect("it is in the repository").display().to_string();
        let text = std::fs::read_to_string(file).unwrap_or_else(|e| panic!("{name}: {e}"));
        Self { name, text }
    }

    /// Whether it is a page of the book.
    pub fn is_in_the_book(&self) -> bool {
        self.name.starts_with("docs/")
    }

    pub fn path(&self) -> PathBuf {
        repository().join(&self.name)
    }

    pub fn blocks(&self) -> Vec<FencedBlock> {
        let mut blocks = Vec::new();
        let mut open: Option<FencedBlock> = None;
        for (at, line) in self.text.lines().enumerate() {
            let fence = line.trim_start().strip_prefix("```");
            match (&mut open, fence) {
                (None, Some(info)) => {
                    let words = info.split_whitespace().map(str::to_owned).collect();
                    open = Some(FencedBlock { words, from: at + 1, to: at + 1, lines: Vec::new() });
                }
                (Some(block), Some(_)) => {
                    block.to = at;
                    blocks.extend(open.take());
                }
                (Some(block), None) => block.lines.push(line.to_owned()),
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "{}: a block is not closed", self.name);
        blocks
    }

    /// Its lines outside blocks, each with its 1-based number.
    pub fn prose(&self) -> Vec<(usize, &str)> {
        let blocks = self.blocks();
        let is_prose = |at: usize| !blocks.iter().any(|block| (block.from - 1..=block.to).contains(&at));
        self.text
            .lines()
            .enumerate()
            .filter(|(at, _)| is_prose(*at))
            .map(|(at, line)| (at + 1, line))
            .collect()
    }

    /// Its headings as text.
    pub fn headings(&self) -> Vec<String> {
        let heading =
            |line: &str| line.starts_with('#').then(|| line.trim_start_matches('#').trim().to_owned());
        self.prose().into_iter().filter_map(|(_, line)| heading(line)).collect()
    }

    /// Anchors of its headings, as mdBook and GitHub derive them from the text.
    pub fn anchors(&self) -> Vec<String> {
        let mut anchors: Vec<String> = Vec::new();
        for heading in self.headings() {
            let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
            let plain: String = heading.chars().filter(kept).collect();
            let anchor = plain.to_lowercase().replace(' ', "-");
            let before = anchors.iter().filter(|other| **other == anchor).count();
            anchors.push(if before == 0 { anchor } else { format!("{anchor}-{before}") });
        }
        anchors
    }

    /// Targets of its links and images, each with its line.
    pub fn links(&self) -> Vec<(usize, String)> {
        let mut links = Vec::new();
        for (at, line) in self.prose() {
            let mut rest = line;
            while let Some((_, behind)) = rest.split_once("](") {
                let Some((target, after)) = behind.split_once(')') else { break };
                links.push((at, target.to_owned()));
                rest = after;
            }
        }
        links
    }

    /// Its images, each with its line: alternative text, and file.
    pub fn images(&self) -> Vec<(usize, String, String)> {
        let mut images = Vec::new();
        for (at, line) in self.prose() {
            for part in line.split("![").skip(1) {
                let Some((words, behind)) = part.split_once("](") else { continue };
                let Some((target, _)) = behind.split_once(')') else { continue };
                images.push((at, words.to_owned(), target.to_owned()));
            }
        }
        images
    }

    /// Inline code in its prose, each with its line. It does not span lines.
    pub fn quoted(&self) -> Vec<(usize, String)> {
        let odd = |line: &str| -> Vec<String> {
            line.split('`').enumerate().filter(|(i, _)| i % 2 == 1).map(|(_, part)| part.to_owned()).collect()
        };
        self.prose()
            .into_iter()
            .flat_map(|(at, line)| odd(line).into_iter().map(move |part| (at, part)))
            .collect()
    }
}

#[test]
fn a_page_is_taken_apart() {
    let text = "# A `b` (c), d\n\nsee [e](f.md#g) and ![h](i.png) or `torment list`\n\n```console x=1\n$ a\n# b\n```\n## A b c d\n";
    let page = ManualPage { name: "docs/x.md".to_owned(), text: text.to_owned() };
    assert_eq!(page.anchors(), ["a-b-c-d", "a-b-c-d-1"]);
    assert_eq!(page.links(), [(3, "f.md#g".to_owned()), (3, "i.png".to_owned())]);
    assert_eq!(page.images(), [(3, "h".to_owned(), "i.png".to_owned())]);
    assert_eq!(page.quoted(), [(1, "b".to_owned()), (3, "torment list".to_owned())]);
    let blocks = page.blocks();
    assert_eq!(
        (blocks[0].language(), blocks[0].says("x"), blocks[0].from, blocks[0].to),
        ("console", Some("1"), 5, 7)
    );
    assert_eq!(blocks[0].lines, ["$ a", "# b"]);
}
