//! The path behind each descriptor, as far as the traced calls show it. Threads share a table, a forked process has a
//! copy, and exec drops what is close-on-exec.

use crate::PathText;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// The descriptors of one process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Files(Rc<RefCell<HashMap<i32, Open>>>);

#[derive(Clone, Debug)]
struct Open {
    path: PathText,
    close_on_exec: bool,
}

impl Files {
    /// An independent copy of the table (`fork`).
    pub(crate) fn copied(&self) -> Files {
        Files(Rc::new(RefCell::new(self.0.borrow().clone())))
    }

    pub(crate) fn opened(&self, descriptor: i32, path: PathText, close_on_exec: bool) {
        self.0.borrow_mut().insert(descriptor, Open { path, close_on_exec });
    }

    pub(crate) fn closed(&self, descriptor: i32) {
        self.0.borrow_mut().remove(&descriptor);
    }

    /// `copy` now refers to what `original` refers to; unknown if that is unknown.
    pub(crate) fn duplicated(&self, original: i32, copy: i32) {
        let mut table = self.0.borrow_mut();
        match table.get(&original).map(|open| open.path.clone()) {
            Some(path) => table.insert(copy, Open { path, close_on_exec: false }),
            None => table.remove(&copy),
        };
    }

    pub(crate) fn path(&self, descriptor: i32) -> Option<PathText> {
        self.0.borrow().get(&descriptor).map(|open| open.path.clone())
    }

    /// The table of the same process after an exec.
    pub(crate) fn after_exec(&self) -> Files {
        let kept = self.copied();
        kept.0.borrow_mut().retain(|_, open| !open.close_on_exec);
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_for_a_child_is_its_own_and_a_threads_is_shared() {
        let parent = Files::default();
        parent.opened(3, PathText::new(b"/a"), true);
        let (thread, child) = (parent.clone(), parent.copied());
        thread.closed(3);
        assert_eq!(parent.path(3), None);
        assert_eq!(child.path(3), Some(PathText::new(b"/a")));
        child.duplicated(3, 9);
        assert_eq!(child.after_exec().path(3), None);
        assert_eq!(child.after_exec().path(9), Some(PathText::new(b"/a")));
        child.duplicated(77, 9);
        assert_eq!(child.path(9), None);
    }
}
