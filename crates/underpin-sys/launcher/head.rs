//! What the bundler tells the launcher. Mirrored word for word by `underpin_rewrite::bundle::head`; a change needs
//! another number in the params text of the entry code.

/// All in machine words of eight bytes. "Offset" is in bytes from the head itself.
#[repr(C)]
pub struct Head {
    /// The head's own address at link time.
    pub own_address: usize,
    /// The program's entry point at link time.
    pub entry: usize,
    /// Address at link time of the program headers that the loader is to see (those with a PT_INTERP).
    pub headers: usize,
    /// How many.
    pub header_count: usize,
    /// Where the libraries come from: 0 for a directory, [`FORM_FILE`] for the program's own file.
    pub form: usize,
    /// Directory: how many components to take off the program's path to come to the top of the bundle.
    pub up: usize,
    /// Directory: offset of the loader's path below the top. File: where in the file the loader is.
    pub loader: usize,
    /// Directory: 0. File: its size in bytes.
    pub loader_size: usize,
    /// Offset of the room for the text of PT_INTERP (4096 bytes).
    pub interpreter: usize,
    /// Address at link time of the dynamic section.
    pub dynamic: usize,
    /// Address at link time of its string table.
    pub strings: usize,
    /// Offset of the [`Object`]s.
    pub objects: usize,
    /// How many.
    pub object_count: usize,
    /// Index of DT_RPATH in the dynamic section, plus one; 0 for none.
    pub search_slot: usize,
    /// Offset of what follows the top's path in DT_RPATH, and of what is appended behind it (a NUL between).
    pub search: usize,
    /// Offset of the room for composed strings, and its size in bytes.
    pub room: usize,
    pub room_size: usize,
    /// Index in [`Head::objects`] of the C library whose charset modules are in the bundle, plus one; 0 for none.
    pub charsets_of: usize,
    /// Offset of `GCONV_PATH`'s value below the top.
    pub charsets: usize,
    /// Addresses in that C library, from its load address: setenv, unsetenv, iconv_open, iconv_close.
    pub functions: [usize; 4],
    /// Offset of the [`Fixup`]s, and how many.
    pub fixups: usize,
    pub fixup_count: usize,
    /// Offset of the word that DT_PREINIT_ARRAY points to, or 0: with it the loader calls the launcher once more before
    /// any initialiser runs, and libraries are copied in part only.
    pub preinit: usize,
    /// File: where in the file the code is that the loader's system calls jump to (`hooks`), and its size; 0 if the
    /// loader is as it was, and libraries are copied to memory for it.
    pub hooks: usize,
    pub hooks_size: usize,
    /// Written by the launcher: room used so far.
    pub room_used: usize,
    /// Written by the launcher: length of the top's path, which is the first string in the room.
    pub top_size: usize,
    /// Written by the launcher: what DT_PREINIT_ARRAY points to.
    pub preinit_word: usize,
}

/// [`Head::form`] of a bundle in one file.
pub const FORM_FILE: usize = 1;

/// One library of the closure.
#[repr(C)]
pub struct Object {
    /// Index of its DT_NEEDED in the program's dynamic section, or [`NO_SLOT`].
    pub slot: usize,
    /// Offset of its path below the top (directory), of its name (file), or of its path that `hooks` know (file).
    pub name: usize,
    /// File: where it is in the file, how many bytes its segments need, and how many from its start the loader reads
    /// before any code of it runs, besides what is writable.
    pub place: usize,
    pub needed_size: usize,
    pub eager_size: usize,
    /// File: not 0 if relocation writes to its code (DT_TEXTREL).
    pub writes_code: usize,
    /// Written by the launcher: its descriptor, plus one.
    pub descriptor: usize,
    /// Written by the launcher: not 0 if its copy was dropped.
    pub shared: usize,
}

/// [`Object::slot`] of a library that the program itself does not name.
pub const NO_SLOT: usize = usize::MAX;

/// A name inside a library of the file form, with room for the path of another library.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Fixup {
    /// Index of the library that holds the name.
    pub holder: usize,
    /// Offset of the name in that library.
    pub offset: usize,
    /// Index of the library that is meant.
    pub target: usize,
}

/// The head as the launcher finds it.
#[derive(Clone, Copy)]
pub struct Bundle {
    base: *mut u8,
    /// What is added to an address of link time.
    pub bias: usize,
}

impl Bundle {
    /// # Safety
    /// `params` is the place in the entry code; the bundler wrote the distance to the head there.
    pub unsafe fn at(params: *const u8) -> Bundle {
        // SAFETY: the word behind the 16 bytes of text is the distance to the head, and the head is mapped writable.
        let base = unsafe { params.add(params.add(16).cast::<usize>().read()) }.cast_mut();
        // SAFETY: as above.
        let own_address = unsafe { (*base.cast::<Head>()).own_address };
        Bundle { base, bias: (base as usize).wrapping_sub(own_address) }
    }

    pub fn head(&self) -> &Head {
        // SAFETY: mapped, initialised by the bundler, aligned to a page; no `&mut` to it is ever made.
        unsafe { &*self.base.cast::<Head>() }
    }

    /// A place `offset` bytes behind the head.
    pub fn at_offset(&self, offset: usize) -> *mut u8 {
        self.base.wrapping_add(offset)
    }

    /// An address of link time as it is now.
    pub fn now(&self, address: usize) -> *mut u8 {
        address.wrapping_add(self.bias) as *mut u8
    }

    pub fn object(&self, index: usize) -> *mut Object {
        self.at_offset(self.head().objects).cast::<Object>().wrapping_add(index)
    }

    pub fn set_room_used(&self, used: usize) {
        // SAFETY: the head is writable, and no other thread runs yet.
        unsafe { (*self.base.cast::<Head>()).room_used = used };
    }

    pub fn set_top_size(&self, size: usize) {
        // SAFETY: the head is writable, and no other thread runs yet.
        unsafe { (*self.base.cast::<Head>()).top_size = size };
    }
}
