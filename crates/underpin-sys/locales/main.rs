//! A library of bundles: lets setlocale(3) and newlocale(3) find the locales of the bundle.
//!
//! glibc looks for locales in a directory that is compiled into it, unless LOCPATH names others; with LOCPATH set it no
//! longer reads the machine's archive of locales (glibc `locale/findlocale.c`), and a variable would reach every program
//! that the bundled one starts. So these functions come before those of the C library: they call them first, and only
//! if the machine has no locale of that name they call them once more with LOCPATH set for that one call. On a machine
//! with locales of its own every answer is the machine's.
//!
//! Compiled by `build.rs` alone; not a module of the crate. Its file is in the bundle's `lib`, beside `locale`.
#![no_std]
#![deny(unsafe_op_in_unsafe_fn)]

use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicBool, Ordering};

/// The result of dladdr(3) (`<dlfcn.h>`).
#[repr(C)]
struct Place {
    file: *const c_char,
    base: *mut c_void,
    symbol: *const c_char,
    address: *mut c_void,
}

unsafe extern "C" {
    fn dladdr(address: *const c_void, place: *mut Place) -> c_int;
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn getenv(name: *const c_char) -> *const c_char;
    fn setenv(name: *const c_char, value: *const c_char, overwrite: c_int) -> c_int;
    fn unsetenv(name: *const c_char) -> c_int;
}

/// `RTLD_NEXT`: the definition behind this one.
const NEXT: *mut c_void = -1_isize as *mut c_void;
const VARIABLE: *const c_char = c"LOCPATH".as_ptr();
/// `PATH_MAX`.
const PATH: usize = 4096;

type SetLocale = unsafe extern "C" fn(c_int, *const c_char) -> *mut c_char;
type NewLocale = unsafe extern "C" fn(c_int, *const c_char, *mut c_void) -> *mut c_void;

/// # Safety
/// As setlocale(3) asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn setlocale(category: c_int, name: *const c_char) -> *mut c_char {
    // SAFETY: a terminated literal; the caller's promises are those of the function called.
    unsafe {
        let next = dlsym(NEXT, c"setlocale".as_ptr());
        if next.is_null() {
            return core::ptr::null_mut();
        }
        let next = core::mem::transmute::<*mut c_void, SetLocale>(next);
        let answer = next(category, name);
        if !answer.is_null() || name.is_null() {
            return answer;
        }
        with_own_path(|| next(category, name)).unwrap_or(answer)
    }
}

/// # Safety
/// As newlocale(3) asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn newlocale(mask: c_int, name: *const c_char, base: *mut c_void) -> *mut c_void {
    // SAFETY: a terminated literal; the caller's promises are those of the function called.
    unsafe {
        let next = dlsym(NEXT, c"newlocale".as_ptr());
        if next.is_null() {
            return core::ptr::null_mut();
        }
        let next = core::mem::transmute::<*mut c_void, NewLocale>(next);
        // `base` is left as it was if this fails (POSIX), so that it may be given once more.
        let answer = next(mask, name, base);
        if !answer.is_null() || name.is_null() {
            return answer;
        }
        with_own_path(|| next(mask, name, base)).unwrap_or(answer)
    }
}

/// The name by which libstdc++ calls newlocale(3).
///
/// # Safety
/// As newlocale(3) asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __newlocale(mask: c_int, name: *const c_char, base: *mut c_void) -> *mut c_void {
    // SAFETY: the caller's promises.
    unsafe { newlocale(mask, name, base) }
}

/// Held while LOCPATH is not the user's: a second thread would take it for the user's.
static BUSY: AtomicBool = AtomicBool::new(false);

/// Calls a function while LOCPATH names the bundle's own locales. `None` if it cannot.
///
/// # Safety
/// As setenv(3): no other thread may read the environment meanwhile. Programs set their locale before they start threads;
/// and this happens only if the machine has no locale of the requested name.
unsafe fn with_own_path<T>(call: impl FnOnce() -> T) -> Option<T> {
    let mut path = [0; PATH];
    // SAFETY: the caller's promise; the path is terminated, and glibc keeps the strings of former values.
    unsafe {
        own_path(&mut path)?;
        while BUSY.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
            core::hint::spin_loop();
        }
        let former = getenv(VARIABLE);
        let answer = (setenv(VARIABLE, path.as_ptr().cast(), 1) == 0).then(call);
        if former.is_null() {
            unsetenv(VARIABLE);
        } else {
            setenv(VARIABLE, former, 1);
        }
        BUSY.store(false, Ordering::Release);
        answer
    }
}

/// The directory `locale` beside this library's file.
fn own_path(path: &mut [u8; PATH]) -> Option<()> {
    let mut place =
        Place { file: core::ptr::null(), base: NEXT, symbol: core::ptr::null(), address: core::ptr::null_mut() };
    // SAFETY: an address of this library's, and room for the answer.
    let known = unsafe { dladdr((&raw const BUSY).cast(), &raw mut place) };
    if known == 0 || place.file.is_null() {
        return None;
    }
    let mut end = 0;
    for (index, slot) in path.iter_mut().enumerate() {
        // SAFETY: the loader's own string; the NUL ends the loop.
        *slot = unsafe { *place.file.cast::<u8>().add(index) };
        match *slot {
            0 => break,
            b'/' => end = index,
            // LOCPATH is a list without a way to quote a colon.
            b':' => return None,
            _ => {}
        }
    }
    let rest = path.get_mut(end..end + b"/locale\0".len())?;
    for (slot, byte) in rest.iter_mut().zip(b"/locale\0") {
        *slot = *byte;
    }
    (end > 0).then_some(())
}

/// Called when nothing more can be done. The library has no code that panics; this is for the compiler.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
