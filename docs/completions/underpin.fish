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

complete -c underpin -n "__fish_underpin_needs_command" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are obeyed too' -r -f -a "auto\t'On a terminal'
always\t'Into files and pipes too'
never\t'Nowhere'"
complete -c underpin -n "__fish_underpin_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c underpin -n "__fish_underpin_needs_command" -s V -l version -d 'Print version'
complete -c underpin -n "__fish_underpin_needs_command" -f -a "survey" -d 'Show the whole picture of one program, and what to do about it'
complete -c underpin -n "__fish_underpin_needs_command" -f -a "tree" -d 'Show what the loader will load, from where, why, and every path tried'
complete -c underpin -n "__fish_underpin_needs_command" -f -a "check" -d 'Show where a program runs, and which symbol of which object forbids the rest'
complete -c underpin -n "__fish_underpin_needs_command" -f -a "trace" -d 'Run a command and show what its start-up really did, call by call'
complete -c underpin -n "__fish_underpin_needs_command" -f -a "doctor" -d 'Show what this machine allows, and the command that mends each lack'
complete -c underpin -n "__fish_underpin_needs_command" -f -a "generate" -d 'Print a man page, shell completions or a JSON Schema'
complete -c underpin -n "__fish_underpin_using_subcommand survey" -l until -d 'How far to watch it, where it is run; it then runs on without a tracer' -r -f -a "entry\t'To the program\'s entry point: the loader\'s work'
main\t'To `main`: the initialisers too'
exit\t'To the end of its last process'"
complete -c underpin -n "__fish_underpin_using_subcommand survey" -l export-html -d 'Write a self-contained page' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand survey" -l export-json -d 'Write the JSON document to a file' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand survey" -l export-markdown -d 'Write a Markdown page' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand survey" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are obeyed too' -r -f -a "auto\t'On a terminal'
always\t'Into files and pipes too'
never\t'Nowhere'"
complete -c underpin -n "__fish_underpin_using_subcommand survey" -s v -l verbose -d 'Show more; the short form says where it leaves something out'
complete -c underpin -n "__fish_underpin_using_subcommand survey" -l json -d 'Print one JSON document (schema underpin.survey/1)'
complete -c underpin -n "__fish_underpin_using_subcommand survey" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c underpin -n "__fish_underpin_using_subcommand survey" -s V -l version -d 'Print version'
complete -c underpin -n "__fish_underpin_using_subcommand tree" -l why -d 'Explain one object: who asks for it, where it was found, every path tried' -r
complete -c underpin -n "__fish_underpin_using_subcommand tree" -l root -d 'Look at a program inside this folder as if the folder were `/`' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand tree" -l env -d 'Set a variable that loaders read: LD_LIBRARY_PATH, LD_PRELOAD or GLIBC_TUNABLES (may be repeated)' -r
complete -c underpin -n "__fish_underpin_using_subcommand tree" -l cpu -d 'The processor that chooses between library variants' -r -f -a "native\t'This machine\'s processor'
baseline\t'x86-64 without extensions'
x86-64-v2\t'Up to SSE4.2'
x86-64-v3\t'Up to AVX2'
x86-64-v4\t'Up to AVX-512'"
complete -c underpin -n "__fish_underpin_using_subcommand tree" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are obeyed too' -r -f -a "auto\t'On a terminal'
always\t'Into files and pipes too'
never\t'Nowhere'"
complete -c underpin -n "__fish_underpin_using_subcommand tree" -l list -d 'Print one path per line, in load order, the program itself left out'
complete -c underpin -n "__fish_underpin_using_subcommand tree" -l paths -d 'Print the search directories of every object, in order'
complete -c underpin -n "__fish_underpin_using_subcommand tree" -l secure -d 'Resolve as for a set-user-ID program (secure-execution mode)'
complete -c underpin -n "__fish_underpin_using_subcommand tree" -s v -l verbose -d 'Show more: -v every request and path, -vv every path tried'
complete -c underpin -n "__fish_underpin_using_subcommand tree" -l json -d 'Print one JSON document per program on a line of its own (schema underpin.tree/1)'
complete -c underpin -n "__fish_underpin_using_subcommand tree" -l check -d 'Run the program up to `main` under a tracer and compare the predicted calls with the real ones'
complete -c underpin -n "__fish_underpin_using_subcommand tree" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c underpin -n "__fish_underpin_using_subcommand tree" -s V -l version -d 'Print version'
complete -c underpin -n "__fish_underpin_using_subcommand check" -l on -d 'A system on which it must run, such as rhel8, debian11, ubuntu20.04, alpine3.20 (may be repeated)' -r
complete -c underpin -n "__fish_underpin_using_subcommand check" -l max-glibc -d 'The newest glibc that it may need' -r
complete -c underpin -n "__fish_underpin_using_subcommand check" -l with -d 'A folder of libraries that travel with the program (may be repeated)' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand check" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are obeyed too' -r -f -a "auto\t'On a terminal'
always\t'Into files and pipes too'
never\t'Nowhere'"
complete -c underpin -n "__fish_underpin_using_subcommand check" -s v -l verbose -d 'Show more; the short form says where it leaves something out'
complete -c underpin -n "__fish_underpin_using_subcommand check" -l json -d 'Print one JSON document (schema underpin.check/1)'
complete -c underpin -n "__fish_underpin_using_subcommand check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c underpin -n "__fish_underpin_using_subcommand check" -s V -l version -d 'Print version'
complete -c underpin -n "__fish_underpin_using_subcommand trace" -l until -d 'How far to watch' -r -f -a "entry\t'To the program\'s entry point: the loader\'s work'
main\t'To `main`: the initialisers too'
exit\t'To the end of its last process'"
complete -c underpin -n "__fish_underpin_using_subcommand trace" -l calls -d 'Which calls: default (file, mapping and process calls), all, or a list of names and groups (file, mapping, process, descriptor)' -r
complete -c underpin -n "__fish_underpin_using_subcommand trace" -l export-html -d 'Write a page with a start-up timeline' -r -F
complete -c underpin -n "__fish_underpin_using_subcommand trace" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are obeyed too' -r -f -a "auto\t'On a terminal'
always\t'Into files and pipes too'
never\t'Nowhere'"
complete -c underpin -n "__fish_underpin_using_subcommand trace" -s v -l verbose -d 'Show more; the short form says where it leaves something out'
complete -c underpin -n "__fish_underpin_using_subcommand trace" -l json -d 'Print one JSON document (schema underpin.trace/1); with every call, where watching ends at `entry` or `main`'
complete -c underpin -n "__fish_underpin_using_subcommand trace" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c underpin -n "__fish_underpin_using_subcommand trace" -s V -l version -d 'Print version'
complete -c underpin -n "__fish_underpin_using_subcommand doctor" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are obeyed too' -r -f -a "auto\t'On a terminal'
always\t'Into files and pipes too'
never\t'Nowhere'"
complete -c underpin -n "__fish_underpin_using_subcommand doctor" -l json -d 'Print one JSON document (schema underpin.doctor/1)'
complete -c underpin -n "__fish_underpin_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c underpin -n "__fish_underpin_using_subcommand doctor" -s V -l version -d 'Print version'
complete -c underpin -n "__fish_underpin_using_subcommand generate; and not __fish_seen_subcommand_from man schema completions" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are obeyed too' -r -f -a "auto\t'On a terminal'
always\t'Into files and pipes too'
never\t'Nowhere'"
complete -c underpin -n "__fish_underpin_using_subcommand generate; and not __fish_seen_subcommand_from man schema completions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c underpin -n "__fish_underpin_using_subcommand generate; and not __fish_seen_subcommand_from man schema completions" -s V -l version -d 'Print version'
complete -c underpin -n "__fish_underpin_using_subcommand generate; and not __fish_seen_subcommand_from man schema completions" -f -a "man" -d 'Print the man page of underpin, or of one verb'
complete -c underpin -n "__fish_underpin_using_subcommand generate; and not __fish_seen_subcommand_from man schema completions" -f -a "schema" -d 'Print the JSON Schema of a verb\'s document'
complete -c underpin -n "__fish_underpin_using_subcommand generate; and not __fish_seen_subcommand_from man schema completions" -f -a "completions" -d 'Print the completions of a shell'
complete -c underpin -n "__fish_underpin_using_subcommand generate; and __fish_seen_subcommand_from man" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are obeyed too' -r -f -a "auto\t'On a terminal'
always\t'Into files and pipes too'
never\t'Nowhere'"
complete -c underpin -n "__fish_underpin_using_subcommand generate; and __fish_seen_subcommand_from man" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c underpin -n "__fish_underpin_using_subcommand generate; and __fish_seen_subcommand_from man" -s V -l version -d 'Print version'
complete -c underpin -n "__fish_underpin_using_subcommand generate; and __fish_seen_subcommand_from schema" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are obeyed too' -r -f -a "auto\t'On a terminal'
always\t'Into files and pipes too'
never\t'Nowhere'"
complete -c underpin -n "__fish_underpin_using_subcommand generate; and __fish_seen_subcommand_from schema" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c underpin -n "__fish_underpin_using_subcommand generate; and __fish_seen_subcommand_from schema" -s V -l version -d 'Print version'
complete -c underpin -n "__fish_underpin_using_subcommand generate; and __fish_seen_subcommand_from completions" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE are obeyed too' -r -f -a "auto\t'On a terminal'
always\t'Into files and pipes too'
never\t'Nowhere'"
complete -c underpin -n "__fish_underpin_using_subcommand generate; and __fish_seen_subcommand_from completions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c underpin -n "__fish_underpin_using_subcommand generate; and __fish_seen_subcommand_from completions" -s V -l version -d 'Print version'
