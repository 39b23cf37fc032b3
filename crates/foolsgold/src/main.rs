//! The command `foolsgold`: arguments become a configuration, the configuration a server.

fn main() {}
