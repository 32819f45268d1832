//! Raw system calls, the only unsafe.
