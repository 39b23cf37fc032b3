//! Which name becomes which path: decided from facts about files and from closures, before anything is rewritten.
//!
//! How a file is rewritten is not known here: the result are edits of strings ([`crate::edits`]).

pub(super) mod candidates;
pub(super) mod exclusions;
pub(super) mod facts;
pub(super) mod ground;
pub(super) mod late;
pub(super) mod object;
pub(super) mod resolutions;
pub(super) mod search;
pub(super) mod shelves;
pub(super) mod signature;
pub(super) mod site;
pub(super) mod view;
pub(super) mod whole;
