use flight::Flight;

/// A recording of a JVM: no more comes of it than it has bytes for, and every place in a list is one.
pub fn flight(bytes: &[u8]) {
    let Ok(flight) = flight::read(bytes) else { return };
    let Flight { threads, methods, stacks, samples, allocations, waits, .. } = &flight;
    let frames: usize = stacks.iter().map(|stack| stack.frames.len()).sum();
    let held = [threads.len(), methods.len(), stacks.len(), frames, samples.len(), waits.len()];
    assert!(held.iter().all(|&held| held <= bytes.len()), "{held:?} of {} bytes", bytes.len());
    let within = |place: Option<u32>, length: usize| place.is_none_or(|place| (place as usize) < length);
    for frame in stacks.iter().flat_map(|stack| &stack.frames) {
        assert!(within(Some(frame.method), methods.len()));
    }
    let places = samples.iter().map(|of| (of.thread, of.stack));
    let places = places.chain(allocations.iter().map(|of| (of.thread, of.stack)));
    for (thread, stack) in places.chain(waits.iter().map(|of| (of.thread.or(of.other), of.stack))) {
        assert!(within(thread, threads.len()) && within(stack, stacks.len()));
    }
    let _ = (flight.sample_period_ns(), flight.native_period_ns());
}
