//! What `check` reads beyond the loader view.
