/* Table 3 of the seed, latencies between two processes of this machine; and the bandwidths of the same channels,
 * table 5. A latency is a round trip: the message goes to the other process, and comes back. */
#ifndef SUITES_OS_CHANNELS_H
#define SUITES_OS_CHANNELS_H

/* This process's ends of the channel; with a socket they are the same. */
static int channel_to = -1, channel_from = -1;
static char *channel_buffer;

static void round_trips(uint64_t operations, const char *channel) {
    char byte = 0;
    const int to = channel_to, from = channel_from;
    errno = 0;
    for (uint64_t i = 0; i < operations; i++) {
        if (write(to, &byte, 1) != 1 || read(from, &byte, 1) != 1) lost_partner(channel);
    }
    KEEP(&byte);
}

__attribute__((noreturn)) static void echo(int from, int to) {
    char byte;
    while (read(from, &byte, 1) == 1 && write(to, &byte, 1) == 1) {}
    _exit(0);
}

/* What the partner of a bandwidth row does: writes without end. */
__attribute__((noreturn)) static void pour(int to, size_t bytes) {
    const char *const buffer = page_aligned(bytes);
    while (write(to, buffer, bytes) > 0) {}
    _exit(0);
}

/* Reads `operations` times MOVED_BYTES, at most `most` in a call, as they come. */
static void drain(uint64_t operations, size_t most, const char *channel) {
    uint64_t left = operations * MOVED_BYTES;
    errno = 0;
    while (left) {
        const ssize_t got = read(channel_from, channel_buffer, left < most ? (size_t)left : most);
        if (got <= 0) lost_partner(channel);
        left -= (uint64_t)got;
    }
    KEEP(channel_buffer);
}

static void before_pipe_latency(void) {
    signal(SIGPIPE, SIG_IGN);
    int there[2], back[2];
    must(pipe2(there, O_CLOEXEC), "pipe2");
    must(pipe2(back, O_CLOEXEC), "pipe2");
    if (is_partner()) {
        close(there[1]);
        close(back[0]);
        echo(there[0], back[1]);
    }
    close(there[0]);
    close(back[1]);
    channel_to = there[1];
    channel_from = back[0];
    round_trips(1, "pipe");
}

static void pipe_latency(uint64_t operations) { round_trips(operations, "pipe"); }

static void before_af_unix_latency(void) {
    signal(SIGPIPE, SIG_IGN);
    int ends[2];
    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), "socketpair");
    if (is_partner()) {
        close(ends[1]);
        echo(ends[0], ends[0]);
    }
    close(ends[0]);
    channel_to = channel_from = ends[1];
    round_trips(1, "AF_UNIX socket");
}

static void af_unix_latency(uint64_t operations) { round_trips(operations, "AF_UNIX socket"); }

static void before_tcp_latency(void) {
    signal(SIGPIPE, SIG_IGN);
    struct sockaddr_in at;
    const int listener = bound_socket(SOCK_STREAM, &at);
    if (is_partner()) {
        const int connection = (int)must(accept(listener, NULL, NULL), "accept");
        close(listener);
        echo(connection, connection);
    }
    close(listener);
    channel_to = channel_from = (int)must(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
    connect_to(channel_to, &at);
    round_trips(1, "TCP connection");
}

static void tcp_latency(uint64_t operations) { round_trips(operations, "TCP connection"); }

static void before_udp_latency(void) {
    struct sockaddr_in at;
    const int server = bound_socket(SOCK_DGRAM, &at);
    if (is_partner()) {
        uint32_t word;
        struct sockaddr_in from;
        for (;;) {
            socklen_t length = sizeof from;
            if (recvfrom(server, &word, sizeof word, 0, (struct sockaddr *)&from, &length) == -1) _exit(1);
            if (sendto(server, &word, sizeof word, 0, (struct sockaddr *)&from, length) == -1) _exit(1);
        }
    }
    close(server);
    channel_to = (int)must(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket");
    connect_to(channel_to, &at);
}

/* Messages of 4 bytes. A lost one ends the row at its deadline. */
static void udp_latency(uint64_t operations) {
    errno = 0;
    for (uint64_t i = 0; i < operations; i++) {
        uint32_t word = (uint32_t)i;
        if (send(channel_to, &word, sizeof word, 0) != (ssize_t)sizeof word ||
            recv(channel_to, &word, sizeof word, 0) != (ssize_t)sizeof word || word != (uint32_t)i) {
            lost_partner("UDP socket");
        }
    }
}

/* The closed connections stay in TIME_WAIT on the client's side, and would use up the 28,232 ports towards one address
 * in a second: so every 4096 have a server with a port of its own, whose start is not timed. And a queue of more than
 * 100 that are not yet accepted makes the next client wait for a second, as it does in lmbench when a processor is
 * busy: so after every 64 the server's word that they are closed is waited for, which is not timed either. */
enum { CONNECTIONS_OF_PORT = 4096, CONNECTIONS_AT_ONCE = 64 };

/* Accepts connections, and closes each when its client has. */
__attribute__((noreturn)) static void serve_connections(int listener, int closed, size_t count) {
    for (size_t done = 1; done <= count; done++) {
        const int connection = accept(listener, NULL, NULL);
        if (connection == -1) _exit(1);
        char byte = 0;
        while (read(connection, &byte, 1) > 0) {}
        close(connection);
        const int is_group_done = done % CONNECTIONS_AT_ONCE == 0 || done == count;
        if (is_group_done && write(closed, &byte, 1) != 1) break;
    }
    _exit(0);
}

static uint64_t time_of_connections(size_t count, const struct sockaddr_in *at) {
    const uint64_t begun = now_ns();
    for (size_t i = 0; i < count; i++) {
        const int client = socket(AF_INET, SOCK_STREAM, IPPROTO_TCP);
        if (client == -1) fail("socket: %s", strerror(errno));
        const int on = 1;
        setsockopt(client, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        connect_to(client, at);
        close(client);
    }
    return now_ns() - begun;
}

static uint64_t time_on_one_port(size_t count) {
    struct sockaddr_in at;
    int closed[2];
    const int listener = bound_socket(SOCK_STREAM, &at);
    must(pipe2(closed, O_CLOEXEC), "pipe2");
    if (is_partner()) serve_connections(listener, closed[1], count);
    close(closed[1]);
    uint64_t took = 0;
    for (size_t done = 0; done < count;) {
        const size_t group = count - done < CONNECTIONS_AT_ONCE ? count - done : CONNECTIONS_AT_ONCE;
        took += time_of_connections(group, &at);
        char byte;
        if (read(closed[0], &byte, 1) != 1) lost_partner("TCP server");
        done += group;
    }
    close(listener);
    close(closed[0]);
    end_partner();
    return took;
}

/* socket, connect, close. */
static void tcp_connect(uint64_t operations) {
    uint64_t took = 0;
    for (uint64_t done = 0; done < operations;) {
        const uint64_t left = operations - done;
        const size_t count = left < CONNECTIONS_OF_PORT ? (size_t)left : CONNECTIONS_OF_PORT;
        took += time_on_one_port(count);
        done += count;
    }
    operations_took((int64_t)took);
}

static void before_pipe_bandwidth(void) {
    int ends[2];
    must(pipe2(ends, O_CLOEXEC), "pipe2");
    if (is_partner()) {
        close(ends[0]);
        pour(ends[1], CHUNK_BYTES);
    }
    close(ends[1]);
    channel_from = ends[0];
    /* Not at the start of a page, so that no kernel can move pages instead of bytes. */
    channel_buffer = page_aligned(CHUNK_BYTES + 4096) + 128;
}

static void pipe_bandwidth(uint64_t operations) { drain(operations, CHUNK_BYTES, "pipe"); }

static void before_af_unix_bandwidth(void) {
    int ends[2];
    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), "socketpair");
    if (is_partner()) {
        close(ends[0]);
        pour(ends[1], CHUNK_BYTES);
    }
    close(ends[1]);
    channel_from = ends[0];
    channel_buffer = page_aligned(CHUNK_BYTES);
}

static void af_unix_bandwidth(uint64_t operations) { drain(operations, CHUNK_BYTES, "AF_UNIX socket"); }

/* Messages of 10 MB, with buffers of 1 MB in the sockets as far as the system grants them. */
enum { TCP_MESSAGE = 10 * 1024 * 1024, TCP_BUFFER = 1024 * 1024 };

static void before_tcp_bandwidth(void) {
    struct sockaddr_in at;
    const int size = TCP_BUFFER;
    const int listener = bound_socket(SOCK_STREAM, &at);
    if (is_partner()) {
        signal(SIGPIPE, SIG_IGN);
        setsockopt(listener, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
        const int connection = (int)must(accept(listener, NULL, NULL), "accept");
        setsockopt(connection, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
        close(listener);
        pour(connection, TCP_MESSAGE);
    }
    close(listener);
    channel_from = (int)must(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
    setsockopt(channel_from, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    setsockopt(channel_from, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    connect_to(channel_from, &at);
    channel_buffer = page_aligned(TCP_MESSAGE);
}

static void tcp_bandwidth(uint64_t operations) { drain(operations, TCP_MESSAGE, "TCP connection"); }

#endif
