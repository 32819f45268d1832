//! Which process tree is which, while services end and come again.

use record::watch::{Role, Subject, Watched};

/// Process trees told apart.
const MOST: usize = 6;

/// The process trees of a run, in the order in which they were first watched.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trees {
    known: Vec<Tree>,
    /// Which of them the watch means by its places; none of one too many.
    places: Vec<Option<usize>>,
}

/// The same name in the same role is the same tree, even after a restart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Tree {
    pub role: Role,
    pub name: String,
    /// Of several of one name.
    nth: usize,
}

impl Tree {
    /// Its name for people.
    pub fn title(&self) -> String {
        let name = if self.name.is_empty() { "process" } else { &self.name };
        match self.nth {
            0 => name.to_owned(),
            nth => format!("{name} ({})", nth + 1),
        }
    }
}

impl Trees {
    /// Who is watched from now on.
    pub fn watch(&mut self, watched: &Watched) {
        self.places = (0..watched.subjects.len()).map(|place| self.place(&watched.subjects, place)).collect();
    }

    fn place(&mut self, subjects: &[Subject], place: usize) -> Option<usize> {
        let Subject { role, name, .. } = &subjects[place];
        let same = |other: &&Subject| (&other.role, &other.name) == (role, name);
        let nth = subjects[..place].iter().filter(same).count();
        let tree = Tree { role: *role, name: name.clone(), nth };
        let known = self.known.iter().position(|known| *known == tree);
        known.or_else(|| {
            (self.known.len() < MOST).then(|| {
                self.known.push(tree);
                self.known.len() - 1
            })
        })
    }

    /// The number of the tree that the watch has at this place.
    pub fn at(&self, place: usize) -> Option<usize> {
        self.places.get(place).copied().flatten()
    }

    /// Every one there ever was, by its number.
    pub fn known(&self) -> &[Tree] {
        &self.known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_stays_itself_through_a_restart() {
        let watched = |names: &[&str]| {
            let subject = |name: &&str| Subject { name: (*name).to_owned(), ..Subject::default() };
            Watched { subjects: names.iter().map(subject).collect(), ..Watched::default() }
        };
        let mut trees = Trees::default();
        trees.watch(&watched(&["java", "nginx", "java"]));
        trees.watch(&watched(&["nginx", "", "java"]));
        assert_eq!(
            (0..4).map(|place| trees.at(place)).collect::<Vec<_>>(),
            [Some(1), Some(3), Some(0), None]
        );
        let titles: Vec<String> = trees.known().iter().map(Tree::title).collect();
        assert_eq!(titles, ["java", "nginx", "java (2)", "process"]);
        trees.watch(&watched(&["a", "b", "c", "java"]));
        assert_eq!(trees.at(2), None, "one too many");
        assert_eq!(trees.at(3), Some(0));
    }
}
