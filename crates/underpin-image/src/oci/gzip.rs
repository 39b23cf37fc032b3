//! One gzip member (RFC 1952) from as many processors as there are: parts of a fixed size are compressed side by side, each with
//! the 32 KiB before it as its dictionary, and each ends at a byte (RFC 1951, 3.2.4), so that they can follow each other. The
//! bytes depend on the content alone, not on the processors or on how it arrived.

use flate2::{Compress, Compression, Crc, FlushCompress, Status};
use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// Bytes of content in a part: enough that parts take no more room than the whole would, and that a small program is several.
const PART: usize = 128 << 10;
/// How far back deflate looks.
const WINDOW: usize = 32 << 10;
/// Without a time and a name, and with "unknown" as the system, the header is the same everywhere (RFC 1952, 2.3).
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
/// The last block of deflate, with nothing in it: a fixed code and its end.
const LAST_BLOCK: [u8; 2] = [3, 0];

/// A writer that compresses. Without [`Gzip::finish`] the end is missing.
pub(super) struct Gzip<W> {
    to: W,
    level: Compression,
    /// The window before the part, and the part so far.
    part: Vec<u8>,
    /// Of them the window.
    window: usize,
    crc: Crc,
    workers: Workers,
    /// Parts on their way, in their order.
    coming: VecDeque<Receiver<Compressed>>,
}

/// What a worker is given: the window and the part behind it, and where the result goes.
struct Job {
    bytes: Vec<u8>,
    window: usize,
    done: Sender<Compressed>,
}

type Compressed = io::Result<(Vec<u8>, Crc)>;

impl<W: Write> Gzip<W> {
    /// Writes the header. No thread is started before a part is whole, and none for no processor.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(super) fn new(mut to: W, level: u32, processors: usize) -> io::Result<Gzip<W>> {
        to.write_all(&HEADER)?;
        let level = Compression::new(level);
        let workers = Workers::new(processors, level);
        let part = Vec::with_capacity(WINDOW + PART);
        Ok(Gzip { to, level, part, window: 0, crc: Crc::new(), workers, coming: VecDeque::new() })
    }

    /// Compresses what is left and writes the end. Where it wrote to.
    ///
    /// # Errors
    /// If something cannot be written.
    pub(super) fn finish(mut self) -> io::Result<W> {
        let last = std::mem::take(&mut self.part);
        if self.coming.is_empty() {
            // The only part, or there are no threads.
            let (bytes, crc) = compressed(self.level, &last, self.window)?;
            self.write_part(&bytes, &crc)?;
        } else {
            self.hand(last);
        }
        while let Some(part) = self.coming.pop_front() {
            self.put(&part)?;
        }
        self.to.write_all(&LAST_BLOCK)?;
        self.to.write_all(&self.crc.sum().to_le_bytes())?;
        self.to.write_all(&self.crc.amount().to_le_bytes())?;
        Ok(self.to)
    }

    /// Gives a window and the part behind it to the workers.
    fn hand(&mut self, bytes: Vec<u8>) {
        let (done, part) = channel();
        self.workers.take(Job { bytes, window: self.window, done });
        self.coming.push_back(part);
    }

    /// A part is whole.
    fn whole(&mut self) -> io::Result<()> {
        let mut next = Vec::with_capacity(WINDOW + PART);
        next.extend_from_slice(&self.part[self.part.len() - WINDOW..]);
        let bytes = std::mem::replace(&mut self.part, next);
        self.hand(bytes);
        self.window = WINDOW;
        // Enough that no worker waits, and no more: what is on its way is in memory.
        while self.coming.len() > 2 * self.workers.most {
            let Some(part) = self.coming.pop_front() else { break };
            self.put(&part)?;
        }
        Ok(())
    }

    fn put(&mut self, part: &Receiver<Compressed>) -> io::Result<()> {
        let (bytes, crc) = part.recv().map_err(|_| io::Error::other("a thread that compresses ended"))??;
        self.write_part(&bytes, &crc)
    }

    fn write_part(&mut self, bytes: &[u8], crc: &Crc) -> io::Result<()> {
        self.crc.combine(crc);
        self.to.write_all(bytes)
    }
}

impl<W: Write> Write for Gzip<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.part.len() == self.window + PART {
            self.whole()?;
        }
        let taken = bytes.len().min(self.window + PART - self.part.len());
        self.part.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    /// Parts have their size, so nothing leaves early.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Threads that compress parts, started as parts come.
struct Workers {
    most: usize,
    level: Compression,
    /// None once no more parts come.
    jobs: Option<Sender<Job>>,
    /// The other end, which the threads share.
    queue: Arc<Mutex<Receiver<Job>>>,
    threads: Vec<JoinHandle<()>>,
}

impl Workers {
    fn new(processors: usize, level: Compression) -> Workers {
        let (jobs, queue) = channel();
        Workers { most: processors, level, jobs: Some(jobs), queue: Arc::new(Mutex::new(queue)), threads: Vec::new() }
    }

    fn take(&mut self, job: Job) {
        if self.threads.len() < self.most {
            let (queue, level) = (Arc::clone(&self.queue), self.level);
            // A limit of processes is no error: there is more than one thread already, or this one does the work.
            self.threads.extend(thread::Builder::new().spawn(move || work(&queue, level)).ok());
        }
        match &self.jobs {
            Some(jobs) if !self.threads.is_empty() => drop(jobs.send(job)),
            _ => answer(&job, self.level),
        }
    }
}

/// Compresses parts until no more come.
fn work(queue: &Mutex<Receiver<Job>>, level: Compression) {
    loop {
        // Held while waiting: the others wait for it as they would for a part.
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = next else { return };
        answer(&job, level);
    }
}

/// After an error nobody waits for it.
fn answer(job: &Job, level: Compression) {
    let _ = job.done.send(compressed(level, &job.bytes, job.window));
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// A part behind its window, up to a byte's end. One that is reset finds other matches than a new one where its own window still
/// has bytes of before (zlib-rs issue 459, zlib-ng issue 2100): then the bytes would depend on which thread had which part.
fn compressed(level: Compression, bytes: &[u8], window: usize) -> Compressed {
    let (window, part) = bytes.split_at(window);
    let mut with = Compress::new(level, false);
    if !window.is_empty() {
        with.set_dictionary(window)?;
    }
    let mut out = Vec::with_capacity(part.len() / 2 + 64);
    loop {
        let done = usize::try_from(with.total_in()).unwrap_or(part.len());
        let status = with.compress_vec(&part[done..], &mut out, FlushCompress::Sync)?;
        // With room left everything is out, the empty block that ends at a byte included (zlib.h, deflate()).
        if status == Status::BufError || out.len() < out.capacity() {
            break;
        }
        out.reserve(out.capacity());
    }
    let mut crc = Crc::new();
    crc.update(part);
    Ok((out, crc))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::GzDecoder;
    use std::io::Read;

    /// Text that repeats itself near and far, and noise.
    fn content(size: usize) -> Vec<u8> {
        let mut state = 7_u64;
        let mut noise = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize
        };
        let mut bytes: Vec<u8> = Vec::with_capacity(size + 300);
        while bytes.len() < size {
            let (length, back) = (noise() % 200, noise() % 60_000 + 1);
            if noise() % 3 != 0 && bytes.len() > back {
                let from = bytes.len() - back;
                bytes.extend_from_within(from..(from + length).min(from + back));
            } else {
                bytes.extend((0..length).map(|_| (noise() & 0xff) as u8));
            }
        }
        bytes.truncate(size);
        bytes
    }

    fn compress(bytes: &[u8], processors: usize, step: usize) -> Vec<u8> {
        let mut gzip = Gzip::new(Vec::new(), 6, processors).unwrap();
        bytes.chunks(step).for_each(|part| gzip.write_all(part).unwrap());
        gzip.finish().unwrap()
    }

    #[test]
    fn what_went_in_comes_out_and_is_the_same_for_any_processors_and_steps() {
        let all = content(5 * PART + 1000);
        let sizes = [0, 1, WINDOW, PART - 1, PART, PART + 1, 2 * PART, 3 * PART + 5, all.len()];
        for size in sizes {
            let bytes = &all[..size];
            let one = compress(bytes, 1, 1 << 16);
            let mut out = Vec::new();
            GzDecoder::new(&one[..]).read_to_end(&mut out).unwrap();
            assert!(out == bytes, "{size} bytes");
            for (processors, step) in [(0, 999), (2, 7), (3, 1 << 20), (8, 4096)] {
                assert!(
                    compress(bytes, processors, step) == one,
                    "{size} bytes, {processors} processors, steps of {step}"
                );
            }
        }
    }

    /// A compressor that is used again finds other matches at the end of a part than a new one, in programs more than in noise.
    #[test]
    fn a_program_gives_the_same_bytes_whichever_thread_compresses_which_part() {
        let mut program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        program.truncate(40 * PART);
        let one = compress(&program, 1, 1 << 16);
        for processors in [2, 3, 5] {
            assert!(compress(&program, processors, 1 << 16) == one, "{processors} processors");
        }
    }

    #[test]
    fn parts_that_cannot_be_compressed_are_whole() {
        let mut state = 1_u32;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state.to_le_bytes()[1]
        })
        .take(2 * PART + 9)
        .collect();
        let mut out = Vec::new();
        GzDecoder::new(&compress(&noise, 2, 1 << 16)[..]).read_to_end(&mut out).unwrap();
        assert!(out == noise);
    }

    #[test]
    fn parts_cost_few_bytes() {
        let all = content(8 * PART);
        let mut whole = flate2::write::GzEncoder::new(Vec::new(), Compression::new(6));
        whole.write_all(&all).unwrap();
        let (whole, parts) = (whole.finish().unwrap().len(), compress(&all, 2, 1 << 16).len());
        assert!(parts * 100 <= whole * 101, "{parts} bytes in parts, {whole} without");
    }

    #[test]
    fn an_error_of_the_writer_comes_back_and_no_thread_stays() {
        struct Full(usize);
        impl Write for Full {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut gzip = Gzip::new(Full(PART), 6, 2).unwrap();
        let result = gzip.write_all(&content(40 * PART)).and_then(|()| gzip.finish().map(drop));
        assert_eq!(result.map_err(|error| error.kind()), Err(io::ErrorKind::StorageFull));
    }
}
