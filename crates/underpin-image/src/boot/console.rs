//! A guest's console: the frames between its lines, as `guest/console.h` writes them, and the lines that say why it went down.

const MARK: &[u8] = b"~underpin ";
/// A frame with its head and sum, in digits.
const LONGEST: usize = 2 * ((1 << 16) + 16) + MARK.len();
/// What is kept of the kernel's own words.
const KEPT: usize = 1 << 16;

/// Takes a console apart.
#[derive(Debug, Default)]
pub struct Lines {
    pending: Vec<u8>,
    text: Vec<u8>,
}

impl Lines {
    /// The bytes of all frames that are whole with what was read now.
    ///
    /// # Errors
    /// If a frame was mixed with the kernel's words: in words.
    pub fn take(&mut self, bytes: &[u8]) -> Result<Vec<u8>, String> {
        let mut frames = Vec::new();
        for &byte in bytes {
            if byte != b'\n' {
                self.pending.push(byte);
                if self.pending.len() > LONGEST {
                    self.keep();
                }
                continue;
            }
            while self.pending.last() == Some(&b'\r') {
                self.pending.pop();
            }
            match self.pending.strip_prefix(MARK) {
                Some(digits) => {
                    let damaged = || "a line of the console was mixed with the kernel's words: run it again".to_owned();
                    frames.extend(decoded(digits).ok_or_else(damaged)?);
                    self.pending.clear();
                }
                None => self.keep(),
            }
        }
        Ok(frames)
    }

    /// What was not ours.
    pub fn text(mut self) -> Vec<u8> {
        if !self.pending.starts_with(MARK) {
            self.keep();
        }
        self.text
    }

    fn keep(&mut self) {
        self.text.append(&mut self.pending);
        self.text.push(b'\n');
        if self.text.len() > 2 * KEPT {
            self.text.drain(..self.text.len() - KEPT);
        }
    }
}

/// How many lines of a console go into a result.
const LINES: usize = 40;
/// How many lines before a panic are kept with it: what the kernel or the first process said last.
const BEFORE: usize = 5;

/// What of a console tells how the guest ended, without the terminal's control sequences.
pub fn last_words(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(KEPT)..]);
    let clean = |line: &str| line.chars().filter(|letter| !letter.is_control()).collect::<String>();
    let lines: Vec<String> = text.lines().map(clean).filter(|line| !line.trim().is_empty()).collect();
    telling(&lines, LINES).to_vec()
}

/// At most so many of the lines: the last ones, or those around a kernel's panic, whose reason stands before a trace that
/// may be longer than all that is kept (Linux `kernel/panic.c`).
#[must_use]
pub fn telling(lines: &[String], most: usize) -> &[String] {
    let tail = lines.len().saturating_sub(most);
    let panic = lines.iter().position(|line| line.contains("Kernel panic"));
    let first = panic.map_or(tail, |at| at.saturating_sub(BEFORE).min(tail));
    &lines[first..lines.len().min(first + most)]
}

fn decoded(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |digit: u8| char::from(digit).to_digit(16).map(|value| value as u8);
    let pair = |pair: &[u8]| Some(digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?);
    let mut bytes: Vec<u8> = digits.chunks(2).map(pair).collect::<Option<_>>()?;
    let sum = bytes.split_off(bytes.len().checked_sub(4)?);
    let found = bytes.iter().fold(2_166_136_261_u32, |sum, byte| (sum ^ u32::from(*byte)).wrapping_mul(16_777_619));
    (sum == found.to_le_bytes()).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Its sum is wrong.
    const MIXED: &[u8] = b"\n~underpin 6869201efd4c\n";

    #[test]
    fn frames_are_taken_out_of_a_console_and_the_rest_is_kept() {
        let sum =
            [b'h', b'i'].iter().fold(2_166_136_261_u32, |sum, byte| (sum ^ u32::from(*byte)).wrapping_mul(16_777_619));
        let digits: String =
            [b"hi".as_slice(), &sum.to_le_bytes()].concat().iter().map(|b| format!("{b:02x}")).collect();
        let stream = format!("[ 0.1] kernel\r\n~underpin {digits}\r\nlast words");
        for size in 1..stream.len() {
            let mut lines = Lines::default();
            let pieces = stream.as_bytes().chunks(size);
            let frames: Vec<u8> = pieces.flat_map(|piece| lines.take(piece).unwrap()).collect();
            assert_eq!(frames, b"hi");
            assert_eq!(lines.text(), b"[ 0.1] kernel\nlast words\n");
        }
        assert!(Lines::default().take(MIXED).is_err());
        assert!(Lines::default().take(b"~underpin \n").is_err());
    }
    #[test]
    fn a_panic_is_told_whatever_comes_after_it() {
        for (before, after) in [(0, 0), (0, 90), (3, 60), (100, 2), (100, 39), (100, 40), (100, 500)] {
            let line = |number: usize| format!("[{number}] said\r\n");
            let text: String = (0..before)
                .map(line)
                .chain(["\u{1b}[1mKernel panic - not syncing: init\n".into()])
                .chain((0..after).map(line))
                .collect();
            let words = last_words(text.as_bytes());
            assert_eq!(words.len(), (before + 1 + after).min(LINES));
            assert!(words.iter().any(|line| line == "[1mKernel panic - not syncing: init"), "{before} {after}");
            assert!(telling(&words, 20).iter().any(|line| line.contains("Kernel panic")), "{before} {after}");
        }
        let lines: Vec<String> = (0..50).map(|number| number.to_string()).collect();
        assert_eq!(telling(&lines, 2), ["48", "49"]);
        assert!(last_words(b"\n \n").is_empty());
    }
}
