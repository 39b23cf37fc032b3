//! Writes the objects to link in for this processor into a folder: `ALLOCATOR-GOAL.o`, `takeover.o`, `glibc-static.o`, and those
//! of the overlay by their names. For `cargo xtask bench broker` and for trying them by hand.

use std::env;
use std::error::Error;
use std::fs;
use std::path::PathBuf;
use underpin_malloc::{Goal, glibc_static, linkable, on_board, takeover};
use underpin_overlay::Part;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::args_os().nth(1).map(PathBuf::from).ok_or("usage: write_objects FOLDER")?;
    let processor = env::consts::ARCH;
    for allocator in on_board() {
        for goal in [Goal::Speed, Goal::Balanced] {
            // One that is not on board is missing in the folder, too.
            if let Ok(found) = linkable(allocator.kind, goal, processor) {
                fs::write(folder.join(format!("{}-{goal}.o", allocator.kind.name())), found.object.bytes)?;
            }
        }
    }
    fs::write(folder.join("takeover.o"), takeover(processor)?.bytes)?;
    fs::write(folder.join("glibc-static.o"), glibc_static(processor)?.bytes)?;
    for part in Part::ALL {
        fs::write(folder.join(format!("{}.o", part.name())), part.object(processor)?.bytes)?;
    }
    Ok(())
}
