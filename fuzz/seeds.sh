#!/usr/bin/env bash
# Makes the first inputs of every fuzz target below fuzz/corpus: small files of each kind, built from source.
# Compilers that are missing are left out; the C compiler is not optional.
set -euo pipefail
cd "$(dirname "$0")"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p corpus/elf corpus/ld_so_cache corpus/ld_so_conf corpus/rewrite corpus/pack corpus/rack_env corpus/overlay

printf '\001\002s\050\000\360she sells sea shells on the sea shore; sea sh' >corpus/overlay/text

cat >"$work/library.c" <<'C'
#include <stdlib.h>
int counter = 1;
__thread int local = 2;
extern int optional(void) __attribute__((weak));
void *take(size_t size) { return optional ? 0 : malloc(size); }
C
cat >"$work/program.c" <<'C'
#include <stdio.h>
int main(int count, char **names) { return printf("%s %d\n", names[0], count) < 0; }
C
cat >"$work/bare.c" <<'C'
int answer(void) { return 42; }
C
cat >"$work/notes.s" <<'S'
    .section .note.dlopen,"a",%note
    .balign 4
    .long 4, 2f-1f, 0x407c0c0a
    .asciz "FDO"
1:  .asciz "[{\"soname\":[\"libz.so.1\"],\"feature\":\"z\",\"priority\":\"suggested\"}]"
2:  .balign 4
    .section .note.nixos.ldcache,"a",%note
    .balign 4
    .long 6, 4f-3f, 0x63a86cb6
    .asciz "NixOS"
    .balign 4
3:  .asciz "libz.so.1"
    .asciz "=/opt/libz.so.1:?/run/lib"
4:  .balign 4
    .section .note.stapsdt,"",%note
    .balign 4
    .long 8, 6f-5f, 3
    .asciz "stapsdt"
5:  .quad 0x1000, 0x2000, 0
    .asciz "rtld"
    .asciz "init_complete"
    .asciz "8@%rax"
6:  .balign 4
    .section .note.GNU-stack,"",%progbits
S
printf 'VERS_1 { global: take; };\nVERS_2 { global: counter; local: *; } VERS_1;\n' >"$work/versions.map"

small="-O1 -fPIC -shared -Wl,-z,noseparate-code -Wl,-z,max-page-size=4096"
cc $small -Wl,--version-script="$work/versions.map" -Wl,-soname,liba.so.1 -Wl,-rpath,'$ORIGIN/../lib' \
    -o corpus/elf/versions.so "$work/library.c"
cc $small -Wl,--hash-style=sysv -Wl,-z,now -o corpus/elf/sysv.so "$work/library.c"
cc $small -nostdlib -o corpus/elf/notes.so "$work/notes.s" "$work/bare.c"
cc -O1 -c -o corpus/elf/object.o "$work/library.c"
cc -O1 -s -Wl,-z,noseparate-code -o corpus/elf/program "$work/program.c"
if command -v musl-gcc >/dev/null; then
    musl-gcc -O1 -s -static -Wl,-z,noseparate-code -o corpus/elf/static "$work/program.c"
    musl-gcc -O1 -s -Wl,-z,noseparate-code -o corpus/elf/musl "$work/program.c"
fi
if command -v clang >/dev/null && command -v ld.lld >/dev/null; then
    for target in aarch64-linux-gnu armv7-linux-gnueabihf riscv64-linux-gnu powerpc64le-linux-gnu powerpc64-linux-gnu \
        powerpc-linux-gnu mips-linux-gnu i386-linux-gnu; do
        clang --target="$target" -nostdlib -shared -fPIC -fuse-ld=lld -Wl,-z,max-page-size=4096 \
            -Wl,-soname,lib.so.1 -o "corpus/elf/$target.so" "$work/bare.c"
    done
fi
printf '\177ELF' >corpus/elf/magic
printf '#!/bin/sh\n' >corpus/elf/script

# What can be bound is made of the same files.
cp corpus/elf/*.so corpus/elf/program corpus/rewrite/
[ ! -f corpus/elf/musl ] || cp corpus/elf/musl corpus/rewrite/

# One number, least significant byte first.
le32() { printf "\\x$(printf %02x $(($1 & 255)))\\x$(printf %02x $(($1 >> 8 & 255)))\\x$(printf %02x $(($1 >> 16 & 255)))\\x$(printf %02x $(($1 >> 24 & 255)))"; }
# The new format: 48 bytes of header, an entry of 24 bytes, the strings (glibc sysdeps/generic/dl-cache.h).
new_cache() {
    printf 'glibc-ld.so.cache1.1'
    le32 1; le32 32; le32 2; le32 0; le32 0; le32 0; le32 0
    le32 0x303; le32 72; le32 82; le32 0; le32 0; le32 0
    printf 'libz.so.1\0/usr/lib/libz.so.1\0\0\0\0'
}
new_cache >corpus/ld_so_cache/new
# The old format, alone and with the new one behind it.
{ printf 'ld.so-1.7.0\0'; le32 1; le32 3; le32 0; le32 10; printf 'libz.so.1\0/usr/lib/libz.so.1\0'; } >corpus/ld_so_cache/old
{ printf 'ld.so-1.7.0\0'; le32 0; new_cache; } >corpus/ld_so_cache/both
if [ -r /etc/ld.so.cache ]; then head -c 4096 /etc/ld.so.cache >corpus/ld_so_cache/cut; fi

printf 'include /etc/ld.so.conf.d/*.conf\n' >corpus/ld_so_conf/include
printf '# comment\n/usr/local/lib\n/opt/lib/ # more\n\nhwcap 1 x\n/lib=libc6\n  relative\n' >corpus/ld_so_conf/lines

# Bytes of data (one byte), an index: its count, and for each file the length of the name, the name, kind, two lengths, sum.
le64() { le32 "$1"; le32 0; }
file() { printf "\\x$(printf %02x ${#1})\\0%s\\x$2" "$1"; le64 "$3"; le64 "$4"; printf '%032d' 0; }
{ printf '\14'; le32 4; file a 00 5 0; file lib/b.rb 01 4 0; file lib/c.rb 02 2 1; file lib/d.rb 03 1 0; } >corpus/pack/every-kind
{ printf '\0'; le32 0; } >corpus/pack/empty

printf 'GET /a%%20b/c?x=1&y\naccept: */*\nx-a: 1\nx-a: 2\ncookie: a=1\ncookie: b=2\n\n' >corpus/rack_env/get
printf 'POST /\ncontent-type: application/x-www-form-urlencoded\nX_Y: 1\nproxy: evil\n\na=1&b=2' >corpus/rack_env/post
printf 'OPTIONS *\n\n' >corpus/rack_env/options
