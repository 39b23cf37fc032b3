//! The memory that libc-bench's rows left in openEuler's comparison, for the page of `bench image-compare`: a Raspberry Pi 4, glibc
//! and musl as they come.

/// A row, and the KiB of virtual, resident and dirty memory after its work: glibc's and musl's of each.
pub type Left = (&'static str, [(u64, u64); 3]);

/// Its three tables of memory.
#[rustfmt::skip]
pub const MEMORY: [Left; 27] = [
    ("malloc-sparse", [(38992, 8480), (38980, 8480), (38976, 8480)]),
    ("malloc-bubble", [(39364, 156), (39240, 92), (39236, 92)]),
    ("malloc-tiny1", [(688, 32), (568, 32), (564, 32)]),
    ("malloc-tiny2", [(688, 628), (568, 604), (564, 604)]),
    ("malloc-big1", [(160, 24), (32, 24), (28, 24)]),
    ("malloc-big2", [(80192, 87404), (8044, 16072), (8040, 13052)]),
    ("malloc-thread-stress", [(16808, 52), (164, 52), (160, 52)]),
    ("malloc-thread-local", [(16808, 80), (184, 80), (180, 80)]),
    ("strstr-1", [(160, 16), (20, 16), (16, 16)]),
    ("strstr-2", [(160, 16), (20, 16), (16, 16)]),
    ("strstr-3", [(160, 16), (20, 16), (16, 16)]),
    ("strstr-4", [(160, 16), (20, 16), (16, 16)]),
    ("strstr-5", [(160, 16), (20, 16), (16, 16)]),
    ("memset", [(160, 16), (20, 16), (16, 16)]),
    ("strchr", [(160, 16), (20, 16), (16, 16)]),
    ("strlen", [(160, 16), (20, 16), (16, 16)]),
    ("thread-join-serial1", [(8352, 16), (28, 16), (24, 16)]),
    ("thread-join-serial2", [(32928, 16), (68, 16), (64, 16)]),
    ("thread-create-serial1", [(20480820, 50016), (20724, 10016), (20720, 10016)]),
    ("thread-uselesslock", [(8352, 16), (28, 16), (24, 16)]),
    ("putcgetc", [(160, 16), (24, 16), (20, 16)]),
    ("putcgetc-unlocked", [(160, 16), (24, 16), (20, 16)]),
    ("regex-compile", [(160, 40), (32, 28), (28, 28)]),
    ("regex-search-1", [(160, 16), (32, 16), (28, 16)]),
    ("regex-search-2", [(160, 16), (84, 16), (80, 16)]),
    ("thread-join-minimal1", [(8352, 16), (28, 16), (24, 16)]),
    ("thread-join-minimal2", [(41120, 16), (76, 16), (72, 16)]),
];
