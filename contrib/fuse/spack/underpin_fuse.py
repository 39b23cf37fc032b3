"""A hook for Spack: the libraries of each program that it installs are merged into one file.

Copy it to lib/spack/spack/hooks of a Spack, and add "spack.hooks.underpin_fuse" to HOOK_ORDER in __init__.py there, before
"spack.hooks.write_install_manifest". `underpin` must be in PATH. A prefix without a program, or with programs of fewer than
ten libraries, is left as it is.
"""

import os
import subprocess


def post_install(spec, explicit=None):
    if spec.external:
        return
    folders = (os.path.join(str(spec.prefix), name) for name in ("bin", "sbin", "libexec"))
    for folder in filter(os.path.isdir, folders):
        done = subprocess.run(["underpin", "bind", "--fuse", folder], capture_output=True, text=True)
        if done.returncode != 0 and "no program" not in done.stderr:
            print(done.stdout + done.stderr)
