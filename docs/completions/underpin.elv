
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
            cand doctor 'Show what this machine allows, and the command that mends each lack'
            cand generate 'Print a man page, shell completions or a JSON Schema'
        }
        &'underpin;survey'= {
            cand --until 'How far to watch it, where it is run; it then runs on without a tracer'
            cand --export-html 'Write a self-contained page'
            cand --export-json 'Write the JSON document to a file'
            cand --export-markdown 'Write a Markdown page'
            cand --color 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are obeyed too'
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
            cand -v 'Show more; the short form says where it leaves something out'
            cand --verbose 'Show more; the short form says where it leaves something out'
            cand --json 'Print one JSON document (schema underpin.trace/1); with every call, where watching ends at `entry` or `main`'
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
