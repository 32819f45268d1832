//! Keeps runs in SQLite: begin, append, finish, list, read, remove.
