//! In which order variants run: blocks that go there and back, each in an order of its own.
//!
//! In a block every variant runs once on the way there and once on the way back (ABBA for two), so a machine that
//! grows slower during a block slows all of them alike. The order of each block is drawn anew, so none always follows
//! the same neighbour. A block is never cut between its variants.

use crate::stats::Random;

/// The order of one block: indices of variants.
pub type Order = Vec<usize>;

/// An endless sequence of blocks.
#[derive(Clone, Debug)]
pub struct Schedule {
    variants: usize,
    random: Random,
}

impl Schedule {
    /// Blocks of that many variants.
    #[must_use]
    pub fn new(variants: usize, seed: u64) -> Schedule {
        Schedule { variants, random: Random::new(seed) }
    }

    /// The next block there and back: each variant twice.
    pub fn block(&mut self) -> Order {
        let there = self.one_way();
        there.iter().chain(there.iter().rev()).copied().collect()
    }

    /// The next block there only: each variant once.
    pub fn one_way(&mut self) -> Order {
        let mut order: Order = (0..self.variants).collect();
        self.random.shuffle(&mut order);
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_goes_there_and_back() {
        let mut schedule = Schedule::new(3, 1);
        for _ in 0..50 {
            let block = schedule.block();
            let back: Order = block.iter().rev().copied().collect();
            assert_eq!(block, back);
            for variant in 0..3 {
                assert_eq!(block.iter().filter(|&&one| one == variant).count(), 2);
            }
        }
    }

    #[test]
    fn a_linear_drift_takes_nobodys_side() {
        let mut schedule = Schedule::new(4, 9);
        for _ in 0..20 {
            let block = schedule.block();
            let place = |variant| -> usize { (0..8).filter(|&at| block[at] == variant).sum() };
            assert!((0..4).all(|variant| place(variant) == 7), "{block:?}");
        }
    }

    #[test]
    fn every_variant_starts_as_often_as_any_other() {
        let mut schedule = Schedule::new(2, 3);
        let first = (0..1000).filter(|_| schedule.block()[0] == 0).count();
        assert!((440..560).contains(&first), "{first}");
    }

    #[test]
    fn a_seed_decides_everything() {
        let blocks = |seed| {
            let mut schedule = Schedule::new(5, seed);
            (0..10).map(|_| schedule.block()).collect::<Vec<_>>()
        };
        assert_eq!(blocks(7), blocks(7));
        assert_ne!(blocks(7), blocks(8));
    }
}
