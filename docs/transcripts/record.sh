#!/usr/bin/env bash
# Records the transcripts of this folder anew, with the underpin given: `docs/transcripts/record.sh target/release/underpin`;
# with a name after it, that one only. Builds its programs in /tmp/demo, which must not exist; needs cc, musl-gcc, cargo with its musl target, go, and
# git, emacs and python3 to look at, ruby, puma, ruby-rack, curl and jq for the service, which takes ten minutes; skopeo, runc and
# root for the containers; clang, lld, zig 0.15, meson, cmake, rustup's target for aarch64-musl, QEMU and Debian's archive for layers, sdk and
# sdk-zig. The one of foolsgold takes the static file that `cargo xtask static` made.
set -euo pipefail
underpin=$(realpath "${1:?usage: record.sh UNDERPIN [NAME]}")
only=${2:-}
here=$(cd "$(dirname "$0")" && pwd)
# A name of its own would be another one in every recording.
work=/tmp/demo
mkdir "$work"
trap 'rm -rf "$work"' EXIT
cd "$work"
ln -s "$underpin" underpin
PATH="$work:$PATH"

# record NAME TITLE COMMAND...: each command with what it printed, and its exit code where that is not 0.
record() {
    local name=$1 title=$2 command code
    shift 2
    [ -z "$only" ] || [ "$only" = "$name" ] || return 0
    {
        printf '# %s\n\n```console\n' "$title"
        for command in "$@"; do
            printf '$ %s\n' "$command"
            code=0
            bash -c "$command" 2>&1 || code=$?
            [ "$code" = 0 ] || printf '(exit code %s)\n' "$code"
        done
        printf '```\n'
    } >"$here/$name.md"
}

cat >shape.c <<'C'
int area(int side) { return side * side; }
C
cat >main.c <<'C'
#include <stdio.h>
int area(int side);
int main(void) { return printf("%d\n", area(7)) < 0; }
C
cat >main.go <<'GO'
package main

import "fmt"

func main() { fmt.Println("49") }
GO

record git "git: a glibc program of the distribution" \
    "underpin survey git -- --version"
record emacs "emacs: 104 libraries" \
    "underpin survey emacs -- --version" \
    "underpin tree --why libpng16.so.16 emacs" \
    "underpin tree --check emacs -- --version | tail -n 14"
record python3 "python3: a program that loads more at run time" \
    "underpin survey /usr/bin/python3 -- -c 'import json, ssl'"

cc -shared -fPIC -o libshape.so shape.c
cc -o app main.c -L. -lshape -Wl,-rpath,/opt/app/lib
mkdir elsewhere && mv libshape.so elsewhere
record broken "A program whose library is somewhere else" \
    "underpin survey ./app" \
    "underpin tree --why libshape.so ./app" \
    "underpin tree --env LD_LIBRARY_PATH=elsewhere ./app"
rm -r elsewhere

musl-gcc -shared -fPIC -o libshape.so shape.c
musl-gcc -o app main.c -L. -lshape -Wl,-rpath,'$ORIGIN'
record musl-dynamic "A program for musl, on a system with glibc" \
    "underpin survey ./app --" \
    "underpin check --on alpine3.20 --on rhel8 ./app" \
    "underpin tree --check ./app"

CGO_ENABLED=0 GOCACHE=$work/cache go build -o app main.go
record go-static "A static Go program" \
    "underpin survey ./app --"

ln -s "$here/../../workloads" workloads
export XDG_CACHE_HOME=$work/cache
record ruby "Ruby: a service's memory on every allocator" \
    "ruby workloads/ruby/bench_alloc.rb | jq -c '{allocator, time_s, rss_delta_mb}'" \
    "underpin run --malloc jemalloc -- ruby workloads/ruby/bench_alloc.rb | jq -c '{allocator, time_s, rss_delta_mb}'" \
    "underpin bench -r 20 --malloc system,jemalloc,mimalloc,system:arena_max=2 --env BENCH_ITERS=100000 --env BENCH_SLEEP_AFTER=1 -- ruby workloads/ruby/bench_alloc.rb" \
    "underpin run --list" \
    "underpin run --malloc jemalloc -- puma -C workloads/ruby/puma.rb >puma.log & sleep 3
curl -s http://127.0.0.1:8080/ | jq '{ruby_version, puma, rack, allocator, allocator_settings, openssl}'; kill \$!"

record containers "Containers: a program with what it opens, and a Ruby service on jemalloc" \
    "underpin image build curl --target oci -o curl.tar" \
    "underpin image build curl --target oci -o curl.tar --dry-run --json | jq -r '.files[] | select(.path | test(\"certificates|nsswitch\")) | .path, \"  \" + .because'" \
    "underpin image doctor curl.tar" \
    "underpin image build curl --target oci --without ca-roots,name-service -o bare.tar" \
    "underpin image build curl --target oci --layer-per package -o layers.tar" \
    "skopeo inspect --config oci-archive:layers.tar | jq -r '.history[].created_by'" \
    "underpin image build ruby --app workloads/ruby --malloc jemalloc:background_thread:true,dirty_decay_ms:500,muzzy_decay_ms:500 --target oci -o app.tar -- ruby -S puma -C puma.rb" \
    "underpin image doctor app.tar" \
    "skopeo inspect --config oci-archive:app.tar | jq '.config'" \
    "underpin image run app.tar -v -- ruby -e 'p Process.uid, File.exist?(\"/bin/sh\")'" \
    "underpin image run app.tar --network host & sleep 5
curl -s http://127.0.0.1:8080/ | jq -c '{pid, ruby_version, puma, rack, allocator, allocator_object, allocator_settings}'; kill \$!"

record fips "FIPS: OpenSSL's provider in a Ruby service, and what bypasses it" \
    "underpin image build ruby --app workloads/ruby --fips --target oci -o app.tar -- ruby -S puma -C puma.rb" \
    "skopeo inspect --config oci-archive:app.tar | jq '.config.Labels | with_entries(select(.key | test(\"fips\")))'" \
    "underpin image run app.tar --network host & sleep 8
curl -s http://127.0.0.1:8080/ | jq -c '{pid, ruby_version, puma, openssl}'; kill \$!" \
    "underpin image run app.tar -- ruby -rdigest -ropenssl -e 'puts Digest::MD5.hexdigest(%q(a)), OpenSSL::Digest::SHA256.hexdigest(%q(a)); OpenSSL::Digest::MD5.hexdigest(%q(a))' 2>&1 | grep -v '^{' | cut -c1-100" \
    "underpin image fips app.tar" \
    "underpin image fips app.tar --json | jq -c '.mapped, .provider, .checks[]'" \
    "underpin image build ruby --app workloads/ruby --target oci -o plain.tar -- ruby -S puma -C puma.rb" \
    "underpin image fips plain.tar | head -n 5" \
    "underpin image build ruby --app workloads/ruby --fips=/usr/lib/x86_64-linux-gnu/libz.so.1 --target oci -o not.tar"

# The benchmark draws random bytes, formats, copies and allocates: what Broker's does (workloads/broker).
cp -r "$here/../../workloads/broker" broker
mkdir empty
record broker "Broker's story: a Rust program for RHEL 8, and what the static file costs" \
    "cargo build --quiet --release --manifest-path broker/Cargo.toml --target-dir target" \
    "underpin check --on rhel8 target/release/broker-allocations | tail -n 28" \
    "underpin build broker -o static/" \
    "underpin check --on rhel8 static/broker-allocations" \
    "cp static/broker-allocations empty/ && unshare --map-root-user chroot empty /broker-allocations single 2" \
    "underpin bench -r 30 'target/release/broker-allocations single 9' 'static/broker-allocations single 9'" \
    "underpin bench -r 30 'target/release/broker-allocations multi 3' 'static/broker-allocations multi 3'"

ln -s "$here/../../target/released/x86_64/mimalloc/foolsgold" foolsgold
mkdir hello
cat >hello/config.ru <<'RU'
$served = 0

run lambda { |env|
  $served += 1
  [200, { "content-type" => "text/plain" }, ["#{env["PATH_INFO"]} is request #{$served} of this interpreter\n"]]
}
RU
ask="curl -s http://127.0.0.1:8000/first http://127.0.0.1:8000/second http://127.0.0.1:8000/third"
record foolsgold "foolsgold: an application and its server in one file" \
    "cat hello/config.ru" \
    "foolsgold pack hello -o hello-server" \
    "ldd hello-server" \
    "./hello-server --info /info & sleep 1
$ask
curl -s http://127.0.0.1:8000/info | jq -c '{interpreter, mode, linkage, libc, allocator}'; kill \$!" \
    "./hello-server --mode prefork --threads 1 & sleep 1
$ask; kill \$!"

# As layers/README.md has it.
mkdir -p my-layer/hello-src
printf 'order = 100\n' >my-layer/layer.toml
printf 'version = "1.0"\nlicence = "MIT"\nbuild = "make"\n\n[source]\nfolder = "hello-src"\n\n[take]\n"usr/bin/hello" = "hello"\n' >my-layer/hello.toml
printf '#include <stdio.h>\nint main(void) {\n    return puts("hello, nobody") < 0;\n}\n' >my-layer/hello-src/hello.c
printf 'hello: hello.c\n\t$(CC) -O2 -o hello hello.c\n' >my-layer/hello-src/Makefile
change='[[change]]
cause = "upstream bug"
why = "it greets nobody"
patches = ["greet.patch"]
evidence = { file = "hello.c", text = "nobody" }'
patch='--- a/hello.c
+++ b/hello.c
@@ -1,4 +1,4 @@
 #include <stdio.h>
 int main(void) {
-    return puts("hello, nobody") < 0;
+    return puts("hello, world") < 0;
 }'
record layers "Layers: a recipe of one's own, a change to it, and whether the change still holds" \
    "cat my-layer/hello.toml" \
    "underpin image build hello --libc musl --toolchain gcc --layer my-layer -o hello-image" \
    "underpin image run hello-image" \
    "cat >'my-layer/hello_1.*.append.toml' <<'TOML'
$change
TOML
cat >my-layer/greet.patch <<'PATCH'
$patch
PATCH
underpin image layer show hello --layer my-layer" \
    "underpin image layer check hello --layer my-layer --toolchain gcc" \
    "underpin image build hello --libc musl --toolchain gcc --layer my-layer -o hello-image | tail -n 2" \
    "underpin image run hello-image" \
    "sed -i s/nobody/all/ my-layer/hello-src/hello.c; underpin image layer check hello --layer my-layer --toolchain gcc" \
    "underpin image build hello --libc musl --toolchain gcc --layer my-layer -o hello-image" \
    "sed -i s/all/world/ my-layer/hello-src/hello.c; underpin image layer check hello --layer my-layer --toolchain gcc" \
    "underpin image layer show iproute2 --toolchain gcc" \
    "underpin image layer check iproute2 --toolchain gcc" \
    "underpin image layer check procps --toolchain gcc" \
    "printf 'all:\n\t\$(CC) -o hello hello.c -lmvec\n' >my-layer/hello-src/Makefile; rm my-layer/*.append.toml
underpin image build hello --libc musl --toolchain gcc --layer my-layer -o hello-image 2>&1 | grep underpin: | tail -n 1"

mkdir tried && cp main.c shape.c tried
printf "project('tried', 'c')\nprobe = meson.get_compiler('c').run('int main(void) { return 0; }')\nassert(probe.returncode() == 0)\nexecutable('of-meson', 'main.c', 'shape.c')\n" >tried/meson.build
printf 'cmake_minimum_required(VERSION 3.10)\nproject(tried C)\nadd_executable(of-cmake main.c shape.c)\n' >tried/CMakeLists.txt
record sdk "An SDK of clang for aarch64 and musl, moved, and what it builds in a guest" \
    "underpin image sdk --target qemu-aarch64 --libc musl --toolchain clang -o sdk" \
    "mkdir 'a place' && mv sdk 'a place'" \
    ". 'a place/sdk/environment.sh'; \$CC -O2 main.c shape.c -o area && file -b area | cut -c1-70 && \${CC%-cc}-run ./area" \
    "cmake --toolchain \"\$PWD/a place/sdk/toolchain.cmake\" -S tried -B by-cmake >log && cmake --build by-cmake | tail -n 1" \
    ". 'a place/sdk/environment.sh'; meson setup --cross-file \"\$UNDERPIN_SDK/meson.cross\" by-meson tried >log; ninja -C by-meson | tail -n 1" \
    ". 'a place/sdk/environment.sh'; cargo new --quiet of-cargo && cd of-cargo && cargo build --quiet --release && file -b target/*/release/of-cargo | cut -c1-70" \
    ". 'a place/sdk/environment.sh'; echo 'int main() {}' >a.cc; \$CXX a.cc" \
    "underpin image build area by-cmake/of-cmake by-meson/of-meson of-cargo/target/aarch64-unknown-linux-musl/release/of-cargo --target qemu-aarch64 -o area-image | tail -n 8" \
    "for program in area of-cmake of-meson of-cargo; do underpin image run area-image -- \$program; done"

# All five at once: zig has a C++ library for musl.
printf '#include <iostream>\nint main() { std::cout << "49, from C++\\n"; }\n' >main.cc
record sdk-zig "An SDK of zig for aarch64 and musl, moved, and C, C++, CMake, meson and Cargo projects of it in a guest" \
    "underpin image sdk --target qemu-aarch64 --libc musl --toolchain zig -o sdk-zig" \
    "mkdir -p 'a place' && mv sdk-zig 'a place'" \
    ". 'a place/sdk-zig/environment.sh'; \$CC -O2 main.c shape.c -o of-c && \$CXX -O2 main.cc -o of-cxx && file -b of-c of-cxx | cut -c1-70" \
    "cmake --toolchain \"\$PWD/a place/sdk-zig/toolchain.cmake\" -S tried -B zig-cmake >log && cmake --build zig-cmake | tail -n 1" \
    ". 'a place/sdk-zig/environment.sh'; meson setup --cross-file \"\$UNDERPIN_SDK/meson.cross\" zig-meson tried >log; ninja -C zig-meson | tail -n 1" \
    ". 'a place/sdk-zig/environment.sh'; cargo new --quiet zig-cargo && cd zig-cargo && cargo build --quiet --release && file -b target/*/release/zig-cargo | cut -c1-70" \
    "underpin image build of-c of-cxx zig-cmake/of-cmake zig-meson/of-meson zig-cargo/target/aarch64-unknown-linux-musl/release/zig-cargo --target qemu-aarch64 -o zig-image | tail -n 8" \
    "for program in of-c of-cxx of-cmake of-meson zig-cargo; do underpin image run zig-image -- \$program; done"

record llvm "An image by clang, lld and compiler-rt for aarch64 and musl" \
    "underpin image layer show dash --libc musl --toolchain clang --target qemu-aarch64" \
    "underpin image build dash --libc musl --toolchain clang --target qemu-aarch64 -o llvm-image" \
    "underpin image run llvm-image -- dash -c 'n=7; echo \$((n * n)); exit 3'" \
    "underpin image build dash --libc musl --toolchain gcc --target qemu-aarch64 -o gcc-image | tail -n 1" \
    "underpin image run gcc-image -- dash -c 'n=7; echo \$((n * n)); exit 3'" \
    "underpin image size llvm-image --against gcc-image"
