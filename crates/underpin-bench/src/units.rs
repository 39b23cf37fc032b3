//! Units as types: nanoseconds and bytes.

use serde::{Deserialize, Serialize};

pub use underpin_sys::Nanos;

/// A size in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);
