//! Ends a start that cannot succeed, with one line on standard error.

use crate::calls;

/// Exit code of a bundle that cannot start, as env(1) has it for a command that cannot be invoked.
pub const CANNOT_START: usize = 126;

/// Prints `bundle: WHAT NAME (error N): ADVICE` and ends the process.
pub fn stop(what: &[u8], name: &[u8], error: i32, advice: &[u8]) -> ! {
    let mut digits = [0; 10];
    let number = decimal(error.unsigned_abs() as usize, &mut digits);
    for part in [&b"bundle: cannot start: "[..], what, name, b" (error ", number, b"): ", advice, b"\n"] {
        let _ = calls::write(2, part);
    }
    calls::exit(CANNOT_START)
}

/// A number in decimal, at the end of the buffer.
pub fn decimal(mut number: usize, buffer: &mut [u8; 10]) -> &[u8] {
    let mut start = buffer.len();
    for (index, place) in buffer.iter_mut().enumerate().rev() {
        *place = b'0' + (number % 10) as u8;
        number /= 10;
        start = index;
        if number == 0 {
            break;
        }
    }
    buffer.get(start..).unwrap_or_default()
}
