//! Gzip (RFC 1952) from as many processors as there are: parts of a fixed size are compressed side by side, each to a member of
//! its own (2.2: a file is a series of members). The bytes depend on the content alone, not on the processors or on how it
//! arrived.

use super::ahead::Program;
use libdeflater::{CompressionLvl, Compressor};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use underpin_sys::{elsewhere, zeros};

/// Bytes of content in each of the first parts: small enough that a small program is several.
pub(super) const PART: usize = 64 << 10;
/// So many are of that size. Those behind them are larger, so that parts take little more room than the whole would.
const FIRST: usize = 16;
const LATER_PART: usize = 8 * PART;

/// The size of a part in bytes, of which so many are before it.
pub(super) const fn part_size(count: usize) -> usize {
    if count < FIRST { PART } else { LATER_PART }
}

/// How hard it is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Effort {
    /// As libdeflate counts.
    pub level: i32,
    /// From so many bytes on a file is parts of its own.
    pub apart: u64,
}

/// What compresses: the threads and the memory of one image, for each of its layers in turn.
pub(super) struct Gzip {
    /// Of this thread, which compresses rather than wait.
    worker: Worker,
    workers: Workers,
    effort: Effort,
    /// What was compressed ahead.
    pub ahead: Vec<Program>,
}

impl Gzip {
    /// With other threads for so many bytes: none for one processor, and none for one part.
    pub(super) fn new(effort: Effort, processors: usize, size: u64) -> Gzip {
        Gzip::with(effort, Workers::start(effort, processors, size))
    }

    /// With threads that were started before.
    pub(super) fn with(effort: Effort, workers: Workers) -> Gzip {
        let worker = Worker::new(effort);
        Gzip { worker, workers, effort, ahead: Vec::new() }
    }

    /// A writer that compresses.
    pub(super) fn to<W: Write>(&mut self, to: W) -> Layer<'_, W> {
        Layer { to, with: self, part: Vec::new(), count: 0, coming: VecDeque::new() }
    }

    /// No layer follows: the threads may end while the image's documents are written.
    pub(super) fn close(&self) {
        self.workers.close();
    }

    /// Compresses other parts until this one is done.
    fn wait(&mut self, part: &Coming) -> io::Result<Answer> {
        let ended = || io::Error::other("a thread that compresses ended");
        loop {
            match part.try_recv() {
                Ok(answer) => return answer,
                Err(TryRecvError::Disconnected) => return Err(ended()),
                Err(TryRecvError::Empty) => {}
            }
            match self.workers.shared.job() {
                Some(job) => self.worker.run(job, &self.workers.shared),
                None => return part.recv().map_err(|_| ended())?,
            }
        }
    }
}

/// A writer that compresses. Without [`Layer::finish`] the end is missing.
pub(super) struct Layer<'g, W> {
    to: W,
    with: &'g mut Gzip,
    part: Vec<u8>,
    /// Parts before it, since the last cut.
    count: usize,
    /// Parts on their way, in their order.
    coming: VecDeque<Coming>,
}

/// What is to be compressed, and where the result goes.
struct Job {
    part: Part,
    done: Sender<io::Result<Answer>>,
}

/// Content of a part.
enum Part {
    Bytes(Vec<u8>),
    /// So many bytes from an offset of a file, all in bytes.
    Of(Arc<File>, u64, usize),
}

/// Where a part arrives when it is compressed.
pub(super) type Coming = Receiver<io::Result<Answer>>;

/// A part that was compressed, in memory that is used again.
pub(super) struct Answer {
    part: Vec<u8>,
    /// The member, and room behind it.
    room: Vec<u8>,
    /// Of the member in bytes.
    size: usize,
}

impl Answer {
    fn member(&self) -> &[u8] {
        &self.room[..self.size]
    }
}

impl<W: Write> Layer<'_, W> {
    /// Compresses what is left. Where it wrote to.
    ///
    /// # Errors
    /// If something cannot be written.
    pub(super) fn finish(mut self) -> io::Result<W> {
        // Nothing at all is a member, too.
        if !self.part.is_empty() || self.coming.is_empty() {
            self.hand();
        }
        self.put_all_but(0)?;
        Ok(self.to)
    }

    /// Gives the part to whoever is free first.
    fn hand(&mut self) {
        let mut next = self.with.workers.shared.spare().unwrap_or_default();
        next.clear();
        let part = std::mem::replace(&mut self.part, next);
        self.count += 1;
        self.coming.push_back(self.with.workers.take(Part::Bytes(part)));
    }

    /// Ends a part here: what follows is compressed by itself, to the same bytes whatever is before it.
    pub(super) fn cut(&mut self) {
        if !self.part.is_empty() {
            self.hand();
        }
        self.count = 0;
    }

    /// The program of this file, if it was compressed ahead.
    pub(super) fn ahead(&mut self, path: &Path, size: u64) -> Option<Program> {
        let at = self.with.ahead.iter().position(|program| program.is(path, size))?;
        Some(self.with.ahead.swap_remove(at))
    }

    /// Writes a part that was compressed ahead, and shows its content.
    ///
    /// # Errors
    /// If it could not be read, or cannot be written.
    pub(super) fn put(&mut self, part: &Coming, see: impl FnOnce(&[u8])) -> io::Result<()> {
        self.put_all_but(0)?;
        let answer = self.with.wait(part)?;
        see(&answer.part);
        self.to.write_all(answer.member())?;
        self.with.workers.shared.give_back(answer);
        Ok(())
    }

    /// Whether a file of so many bytes is parts of its own.
    pub(super) fn is_apart(&self, size: u64) -> bool {
        size >= self.with.effort.apart
    }

    /// Writes the oldest parts until no more than so many are on their way.
    fn put_all_but(&mut self, left: usize) -> io::Result<()> {
        while self.coming.len() > left {
            let Some(part) = self.coming.pop_front() else { break };
            let answer = self.with.wait(&part)?;
            self.to.write_all(answer.member())?;
            self.with.workers.shared.give_back(answer);
        }
        Ok(())
    }
}

impl<W: Write> Write for Layer<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.part.len() == part_size(self.count) {
            self.hand();
            // Enough that no thread waits, and no more: what is on its way is in memory.
            self.put_all_but(2 * self.with.workers.threads.len() + 1)?;
        }
        let size = part_size(self.count);
        self.part.reserve_exact(size - self.part.len());
        let taken = bytes.len().min(size - self.part.len());
        self.part.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    /// Parts have their size, so nothing leaves early.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What one thread compresses with.
struct Worker {
    compressor: Compressor,
}

impl Worker {
    fn new(effort: Effort) -> Worker {
        let level = CompressionLvl::new(effort.level).unwrap_or_default();
        Worker { compressor: Compressor::new(level) }
    }

    /// The same part gives the same bytes, whatever the compressor had before. After an error nobody waits for it.
    fn run(&mut self, job: Job, shared: &Shared) {
        let _ = job.done.send(self.answer(job.part, shared));
    }

    fn answer(&mut self, part: Part, shared: &Shared) -> io::Result<Answer> {
        let part = match part {
            Part::Bytes(bytes) => bytes,
            Part::Of(file, offset, size) => {
                let mut bytes = shared.room(self.bound(size));
                bytes.truncate(size);
                file.read_exact_at(&mut bytes, offset)?;
                bytes
            }
        };
        let mut room = shared.room(self.bound(part.len()));
        let size = self.compressor.gzip_compress(&part, &mut room).map_err(io::Error::other)?;
        Ok(Answer { part, room, size })
    }

    /// Of the member of a part in bytes, at most.
    fn bound(&mut self, part: usize) -> usize {
        self.compressor.gzip_compress_bound(part)
    }
}

/// Threads that compress parts.
pub(super) struct Workers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// The parts that nobody has taken.
#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    /// Parts that a layer waits for.
    jobs: VecDeque<Job>,
    /// Those of programs that were begun ahead, behind them: a layer comes to them later.
    ahead: VecDeque<Job>,
    /// No more come.
    closed: bool,
    /// Memory of parts and members that are written, for those that come: fresh memory costs more than it takes to fill it.
    spare: Vec<Vec<u8>>,
}

impl Queue {
    fn next(&mut self) -> Option<Job> {
        self.jobs.pop_front().or_else(|| self.ahead.pop_front())
    }

    /// Nobody has anything to do.
    fn is_empty(&self) -> bool {
        self.jobs.is_empty() && self.ahead.is_empty()
    }
}

impl Shared {
    /// A part, if one is there.
    fn job(&self) -> Option<Job> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).next()
    }

    /// Memory that was used before, if there is any.
    fn spare(&self) -> Option<Vec<u8>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).spare.pop()
    }

    /// So many bytes, whatever they are.
    fn room(&self, size: usize) -> Vec<u8> {
        match self.spare() {
            Some(mut room) if room.capacity() >= size => {
                room.resize(size, 0);
                room
            }
            _ => zeros(size),
        }
    }

    /// What was written may be written over.
    fn give_back(&self, answer: Answer) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).spare.extend([answer.part, answer.room]);
    }

    /// Compresses parts until no more come.
    fn work(&self, effort: Effort) {
        let mut worker = Worker::new(effort);
        loop {
            let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
            let idle = |queue: &mut Queue| queue.is_empty() && !queue.closed;
            let mut queue = self.changed.wait_while(queue, idle).unwrap_or_else(PoisonError::into_inner);
            let Some(job) = queue.next() else { return };
            drop(queue);
            worker.run(job, self);
        }
    }

    fn change(&self, change: impl FnOnce(&mut Queue)) {
        change(&mut self.queue.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }
}

impl Workers {
    /// Called before there is a part. None for one processor, and none for one part.
    pub(super) fn start(effort: Effort, processors: usize, size: u64) -> Workers {
        let parts = usize::try_from(size / PART as u64).unwrap_or(usize::MAX);
        let count = parts.min(processors.saturating_sub(1));
        let shared: Arc<Shared> = Arc::default();
        let start = |_| {
            let shared = Arc::clone(&shared);
            // A limit of processes is no error: who waits for a part does the work.
            let thread = thread::Builder::new().spawn(move || shared.work(effort)).ok()?;
            elsewhere(&thread);
            Some(thread)
        };
        Workers { threads: (0..count).map_while(start).collect(), shared }
    }

    /// Whether there is any.
    pub(super) fn is_none(&self) -> bool {
        self.threads.is_empty()
    }

    /// A part for whoever is free first, who answers.
    fn take(&self, part: Part) -> Coming {
        let (done, answer) = channel();
        self.shared.change(|queue| {
            let of_its_kind = match part {
                Part::Bytes(_) => &mut queue.jobs,
                Part::Of(..) => &mut queue.ahead,
            };
            of_its_kind.push_back(Job { part, done });
        });
        answer
    }

    /// No more parts come, and nobody waits for those that are there.
    fn close(&self) {
        self.shared.change(|queue| {
            queue.jobs.clear();
            queue.ahead.clear();
            queue.closed = true;
        });
    }

    /// A part of a file, read by whoever compresses it when there is nothing else to do.
    pub(super) fn read(&self, file: &Arc<File>, offset: u64, size: usize) -> Coming {
        self.take(Part::Of(Arc::clone(file), offset, size))
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.close();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::MultiGzDecoder;
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

    fn effort() -> Effort {
        Effort { level: 2, apart: u64::MAX }
    }

    fn compress(bytes: &[u8], processors: usize, step: usize) -> Vec<u8> {
        let mut gzip = Gzip::new(effort(), processors, bytes.len() as u64);
        // What was compressed before makes no difference.
        for before in [&b"before"[..], bytes] {
            let mut layer = gzip.to(Vec::new());
            before.chunks(step).for_each(|part| layer.write_all(part).unwrap());
            let out = layer.finish().unwrap();
            if before.len() == bytes.len() {
                return out;
            }
        }
        unreachable!("the second is as long as itself")
    }

    #[test]
    fn what_went_in_comes_out_and_is_the_same_for_any_processors_and_steps() {
        let all = content(FIRST * PART + 2 * LATER_PART + 1000);
        let early = FIRST * PART;
        let sizes = [
            0,
            1,
            early - 1,
            early,
            early + 1,
            early + LATER_PART,
            early + LATER_PART + 1,
            PART - 1,
            PART,
            PART + 1,
            2 * PART,
            3 * PART + 5,
            all.len(),
        ];
        for size in sizes {
            let bytes = &all[..size];
            let one = compress(bytes, 1, 1 << 16);
            let mut out = Vec::new();
            MultiGzDecoder::new(&one[..]).read_to_end(&mut out).unwrap();
            assert!(out == bytes, "{size} bytes");
            for (processors, step) in [(0, 999), (2, 7), (3, 1 << 20), (8, 4096)] {
                assert!(
                    compress(bytes, processors, step) == one,
                    "{size} bytes, {processors} processors, steps of {step}"
                );
            }
        }
    }

    /// A compressor of zlib-rs that is used again finds other matches at the end of a part than a new one (issue 459), in
    /// programs more than in noise.
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
        MultiGzDecoder::new(&compress(&noise, 2, 1 << 16)[..]).read_to_end(&mut out).unwrap();
        assert!(out == noise);
    }

    #[test]
    fn parts_cost_few_bytes() {
        let all = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let all = &all[..all.len().min(16 << 20)];
        let mut whole = vec![0; all.len()];
        let whole = Worker::new(effort()).compressor.gzip_compress(all, &mut whole).unwrap();
        let parts = compress(all, 2, 1 << 16).len();
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
        let mut gzip = Gzip::new(effort(), 2, 40 * PART as u64);
        let mut gzip = gzip.to(Full(PART));
        let result = gzip.write_all(&content(40 * PART)).and_then(|()| gzip.finish().map(drop));
        assert_eq!(result.map_err(|error| error.kind()), Err(io::ErrorKind::StorageFull));
    }
}
