//! What files and programs would be like: originals of bound files, the bytes of a plan, a second look at every closure.

pub(super) mod after;
pub(super) mod originals;
pub(super) mod reserve;
pub(super) mod stale;
pub(super) mod unbound;
