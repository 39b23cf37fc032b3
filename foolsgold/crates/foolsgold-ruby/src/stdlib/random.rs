//! Random bytes from the operating system, fetched in batches: a system call costs more than the bytes. The batch is
//! outside the interpreters' heaps, so nothing repeats when one is restored, and is wiped as it is handed out. Nothing
//! here forks.

use std::cell::RefCell;
use thiserror::Error;

/// Bytes fetched at once.
const STOCK: usize = 256;

thread_local! {
    static KEPT: RefCell<Stock> = const { RefCell::new(Stock { bytes: [0; STOCK], left: 0 }) };
}

/// Random bytes for later; the first `left` have not been handed out.
struct Stock {
    bytes: [u8; STOCK],
    left: usize,
}

impl Stock {
    fn fill(&mut self, wanted: &mut [u8]) -> Result<(), NoRandom> {
        if wanted.len() > STOCK / 4 {
            return getrandom::fill(wanted).map_err(|_| NoRandom);
        }
        if self.left < wanted.len() {
            self.left = 0;
            getrandom::fill(&mut self.bytes).map_err(|_| NoRandom)?;
            self.left = STOCK;
        }
        let from = self.left - wanted.len();
        let given = &mut self.bytes[from..self.left];
        wanted.copy_from_slice(given);
        given.fill(0);
        self.left = from;
        Ok(())
    }
}

fn fill(wanted: &mut [u8]) -> Result<(), NoRandom> {
    KEPT.with_borrow_mut(|kept| kept.fill(wanted))
}

/// The system returned no random bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the system gave no random bytes")]
pub struct NoRandom;

/// Random bytes.
///
/// # Errors
/// If the system returns none.
pub fn bytes(count: usize) -> Result<Vec<u8>, NoRandom> {
    let mut bytes = vec![0; count];
    fill(&mut bytes)?;
    Ok(bytes)
}

/// A number below `limit`, all equally likely; 0 if the limit is 0.
///
/// # Errors
/// If the system returns no random bytes.
pub fn below(limit: u64) -> Result<u64, NoRandom> {
    if limit == 0 {
        return Ok(0);
    }
    // Numbers above the last whole multiple of the limit would make small results more likely.
    let last = u64::MAX - (u64::MAX % limit + 1) % limit;
    loop {
        let mut number = [0; 8];
        fill(&mut number)?;
        let number = u64::from_ne_bytes(number);
        if number <= last {
            return Ok(number % limit);
        }
    }
}

/// A float in `0.0...1.0`.
///
/// # Errors
/// If the system returns no random bytes.
pub fn float() -> Result<f64, NoRandom> {
    const STEPS: u64 = 1 << 53;
    #[expect(clippy::cast_precision_loss, reason = "below 2 to the 53rd every integer is a float")]
    Ok(below(STEPS)? as f64 / STEPS as f64)
}

/// A UUID of version 4.
///
/// # Errors
/// If the system returns no random bytes.
pub fn uuid() -> Result<String, NoRandom> {
    let mut bytes = [0; 16];
    fill(&mut bytes)?;
    bytes[6] = bytes[6] & 0x0F | 0x40;
    bytes[8] = bytes[8] & 0x3F | 0x80;
    let mut text = super::digest::hex(&bytes);
    for at in [8, 13, 18, 23] {
        text.insert(at, '-');
    }
    Ok(text)
}

/// Letters and digits.
///
/// # Errors
/// If the system returns no random bytes.
pub fn alphanumeric(count: usize) -> Result<String, NoRandom> {
    const LETTERS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let mut text = String::with_capacity(count);
    while text.len() < count {
        // Two bits of each byte are unused, and the two numbers beyond the letters and digits are thrown away.
        let more = bytes(count - text.len())?;
        text.extend(
            more.into_iter().filter_map(|byte| LETTERS.get(usize::from(byte >> 2))).map(|letter| char::from(*letter)),
        );
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_uuid_has_version_four_and_does_not_repeat() {
        let uuids: HashSet<_> = (0..1000).map(|_| uuid().unwrap()).collect();
        assert_eq!(uuids.len(), 1000);
        for uuid in uuids {
            assert_eq!(uuid.len(), 36);
            assert_eq!(uuid.as_bytes()[14], b'4');
            assert!(b"89ab".contains(&uuid.as_bytes()[19]));
        }
    }

    #[test]
    fn what_is_given_out_is_not_kept() {
        let mut stock = Stock { bytes: [0; STOCK], left: 0 };
        let mut seen = HashSet::new();
        for round in 0..2000 {
            let mut wanted = vec![0; 8 + round % 90];
            stock.fill(&mut wanted).unwrap();
            assert!(seen.insert(wanted[..8].to_vec()) && wanted[wanted.len() - 8..] != [0; 8], "{round}");
            assert!(stock.bytes[stock.left..].iter().all(|byte| *byte == 0), "{round}");
        }
    }

    #[test]
    fn numbers_stay_below_their_limit_and_reach_all_of_it() {
        let seen: HashSet<_> = (0..1000).map(|_| below(7).unwrap()).collect();
        assert_eq!(seen, (0..7).collect());
        assert_eq!(below(1), Ok(0));
        assert_eq!(below(0), Ok(0));
        assert!((0..1000).all(|_| (0.0..1.0).contains(&float().unwrap())));
    }

    #[test]
    fn texts_have_the_length_asked_for_and_only_letters_and_digits() {
        for count in [0, 1, 10, 1000] {
            let text = alphanumeric(count).unwrap();
            assert_eq!(text.len(), count);
            assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        }
        assert_eq!(bytes(33).unwrap().len(), 33);
    }
}
