//! Programs that are compressed while their image is planned: to plan it, one processor reads them and what they load, and the
//! others would wait.

use super::gzip::{Coming, Gzip, Workers, part_size};
use super::layer::{SMALL, SMALL_EFFORT};
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

/// Threads at work on the programs of an image that may turn out to have them, as they are now.
#[derive(Default)]
pub struct Ahead(Option<(Workers, Vec<Program>)>);

/// A file, and its parts on their way.
pub(super) struct Program {
    file: Arc<File>,
    /// Which file it is, by `st_dev` and `st_ino`.
    is: (u64, u64),
    size: u64,
    pub parts: Vec<Coming>,
}

impl Ahead {
    /// Begins with those of small images. What cannot be read is left to whoever plans, who says so.
    pub fn begin<'p>(programs: impl IntoIterator<Item = &'p Path>) -> Ahead {
        let (mut found, mut size) = (Vec::new(), 0);
        for program in programs.into_iter().filter_map(Program::open) {
            size += program.size;
            if size >= SMALL {
                return Ahead::default();
            }
            found.push(program);
        }
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let workers = Workers::start(SMALL_EFFORT, processors, size);
        if workers.is_none() {
            return Ahead::default();
        }
        let programs = found.into_iter().map(|mut program| {
            let mut offset = 0;
            while offset < program.size {
                let left = usize::try_from(program.size - offset).unwrap_or(usize::MAX);
                let size = part_size(program.parts.len()).min(left);
                program.parts.push(workers.read(&program.file, offset, size));
                offset += size as u64;
            }
            program
        });
        let programs = programs.collect();
        Ahead(Some((workers, programs)))
    }

    /// What compresses the layers, if this image is a small one.
    pub(super) fn into_gzip(self) -> Option<Gzip> {
        let (workers, programs) = self.0?;
        let mut gzip = Gzip::with(SMALL_EFFORT, workers);
        gzip.ahead = programs;
        Some(gzip)
    }
}

impl Program {
    /// A file that is parts of its own in a layer.
    fn open(path: &Path) -> Option<Program> {
        // A FIFO would wait for its other end.
        let size = fs::metadata(path).ok().filter(fs::Metadata::is_file)?.len();
        if size < SMALL_EFFORT.apart {
            return None;
        }
        let file = File::open(path).ok()?;
        let data = file.metadata().ok().filter(|data| data.is_file() && data.len() == size)?;
        Some(Program { file: Arc::new(file), is: (data.dev(), data.ino()), size, parts: Vec::new() })
    }

    /// Whether it is the file of this name, with this size.
    pub(super) fn is(&self, path: &Path, size: u64) -> bool {
        self.size == size && fs::metadata(path).is_ok_and(|data| (data.dev(), data.ino()) == self.is)
    }

    /// Its size in bytes now.
    pub(super) fn size_now(&self) -> u64 {
        self.file.metadata().map_or(0, |data| data.len())
    }
}
