'use strict';

// Which allocator serves this process, and how it came there. Node cannot ask the dynamic linker for an address, so the
// linker's own list of objects is read (Node's diagnostic report has it, in search order): the first with an allocator's
// name serves, and if there is none, the C library does. An environment variable counts for nothing.

const fs = require('node:fs');
const path = require('node:path');

const FAMILIES = ['jemalloc', 'mimalloc', 'snmalloc', 'tcmalloc', 'hoard'];
const LIBC = [['glibc', /^libc[.-]/], ['musl', /^ld-musl-/]];
const PART = Buffer.alloc(65536);
const OVERLAP = 256;

function libc(file) {
  return LIBC.find(([, pattern]) => pattern.test(file))?.[0];
}

function objects() {
  process.report.excludeNetwork = true;
  return process.report.getReport().sharedObjects.filter((object) => object.startsWith('/'));
}

// Whether an ELF file has the library's name among its strings, as every file has the names that it needs. It is read
// part by part into one buffer, since what is read here must not weigh in the figures; each part begins with the end of
// the one before.
function needs(object, library) {
  const stem = Buffer.from(`\0${/.*?\.so|.*/.exec(library)[0]}`);
  let file;
  try {
    file = fs.openSync(object);
    const more = (kept) => fs.readSync(file, PART, kept, PART.length - kept, null);
    let kept = 0;
    for (let size = more(0); size > 0; size = more(kept)) {
      const window = PART.subarray(0, kept + size);
      for (let at = window.indexOf(stem); at >= 0; at = window.indexOf(stem, at + 1)) {
        const rest = window.latin1Slice(at + stem.length, at + stem.length + 32);
        if (/^[.\d]*\0/.test(rest)) return true;
      }
      kept = Math.min(OVERLAP, window.length);
      window.copy(PART, 0, window.length - kept);
    }
  } catch {
    // A file that no longer exists needs no library.
  } finally {
    if (file !== undefined) fs.closeSync(file);
  }
  return false;
}

// For example `jemalloc (via LD_PRELOAD)`, `glibc (libc)`.
function description() {
  const loaded = objects();
  const found = loaded.find((object) => FAMILIES.some((name) => path.basename(object).includes(name)));
  if (!found) {
    const name = loaded.map((object) => libc(path.basename(object))).find((name) => name);
    return name ? `${name} (libc)` : 'unknown (no C library is loaded)';
  }
  const file = path.basename(found);
  const name = FAMILIES.find((family) => file.includes(family));
  const others = [process.execPath, ...loaded].filter((object) => object !== found);
  return `${name} (${others.some((other) => needs(other, file)) ? 'linked' : 'via LD_PRELOAD'})`;
}

module.exports = { description };
