
use builtin;
use str;

set edit:completion:arg-completer[underpin] = {|@words|
    fn spaces {|n|
        builtin:repeat $n ' ' | str:join ''
    }
    fn cand {|text desc|
        edit:complex-candidate $text &display=$text' '(spaces (- 14 (wcswidth $text)))$desc
    }
    var command = 'underpin'
    for word $words[1..-1] {
        if (str:has-prefix $word '-') {
            break
        }
        set command = $command';'$word
    }
    var completions = [
        &'underpin'= {
            cand --color 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are obeyed too'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
            cand survey 'Show the whole picture of one program, and what to do about it'
            cand tree 'Show what the loader will load, from where, why, and every path tried'
            cand check 'Show where a program runs, and which symbol of which object forbids the rest'
            cand trace 'Run a command and show what its start-up really did, call by call'
            cand storm 'Show what the start of a program costs at scale'
            cand bundle 'Make a directory or file of a program that carries its loader and libraries along'
            cand bind 'Write where each library is into programs, so that their start searches for nothing'
            cand unbind 'Put back every byte that `bind` changed'
            cand verify 'Prove that bound programs load what they loaded before'
            cand doctor 'Show what this machine allows, and the command that mends each lack'
            cand generate 'Print a man page, shell completions or a JSON Schema'
        }
        &'underpin;survey'= {
            cand --until 'How far to watch it, where it is run; it then runs on without a tracer'
            cand --export-html 'Write a self-contained page'
            cand --export-json 'Write the JSON document to a file'
            cand --export-markdown 'Write a Markdown page'
            cand --color 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are obeyed too'
            cand --measure-bind 'Run the command and a bound copy of the program in turn, some twenty times each, and measure what `bind` gains'
            cand -v 'Show more; the short form says where it leaves something out'
            cand --verbose 'Show more; the short form says where it leaves something out'
            cand --json 'Print one JSON document (schema underpin.survey/1)'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'underpin;tree'= {
            cand --why 'Explain one object: who asks for it, where it was found, every path tried'
            cand --root 'Look at a program inside this folder as if the folder were `/`'
            cand --env 'Set a variable that loaders read: LD_LIBRARY_PATH, LD_PRELOAD or GLIBC_TUNABLES (may be repeated)'
            cand --cpu 'The processor that chooses between library variants'
            cand --color 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are obeyed too'
            cand --list 'Print one path per line, in load order, the program itself left out'
            cand --paths 'Print the search directories of every object, in order'
            cand --secure 'Resolve as for a set-user-ID program (secure-execution mode)'
            cand -v 'Show more: -v every request and path, -vv every path tried'
            cand --verbose 'Show more: -v every request and path, -vv every path tried'
            cand --json 'Print one JSON document per program on a line of its own (schema underpin.tree/1)'
            cand --check 'Run the program up to `main` under a tracer and compare the predicted calls with the real ones'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'underpin;check'= {
            cand --on 'A system on which it must run, such as rhel8, debian11, ubuntu20.04, alpine3.20 (may be repeated)'
            cand --max-glibc 'The newest glibc that it may need'
            cand --with 'A folder of libraries that travel with the program (may be repeated)'
            cand --color 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are obeyed too'
            cand -v 'Show more; the short form says where it leaves something out'
            cand --verbose 'Show more; the short form says where it leaves something out'
            cand --json 'Print one JSON document (schema underpin.check/1)'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'underpin;trace'= {
            cand --until 'How far to watch'
            cand --calls 'Which calls: default (file, mapping and process calls), all, or a list of names and groups (file, mapping, process, descriptor)'
            cand --export-html 'Write a page with a start-up timeline'
            cand --color 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are obeyed too'
            cand --measure-bind 'Run the command and a bound copy of the program in turn, some twenty times each, and measure what `bind` gains'
            cand -v 'Show more; the short form says where it leaves something out'
            cand --verbose 'Show more; the short form says where it leaves something out'
            cand --json 'Print one JSON document (schema underpin.trace/1); with every call, where watching ends at `entry` or `main`'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'underpin;storm'= {
            cand --nodes 'Nodes that start it'
            cand --ppn 'Processes on each node'
            cand --fs 'The file system: nfs, nfs3, lustre, gpfs, beegfs, cvmfs, local, slowfs, or one of --fs-file'
            cand --fs-file 'A file with file systems of your own, of the form of crates/underpin-resolve/data/filesystems.toml'
            cand --on 'Where it is mounted: only what lies below is asked of it; without it, everything (may be repeated)'
            cand --compare 'Another program to put beside it, such as a bound copy (may be repeated)'
            cand --after 'A binding to foresee beside it: what would be left after it (may be repeated; bind and flatten unless given)'
            cand --latency 'One operation, there and back, with nobody else asking: 250us, 1ms'
            cand --rate 'Operations per second of the server, all nodes together; 0 for no limit'
            cand --bandwidth 'MiB of contents per second of the server, all nodes together; 0 for no limit'
            cand --read-size 'KiB that one read brings'
            cand --touched 'Share of each mapped file that a start reads, 0 to 1'
            cand --entry-cache 'How long a node remembers names that were found: never, always, or seconds'
            cand --negative-cache 'How long it remembers names that were not found'
            cand --attribute-cache 'How long it remembers attributes'
            cand --clients-share-page-cache 'Whether the processes of a node share the contents that one of them has read'
            cand --cpu-time 'Processor time of one start without the file system, as `time` shows it for a start with warm caches'
            cand --cpu-per-operation 'Processor time that one operation costs the node'
            cand --wait-per-operation 'Time that one operation costs beside latency and processor'
            cand --cores 'Processors of a node; as many as processes where it is not given'
            cand --root 'Look at a program inside this folder as if the folder were `/`'
            cand --env 'Set a variable that loaders read: LD_LIBRARY_PATH, LD_PRELOAD or GLIBC_TUNABLES (may be repeated)'
            cand --cpu 'The processor that chooses between library variants'
            cand --export-json 'Write the JSON document to a file'
            cand --export-markdown 'Write a Markdown page'
            cand --color 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are obeyed too'
            cand --secure 'Resolve as for a set-user-ID program (secure-execution mode)'
            cand -v 'Show more: the source of every parameter'
            cand --verbose 'Show more: the source of every parameter'
            cand --json 'Print one JSON document (schema underpin.storm/1)'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'underpin;bundle'= {
            cand -o 'Where the bundle goes; nothing may stand there yet'
            cand --output 'Where the bundle goes; nothing may stand there yet'
            cand --include 'Take along a library by name, or a file, directory or pattern by path (may be repeated)'
            cand --exclude 'Leave out plugins and included files that match; `gconv` stands for charset modules (may be repeated)'
            cand --name 'What the program is called in the bundle'
            cand --root 'Take a program from inside this folder as if the folder were `/`'
            cand --env 'Set a variable that loaders read while searching here, such as LD_LIBRARY_PATH (may be repeated)'
            cand --cpu 'The oldest processor that it shall run on: chooses between library variants'
            cand --color 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are obeyed too'
            cand --file 'Make one file instead of a directory; its libraries are copied into memory at each start'
            cand --force 'Replace a bundle that stands there'
            cand --dry-run 'Show what would be taken and write nothing'
            cand -v 'Show more: every file and why it is taken'
            cand --verbose 'Show more: every file and why it is taken'
            cand --json 'Print one JSON document (schema underpin.bundle/1)'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'underpin;bind'= {
            cand --place 'Where new names are put; the default takes the cheapest place of each file'
            cand --only 'Bind only libraries that match: name, soname or path (may be repeated)'
            cand --exclude 'Leave libraries alone that match: name, soname or path (may be repeated)'
            cand --policy 'Rules of what is left alone, as TOML'
            cand --color 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are obeyed too'
            cand --dry-run 'Print the plan and change nothing'
            cand --flatten 'Write the whole closure, in load order, into the programs alone; libraries stay as they are'
            cand --farm 'Make a folder of symbolic links beside each program and let it search there'
            cand --relative 'Bind by $ORIGIN, so that the whole tree may be moved'
            cand --keep-times 'Keep the modification times of the files'
            cand --break-hard-links 'Rewrite files with further hard links; the other names keep the old file'
            cand -v 'Show more: -v every name of every file'
            cand --verbose 'Show more: -v every name of every file'
            cand --json 'Print one JSON document (schema underpin.bind/1)'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'underpin;unbind'= {
            cand --color 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are obeyed too'
            cand --dry-run 'Name the files and change nothing'
            cand --keep-times 'Keep the modification times of the files'
            cand --break-hard-links 'Rewrite files with further hard links; the other names keep the bound file'
            cand -v 'Show more: every file'
            cand --verbose 'Show more: every file'
            cand --json 'Print one JSON document (schema underpin.unbind/1)'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'underpin;verify'= {
            cand --color 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are obeyed too'
            cand --bindings 'Compare which object serves each symbol; relocates everything, and runs nothing'
            cand --check 'Run the program up to `main` under a tracer and compare the predicted calls with the real ones'
            cand -v 'Show more: -v every program'
            cand --verbose 'Show more: -v every program'
            cand --json 'Print one JSON document (schema underpin.verify/1)'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'underpin;doctor'= {
            cand --color 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are obeyed too'
            cand --json 'Print one JSON document (schema underpin.doctor/1)'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'underpin;generate'= {
            cand --color 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are obeyed too'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
            cand man 'Print the man page of underpin, or of one verb'
            cand schema 'Print the JSON Schema of a verb''s document'
            cand completions 'Print the completions of a shell'
        }
        &'underpin;generate;man'= {
            cand --color 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are obeyed too'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'underpin;generate;schema'= {
            cand --color 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are obeyed too'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'underpin;generate;completions'= {
            cand --color 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are obeyed too'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
    ]
    $completions[$command]
}
