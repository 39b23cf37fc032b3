//! The built-in lists: libraries that another machine, or a later update, replaces with its own under the same name.
//!
//! Sources. Graphics: libglvnd's dispatch libraries and vendor names, the Vulkan and GBM loaders, and the list of
//! installed components in NVIDIA's driver README. Compute: the same README, the ICD loaders of OpenCL and Level Zero.
//! Video: the same README, libva, libvdpau, Intel's dispatchers. Stubs: Spack's `non_bindable_shared_objects` of CUDA
//! and of the packages that ship such directories. MPI: the names of the MPICH ABI compatibility initiative, of Open
//! MPI, and the libraries that container runtimes inject from the host with them (Sarus, Shifter: PMI, libfabric).
//! glibc: the libraries that its `make install` puts beside libc.so.6.

use crate::plan::model::Exclusion;
use crate::plan::policy::{Pattern, Policy};
use bstr::{BStr, ByteSlice};

const GRAPHICS: [&str; 16] = [
    "libGL.so*",
    "libGLX.so*",
    "libGLX_*.so*",
    "libEGL.so*",
    "libEGL_*.so*",
    "libGLdispatch.so*",
    "libOpenGL.so*",
    "libGLESv1_CM*.so*",
    "libGLESv2*.so*",
    "libglapi.so*",
    "libgallium*.so*",
    "libvulkan.so*",
    "libvulkan_*.so*",
    "libgbm.so*",
    "libnvidia-*.so*",
    "libnvoptix.so*",
];

const COMPUTE: [&str; 8] = [
    "libcuda.so*",
    "libcudadebugger.so*",
    "libnvidia-ml.so*",
    "libnvidia-opencl.so*",
    "libnvidia-ptxjitcompiler.so*",
    "libOpenCL.so*",
    "libze_loader.so*",
    "libze_intel_*.so*",
];

const VIDEO: [&str; 10] = [
    "libva.so*",
    "libva-*.so*",
    "libvdpau.so*",
    "libvdpau_*.so*",
    "libnvcuvid.so*",
    "libnvidia-encode.so*",
    "libnvidia-fbc.so*",
    "libmfx.so*",
    "libmfx-*.so*",
    "libvpl.so*",
];

const MPI: [&str; 16] = [
    "libmpi.so*",
    "libmpi_*.so*",
    "libmpicxx.so*",
    "libmpichcxx.so*",
    "libmpifort.so*",
    "libmpif77.so*",
    "libmpif90.so*",
    "libmpich*.so*",
    "libpmpi*.so*",
    "libmpi_abi.so*",
    "libmpl.so*",
    "libpmi.so*",
    "libpmi2.so*",
    "libpmix.so*",
    "libfabric.so*",
    "liboshmem.so*",
];

const GLIBC: [&str; 17] = [
    "libc.so.6*",
    "libm.so.6*",
    "libmvec.so.1",
    "libpthread.so.0",
    "libdl.so.2",
    "librt.so.1",
    "libutil.so.1",
    "libresolv.so.2",
    "libanl.so.1",
    "libBrokenLocale.so.1",
    "libnsl.so.1",
    "libnss_files.so.2",
    "libnss_dns.so.2",
    "libnss_compat.so.2",
    "libnss_hesiod.so.2",
    "libthread_db.so.1",
    "libc_malloc_debug.so.0",
];

/// Whether a soname or requested name belongs to glibc itself, except for the loader.
pub(in crate::plan) fn is_glibc(name: &BStr) -> bool {
    listed(&GLIBC, name, None, name)
}

/// Whether a file name is that of a glibc or musl loader.
pub(in crate::plan) fn is_loader_name(name: &BStr) -> bool {
    let file = name.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    [&b"ld-linux"[..], b"ld64.so.", b"ld.so.", b"ld-musl-", b"ld-2."].iter().any(|start| file.starts_with(start))
}

impl Policy {
    /// The list that leaves a library out, requested as `name`, found at `path`, with the soname `soname`; `None` if none
    /// does. What follows from how it is found is not asked here: [`crate::plan::BuiltIn::hwcaps`] and `library_path`.
    #[must_use]
    pub fn leaves_out(&self, name: &BStr, soname: Option<&BStr>, path: &BStr) -> Option<Exclusion> {
        let user = self.exclude.iter().find(|pattern| pattern.covers(name, soname, path));
        if let Some(Pattern(pattern)) = user {
            return Some(Exclusion::Pattern { pattern: pattern.clone() });
        }
        if !self.only.is_empty() && !self.only.iter().any(|pattern| pattern.covers(name, soname, path)) {
            return Some(Exclusion::NotListed);
        }
        if !self.glibc && (is_glibc(name) || soname.is_some_and(is_glibc)) {
            return Some(Exclusion::Glibc);
        }
        let on = self.built_in;
        let lists = [
            (on.drivers, &COMPUTE[..], Exclusion::ComputeDriver),
            (on.drivers, &VIDEO[..], Exclusion::VideoDriver),
            (on.drivers, &GRAPHICS[..], Exclusion::GraphicsDriver),
            (on.mpi, &MPI[..], Exclusion::Mpi),
        ];
        let hit = lists.into_iter().find(|(on, list, _)| *on && listed(list, name, soname, path));
        let stub = on.stubs && path.split(|&byte| byte == b'/').rev().skip(1).any(|part| part.as_bstr() == "stubs");
        hit.map(|(_, _, exclusion)| exclusion).or(stub.then_some(Exclusion::Stubs))
    }
}

fn listed(list: &[&str], name: &BStr, soname: Option<&BStr>, path: &BStr) -> bool {
    list.iter().any(|pattern| crate::plan::policy::covers(pattern.as_bytes(), name, soname, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_default(name: &str, path: &str) -> Option<Exclusion> {
        Policy::default().leaves_out(name.into(), Some(name.into()), path.into())
    }

    #[test]
    fn each_list_covers_its_own_and_not_its_neighbours() {
        let rows = [
            ("libGL.so.1", Some(Exclusion::GraphicsDriver)),
            ("libEGL_mesa.so.0", Some(Exclusion::GraphicsDriver)),
            ("libGLU.so.1", None),
            ("libGLEW.so.2.2", None),
            ("libvulkan.so.1", Some(Exclusion::GraphicsDriver)),
            ("libcuda.so.1", Some(Exclusion::ComputeDriver)),
            ("libcudart.so.12", None),
            ("libnvidia-ml.so.1", Some(Exclusion::ComputeDriver)),
            ("libnvidia-encode.so.1", Some(Exclusion::VideoDriver)),
            ("libOpenCL.so.1", Some(Exclusion::ComputeDriver)),
            ("libva-drm.so.2", Some(Exclusion::VideoDriver)),
            ("libvala-0.56.so.0", None),
            ("libvdpau.so.1", Some(Exclusion::VideoDriver)),
            ("libmpi.so.12", Some(Exclusion::Mpi)),
            ("libmpi_cxx.so.40", Some(Exclusion::Mpi)),
            ("libmpifort.so.12", Some(Exclusion::Mpi)),
            ("libmpc.so.3", None),
            ("libc.so.6", None),
        ];
        for (name, expected) in rows {
            assert_eq!(by_default(name, &format!("/usr/lib/{name}")), expected, "{name}");
        }
        assert_eq!(by_default("libx.so.1", "/opt/cuda/lib64/stubs/libx.so.1"), Some(Exclusion::Stubs));
        assert_eq!(by_default("stubs", "/opt/lib/stubs"), None, "a file of that name is not a directory");
    }

    #[test]
    fn a_list_can_be_turned_off_and_the_users_word_comes_first() {
        let mut policy = Policy::default();
        policy.built_in.drivers = false;
        policy.glibc = false;
        policy.exclude = vec![Pattern("libz*".into())];
        let asked = |policy: &Policy, name: &str| policy.leaves_out(name.into(), None, "/lib/x".into());
        assert_eq!(asked(&policy, "libGL.so.1"), None);
        assert_eq!(asked(&policy, "libm.so.6"), Some(Exclusion::Glibc));
        assert_eq!(asked(&policy, "libz.so.1"), Some(Exclusion::Pattern { pattern: "libz*".into() }));
        policy.only = vec![Pattern("libq*".into())];
        assert_eq!(asked(&policy, "libr.so"), Some(Exclusion::NotListed));
        assert_eq!(asked(&policy, "libq.so"), None);
    }
}
