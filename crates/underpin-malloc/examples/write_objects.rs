//! Writes the objects to link in for this processor into a folder: `ALLOCATOR-GOAL.o`, `takeover.o`, `glibc-static.o`,
//! `overlay.o`, `numbers.o`, `random.o`, `stacks.o`, and the other objects of the overlay by their names.
//! For `cargo xtask bench broker` and for trying them by hand.

use std::env;
use std::error::Error;
use std::fs;
use std::path::PathBuf;
use underpin_malloc::{Goal, glibc_static, linkable, on_board, takeover};

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
    fs::write(folder.join("overlay.o"), underpin_overlay::object(processor)?.bytes)?;
    fs::write(folder.join("numbers.o"), underpin_overlay::numbers(processor)?.bytes)?;
    fs::write(folder.join("random.o"), underpin_overlay::random(processor)?.bytes)?;
    fs::write(folder.join("stacks.o"), underpin_overlay::stacks(processor)?.bytes)?;
    fs::write(folder.join("options.o"), underpin_overlay::options(processor)?.bytes)?;
    fs::write(folder.join("dates.o"), underpin_overlay::dates(processor)?.bytes)?;
    fs::write(folder.join("regex.o"), underpin_overlay::regex(processor)?.bytes)?;
    fs::write(folder.join("sequences.o"), underpin_overlay::sequences(processor)?.bytes)?;
    fs::write(folder.join("universal.o"), underpin_overlay::universal(processor)?.bytes)?;
    fs::write(folder.join("break.o"), underpin_overlay::data_break(processor)?.bytes)?;
    fs::write(folder.join("messages.o"), underpin_overlay::messages(processor)?.bytes)?;
    Ok(())
}
