
use builtin;
use str;

set edit:completion:arg-completer[foolsgold] = {|@words|
    fn spaces {|n|
        builtin:repeat $n ' ' | str:join ''
    }
    fn cand {|text desc|
        edit:complex-candidate $text &display=$text' '(spaces (- 14 (wcswidth $text)))$desc
    }
    var command = 'foolsgold'
    for word $words[1..-1] {
        if (str:has-prefix $word '-') {
            break
        }
        set command = $command';'$word
    }
    var completions = [
        &'foolsgold'= {
            cand -b 'Listen on HOST:PORT or unix:PATH; may be repeated [default: 127.0.0.1:8000]'
            cand --bind 'Listen on HOST:PORT or unix:PATH; may be repeated [default: 127.0.0.1:8000]'
            cand -p 'Same as `--bind 127.0.0.1:PORT`'
            cand --port 'Same as `--bind 127.0.0.1:PORT`'
            cand -c 'Configuration file [default: ./foolsgold.toml, or the packed one]'
            cand --config 'Configuration file [default: ./foolsgold.toml, or the packed one]'
            cand --env 'Whether clients see the details of errors [default: production]'
            cand --mode 'How requests share an interpreter [default: shared-nothing]'
            cand -t 'Number of interpreter threads [default: one per core]'
            cand --threads 'Number of interpreter threads [default: one per core]'
            cand --max-threads 'Maximum number of interpreter threads while some wait for clients or sleep [default: 32 or 8 per core; 1 if --threads is 1]'
            cand --memory 'Memory limit of one interpreter [default: 64MiB]'
            cand --budget 'Time limit for Ruby in one request [default: 10s]'
            cand --queue 'Number of requests that may wait for an interpreter; more get 503 [default: 1024]'
            cand --queue-time 'How long a request may wait for an interpreter before it gets 503 [default: 5s]'
            cand --io-threads 'Number of threads for connections [default: one per two cores]'
            cand --max-body 'Maximum size of a request body; larger ones get 413 [default: 16MiB]'
            cand --drain 'Time for requests in progress to finish at shutdown [default: 30s]'
            cand --tls-cert 'TLS certificate chain (PEM)'
            cand --tls-key 'TLS private key (PEM)'
            cand --access-log 'Format of the access log [default: none]'
            cand --log-file 'Where the access log goes: stdout, stderr or a file [default: stdout]'
            cand --metrics 'Serve Prometheus metrics at this path, for example /metrics'
            cand --info 'Serve information about the server as JSON at this path, for example /info'
            cand --ready 'Serve a readiness check at this path: 200, or 503 if no interpreter is ready or the server shuts down'
            cand --fresh 'Load the application into a new interpreter for each request (slow; for comparison)'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
            cand pack 'Pack an application and this server into one executable'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'foolsgold;pack'= {
            cand -o 'Executable to write'
            cand --output 'Executable to write'
            cand --exclude 'Exclude a file or folder (path relative to APP); may be repeated'
            cand --with-source 'Include Ruby sources as well as bytecode, so that development mode can show them'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'foolsgold;help'= {
            cand pack 'Pack an application and this server into one executable'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'foolsgold;help;pack'= {
        }
        &'foolsgold;help;help'= {
        }
    ]
    $completions[$command]
}
