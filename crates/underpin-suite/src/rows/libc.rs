//! After libc-bench (Rich Felker, 2011): its 29 rows, then what it leaves out. The figures of the originals are seconds of
//! the whole work.

use super::{Row, Suite, time};

const LIBC_BENCH: &str = "libc-bench's rows";
const STACKS: &str = "Threads with stacks of 8 MiB";
const LOCKS: &str = "Locks";
const ALLOCATION: &str = "Allocation";
const BYTES: &str = "Memory and strings";
const NUMBERS: &str = "Numbers";
const CHARACTERS: &str = "Characters and locales";
const STREAMS: &str = "Streams";
const REST: &str = "Names, processes and the rest";

const fn row(group: &'static str, name: &'static str, label: &'static str) -> Row {
    time(Suite::Libc, group, name, label)
}

pub const ROWS: &[Row] = &[
    row(LIBC_BENCH, "malloc-sparse", "every 150th block of many stays").with(
        "b_malloc_sparse",
        0.133191926,
        0.155694333,
    ),
    row(LIBC_BENCH, "malloc-bubble", "all but the last of many blocks freed").with(
        "b_malloc_bubble",
        0.132751351,
        0.160789685,
    ),
    row(LIBC_BENCH, "malloc-tiny1", "small blocks, freed in order").with("b_malloc_tiny1", 0.004129741, 0.006242797),
    row(LIBC_BENCH, "malloc-tiny2", "small blocks, freed out of order").with(
        "b_malloc_tiny2",
        0.003741592,
        0.004415814,
    ),
    row(LIBC_BENCH, "malloc-big1", "large blocks, freed in order").with("b_malloc_big1", 0.030093408, 0.085103333),
    row(LIBC_BENCH, "malloc-big2", "large blocks, freed out of order").with("b_malloc_big2", 0.026437222, 0.059723722),
    row(LIBC_BENCH, "malloc-thread-stress", "two threads, each frees the blocks of both").with(
        "b_malloc_thread_stress",
        0.057703185,
        0.191215629,
    ),
    row(LIBC_BENCH, "malloc-thread-local", "two threads, each frees its own blocks").with(
        "b_malloc_thread_local",
        0.040528055,
        0.1589995,
    ),
    row(LIBC_BENCH, "strstr-1", "the alphabet in 260 kB").with(
        "b_string_strstr (abcdefghijklmnopqrstuvwxyz)",
        0.022583204,
        0.033620482,
    ),
    row(LIBC_BENCH, "strstr-2", "the alphabet from both ends").with(
        "b_string_strstr (azbycxdwevfugthsirjqkplomn)",
        0.022762333,
        0.052186926,
    ),
    row(LIBC_BENCH, "strstr-3", "14 a and 12 c").with(
        "b_string_strstr (aaaaaaaaaaaaaacccccccccccc)",
        0.023064741,
        0.034024092,
    ),
    row(LIBC_BENCH, "strstr-4", "25 a and a c").with(
        "b_string_strstr (aaaaaaaaaaaaaaaaaaaaaaaaac)",
        0.02253924,
        0.034291277,
    ),
    row(LIBC_BENCH, "strstr-5", "32 a and a c").with(
        "b_string_strstr (aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac)",
        0.024667129,
        0.038916833,
    ),
    row(LIBC_BENCH, "memset", "memset of 500 kB").with("b_string_memset", 0.021160371, 0.016245278),
    row(LIBC_BENCH, "strchr", "strchr through 500 kB").with("b_string_strchr", 0.028452092, 0.044776333),
    row(LIBC_BENCH, "strlen", "strlen of 500 kB").with("b_string_strlen", 0.01696987, 0.025606074),
    row(LIBC_BENCH, "thread-join-serial1", "a thread created and joined").with(
        "b_pthread_createjoin_serial1",
        0.546294574,
        0.589207315,
    ),
    row(LIBC_BENCH, "thread-join-serial2", "batches of threads created, then joined").with(
        "b_pthread_createjoin_serial2",
        0.518631648,
        0.443272055,
    ),
    row(LIBC_BENCH, "thread-create-serial1", "threads created and not joined").with(
        "b_pthread_create_serial1",
        0.452602518,
        0.405491611,
    ),
    row(LIBC_BENCH, "thread-uselesslock", "a lock that nobody else wants").with(
        "b_pthread_uselesslock",
        0.167918796,
        0.151241092,
    ),
    row(LIBC_BENCH, "thread-join-minimal1", "create and join, the least stack").with(
        "b_pthread_createjoin_minimal1",
        0.526583,
        0.565946184,
    ),
    row(LIBC_BENCH, "thread-join-minimal2", "batches, the least stack").with(
        "b_pthread_createjoin_minimal2",
        0.455035314,
        0.490921982,
    ),
    row(LIBC_BENCH, "utf8-bigbuf", "UTF-8 decoded, all at once").after("b_utf8_bigbuf"),
    row(LIBC_BENCH, "utf8-onebyone", "UTF-8 decoded, one by one").after("b_utf8_onebyone"),
    row(LIBC_BENCH, "putcgetc", "a character written and read").with("b_stdio_putcgetc", 0.269504648, 0.296806204),
    row(LIBC_BENCH, "putcgetc-unlocked", "the same without locks").after("b_stdio_putcgetc_unlocked"),
    row(LIBC_BENCH, "regex-compile", "a regular expression compiled").after("b_regex_compile ((a|b|c)*d*b)"),
    row(LIBC_BENCH, "regex-search-1", "a search for (a|b|c)*d*b").after("b_regex_search ((a|b|c)*d*b)"),
    row(LIBC_BENCH, "regex-search-2", "a search for a{25}b").after("b_regex_search (a{25}b)"),
    row(STACKS, "thread-join-serial1-8m", "a thread created and joined"),
    row(STACKS, "thread-join-serial2-8m", "batches of threads created, then joined"),
    row(STACKS, "thread-create-serial1-8m", "threads created and not joined"),
    row(STACKS, "thread-join-minimal1-8m", "create and join, 8 MiB in place of the least"),
    row(STACKS, "thread-join-minimal2-8m", "batches, 8 MiB in place of the least"),
    row(LOCKS, "mutex", "a mutex locked and unlocked"),
    row(LOCKS, "pthread-once", "pthread_once, done before"),
    row(LOCKS, "pthread-getspecific", "pthread_getspecific"),
    row(ALLOCATION, "malloc-free-16", "malloc and free of 16 bytes"),
    row(ALLOCATION, "malloc-free-256", "malloc and free of 256 bytes"),
    row(ALLOCATION, "malloc-free-4k", "malloc and free of 4 kB"),
    row(ALLOCATION, "malloc-free-16k", "malloc and free of 16 kB"),
    row(ALLOCATION, "malloc-free-64k", "malloc and free of 64 kB"),
    row(BYTES, "memcpy-16", "memcpy of 16 bytes"),
    row(BYTES, "memcpy-256", "memcpy of 256 bytes"),
    row(BYTES, "memcpy-4k", "memcpy of 4 kB"),
    row(BYTES, "memcpy-64k", "memcpy of 64 kB"),
    row(BYTES, "memcpy-mixed", "memcpy of 0 to 127 bytes"),
    row(BYTES, "memmove-16", "memmove of 16 bytes"),
    row(BYTES, "memmove-256", "memmove of 256 bytes"),
    row(BYTES, "memmove-4k", "memmove of 4 kB"),
    row(BYTES, "memmove-64k", "memmove of 64 kB"),
    row(BYTES, "memcmp-16", "memcmp of 16 bytes"),
    row(BYTES, "memcmp-256", "memcmp of 256 bytes"),
    row(BYTES, "memcmp-4k", "memcmp of 4 kB"),
    row(BYTES, "memcmp-64k", "memcmp of 64 kB"),
    row(BYTES, "strcmp-16", "strcmp of 16 bytes"),
    row(BYTES, "strcmp-256", "strcmp of 256 bytes"),
    row(BYTES, "strcmp-4k", "strcmp of 4 kB"),
    row(BYTES, "strcmp-mixed", "strcmp of 0 to 127 bytes"),
    row(BYTES, "strlen-mixed", "strlen of 0 to 127 bytes"),
    row(NUMBERS, "snprintf-int", "an integer printed"),
    row(NUMBERS, "snprintf-string", "a string printed"),
    row(NUMBERS, "snprintf-double", "a double printed, six digits"),
    row(NUMBERS, "snprintf-exact", "a double printed, seventeen digits"),
    row(NUMBERS, "strtod", "a double read"),
    row(NUMBERS, "strtol", "an integer read"),
    row(NUMBERS, "qsort-int", "10,000 integers sorted"),
    row(NUMBERS, "qsort-string", "10,000 strings sorted"),
    row(NUMBERS, "math-sin", "sin"),
    row(NUMBERS, "math-exp", "exp"),
    row(NUMBERS, "math-log", "log"),
    row(NUMBERS, "math-pow", "pow"),
    row(CHARACTERS, "iconv-utf16", "4,000 characters to UTF-16 and back"),
    row(CHARACTERS, "iconv-latin1", "the same with ISO-8859-1"),
    row(CHARACTERS, "iconv-open", "a conversion opened and closed"),
    row(CHARACTERS, "setlocale", "the locale changed and changed back"),
    row(CHARACTERS, "towupper", "a character read and made upper case"),
    row(STREAMS, "fputs-null", "a line formatted and written to /dev/null"),
    row(STREAMS, "fgets", "a line read"),
    row(REST, "getaddrinfo-localhost", "localhost from /etc/hosts"),
    row(REST, "getaddrinfo-numeric", "a numeric address"),
    row(REST, "fork-wait", "fork and wait"),
    row(REST, "spawn-wait", "posix_spawn of itself and wait"),
    row(REST, "dlopen", "libraries loaded; not in a static program"),
    row(REST, "clock-gettime", "clock_gettime"),
    row(REST, "getenv", "getenv"),
];
