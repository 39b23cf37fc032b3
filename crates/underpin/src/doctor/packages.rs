//! Which package provides a tool, by distribution, so that a user without it gets the command that installs it.

use super::Host;

/// Something to install.
#[derive(Clone, Copy, Debug)]
pub(super) enum Package {
    /// A C compiler with the C library's headers.
    CCompiler,
    /// clang.
    Clang,
    /// musl, its headers and its compiler wrapper.
    Musl,
    /// User-mode QEMU.
    Qemu,
    /// QEMU's machines with x86-64 processors.
    QemuX86,
    /// QEMU's machines with aarch64 processors.
    QemuArm,
}

/// The supported package managers.
#[derive(Clone, Copy, Debug)]
pub(super) enum PackageManager {
    Apt,
    Dnf,
    Apk,
    Pacman,
    Zypper,
}

impl PackageManager {
    /// By `ID` and `ID_LIKE` of os-release(5).
    pub(super) fn of(host: &Host) -> Option<PackageManager> {
        let text = host.read("/etc/os-release").or_else(|| host.read("/usr/lib/os-release"))?;
        let value = |key: &str| {
            text.lines().find_map(|line| Some(line.strip_prefix(key)?.trim_matches('"').to_owned())).unwrap_or_default()
        };
        let ids = format!("{} {}", value("ID="), value("ID_LIKE="));
        ids.split(' ').find_map(|id| match id {
            "debian" | "ubuntu" => Some(PackageManager::Apt),
            "fedora" | "rhel" | "centos" | "amzn" | "openEuler" => Some(PackageManager::Dnf),
            "alpine" => Some(PackageManager::Apk),
            "arch" => Some(PackageManager::Pacman),
            "suse" | "opensuse" | "sles" => Some(PackageManager::Zypper),
            _ => None,
        })
    }

    /// The command line that installs it.
    pub(super) fn install(self, what: Package) -> String {
        format!("{} {}", self.command(), self.names(what))
    }

    fn command(self) -> &'static str {
        match self {
            PackageManager::Apt => "apt-get install",
            PackageManager::Dnf => "dnf install",
            PackageManager::Apk => "apk add",
            PackageManager::Pacman => "pacman -S",
            PackageManager::Zypper => "zypper install",
        }
    }

    fn names(self, what: Package) -> &'static str {
        match (what, self) {
            (Package::CCompiler, PackageManager::Apt) => "gcc libc6-dev",
            (Package::CCompiler, PackageManager::Apk) => "gcc musl-dev",
            (Package::CCompiler, PackageManager::Pacman) => "gcc",
            (Package::CCompiler, PackageManager::Dnf | PackageManager::Zypper) => "gcc glibc-devel",
            (Package::Clang, _) => "clang",
            (Package::Musl, PackageManager::Apt) => "musl musl-dev musl-tools",
            (Package::Musl, PackageManager::Dnf) => "musl-libc musl-devel musl-gcc",
            (Package::Musl, PackageManager::Apk) => "musl-dev",
            (Package::Musl, PackageManager::Pacman | PackageManager::Zypper) => "musl",
            (Package::Qemu, PackageManager::Apt) => "qemu-user",
            (Package::Qemu, PackageManager::Dnf) => "qemu-user-static",
            (Package::Qemu, PackageManager::Apk) => "qemu-aarch64 qemu-arm qemu-riscv64",
            (Package::Qemu, PackageManager::Pacman) => "qemu-user",
            (Package::Qemu, PackageManager::Zypper) => "qemu-linux-user",
            (Package::QemuX86, PackageManager::Apt | PackageManager::Pacman) => "qemu-system-x86",
            (Package::QemuX86, PackageManager::Dnf) => "qemu-system-x86-core",
            (Package::QemuX86, PackageManager::Apk) => "qemu-system-x86_64",
            (Package::QemuX86, PackageManager::Zypper) => "qemu-x86",
            (Package::QemuArm, PackageManager::Apt) => "qemu-system-arm",
            (Package::QemuArm, PackageManager::Dnf) => "qemu-system-aarch64-core",
            (Package::QemuArm, PackageManager::Apk | PackageManager::Pacman) => "qemu-system-aarch64",
            (Package::QemuArm, PackageManager::Zypper) => "qemu-arm",
        }
    }
}
