//! Hash tables of what files say: seeded anew in each process, so that a file cannot choose names that collide, and a
//! third of the cost of the standard library's SipHash, which took an eighth of a resolution.

use foldhash::quality::RandomState;

pub(crate) type HashMap<K, V> = std::collections::HashMap<K, V, RandomState>;
pub(crate) type HashSet<T> = std::collections::HashSet<T, RandomState>;
