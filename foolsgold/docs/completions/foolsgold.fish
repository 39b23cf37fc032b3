# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_foolsgold_global_optspecs
    string join \n b/bind= p/port= c/config= env= mode= fresh t/threads= max-threads= memory= budget= queue= queue-time= io-threads= max-body= drain= tls-cert= tls-key= access-log= log-file= metrics= info= ready= h/help V/version
end

function __fish_foolsgold_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_foolsgold_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_foolsgold_using_subcommand
    set -l cmd (__fish_foolsgold_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c foolsgold -n "__fish_foolsgold_needs_command" -s b -l bind -d 'Listen on HOST:PORT or unix:PATH; may be repeated [default: 127.0.0.1:8000]' -r
complete -c foolsgold -n "__fish_foolsgold_needs_command" -s p -l port -d 'Same as `--bind 127.0.0.1:PORT`' -r
complete -c foolsgold -n "__fish_foolsgold_needs_command" -s c -l config -d 'Configuration file [default: ./foolsgold.toml, or the packed one]' -r -F
complete -c foolsgold -n "__fish_foolsgold_needs_command" -l env -d 'Whether clients see the details of errors [default: production]' -r -f -a "development\t'Errors are shown to the client'
production\t'Errors are shown in the log only'"
complete -c foolsgold -n "__fish_foolsgold_needs_command" -l mode -d 'How requests share an interpreter [default: shared-nothing]' -r -f -a "shared-nothing\t'The interpreter is restored after each request to its state after loading the application'
prefork\t'One warm interpreter per thread, which keeps what requests leave behind'"
complete -c foolsgold -n "__fish_foolsgold_needs_command" -s t -l threads -d 'Number of interpreter threads [default: one per core]' -r
complete -c foolsgold -n "__fish_foolsgold_needs_command" -l max-threads -d 'Maximum number of interpreter threads while some wait for clients or sleep [default: 32 or 8 per core; 1 if --threads is 1]' -r
complete -c foolsgold -n "__fish_foolsgold_needs_command" -l memory -d 'Memory limit of one interpreter [default: 64MiB]' -r
complete -c foolsgold -n "__fish_foolsgold_needs_command" -l budget -d 'Time limit for Ruby in one request [default: 10s]' -r
complete -c foolsgold -n "__fish_foolsgold_needs_command" -l queue -d 'Number of requests that may wait for an interpreter; more get 503 [default: 1024]' -r
complete -c foolsgold -n "__fish_foolsgold_needs_command" -l queue-time -d 'How long a request may wait for an interpreter before it gets 503 [default: 5s]' -r
complete -c foolsgold -n "__fish_foolsgold_needs_command" -l io-threads -d 'Number of threads for connections [default: one per two cores]' -r
complete -c foolsgold -n "__fish_foolsgold_needs_command" -l max-body -d 'Maximum size of a request body; larger ones get 413 [default: 16MiB]' -r
complete -c foolsgold -n "__fish_foolsgold_needs_command" -l drain -d 'Time for requests in progress to finish at shutdown [default: 30s]' -r
complete -c foolsgold -n "__fish_foolsgold_needs_command" -l tls-cert -d 'TLS certificate chain (PEM)' -r -F
complete -c foolsgold -n "__fish_foolsgold_needs_command" -l tls-key -d 'TLS private key (PEM)' -r -F
complete -c foolsgold -n "__fish_foolsgold_needs_command" -l access-log -d 'Format of the access log [default: none]' -r -f -a "none\t'No access log'
common\t'Common Log Format'
combined\t'Common Log Format with referrer and user agent'
json\t'One JSON object per line'"
complete -c foolsgold -n "__fish_foolsgold_needs_command" -l log-file -d 'Where the access log goes: stdout, stderr or a file [default: stdout]' -r
complete -c foolsgold -n "__fish_foolsgold_needs_command" -l metrics -d 'Serve Prometheus metrics at this path, for example /metrics' -r
complete -c foolsgold -n "__fish_foolsgold_needs_command" -l info -d 'Serve information about the server as JSON at this path, for example /info' -r
complete -c foolsgold -n "__fish_foolsgold_needs_command" -l ready -d 'Serve a readiness check at this path: 200, or 503 if no interpreter is ready or the server shuts down' -r
complete -c foolsgold -n "__fish_foolsgold_needs_command" -l fresh -d 'Load the application into a new interpreter for each request (slow; for comparison)'
complete -c foolsgold -n "__fish_foolsgold_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c foolsgold -n "__fish_foolsgold_needs_command" -s V -l version -d 'Print version'
complete -c foolsgold -n "__fish_foolsgold_needs_command" -a "pack" -d 'Pack an application and this server into one executable'
complete -c foolsgold -n "__fish_foolsgold_needs_command" -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c foolsgold -n "__fish_foolsgold_using_subcommand pack" -s o -l output -d 'Executable to write' -r -F
complete -c foolsgold -n "__fish_foolsgold_using_subcommand pack" -l exclude -d 'Exclude a file or folder (path relative to APP); may be repeated' -r
complete -c foolsgold -n "__fish_foolsgold_using_subcommand pack" -l with-source -d 'Include Ruby sources as well as bytecode, so that development mode can show them'
complete -c foolsgold -n "__fish_foolsgold_using_subcommand pack" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c foolsgold -n "__fish_foolsgold_using_subcommand help; and not __fish_seen_subcommand_from pack help" -f -a "pack" -d 'Pack an application and this server into one executable'
complete -c foolsgold -n "__fish_foolsgold_using_subcommand help; and not __fish_seen_subcommand_from pack help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
