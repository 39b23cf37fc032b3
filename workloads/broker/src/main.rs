//! What an allocator and a C library cost a Rust program: the allocation benchmark of fossas/broker (`single`, `multi`),
//! written anew, and the cases that it leaves out.
//!
//! `broker-allocations --row TEST [MS]` is the suite `alloc` of `underpin bench --suite`: the test in this process, again and
//! again for so long, and one line of JSON as `suites/common/row.h` describes it.
//!
//! `broker-allocations TEST [TIMES]` runs one test so many times after one run that does not count, and prints one line:
//! the nanoseconds of each, `;`, then the peak of the resident memory, what is resident after everything was dropped, and
//! after a pause, all in KiB.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::hint::black_box;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Entries of the table, and lookups of one task.
const ENTRIES: usize = 10_000;
/// Lookup tasks of `multi`, and the threads that share them.
const TASKS: usize = 10;
const THREADS: usize = 4;

unsafe extern "C" {
    fn getrandom(buffer: *mut u8, length: usize, flags: u32) -> isize;
}

/// Where the sixteen bytes of a key come from.
#[derive(Clone, Copy)]
enum Source {
    /// The kernel, once for each key, as the crate `uuid` does.
    Kernel,
    /// This program's own generator: the allocator's share is larger.
    Own,
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 16) as usize % bound
    }

    /// `NUMBER-UUID`, the UUID of version 4 and in its own text first, as `format!` with a `Uuid` makes it.
    fn key(&mut self, number: usize, source: Source) -> String {
        let mut bytes = [0_u8; 16];
        match source {
            // SAFETY: the buffer has as many bytes.
            Source::Kernel => assert_eq!(unsafe { getrandom(bytes.as_mut_ptr(), 16, 0) }, 16),
            Source::Own => {
                bytes[..8].copy_from_slice(&self.next().to_le_bytes());
                bytes[8..].copy_from_slice(&self.next().to_le_bytes());
            }
        }
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        let mut uuid = [b'-'; 36];
        let mut at = 0;
        for (index, byte) in bytes.iter().enumerate() {
            at += usize::from(matches!(index, 4 | 6 | 8 | 10));
            uuid[at] = b"0123456789abcdef"[usize::from(byte >> 4)];
            uuid[at + 1] = b"0123456789abcdef"[usize::from(byte & 15)];
            at += 2;
        }
        format!("{number}-{}", std::str::from_utf8(&uuid).expect("ASCII"))
    }
}

fn table(source: Source) -> HashMap<String, usize> {
    let mut random = Random(0x9e37_79b9);
    let mut map = HashMap::new();
    for number in 0..ENTRIES {
        map.insert(random.key(number, source), number);
    }
    map
}

fn look_up(map: &HashMap<String, usize>, seed: u64, source: Source) -> usize {
    let mut random = Random(seed);
    (0..ENTRIES).filter(|&number| map.contains_key(black_box(&random.key(number, source)))).count()
}

fn single(source: Source) {
    let map = table(source);
    black_box(look_up(&map, 77, source));
}

fn multi(source: Source) {
    let map = table(source);
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let task @ 0..TASKS = next.fetch_add(1, Ordering::Relaxed) {
                    black_box(look_up(&map, task as u64 + 1, source));
                }
            });
        }
    });
}

/// Blocks of 16 to 4,111 bytes over a table of 4,096 places, one replaced in each step.
fn churn(seed: u64) {
    let mut random = Random(seed);
    let mut kept: Vec<Vec<u8>> = (0..4096).map(|_| Vec::new()).collect();
    for _ in 0..200_000 {
        let mut block = Vec::with_capacity(16 + random.below(4096));
        block.push(1);
        let place = random.below(kept.len());
        kept[place] = block;
    }
    black_box(&kept);
}

/// Three threads allocate, one frees.
fn handed_over() {
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::sync_channel::<Vec<Vec<u8>>>(64);
        for seed in 1..THREADS as u64 {
            let sender = sender.clone();
            scope.spawn(move || {
                let mut random = Random(seed);
                for _ in 0..300 {
                    let blocks = (0..64).map(|_| vec![1_u8; 16 + random.below(500)]).collect();
                    sender.send(blocks).expect("the receiver runs");
                }
            });
        }
        drop(sender);
        scope.spawn(move || receiver.iter().for_each(drop));
    });
}

/// Vectors that grow word by word, side by side.
fn grown() {
    let mut vectors: Vec<Vec<u64>> = (0..64).map(|_| Vec::new()).collect();
    for word in 0..20_000 {
        vectors.iter_mut().for_each(|vector| vector.push(word));
    }
    black_box(&vectors);
}

/// Blocks of 16 to 80 kB, filled and dropped.
fn big() {
    let mut random = Random(5);
    for _ in 0..2_000 {
        black_box(vec![1_u8; 16_384 + random.below(65_536)]);
    }
}

/// So many large blocks, each replaced by another while the others stay: in turn by one of the same size, or at random by one of any.
fn replaced(count: usize, sizes: std::ops::RangeInclusive<usize>) {
    const PAGE: usize = 4096;
    let mut random = Random(6);
    let mut blocks: Vec<Vec<u8>> = (0..count).map(|_| Vec::new()).collect();
    let (least, range) = (*sizes.start(), sizes.end() - sizes.start() + 1);
    for round in 0..8 * count {
        let which = if range == 1 { round % count } else { random.below(count) };
        blocks[which] = Vec::new();
        let mut block = Vec::with_capacity(least + random.below(range));
        block.spare_capacity_mut().iter_mut().step_by(PAGE).for_each(|byte| drop(byte.write(1)));
        blocks[which] = block;
    }
    black_box(&blocks);
}

/// A buffer that is written to in pieces and dropped, so many times. Either it makes room as it likes, or for one piece at a time.
fn buffer(size: usize, piece: usize, times: usize, exact: bool) {
    let piece = vec![1_u8; piece];
    for _ in 0..times {
        let mut buffer = Vec::new();
        while buffer.len() < size {
            if exact {
                buffer.reserve_exact(piece.len());
            }
            buffer.extend_from_slice(&piece);
        }
        black_box(&buffer);
    }
}

/// Short strings, copied and compared.
fn small() {
    let words: Vec<String> = (0..64).map(|length| "x".repeat(8 + length)).collect();
    let mut same = 0;
    for round in 0..500 {
        for (index, word) in words.iter().enumerate() {
            let copy = black_box(word.clone());
            same += usize::from(copy == words[(index + round) % words.len()]);
        }
    }
    black_box(same);
}

/// Threads that each hold 16 MB of blocks for a moment.
fn burst() {
    thread::scope(|scope| {
        for seed in 1..=THREADS as u64 {
            scope.spawn(move || {
                let mut random = Random(seed);
                let mut held = Vec::new();
                let mut bytes = 0;
                while bytes < 16 << 20 {
                    let block = vec![1_u8; 16 + random.below(2048)];
                    bytes += block.len();
                    held.push(block);
                }
                black_box(&held);
            });
        }
    });
}

fn once(test: &str) -> bool {
    match test {
        "single" => single(Source::Kernel),
        "multi" => multi(Source::Kernel),
        "single-own" => single(Source::Own),
        "multi-own" => multi(Source::Own),
        "churn" => churn(3),
        "churn-threads" => thread::scope(|scope| {
            (1..=THREADS as u64).for_each(|seed| drop(scope.spawn(move || churn(seed))));
        }),
        "handed-over" => handed_over(),
        "grown" => grown(),
        "big" => big(),
        "replaced" => replaced(64, 900_000..=900_000),
        "replaced-mixed" => replaced(32, 16_000..=4_000_000),
        "buffer" => buffer(3 << 20, 8 << 10, 20, false),
        "appended" => buffer(64 << 20, 64 << 10, 1, true),
        "small" => small(),
        "burst" => burst(),
        "nothing" => {}
        _ => return false,
    }
    true
}

/// A line of /proc/self/status, in KiB.
fn memory(key: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    line.and_then(|rest| rest.trim_matches([':', '\t', ' ']).split(' ').next()?.parse().ok()).unwrap_or(0)
}

/// The least repetitions of a row: the time is their median.
const REPETITIONS: usize = 5;

/// Runs a test for a time and prints its figures.
fn report(test: &str, time: Duration) -> ExitCode {
    if !once(test) {
        eprintln!("there is no test {test}");
        return ExitCode::from(2);
    }
    let begun = Instant::now();
    let mut times = Vec::with_capacity(4096);
    while times.len() < REPETITIONS || begun.elapsed() < time && times.len() < times.capacity() {
        let start = Instant::now();
        once(test);
        times.push(start.elapsed().as_nanos());
    }
    if test == "burst" {
        // What is kept is what is still there after a moment.
        thread::sleep(Duration::from_millis(200));
    }
    times.sort_unstable();
    let (ns, repetitions) = (times[times.len() / 2], times.len());
    let [size, resident, dirty] = anonymous();
    println!(
        "{{\"row\":\"{test}\",\"ns\":{ns},\"operations\":1,\"repetitions\":{repetitions},\"bytes\":0,\"virtual\":{size},\
         \"resident\":{resident},\"dirty\":{dirty}}}"
    );
    ExitCode::SUCCESS
}

/// Bytes of the mappings of no file, no stack and with some permission, as libc-bench sums them: addresses, in memory,
/// private and written to.
fn anonymous() -> [u64; 3] {
    let maps = std::fs::read_to_string("/proc/self/smaps").unwrap_or_default();
    let (mut sums, mut counts) = ([0; 3], false);
    for line in maps.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [range, permissions, _, device, _, name @ ..] if range.contains('-') => {
                let is_named = name.first().is_some_and(|name| name.starts_with('[') && *name != "[heap]");
                counts = *device == "00:00" && !is_named && !permissions.starts_with("---p");
            }
            [key, kilobytes, "kB"] if counts => {
                let sum = ["Size:", "Rss:", "Private_Dirty:"].iter().position(|known| known == key);
                if let (Some(sum), Ok(kilobytes)) = (sum, kilobytes.parse::<u64>()) {
                    sums[sum] += kilobytes * 1024;
                }
            }
            _ => {}
        }
    }
    sums
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.get(1).is_some_and(|word| word == "--row") {
        let milliseconds = arguments.get(3).map_or(Some(200), |text| text.parse().ok());
        if let (Some(test), Some(milliseconds)) = (arguments.get(2), milliseconds) {
            return report(test, Duration::from_millis(milliseconds));
        }
    }
    let times = arguments.get(2).map_or(Some(5), |text| text.parse().ok());
    let (Some(test), Some(times)) = (arguments.get(1), times) else {
        eprintln!("usage: broker-allocations TEST [TIMES], broker-allocations --row TEST [MS]");
        return ExitCode::from(2);
    };
    if !once(test) {
        eprintln!("there is no test {test}");
        return ExitCode::from(2);
    }
    let mut line = String::with_capacity(4096);
    for _ in 0..times {
        let start = Instant::now();
        once(test);
        let _ = write!(line, "{} ", start.elapsed().as_nanos());
    }
    let (peak, after) = (memory("VmHWM"), memory("VmRSS"));
    if test == "burst" {
        thread::sleep(Duration::from_millis(1_500));
    }
    println!("{line}; {peak} {after} {}", memory("VmRSS"));
    ExitCode::SUCCESS
}
