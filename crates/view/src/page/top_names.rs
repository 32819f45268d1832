//! The top few of many names, as known so far.

/// A hidden name replaces a shown one only if this much larger, or they would swap all the time.
const MARGIN: f64 = 1.2;

/// Names with their amounts; some are shown, the rest is summed by whoever draws.
#[derive(Debug, Clone, Default)]
pub(super) struct TopNames {
    names: Vec<String>,
    amounts: Vec<f64>,
    /// The shown ones, in order of first appearance.
    shown: Vec<usize>,
}

impl TopNames {
    /// Adds to a name and returns its index; `None` if the maximum number is stored.
    pub fn add(&mut self, name: &str, amount: f64, kept: usize) -> Option<usize> {
        let place = match self.names.iter().position(|known| known == name) {
            Some(place) => place,
            None if self.names.len() < kept => {
                self.names.push(name.to_owned());
                self.amounts.push(0.0);
                self.names.len() - 1
            }
            None => return None,
        };
        self.amounts[place] += amount;
        Some(place)
    }

    /// Chooses again which to show; true if that changed.
    pub fn choose(&mut self, most: usize) -> bool {
        let weight =
            |place: &usize| self.amounts[*place] * if self.shown.contains(place) { MARGIN } else { 1.0 };
        let mut places: Vec<usize> =
            (0..self.names.len()).filter(|place| self.amounts[*place] > 0.0).collect();
        places.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
        places.truncate(most);
        places.sort_unstable();
        let changed = places != self.shown;
        self.shown = places;
        changed
    }

    /// Index and name of each shown one.
    pub fn shown(&self) -> impl Iterator<Item = (usize, &str)> {
        self.shown.iter().map(move |place| (*place, self.names[*place].as_str()))
    }

    /// The same, largest first.
    pub fn by_amount(&self) -> Vec<(usize, &str)> {
        let mut shown: Vec<_> = self.shown().collect();
        shown.sort_by(|a, b| self.amounts[b.0].total_cmp(&self.amounts[a.0]));
        shown
    }

    /// Indices of the hidden ones.
    pub fn hidden(&self) -> impl Iterator<Item = usize> {
        (0..self.names.len()).filter(move |place| !self.shown.contains(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_are_shown_and_stay_while_it_is_close() {
        let mut ranks = TopNames::default();
        for (name, amount) in [("a", 1.0), ("b", 5.0), ("c", 3.0), ("nothing", 0.0)] {
            ranks.add(name, amount, 8);
        }
        assert!(ranks.choose(2));
        assert_eq!(ranks.shown().collect::<Vec<_>>(), [(1, "b"), (2, "c")]);
        assert_eq!(ranks.hidden().collect::<Vec<_>>(), [0, 3]);
        ranks.add("a", 2.1, 8);
        assert!(!ranks.choose(2), "3.1 is not clearly more than 3");
        ranks.add("a", 2.0, 8);
        assert!(ranks.choose(2));
        assert_eq!(ranks.shown().map(|(_, name)| name).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(ranks.add("d", 1.0, 4), None);
    }
}
