//! A writer of minimal ELF files, so that every field can be wrong on purpose, in both classes and byte orders.

/// What to write; `build` lays it out as: header, program headers, interpreter, dynamic section, strings.
#[derive(Clone, Debug)]
pub struct Synthetic {
    pub wide: bool,
    pub big: bool,
    pub file_type: u16,
    pub machine: u16,
    /// `(d_tag, d_val)`; DT_STRTAB and DT_STRSZ are added before these.
    pub dynamic: Vec<(u64, u64)>,
    pub strings: Vec<u8>,
    pub interpreter: Option<Vec<u8>>,
    pub end_dynamic: bool,
}

impl Default for Synthetic {
    fn default() -> Self {
        Synthetic {
            wide: true,
            big: false,
            file_type: 3,
            machine: 62,
            dynamic: Vec::new(),
            strings: vec![0],
            interpreter: None,
            end_dynamic: true,
        }
    }
}

/// Address of file offset 0: an address is never equal to its offset.
pub const BASE: u64 = 0x10000;

impl Synthetic {
    /// Adds a string to the table, returns its offset.
    pub fn string(&mut self, text: &str) -> u64 {
        let at = self.strings.len() as u64;
        self.strings.extend_from_slice(text.as_bytes());
        self.strings.push(0);
        at
    }

    /// Adds a dynamic entry whose value is a new string.
    pub fn named(&mut self, tag: u64, text: &str) -> &mut Self {
        let at = self.string(text);
        self.dynamic.push((tag, at));
        self
    }

    fn int(&self, out: &mut Vec<u8>, value: u64, size: usize) {
        let bytes = value.to_le_bytes();
        let mut bytes = bytes[..size].to_vec();
        if self.big {
            bytes.reverse();
        }
        out.extend(bytes);
    }

    fn word(&self, out: &mut Vec<u8>, value: u64) {
        self.int(out, value, if self.wide { 8 } else { 4 });
    }

    fn segment(&self, out: &mut Vec<u8>, kind: u64, offset: u64, size: u64) {
        self.int(out, kind, 4);
        if self.wide {
            self.int(out, 6, 4);
        }
        for value in [offset, BASE + offset, BASE + offset, size, size] {
            self.word(out, value);
        }
        if !self.wide {
            self.int(out, 6, 4);
        }
        self.word(out, 8);
    }

    pub fn build(&self) -> Vec<u8> {
        let (header, entry, dyn_size) = if self.wide { (64, 56, 16) } else { (52, 32, 8) };
        let interpreter = self.interpreter.clone().unwrap_or_default();
        let count = 2 + u64::from(self.interpreter.is_some());
        let interpreter_at = header + entry * count;
        let dynamic_at = interpreter_at + interpreter.len() as u64;
        let entries = 2 + self.dynamic.len() as u64 + u64::from(self.end_dynamic);
        let strings_at = dynamic_at + entries * dyn_size;
        let total = strings_at + self.strings.len() as u64;
        let mut out = vec![0x7f, b'E', b'L', b'F', 1 + u8::from(self.wide), 1 + u8::from(self.big), 1];
        out.resize(16, 0);
        self.int(&mut out, u64::from(self.file_type), 2);
        self.int(&mut out, u64::from(self.machine), 2);
        self.int(&mut out, 1, 4);
        for value in [BASE + 0x40, header, 0] {
            self.word(&mut out, value);
        }
        self.int(&mut out, 0, 4);
        for value in [header, entry, count, 0, 0, 0] {
            self.int(&mut out, value, 2);
        }
        self.segment(&mut out, 1, 0, total);
        self.segment(&mut out, 2, dynamic_at, entries * dyn_size);
        if self.interpreter.is_some() {
            self.segment(&mut out, 3, interpreter_at, interpreter.len() as u64);
        }
        out.extend(&interpreter);
        let fixed = [(5, BASE + strings_at), (10, self.strings.len() as u64)];
        let end = self.end_dynamic.then_some((0, 0));
        for (tag, value) in fixed.into_iter().chain(self.dynamic.iter().copied()).chain(end) {
            self.word(&mut out, tag);
            self.word(&mut out, value);
        }
        out.extend(&self.strings);
        out
    }
}
