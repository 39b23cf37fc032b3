//! A list without duplicates that stays linear: a crafted file can request any number of names.

use crate::hash::HashMap;
use foldhash::quality::RandomState;
use std::hash::{BuildHasher, Hash};

/// Items in the order first met, each once. An insertion's cost does not grow with the list; the hashes are seeded, so
/// that a file cannot choose names that collide.
pub(crate) struct Unique<T> {
    list: Vec<T>,
    places: HashMap<u64, Vec<usize>>,
    seed: RandomState,
}

impl<T> Default for Unique<T> {
    fn default() -> Unique<T> {
        Unique { list: Vec::new(), places: HashMap::default(), seed: RandomState::default() }
    }
}

impl<T: Eq + Hash> Unique<T> {
    /// Adds an item if it is not there yet; returns its index.
    pub(crate) fn insert(&mut self, item: T) -> usize {
        let places = self.places.entry(self.seed.hash_one(&item)).or_default();
        if let Some(&place) = places.iter().find(|&&place| self.list[place] == item) {
            return place;
        }
        places.push(self.list.len());
        self.list.push(item);
        self.list.len() - 1
    }

    /// How many items there are.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// The items, in the order first met.
    pub(crate) fn into_vec(self) -> Vec<T> {
        self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::hash::Hasher;

    /// A number that counts how often it is compared.
    struct Counted<'a>(usize, &'a Cell<usize>);

    impl PartialEq for Counted<'_> {
        fn eq(&self, other: &Self) -> bool {
            self.1.set(self.1.get() + 1);
            self.0 == other.0
        }
    }

    impl Eq for Counted<'_> {}

    impl Hash for Counted<'_> {
        fn hash<H: Hasher>(&self, state: &mut H) {
            self.1.set(self.1.get() + 1);
            self.0.hash(state);
        }
    }

    fn steps(count: usize) -> usize {
        let steps = Cell::new(0);
        let mut list = Unique::default();
        // Each twice: a file may name one thing many times.
        for number in (0..count).chain(0..count) {
            list.insert(Counted(number, &steps));
        }
        assert!(list.into_vec().iter().map(|item| item.0).eq(0..count), "each once, in the order first met");
        steps.get()
    }

    #[test]
    fn four_times_the_items_take_four_times_the_steps() {
        let (few, many) = (steps(2_000), steps(8_000));
        assert!(many <= 5 * few, "{few} steps for 2,000 items, {many} for 8,000");
    }
}
