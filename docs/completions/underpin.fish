# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_underpin_global_optspecs
    string join \n color= h/help V/version
end

function __fish_underpin_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_underpin_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_underpin_using_subcommand
    set -l cmd (__fish_underpin_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c underpin -n "__fish_underpin_needs_command" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are honoured too' -r -f -a "auto\t'On a terminal'
always\t'Into files and pipes too'
never\t'Never'"
complete -c underpin -n "__fish_underpin_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c underpin -n "__fish_underpin_needs_command" -s V -l version -d 'Print version'
complete -c underpin -n "__fish_underpin_needs_command" -f -a "survey" -d 'Show the whole picture of one program, and what to do about it'
complete -c underpin -n "__fish_underpin_needs_command" -f -a "tree" -d 'Show what the loader will load, from where, why, and every path tried'
complete -c underpin -n "__fish_underpin_needs_command" -f -a "check" -d 'Show which distributions a program runs on, and which symbols rule out the others'
complete -c underpin -n "__fish_underpin_needs_command" -f -a "trace" -d 'Run a command and show what its start-up really did, call by call'
complete -c underpin -n "__fish_underpin_needs_command" -f -a "storm" -d 'Show what the start of a program costs when a whole job makes it at once'
complete -c underpin -n "__fish_underpin_needs_command" -f -a "bundle" -d 'Copy a program with its loader and libraries into a directory or one file'
complete -c underpin -n "__fish_underpin_needs_command" -f -a "build" -d 'Build a project with a C library, linkage and allocator of your choice'
complete -c underpin -n "__fish_underpin_needs_command" -f -a "image" -d 'Make a bootable image of a few programs and run commands in it; find what an image lacks'
complete -c underpin -n "__fish_underpin_needs_command" -f -a "bind" -d 'Write absolute library paths into programs, so that their start searches for nothing'
complete -c underpin -n "__fish_underpin_needs_command" -f -a "unbind" -d 'Restore every byte that `bind` changed'
complete -c underpin -n "__fish_underpin_needs_command" -f -a "verify" -d 'Prove that bound programs load what they loaded before'
complete -c underpin -n "__fish_underpin_needs_command" -f -a "bench" -d 'Benchmark commands or variants of one, and compare them, with confidence intervals'
complete -c underpin -n "__fish_underpin_needs_command" -f -a "report" -d 'Show a run that bench saved, without running anything'
complete -c underpin -n "__fish_underpin_needs_command" -f -a "run" -d 'Run a command on another allocator, and make sure that it is in effect'
complete -c underpin -n "__fish_underpin_needs_command" -f -a "doctor" -d 'Check what this machine permits (ptrace, perf, ...) and how to enable what is missing'
complete -c underpin -n "__fish_underpin_needs_command" -f -a "generate" -d 'Print a man page, shell completions or a JSON Schema'
complete -c underpin -n "__fish_underpin_using_subcommand survey" -l until -d 'How far to watch it, if it is run; it then runs on without a tracer' -r -f -a "entry\t'To the program\'s entry point: the loader\'s work'
main\t'To `main`: the initialisers too'
exit\t'To the end of its last process'"
complete -c underpin -n "__fish_underpin_using_subcommand survey" -l trial -d 'The longest that the trial of allocators may take, if a command is run that ends by itself: it is then run some sixty times more, more often if it is short; 0 for no trial' -r
complete -c underpin -n "__fish_underpin_using_subcommand survey" -l export-html -d 'Write a self-contained page' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand survey" -l export-json -d 'Write the JSON document to a file' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand survey" -l export-markdown -d 'Write a Markdown page' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand survey" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are honoured too' -r -f -a "auto\t'On a terminal'
always\t'Into files and pipes too'
never\t'Never'"
complete -c underpin -n "__fish_underpin_using_subcommand survey" -l measure-bind -d 'Run the command and a bound copy of the program in turn, some twenty times each, and measure what `bind` gains'
complete -c underpin -n "__fish_underpin_using_subcommand survey" -s v -l verbose -d 'Show more: the short form says what it leaves out; twice: everything'
complete -c underpin -n "__fish_underpin_using_subcommand survey" -l json -d 'Print one JSON document, of the form that docs/schemas describes'
complete -c underpin -n "__fish_underpin_using_subcommand survey" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c underpin -n "__fish_underpin_using_subcommand survey" -s V -l version -d 'Print version'
complete -c underpin -n "__fish_underpin_using_subcommand tree" -l why -d 'Explain one object: who asks for it, where it was found, every path tried' -r
complete -c underpin -n "__fish_underpin_using_subcommand tree" -l root -d 'Look at a program inside this folder as if the folder were `/`' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand tree" -l env -d 'Set a variable that loaders read: LD_LIBRARY_PATH, LD_PRELOAD or GLIBC_TUNABLES (may be repeated)' -r
complete -c underpin -n "__fish_underpin_using_subcommand tree" -l cpu -d 'The processor that chooses between library variants (glibc-hwcaps)' -r -f -a "native\t'This machine\'s processor'
baseline\t'x86-64 without extensions'
x86-64-v2\t'Up to SSE4.2'
x86-64-v3\t'Up to AVX2'
x86-64-v4\t'Up to AVX-512'"
complete -c underpin -n "__fish_underpin_using_subcommand tree" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are honoured too' -r -f -a "auto\t'On a terminal'
always\t'Into files and pipes too'
never\t'Never'"
complete -c underpin -n "__fish_underpin_using_subcommand tree" -l list -d 'Print one path per line, in load order, without the program itself'
complete -c underpin -n "__fish_underpin_using_subcommand tree" -l print0 -d 'With --list: end each path with a NUL byte instead of a newline, for xargs -0'
complete -c underpin -n "__fish_underpin_using_subcommand tree" -l paths -d 'Print the search directories of every object, in order'
complete -c underpin -n "__fish_underpin_using_subcommand tree" -l secure -d 'Resolve as for a set-user-ID program (secure-execution mode)'
complete -c underpin -n "__fish_underpin_using_subcommand tree" -s v -l verbose -d 'Show more: the short form says what it leaves out; twice: everything'
complete -c underpin -n "__fish_underpin_using_subcommand tree" -l json -d 'Print one JSON document, of the form that docs/schemas describes'
complete -c underpin -n "__fish_underpin_using_subcommand tree" -l check -d 'Run the program up to `main` under a tracer and compare the predicted calls with the real ones'
complete -c underpin -n "__fish_underpin_using_subcommand tree" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c underpin -n "__fish_underpin_using_subcommand tree" -s V -l version -d 'Print version'
complete -c underpin -n "__fish_underpin_using_subcommand check" -l on -d 'A system on which it must run, such as rhel8, debian11, ubuntu20.04, alpine3.20 (may be repeated)' -r
complete -c underpin -n "__fish_underpin_using_subcommand check" -l max-glibc -d 'The newest glibc that it may need' -r
complete -c underpin -n "__fish_underpin_using_subcommand check" -l expect -d 'What the program must be, separated by commas: static, static-pie or dynamic; glibc, musl or none; arch=NAME; malloc=NAME, or NAME+NAME if two serve it (glibc, musl, jemalloc, mimalloc, tcmalloc, snmalloc, partitionalloc, zig, go, own, none); limits such as glibc<=2.28 or kernel<4 (also glibcxx, cxxabi, gcc). The exit code is 1 if one is not met; what is not known is not met' -r
complete -c underpin -n "__fish_underpin_using_subcommand check" -l with -d 'A folder of libraries that are shipped with the program (may be repeated)' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand check" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are honoured too' -r -f -a "auto\t'On a terminal'
always\t'Into files and pipes too'
never\t'Never'"
complete -c underpin -n "__fish_underpin_using_subcommand check" -l strict -d 'Let only a plain `yes` pass'
complete -c underpin -n "__fish_underpin_using_subcommand check" -s v -l verbose -d 'Show more: the short form says what it leaves out; twice: everything'
complete -c underpin -n "__fish_underpin_using_subcommand check" -l json -d 'Print one JSON document, of the form that docs/schemas describes'
complete -c underpin -n "__fish_underpin_using_subcommand check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c underpin -n "__fish_underpin_using_subcommand check" -s V -l version -d 'Print version'
complete -c underpin -n "__fish_underpin_using_subcommand trace" -l until -d 'How far to watch; libraries that are opened later are seen only in a whole run' -r -f -a "entry\t'To the program\'s entry point: the loader\'s work'
main\t'To `main`: the initialisers too'
exit\t'To the end of its last process'"
complete -c underpin -n "__fish_underpin_using_subcommand trace" -l calls -d 'Which calls: default (file, mapping and process calls), all, or a list of names and groups (file, mapping, process, descriptor)' -r
complete -c underpin -n "__fish_underpin_using_subcommand trace" -l export-html -d 'Write a page with a start-up timeline' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand trace" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are honoured too' -r -f -a "auto\t'On a terminal'
always\t'Into files and pipes too'
never\t'Never'"
complete -c underpin -n "__fish_underpin_using_subcommand trace" -l measure-bind -d 'Run the command and a bound copy of the program in turn, some twenty times each, and measure what `bind` gains'
complete -c underpin -n "__fish_underpin_using_subcommand trace" -s v -l verbose -d 'Show more: the short form says what it leaves out; twice: everything'
complete -c underpin -n "__fish_underpin_using_subcommand trace" -l json -d 'Print one JSON document, of the form that docs/schemas describes'
complete -c underpin -n "__fish_underpin_using_subcommand trace" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c underpin -n "__fish_underpin_using_subcommand trace" -s V -l version -d 'Print version'
complete -c underpin -n "__fish_underpin_using_subcommand storm" -l nodes -d 'Nodes that start it' -r
complete -c underpin -n "__fish_underpin_using_subcommand storm" -l ppn -d 'Processes on each node' -r
complete -c underpin -n "__fish_underpin_using_subcommand storm" -l fs -d 'The file system: nfs, nfs3, lustre, gpfs, beegfs, cvmfs, local, slowfs, or one of --fs-file' -r
complete -c underpin -n "__fish_underpin_using_subcommand storm" -l fs-file -d 'A TOML file with file systems of your own, of the form that --print-fs prints' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand storm" -l on -d 'Where it is mounted: only paths below it are requests to it (may be repeated; default: all paths)' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand storm" -l compare -d 'Another program to compare it with, such as a bound copy (may be repeated)' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand storm" -l after -d 'A binding to predict beside it: what would be left after it (may be repeated; default: bind and flatten)' -r -f -a "bind\t'The program and every library that it loads are bound'
flatten\t'The program alone is bound, to its whole closure'
farm\t'The program alone gets one folder of links'
none\t'No binding'"
complete -c underpin -n "__fish_underpin_using_subcommand storm" -l latency -d 'The time of one operation, there and back, on an idle server: 250us, 1ms' -r
complete -c underpin -n "__fish_underpin_using_subcommand storm" -l rate -d 'Operations per second of the server, all nodes together; 0 for no limit' -r
complete -c underpin -n "__fish_underpin_using_subcommand storm" -l bandwidth -d 'MiB of contents per second of the server, all nodes together; 0 for no limit' -r
complete -c underpin -n "__fish_underpin_using_subcommand storm" -l read-size -d 'KiB that one read fetches' -r
complete -c underpin -n "__fish_underpin_using_subcommand storm" -l touched -d 'Share of each mapped file that a start reads, 0 to 1' -r
complete -c underpin -n "__fish_underpin_using_subcommand storm" -l entry-cache -d 'How long a node remembers names that were found: never, always, or seconds' -r
complete -c underpin -n "__fish_underpin_using_subcommand storm" -l negative-cache -d 'How long it remembers names that were not found' -r
complete -c underpin -n "__fish_underpin_using_subcommand storm" -l attribute-cache -d 'How long it remembers attributes' -r
complete -c underpin -n "__fish_underpin_using_subcommand storm" -l clients-share-page-cache -d 'Whether the processes of a node share the contents that one of them has read' -r -f -a "true\t''
false\t''"
complete -c underpin -n "__fish_underpin_using_subcommand storm" -l cpu-time -d 'Processor time of one start without the file system, as `time` shows it for a start with warm caches' -r
complete -c underpin -n "__fish_underpin_using_subcommand storm" -l cpu-per-operation -d 'Processor time that one operation costs the node' -r
complete -c underpin -n "__fish_underpin_using_subcommand storm" -l wait-per-operation -d 'Time that one operation costs besides latency and processor time' -r
complete -c underpin -n "__fish_underpin_using_subcommand storm" -l cores -d 'Processors of a node (default: as many as processes)' -r
complete -c underpin -n "__fish_underpin_using_subcommand storm" -l root -d 'Look at a program inside this folder as if the folder were `/`' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand storm" -l env -d 'Set a variable that loaders read: LD_LIBRARY_PATH, LD_PRELOAD or GLIBC_TUNABLES (may be repeated)' -r
complete -c underpin -n "__fish_underpin_using_subcommand storm" -l cpu -d 'The processor that chooses between library variants (glibc-hwcaps)' -r -f -a "native\t'This machine\'s processor'
baseline\t'x86-64 without extensions'
x86-64-v2\t'Up to SSE4.2'
x86-64-v3\t'Up to AVX2'
x86-64-v4\t'Up to AVX-512'"
complete -c underpin -n "__fish_underpin_using_subcommand storm" -l export-json -d 'Write the JSON document to a file' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand storm" -l export-markdown -d 'Write a Markdown page' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand storm" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are honoured too' -r -f -a "auto\t'On a terminal'
always\t'Into files and pipes too'
never\t'Never'"
complete -c underpin -n "__fish_underpin_using_subcommand storm" -l print-fs -d 'Print the built-in table of file systems, as a pattern for --fs-file'
complete -c underpin -n "__fish_underpin_using_subcommand storm" -l secure -d 'Resolve as for a set-user-ID program (secure-execution mode)'
complete -c underpin -n "__fish_underpin_using_subcommand storm" -s v -l verbose -d 'Show more: the short form says what it leaves out; twice: everything'
complete -c underpin -n "__fish_underpin_using_subcommand storm" -l json -d 'Print one JSON document, of the form that docs/schemas describes'
complete -c underpin -n "__fish_underpin_using_subcommand storm" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c underpin -n "__fish_underpin_using_subcommand storm" -s V -l version -d 'Print version'
complete -c underpin -n "__fish_underpin_using_subcommand bundle" -s o -l output -d 'Where the bundle goes; nothing may be there yet' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand bundle" -l include -d 'Include a library by name, or a file, directory or pattern by path (may be repeated)' -r
complete -c underpin -n "__fish_underpin_using_subcommand bundle" -l locale -d 'Include a locale of this machine besides C.UTF-8, such as de_DE.UTF-8 (may be repeated)' -r
complete -c underpin -n "__fish_underpin_using_subcommand bundle" -l exclude -d 'Leave out plugins and included files that match; `gconv` stands for charset modules, `locale` for locales (may be repeated)' -r
complete -c underpin -n "__fish_underpin_using_subcommand bundle" -l name -d 'What the program is called in the bundle' -r
complete -c underpin -n "__fish_underpin_using_subcommand bundle" -l root -d 'Take a program from inside this folder as if the folder were `/`' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand bundle" -l env -d 'Set a variable that loaders read while searching here, such as LD_LIBRARY_PATH (may be repeated)' -r
complete -c underpin -n "__fish_underpin_using_subcommand bundle" -l cpu -d 'The oldest processor that it must run on: chooses between library variants' -r -f -a "native\t'This machine\'s processor'
baseline\t'x86-64 without extensions'
x86-64-v2\t'Up to SSE4.2'
x86-64-v3\t'Up to AVX2'
x86-64-v4\t'Up to AVX-512'"
complete -c underpin -n "__fish_underpin_using_subcommand bundle" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are honoured too' -r -f -a "auto\t'On a terminal'
always\t'Into files and pipes too'
never\t'Never'"
complete -c underpin -n "__fish_underpin_using_subcommand bundle" -l file -d 'Make one file instead of a directory'
complete -c underpin -n "__fish_underpin_using_subcommand bundle" -l fuse -d 'Merge libraries into one also in a directory: it starts faster from ten libraries on'
complete -c underpin -n "__fish_underpin_using_subcommand bundle" -l no-fuse -d 'Keep each library of a --file separate'
complete -c underpin -n "__fish_underpin_using_subcommand bundle" -l force -d 'Replace a bundle that is there'
complete -c underpin -n "__fish_underpin_using_subcommand bundle" -l dry-run -d 'Show what would be included and write nothing'
complete -c underpin -n "__fish_underpin_using_subcommand bundle" -s v -l verbose -d 'Show more: the short form says what it leaves out; twice: everything'
complete -c underpin -n "__fish_underpin_using_subcommand bundle" -l json -d 'Print one JSON document, of the form that docs/schemas describes'
complete -c underpin -n "__fish_underpin_using_subcommand bundle" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c underpin -n "__fish_underpin_using_subcommand bundle" -s V -l version -d 'Print version'
complete -c underpin -n "__fish_underpin_using_subcommand build" -l crate -d 'A published crate instead: NAME or NAME@VERSION, with its own Cargo.lock' -r
complete -c underpin -n "__fish_underpin_using_subcommand build" -l build-system -d 'The build system, if the folder has files of several' -r -f -a "autoconf\t'A `configure` of Autoconf or of another make, then make'
cmake\t'CMake'
meson\t'meson'
make\t'make alone'"
complete -c underpin -n "__fish_underpin_using_subcommand build" -l as -d 'The whole choice in one word, such as musl+jemalloc or glibc:2.28' -r
complete -c underpin -n "__fish_underpin_using_subcommand build" -l libc -d 'The C library: musl (the default), glibc, or glibc:VERSION for the oldest that it is to start on' -r
complete -c underpin -n "__fish_underpin_using_subcommand build" -l linkage -d 'How it is linked: static, static-pie (the default with musl) or dynamic (the default with glibc)' -r
complete -c underpin -n "__fish_underpin_using_subcommand build" -l malloc -d 'The allocator: system, jemalloc, mimalloc or snmalloc; without it --goal chooses' -r
complete -c underpin -n "__fish_underpin_using_subcommand build" -l goal -d 'What the allocator is chosen and set for' -r -f -a "speed\t'Large caches, and huge pages for large heaps'
memory\t'The C library\'s own malloc: the least memory'
balanced\t'Fast, with small caches'"
complete -c underpin -n "__fish_underpin_using_subcommand build" -l overlay -d 'Replace musl\'s string functions by faster ones (on in static musl builds)' -r -f -a "on\t'On'
off\t'Off'"
complete -c underpin -n "__fish_underpin_using_subcommand build" -l target -d 'The processor: x86_64, aarch64 or riscv64; this machine\'s without it' -r
complete -c underpin -n "__fish_underpin_using_subcommand build" -l cc -d 'The C compiler, if there is a choice' -r -f -a "zig\t'zig, with a C library for every processor'
gcc\t'gcc, musl\'s wrapper of it, or a cross gcc'
clang\t'clang with lld'"
complete -c underpin -n "__fish_underpin_using_subcommand build" -s o -l output -d 'Where the program goes: a file, or a folder' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand build" -l bin -d 'The program that is wanted, if several are built (may be repeated)' -r
complete -c underpin -n "__fish_underpin_using_subcommand build" -l wait -d 'How long to wait for another build of the same project, in seconds (0: not at all)' -r
complete -c underpin -n "__fish_underpin_using_subcommand build" -l timeout -d 'How long each command of the project\'s build tool may take, in seconds' -r
complete -c underpin -n "__fish_underpin_using_subcommand build" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are honoured too' -r -f -a "auto\t'On a terminal'
always\t'Into files and pipes too'
never\t'Never'"
complete -c underpin -n "__fish_underpin_using_subcommand build" -l print-env -d 'Build nothing: print variables (CC, AR, ...) for a build that you start, as a shell takes them'
complete -c underpin -n "__fish_underpin_using_subcommand build" -l print-link-args -d 'Build nothing: print the words to put first on a program\'s link line'
complete -c underpin -n "__fish_underpin_using_subcommand build" -l toolchains -d 'Build nothing: show which compilers would be used for each processor and C library, and how to install what is missing'
complete -c underpin -n "__fish_underpin_using_subcommand build" -l force -d 'Replace a file that underpin did not build'
complete -c underpin -n "__fish_underpin_using_subcommand build" -l dry-run -d 'Show what would be run and build nothing'
complete -c underpin -n "__fish_underpin_using_subcommand build" -s v -l verbose -d 'Show more: the short form says what it leaves out; twice: everything'
complete -c underpin -n "__fish_underpin_using_subcommand build" -l json -d 'Print one JSON document, of the form that docs/schemas describes'
complete -c underpin -n "__fish_underpin_using_subcommand build" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c underpin -n "__fish_underpin_using_subcommand build" -s V -l version -d 'Print version'
complete -c underpin -n "__fish_underpin_using_subcommand image; and not __fish_seen_subcommand_from build run compare sdk size sources doctor fips layer" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are honoured too' -r -f -a "auto\t'On a terminal'
always\t'Into files and pipes too'
never\t'Never'"
complete -c underpin -n "__fish_underpin_using_subcommand image; and not __fish_seen_subcommand_from build run compare sdk size sources doctor fips layer" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c underpin -n "__fish_underpin_using_subcommand image; and not __fish_seen_subcommand_from build run compare sdk size sources doctor fips layer" -s V -l version -d 'Print version'
complete -c underpin -n "__fish_underpin_using_subcommand image; and not __fish_seen_subcommand_from build run compare sdk size sources doctor fips layer" -f -a "build" -d 'Make an image of programs, their libraries and a kernel'
complete -c underpin -n "__fish_underpin_using_subcommand image; and not __fish_seen_subcommand_from build run compare sdk size sources doctor fips layer" -f -a "run" -d 'Start an image, run a command in it, and bring its result back'
complete -c underpin -n "__fish_underpin_using_subcommand image; and not __fish_seen_subcommand_from build run compare sdk size sources doctor fips layer" -f -a "compare" -d 'Compare twin images of several C libraries: packages, sizes, boots, memory, and suites of benchmarks that run in them'
complete -c underpin -n "__fish_underpin_using_subcommand image; and not __fish_seen_subcommand_from build run compare sdk size sources doctor fips layer" -f -a "sdk" -d 'Write the compilers of an image and its C library into a folder that can be moved'
complete -c underpin -n "__fish_underpin_using_subcommand image; and not __fish_seen_subcommand_from build run compare sdk size sources doctor fips layer" -f -a "size" -d 'Show how many bytes of an image each package is, and how two images differ'
complete -c underpin -n "__fish_underpin_using_subcommand image; and not __fish_seen_subcommand_from build run compare sdk size sources doctor fips layer" -f -a "sources" -d 'Write the sources of an image\'s packages into a folder, as licences such as the GPL ask of whoever hands the image on'
complete -c underpin -n "__fish_underpin_using_subcommand image; and not __fish_seen_subcommand_from build run compare sdk size sources doctor fips layer" -f -a "doctor" -d 'Show what the programs of an image need that is not in it, and what is in it without need'
complete -c underpin -n "__fish_underpin_using_subcommand image; and not __fish_seen_subcommand_from build run compare sdk size sources doctor fips layer" -f -a "fips" -d 'Show which FIPS provider is in effect in an image, and which cryptography bypasses it'
complete -c underpin -n "__fish_underpin_using_subcommand image; and not __fish_seen_subcommand_from build run compare sdk size sources doctor fips layer" -f -a "layer" -d 'Show recipes and layers, and whether appends still apply'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from build" -l target -d 'The machine, or a container (`oci`); for this processor if it is not given' -r -f -a "qemu-x86_64\t''
qemu-aarch64\t''
rpi4\t''
oci\t''
oci-x86_64\t''
oci-aarch64\t''"
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from build" -l libc -d 'Build recipes from source for this C library' -r -f -a "musl\t'musl, linked in'
glibc\t'glibc, with its loader'"
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from build" -l layer -d 'Use the recipes and appends of this folder too (may be repeated)' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from build" -l toolchain -d 'Build recipes with this compiler' -r -f -a "zig\t'zig, with a C library for every processor'
gcc\t'gcc, musl\'s wrapper of it, or a cross gcc'
clang\t'clang with lld'"
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from build" -l format -d 'What holds the root file system: the initramfs, or a disk with ext4; rpi4 has a card (sd)' -r -f -a "initramfs\t''
ext4\t''
sd\t''"
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from build" -l size -d 'The size of the disk or card in MiB; if it is not given, what the files take and some room' -r
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from build" -s o -l output -d 'The folder of the image; one of a machine that is there is brought up to date. A container\'s name that ends in .tar becomes one file instead of a folder' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from build" -l add -d 'Add a file or folder of this machine at a path of the image (may be repeated)' -r
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from build" -l include -d 'Add a file or folder of this machine at its own path, with the libraries of every ELF file in it: extension modules, plugins, data (may be repeated)' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from build" -l app -d 'Put an application\'s folder at /app of a container, and start there' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from build" -l malloc -d 'The allocator of a container\'s programs, preloaded: as for `underpin run --malloc`' -r
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from build" -l fips -d 'Put OpenSSL\'s FIPS provider into a container and into effect: Debian\'s, or the fips.so that is named' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from build" -l without -d 'Leave out what programs are known to open (may be repeated)' -r -f -a "ca-roots\t'Roots of certificates'
zoneinfo\t'Zones of time'
name-service\t'/etc/nsswitch.conf and glibc\'s modules of the name service'
charsets\t'Charset modules of glibc'
locale\t'The locale that a variable names'
unwinder\t'libgcc_s.so.1, which glibc opens for pthread_exit, pthread_cancel and backtrace'"
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from build" -l layer-per -d 'How a container\'s files are divided into layers [default: closure]' -r -f -a "package\t'One for each package'
closure\t'Common files, libraries, programs'
one\t'One for all'"
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from build" -l root -d 'Look for libraries, and for programs by path, inside this folder as if it were `/`' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from build" -l kernel -d 'Use this kernel instead of Debian\'s; virtio and the console must be built in' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from build" -l user -d 'As whom a container starts: UID, UID:GID, or a name of its /etc/passwd [default: 65532]' -r
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from build" -l env -d 'Set a variable in a container (may be repeated)' -r
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from build" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are honoured too' -r -f -a "auto\t'On a terminal'
always\t'Into files and pipes too'
never\t'Never'"
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from build" -l force -d 'Replace what is at the place of a container\'s image'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from build" -l update -d 'Take the suite\'s newest kernel and renew the lock'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from build" -l offline -d 'Fail if something would have to be fetched'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from build" -l dry-run -d 'Show what would be in the image; nothing is fetched or written'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from build" -s v -l verbose -d 'Show more: the short form says what it leaves out; twice: everything'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from build" -l json -d 'Print one JSON document, of the form that docs/schemas describes'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from build" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from build" -s V -l version -d 'Print version'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from run" -l runner -d 'What runs an image for containers' -r -f -a "auto\t'A runtime if it works, or else a guest'
runtime\t'runc or crun, or an error'
guest\t'A guest in QEMU'"
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from run" -l network -d 'The network of a container: none, or this machine\'s (host)' -r -f -a "none\t'None'
host\t'This machine\'s'"
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from run" -l timeout -d 'End the command after this many seconds in the guest' -r
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from run" -l get -d 'Bring a file back when the command has ended, to its own name here or to another place (may be repeated)' -r
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from run" -l env -d 'Set a variable for the command; it gets PATH, HOME and TERM, and none of this machine (may be repeated)' -r
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from run" -l kvm -d 'Whether KVM may be used' -r -f -a "auto\t'If a trial boot under it worked'
off\t'Never'"
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from run" -l memory -d 'The guest\'s memory in MiB; if it is not given, 256 and four times the initramfs' -r
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from run" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are honoured too' -r -f -a "auto\t'On a terminal'
always\t'Into files and pipes too'
never\t'Never'"
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from run" -l icount -d 'Let the guest\'s clock count instructions: figures repeat on a busy machine, but are not times'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from run" -s v -l verbose -d 'Show more: the short form says what it leaves out; twice: everything'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from run" -l json -d 'Print one JSON document, of the form that docs/schemas describes'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from run" -s V -l version -d 'Print version'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from compare" -l target -d 'The machine; for this processor if it is not given' -r -f -a "qemu-x86_64\t''
qemu-aarch64\t''"
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from compare" -l libc -d 'The builds, the first of which the others are compared with; a word may name an allocator for the programs of the suites, as in musl+mimalloc' -r
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from compare" -l suite -d 'The suites: libc, os, system, cpu, alloc (Rust), or all' -r
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from compare" -l filter -d 'Only the row of this name; if there is none, those whose names have this text, or match it with `*` for any text. `SUITE:TEXT` is for one suite alone (may be repeated)' -r
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from compare" -l boots -d 'How often each image is started; if it is not given, as often as it takes to show a difference' -r
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from compare" -l timeout -d 'End a row after so many seconds of the guest\'s clock' -r
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from compare" -l layer -d 'Use the recipes and appends of this folder too (may be repeated)' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from compare" -l toolchain -d 'Build recipes and suites with this compiler' -r -f -a "zig\t'zig, with a C library for every processor'
gcc\t'gcc, musl\'s wrapper of it, or a cross gcc'
clang\t'clang with lld'"
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from compare" -s o -l output -d 'Keep the twins in this folder, each under the name of its build, and those with the programs of the suites' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from compare" -l gate -d 'Fail if the whole interval of a row is past a limit, pass if all of it keeps to the limit: \'row:strlen<+3%\'' -r
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from compare" -l save -d 'Keep the records under this name' -r
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from compare" -l store -d 'The folder where records are kept' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from compare" -l export-json -d 'Write the JSON document to a file; `-`, here and below: to standard output, instead of the screen' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from compare" -l export-markdown -d 'Write Markdown tables' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from compare" -l export-html -d 'Write a page with tables and pictures' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from compare" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are honoured too' -r -f -a "auto\t'On a terminal'
always\t'Into files and pipes too'
never\t'Never'"
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from compare" -l quick -d 'The short form: a fifth of the work in each row'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from compare" -l offline -d 'Fail if something would have to be fetched'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from compare" -s v -l verbose -d 'Show more: the short form says what it leaves out; twice: everything'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from compare" -l json -d 'Print one JSON document, of the form that docs/schemas describes'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from compare" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from compare" -s V -l version -d 'Print version'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from sdk" -l target -d 'The machine; the image\'s, or one with this processor, if it is not given' -r
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from sdk" -l libc -d 'The C library: musl or glibc; the image\'s if it is not given, else musl' -r
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from sdk" -l linkage -d 'How programs are linked: static, static-pie (the default with musl) or dynamic (the default with glibc)' -r
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from sdk" -l toolchain -d 'The compiler' -r -f -a "zig\t'zig, with a C library for every processor'
gcc\t'gcc, musl\'s wrapper of it, or a cross gcc'
clang\t'clang with lld'"
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from sdk" -l malloc -d 'The allocator: system, jemalloc, mimalloc or snmalloc; without it --goal chooses' -r
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from sdk" -l goal -d 'What the allocator is chosen and set for' -r -f -a "speed\t'Large caches, and huge pages for large heaps'
memory\t'The C library\'s own malloc: the least memory'
balanced\t'Fast, with small caches'"
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from sdk" -l overlay -d 'Replace musl\'s string functions by faster ones (on in static musl programs)' -r -f -a "on\t'On'
off\t'Off'"
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from sdk" -s o -l output -d 'The folder; an SDK that is there is replaced' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from sdk" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are honoured too' -r -f -a "auto\t'On a terminal'
always\t'Into files and pipes too'
never\t'Never'"
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from sdk" -l offline -d 'Fail if something would have to be fetched'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from sdk" -s v -l verbose -d 'Show more: the short form says what it leaves out; twice: everything'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from sdk" -l json -d 'Print one JSON document, of the form that docs/schemas describes'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from sdk" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from sdk" -s V -l version -d 'Print version'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from size" -l against -d 'The folder of an image to compare it with' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from size" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are honoured too' -r -f -a "auto\t'On a terminal'
always\t'Into files and pipes too'
never\t'Never'"
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from size" -s v -l verbose -d 'Show more: the short form says what it leaves out; twice: everything'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from size" -l json -d 'Print one JSON document, of the form that docs/schemas describes'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from size" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from size" -s V -l version -d 'Print version'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from sources" -s o -l output -d 'Where the sources are written' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from sources" -l layer -d 'A layer that the image was built with (may be repeated)' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from sources" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are honoured too' -r -f -a "auto\t'On a terminal'
always\t'Into files and pipes too'
never\t'Never'"
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from sources" -l offline -d 'Fail if something would have to be fetched'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from sources" -s v -l verbose -d 'Show more: the short form says what it leaves out; twice: everything'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from sources" -l json -d 'Print one JSON document, of the form that docs/schemas describes'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from sources" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from sources" -s V -l version -d 'Print version'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from doctor" -l program -d 'Look at this program instead of what the configuration starts (may be repeated)' -r
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from doctor" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are honoured too' -r -f -a "auto\t'On a terminal'
always\t'Into files and pipes too'
never\t'Never'"
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from doctor" -s v -l verbose -d 'Show more: the short form says what it leaves out; twice: everything'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from doctor" -l json -d 'Print one JSON document, of the form that docs/schemas describes'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from doctor" -s V -l version -d 'Print version'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from fips" -l runner -d 'What runs the image' -r -f -a "auto\t'A runtime if it works, or else a guest'
runtime\t'runc or crun, or an error'
guest\t'A guest in QEMU'"
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from fips" -l timeout -d 'End the probe after this many seconds' -r
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from fips" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are honoured too' -r -f -a "auto\t'On a terminal'
always\t'Into files and pipes too'
never\t'Never'"
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from fips" -s v -l verbose -d 'Show more: the short form says what it leaves out; twice: everything'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from fips" -l json -d 'Print one JSON document, of the form that docs/schemas describes'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from fips" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from fips" -s V -l version -d 'Print version'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from layer" -l libc -d 'The C library that layers are selected by' -r -f -a "musl\t'musl, linked in'
glibc\t'glibc, with its loader'"
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from layer" -l target -d 'The machine that layers are selected by; for this processor if it is not given' -r -f -a "qemu-x86_64\t''
qemu-aarch64\t''
rpi4\t''
oci\t''
oci-x86_64\t''
oci-aarch64\t''"
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from layer" -l layer -d 'Use the recipes and appends of this folder too (may be repeated)' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from layer" -l toolchain -d 'The compiler that layers are selected by' -r -f -a "zig\t'zig, with a C library for every processor'
gcc\t'gcc, musl\'s wrapper of it, or a cross gcc'
clang\t'clang with lld'"
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from layer" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are honoured too' -r -f -a "auto\t'On a terminal'
always\t'Into files and pipes too'
never\t'Never'"
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from layer" -l rebuild -d 'Build each package without each change, to see whether it is needed'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from layer" -l offline -d 'Fail if something would have to be fetched'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from layer" -s v -l verbose -d 'Show more: the short form says what it leaves out; twice: everything'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from layer" -l json -d 'Print one JSON document, of the form that docs/schemas describes'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from layer" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c underpin -n "__fish_underpin_using_subcommand image; and __fish_seen_subcommand_from layer" -s V -l version -d 'Print version'
complete -c underpin -n "__fish_underpin_using_subcommand bind" -l emulator -d 'With --fuse: QEMU\'s user emulator for programs of another processor, such as qemu-aarch64; by default the one that binfmt_misc names' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand bind" -l modules -d 'With --fuse and one program: also merge the libraries that these modules need, files or folders, and load them at each start (may be repeated)' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand bind" -l place -d 'Where new names are put; by default the cheapest place of each file' -r -f -a "cheapest\t'The cheapest at load'
dead-strings\t'Bytes of .dynstr that nothing uses'
page-padding\t'The padding after a read-only segment'
data-tail\t'After the last writable segment'
new-segment\t'A new read-only segment'"
complete -c underpin -n "__fish_underpin_using_subcommand bind" -l only -d 'Bind only matching libraries: name, soname or path (may be repeated)' -r
complete -c underpin -n "__fish_underpin_using_subcommand bind" -l exclude -d 'Do not bind matching libraries: name, soname or path (may be repeated)' -r
complete -c underpin -n "__fish_underpin_using_subcommand bind" -l policy -d 'A TOML file with rules of what is bound; its form is shown below' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand bind" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are honoured too' -r -f -a "auto\t'On a terminal'
always\t'Into files and pipes too'
never\t'Never'"
complete -c underpin -n "__fish_underpin_using_subcommand bind" -l dry-run -d 'Print the plan and change nothing'
complete -c underpin -n "__fish_underpin_using_subcommand bind" -l flatten -d 'Write the whole closure, in load order, into the programs alone; libraries stay as they are'
complete -c underpin -n "__fish_underpin_using_subcommand bind" -l farm -d 'Make a folder of symbolic links beside each program and let it search there'
complete -c underpin -n "__fish_underpin_using_subcommand bind" -l relative -d 'Bind by $ORIGIN, so that the whole tree may be moved'
complete -c underpin -n "__fish_underpin_using_subcommand bind" -l fuse -d 'Merge the libraries of a program into one file beside it, for a faster start; from ten libraries on'
complete -c underpin -n "__fish_underpin_using_subcommand bind" -l refresh -d 'With --fuse: only programs that are fused, and with their libraries as they are now; the others are left alone'
complete -c underpin -n "__fish_underpin_using_subcommand bind" -l reserve -d 'Print what to give the linker so that a later bind fits without a new segment'
complete -c underpin -n "__fish_underpin_using_subcommand bind" -l print-policy -d 'Print a policy file with every key and its default'
complete -c underpin -n "__fish_underpin_using_subcommand bind" -l keep-times -d 'Keep the modification times of the files'
complete -c underpin -n "__fish_underpin_using_subcommand bind" -l break-hard-links -d 'Rewrite files that have further hard links; the other names keep the old file'
complete -c underpin -n "__fish_underpin_using_subcommand bind" -s v -l verbose -d 'Show more: the short form says what it leaves out; twice: everything'
complete -c underpin -n "__fish_underpin_using_subcommand bind" -l json -d 'Print one JSON document, of the form that docs/schemas describes'
complete -c underpin -n "__fish_underpin_using_subcommand bind" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c underpin -n "__fish_underpin_using_subcommand bind" -s V -l version -d 'Print version'
complete -c underpin -n "__fish_underpin_using_subcommand unbind" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are honoured too' -r -f -a "auto\t'On a terminal'
always\t'Into files and pipes too'
never\t'Never'"
complete -c underpin -n "__fish_underpin_using_subcommand unbind" -l dry-run -d 'List the files and change nothing'
complete -c underpin -n "__fish_underpin_using_subcommand unbind" -l keep-times -d 'Keep the modification times of the files'
complete -c underpin -n "__fish_underpin_using_subcommand unbind" -l break-hard-links -d 'Rewrite files that have further hard links; the other names keep the bound file'
complete -c underpin -n "__fish_underpin_using_subcommand unbind" -s v -l verbose -d 'Show more: the short form says what it leaves out; twice: everything'
complete -c underpin -n "__fish_underpin_using_subcommand unbind" -l json -d 'Print one JSON document, of the form that docs/schemas describes'
complete -c underpin -n "__fish_underpin_using_subcommand unbind" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c underpin -n "__fish_underpin_using_subcommand unbind" -s V -l version -d 'Print version'
complete -c underpin -n "__fish_underpin_using_subcommand verify" -l emulator -d 'QEMU\'s user emulator for programs of another processor, such as qemu-aarch64, to ask their loaders too' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand verify" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are honoured too' -r -f -a "auto\t'On a terminal'
always\t'Into files and pipes too'
never\t'Never'"
complete -c underpin -n "__fish_underpin_using_subcommand verify" -l bindings -d 'Compare which object serves each symbol; relocates everything, and runs nothing'
complete -c underpin -n "__fish_underpin_using_subcommand verify" -l check -d 'Run the program up to `main` under a tracer and compare the predicted calls with the real ones'
complete -c underpin -n "__fish_underpin_using_subcommand verify" -s v -l verbose -d 'Show more: the short form says what it leaves out; twice: everything'
complete -c underpin -n "__fish_underpin_using_subcommand verify" -l json -d 'Print one JSON document, of the form that docs/schemas describes'
complete -c underpin -n "__fish_underpin_using_subcommand verify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c underpin -n "__fish_underpin_using_subcommand verify" -s V -l version -d 'Print version'
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l variant -d 'A variant of every command, beside the command as it is: assignments, then words that go before the command (may be repeated)' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l malloc -d 'Allocators to run every command on, its children too: system, jemalloc, mimalloc, snmalloc, or a shared object, each with settings after a colon. One alone stands beside the command as it is (may be repeated)' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l bind -d 'Run every program as it is (before), bound to its libraries as `underpin bind --flatten` would do it (after), and with its libraries in one file as `underpin bind --fuse` would do it (fused), from copies that are gone afterwards' -r -f -a "before\t'With nothing of it bound'
after\t'Bound to its libraries'
fused\t'With its libraries in one file'"
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l commits -d 'Commits to run every command at, the first the reference: each is checked out in a temporary git worktree, where --build builds it and the commands run in the folder that you stand in. {COMMIT} stands for the hash' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l build -d 'With --commits: how to build each commit, once in its worktree, by /bin/sh: \'make\', \'cargo build --release\'. Without: the builds of --project to run every command with, as `underpin build --as` names them, the first the reference: glibc,musl,musl+jemalloc' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l project -d 'What --build builds: a folder (the current one), or a file of C or C++. The file that it makes of a command\'s program is run in that program\'s place' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l env -d 'Set a variable for every command; {VAR} of -L and -P, {PORT} and {COMMIT} are replaced (may be repeated)' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -s L -l parameter-list -d 'Run every command once for each value, in place of {VAR} in commands and options (may be repeated)' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -s P -l parameter-scan -d 'Run every command once for each value from MIN to MAX, in place of {VAR} (may be repeated)' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -s D -l parameter-step-size -d 'The step of each -P, in their order; 1 for whole numbers' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -s n -l command-name -d 'A name for the next command in order (may be repeated)' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l reference -d 'The variant that the others are compared with, by its name or command (default: the first)' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l serve -d 'A server instead of a command: started for each run, loaded, and ended by SIGTERM. It has to stay in the foreground. {PORT} stands for a free port, here, in --load and in --env PORT={PORT} (may be repeated)' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l load -d 'The request, as in \'GET http://127.0.0.1:{PORT}/\'; http only. Without --serve it goes to a server that runs already, whose memory is then not known (may be repeated)' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l rate -d 'Requests per second, whatever the server does (an open loop); answer times count from when a request was due. Without --rate, each connection sends its next request when it has the last answer (a closed loop)' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l connections -d 'Connections: 16, and with --rate 64 at most' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l duration -d 'How long the load of each run counts' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l warmup-load -d 'Load before it counts, in each run' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l load-threads -d 'Threads of the load generator; one for every two processors, at most 4' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l header -d 'A header of each request (may be repeated)' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l body -d 'The body of each request, or @FILE to read its bytes from a file; the method is then POST if none was given' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l ready-timeout -d 'Give up on a server that has not answered this long after it was started' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l load-timeout -d 'Give up on a request that has no answer after this time' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l suite -d 'Compare the builds of --build (glibc,musl if not given) by suites of our own instead of a command: alloc, libc, os, system, cpu, or all' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l filter -d 'With --suite: only the row of this name; if there is none, those whose names have this text, or match it with `*` for any text. `SUITE:TEXT` is for one suite alone (may be repeated)' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l target -d 'With --suite: build for another processor and run under its user emulation (qemu-user); the figures say so and are not compared' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l goal -d 'With --suite: what the allocators of static musl builds are chosen and set for, as in `underpin build` (balanced if not given)' -r -f -a "speed\t'Large caches, and huge pages for large heaps'
memory\t'The C library\'s own malloc: the least memory'
balanced\t'Fast, with small caches'"
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l suite-source -d 'Measure the rows of a suite by the programs of the benchmark that it was made after, built from its sources in a folder of yours: libc-bench, lmbench, unixbench or coremark (may be repeated)' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -s w -l warmup -d 'Runs of each variant before the first timed one' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -s r -l runs -d 'Timed runs of each variant; if not given, at least --min-runs, for 3 s each' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -s m -l min-runs -d 'Least number of timed runs: 12, or 4 of servers; a comparison gets as many as it takes to show a difference, 16 for two variants (8 of servers), by itself' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -s M -l max-runs -d 'Greatest number of timed runs' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l min-benchmarking-time -d 'hyperfine\'s: timed runs of each variant go on for so many seconds if neither --runs nor --budget is given' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l budget -d 'Time for everything, all of which is used: 60s, 5m' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l until -d 'Stop as soon as every interval is this narrow: \'ratio ±2%\' or \'median ±1%\'; at the latest after --budget (60s if not given)' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l memory-runs -d 'Runs of each variant that are watched for memory: 6, more for many variants, or --runs if that is less; 1 of servers, since their growth is read in every run' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l settle -d 'How long a process takes to settle: growth of memory counts from then' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l timeout -d 'Kill a run that takes longer, and stop (default: one day)' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l counters -d 'Counters of the processor: auto, none, or a list such as cycles,instructions' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l seed -d 'Seed of the random orders (default: a new one for each experiment)' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -s p -l prepare -d 'Run before each run; given once for all commands or once for each, by /bin/sh' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -s C -l conclude -d 'Run after each run, given like --prepare' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -s s -l setup -d 'Run once before everything' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -s c -l cleanup -d 'Run once after everything, also if something failed' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -s i -l ignore-failure -d 'Measure commands that fail too; with exit codes, only those that fail with one of them' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -s S -l shell -d 'Run the commands by this shell; its own start is then in the figures' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l input -d 'Standard input of the commands: a file, or null (the default)' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l output -d 'Output of the commands: null (the default), pipe (read and thrown away), inherit, or a file, which is appended to; once for all commands, or once for each. For a file of each run let a shell write it: -S sh \'CMD > log-$HYPERFINE_ITERATION\'' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l baseline -d 'Compare with a saved run' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l gate -d 'Fail if the whole interval of a change is past a limit, pass if all of it keeps to the limit: \'wall<+3%,rss<+5%\'' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l store -d 'The folder where runs are saved' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l export-json -d 'Write the JSON document to a file (its form: docs/schemas); `-`, here and below: to standard output, instead of the screen' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l export-csv -d 'Write a row of figures for each variant and figure' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l export-markdown -d 'Write Markdown tables' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l export-asciidoc -d 'Write hyperfine\'s table (mean, least and greatest time of each command) in AsciiDoc' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l export-orgmode -d 'Write hyperfine\'s table for Emacs\' org-mode' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand bench" -s u -l time-unit -d 'The unit of all times on the screen and in exports, except CSV and JSON (default: chosen for each figure)' -r -f -a "microsecond\t'Millionths of a second'
millisecond\t'Thousandths of a second'
second\t'Seconds'"
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l export-html -d 'Write a page with tables, pictures and every run: one file, dark and light, readable without a network' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l style -d 'What is shown while it runs and at the end' -r -f -a "auto\t'Colours and progress on a terminal'
basic\t'Neither colours nor progress'
full\t'Both; colours also into a pipe'
nocolor\t'Progress, no colours'
color\t'Colours, no progress'
none\t'No screen at all: exports and the exit code alone'"
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l sort -d 'hyperfine\'s --sort: results are in the order of the commands' -r -f -a "auto\t'The order of the commands'
command\t'The same'
mean-time\t'By mean time'"
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l reference-name -d 'hyperfine\'s --reference-name; here -n names a command' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l save -d 'Save this run under a name' -r
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are honoured too' -r -f -a "auto\t'On a terminal'
always\t'Into files and pipes too'
never\t'Never'"
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l aa -d 'Measure the reference against itself too: the noise floor'
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l quick -d 'With --suite: the short form, 100 ms for a run instead of 300, and as few runs as can show a difference'
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l resume -d 'With --suite: go on with the latest run of the same suites and builds that was interrupted, at the row where it was'
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l list-suites -d 'List the suites and their rows'
complete -c underpin -n "__fish_underpin_using_subcommand bench" -s N -d 'No shell: the default, accepted because hyperfine has it'
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l show-output -d 'The same as --output inherit'
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l any-machine -d 'Accept a baseline from another processor, kernel or size of memory'
complete -c underpin -n "__fish_underpin_using_subcommand bench" -s v -l verbose -d 'Show more: the short form says what it leaves out; twice: everything'
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l json -d 'Print one JSON document, of the form that docs/schemas describes'
complete -c underpin -n "__fish_underpin_using_subcommand bench" -l debug-mode -d 'Use a model instead of this machine, for tests: commands are `sleep SECONDS`'
complete -c underpin -n "__fish_underpin_using_subcommand bench" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c underpin -n "__fish_underpin_using_subcommand bench" -s V -l version -d 'Print version'
complete -c underpin -n "__fish_underpin_using_subcommand report" -l baseline -d 'Compare with a saved run' -r
complete -c underpin -n "__fish_underpin_using_subcommand report" -l gate -d 'Fail if the whole interval of a change is past a limit, pass if all of it keeps to the limit: \'wall<+3%,rss<+5%\'' -r
complete -c underpin -n "__fish_underpin_using_subcommand report" -l store -d 'The folder where runs are saved' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand report" -l export-json -d 'Write the JSON document to a file (its form: docs/schemas); `-`, here and below: to standard output, instead of the screen' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand report" -l export-csv -d 'Write a row of figures for each variant and figure' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand report" -l export-markdown -d 'Write Markdown tables' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand report" -l export-asciidoc -d 'Write hyperfine\'s table (mean, least and greatest time of each command) in AsciiDoc' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand report" -l export-orgmode -d 'Write hyperfine\'s table for Emacs\' org-mode' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand report" -s u -l time-unit -d 'The unit of all times on the screen and in exports, except CSV and JSON (default: chosen for each figure)' -r -f -a "microsecond\t'Millionths of a second'
millisecond\t'Thousandths of a second'
second\t'Seconds'"
complete -c underpin -n "__fish_underpin_using_subcommand report" -l export-html -d 'Write a page with tables, pictures and every run: one file, dark and light, readable without a network' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand report" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are honoured too' -r -f -a "auto\t'On a terminal'
always\t'Into files and pipes too'
never\t'Never'"
complete -c underpin -n "__fish_underpin_using_subcommand report" -l list -d 'List the saved runs'
complete -c underpin -n "__fish_underpin_using_subcommand report" -l any-machine -d 'Accept a baseline from another processor, kernel or size of memory'
complete -c underpin -n "__fish_underpin_using_subcommand report" -s v -l verbose -d 'Show more: the short form says what it leaves out; twice: everything'
complete -c underpin -n "__fish_underpin_using_subcommand report" -l json -d 'Print one JSON document, of the form that docs/schemas describes'
complete -c underpin -n "__fish_underpin_using_subcommand report" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c underpin -n "__fish_underpin_using_subcommand report" -s V -l version -d 'Print version'
complete -c underpin -n "__fish_underpin_using_subcommand run" -l malloc -d 'The allocator: jemalloc, mimalloc, snmalloc, system (the C library\'s), or a shared object; with settings after a colon (NAME:KEY=VALUE,KEY=VALUE)' -r
complete -c underpin -n "__fish_underpin_using_subcommand run" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are honoured too' -r -f -a "auto\t'On a terminal'
always\t'Into files and pipes too'
never\t'Never'"
complete -c underpin -n "__fish_underpin_using_subcommand run" -l report -d 'Print the allocator\'s statistics to standard error when the process exits normally'
complete -c underpin -n "__fish_underpin_using_subcommand run" -l follow -d 'Pass the allocator on to every child too'
complete -c underpin -n "__fish_underpin_using_subcommand run" -s v -l verbose -d 'Say which allocator serves the command, with its version and settings'
complete -c underpin -n "__fish_underpin_using_subcommand run" -l list -d 'List the included allocators'
complete -c underpin -n "__fish_underpin_using_subcommand run" -l json -d 'Print the list as one JSON document (schema underpin.run/1)'
complete -c underpin -n "__fish_underpin_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c underpin -n "__fish_underpin_using_subcommand run" -s V -l version -d 'Print version'
complete -c underpin -n "__fish_underpin_using_subcommand doctor" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are honoured too' -r -f -a "auto\t'On a terminal'
always\t'Into files and pipes too'
never\t'Never'"
complete -c underpin -n "__fish_underpin_using_subcommand doctor" -l json -d 'Print one JSON document (schema underpin.doctor/1)'
complete -c underpin -n "__fish_underpin_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c underpin -n "__fish_underpin_using_subcommand doctor" -s V -l version -d 'Print version'
complete -c underpin -n "__fish_underpin_using_subcommand generate; and not __fish_seen_subcommand_from man schema completions" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are honoured too' -r -f -a "auto\t'On a terminal'
always\t'Into files and pipes too'
never\t'Never'"
complete -c underpin -n "__fish_underpin_using_subcommand generate; and not __fish_seen_subcommand_from man schema completions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c underpin -n "__fish_underpin_using_subcommand generate; and not __fish_seen_subcommand_from man schema completions" -s V -l version -d 'Print version'
complete -c underpin -n "__fish_underpin_using_subcommand generate; and not __fish_seen_subcommand_from man schema completions" -f -a "man" -d 'Print the man page of underpin, or of one verb'
complete -c underpin -n "__fish_underpin_using_subcommand generate; and not __fish_seen_subcommand_from man schema completions" -f -a "schema" -d 'Print the JSON Schema of a verb\'s document'
complete -c underpin -n "__fish_underpin_using_subcommand generate; and not __fish_seen_subcommand_from man schema completions" -f -a "completions" -d 'Print the completions of a shell'
complete -c underpin -n "__fish_underpin_using_subcommand generate; and __fish_seen_subcommand_from man" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are honoured too' -r -f -a "auto\t'On a terminal'
always\t'Into files and pipes too'
never\t'Never'"
complete -c underpin -n "__fish_underpin_using_subcommand generate; and __fish_seen_subcommand_from man" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c underpin -n "__fish_underpin_using_subcommand generate; and __fish_seen_subcommand_from man" -s V -l version -d 'Print version'
complete -c underpin -n "__fish_underpin_using_subcommand generate; and __fish_seen_subcommand_from schema" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are honoured too' -r -f -a "auto\t'On a terminal'
always\t'Into files and pipes too'
never\t'Never'"
complete -c underpin -n "__fish_underpin_using_subcommand generate; and __fish_seen_subcommand_from schema" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c underpin -n "__fish_underpin_using_subcommand generate; and __fish_seen_subcommand_from schema" -s V -l version -d 'Print version'
complete -c underpin -n "__fish_underpin_using_subcommand generate; and __fish_seen_subcommand_from completions" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are honoured too' -r -f -a "auto\t'On a terminal'
always\t'Into files and pipes too'
never\t'Never'"
complete -c underpin -n "__fish_underpin_using_subcommand generate; and __fish_seen_subcommand_from completions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c underpin -n "__fish_underpin_using_subcommand generate; and __fish_seen_subcommand_from completions" -s V -l version -d 'Print version'
