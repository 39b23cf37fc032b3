//! What a person should know about a closure, beyond the closure itself.
use crate::closure::Finding;
use crate::files::Files;
use crate::loader::Loader;
use crate::resolver::{Depth, Program, Resolution};

pub(crate) fn collect(_f: &Files<'_>, _l: &Loader, _p: &Program, _r: &Resolution, _d: Depth) -> Vec<Finding> {
    Vec::new()
}
