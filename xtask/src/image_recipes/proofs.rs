//! What each recipe has to show in a guest: a command, and what a right build of it prints.
//!
//! What is printed is known beforehand (a checksum of nothing, factors of a number, the version in the recipe's file) or
//! follows from the guest; it is never taken from the build that is judged.

/// SHA-256 of no bytes.
const SHA256_OF_NOTHING: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// One recipe, and how its image is tried.
pub struct Proof {
    /// The recipe.
    pub name: &'static str,
    /// What its image is built from: the first is what the command is about, busybox may give it a shell.
    pub packages: &'static [&'static str],
    /// The command in the guest; must end with 0.
    pub command: &'static [&'static str],
    /// What it prints, among other things.
    pub prints: &'static [&'static str],
    /// The C library, if the recipe is only for one.
    pub libc: Option<&'static str>,
    /// Whether the layer of this repository's own programs is needed.
    pub own: bool,
}

const fn proof(
    name: &'static str,
    packages: &'static [&'static str],
    command: &'static [&'static str],
    prints: &'static [&'static str],
) -> Proof {
    Proof { name, packages, command, prints, libc: None, own: false }
}

/// The server has a certificate that no root has signed: curl has to refuse it by its roots (60; without the file of roots it is
/// 77), and to take it where it is named as a root.
const TLS: &str = "ifconfig lo up && cd /tmp && \
    openssl req -x509 -newkey rsa:2048 -nodes -keyout key -out cert -days 9 -subj /CN=localhost 2>/dev/null && \
    (openssl s_server -accept 4433 -key key -cert cert -www -quiet >/dev/null 2>&1 &) && sleep 3; \
    curl -s https://localhost:4433/ -o /dev/null --resolve localhost:4433:127.0.0.1; echo by the roots $?; \
    curl -s https://localhost:4433/ -o page --cacert cert --resolve localhost:4433:127.0.0.1; echo by its own $?; \
    grep -c 'BEGIN CERT' /etc/ssl/certs/ca-certificates.crt; grep -o 'Protocol  *: TLSv1.3' page";

/// One answer of an interpreter, and what the server says of itself; emulated, it takes a while to start.
const SERVER: &str = "ifconfig lo up; foolsgold 2>/dev/null & for second in 1 2 3 4 5 6 7 8 9; do sleep 1; \
    wget -q -O page http://127.0.0.1:8000/fools-gold && test -s page && echo answered && \
    wget -q -O - http://127.0.0.1:8000/info && exit; done; exit 1";

/// All of them, small ones first.
pub const PROOFS: &[Proof] = &[
    proof("dash", &["dash"], &["dash", "-c", "echo $((6 * 7)) $0"], &["42 dash"]),
    proof("zlib", &["asks-zlib"], &["asks-zlib"], &["zlib 1.3.1", "the same 4096 bytes"]),
    proof("jemalloc", &["asks-jemalloc"], &["asks-jemalloc"], &["jemalloc 5.3.0-", "malloc is its own"]),
    proof("mimalloc", &["asks-mimalloc"], &["asks-mimalloc"], &["mimalloc 209", "malloc is its own"]),
    Proof {
        libc: Some("glibc"),
        ..proof(
            "libxcrypt",
            &["asks-libxcrypt"],
            &["asks-libxcrypt"],
            &["$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5"],
        )
    },
    Proof {
        libc: Some("glibc"),
        ..proof(
            "glibc-charsets",
            &["asks-charsets", "glibc-charsets", "glibc-locale"],
            &["asks-charsets"],
            &["67 72 fc 6e C.UTF-8 4"],
        )
    },
    proof("lua", &["lua"], &["lua", "-e", "print(6 * 7, _VERSION)"], &["42\tLua 5.4"]),
    proof(
        "busybox",
        &["busybox"],
        &["busybox", "sh", "-c", "sha256sum /dev/null; awk 'BEGIN { print 6 * 7 }'"],
        &[SHA256_OF_NOTHING, "\n42\n"],
    ),
    proof("libgpg-error", &["libgpg-error"], &["gpg-error", "GPG_ERR_BAD_PASSPHRASE"], &["GPG_ERR_BAD_PASSPHRASE"]),
    proof("iproute2", &["iproute2"], &["ip", "-brief", "link"], &["lo", "LOOPBACK"]),
    proof("procps", &["procps"], &["sysctl", "kernel.ostype"], &["kernel.ostype = Linux"]),
    proof("dropbear", &["dropbear"], &["dropbearkey", "-t", "ed25519", "-f", "/tmp/key"], &["ssh-ed25519 AAAA"]),
    proof(
        "coreutils",
        &["coreutils"],
        &["factor", "18446744073709551615"],
        &["18446744073709551615: 3 5 17 257 641 65537 6700417"],
    ),
    proof("openssl", &["openssl"], &["openssl", "sha256", "/dev/null"], &[SHA256_OF_NOTHING]),
    proof(
        "curl",
        &["curl", "ca-certificates", "openssl", "busybox"],
        &["busybox", "sh", "-c", TLS],
        &["by the roots 60", "by its own 0", "Protocol"],
    ),
    Proof { own: true, ..proof("suites", &["suites"], &["suite-cpu", "--list"], &["core-1\ncore-n\n"]) },
    Proof {
        own: true,
        ..proof("foolsgold", &["foolsgold", "busybox"], &["busybox", "sh", "-c", SERVER], &["answered", "mruby 3.2.0"])
    },
    Proof {
        own: true,
        ..proof(
            "underpin",
            &["underpin", "busybox"],
            &["busybox", "sh", "-c", "underpin --version && underpin tree /bin/busybox"],
            &["underpin 0.1.0", "/bin/busybox"],
        )
    },
];
