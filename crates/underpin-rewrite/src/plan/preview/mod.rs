//! What files and programs would be like: originals of bound files, the bytes of a plan, every closure resolved again.

pub(super) mod after;
pub(super) mod originals;
pub(super) mod reserve;
pub(super) mod stale;
pub(super) mod unbound;
