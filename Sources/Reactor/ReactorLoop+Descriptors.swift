/// One descriptor's entry in the loop. The generation separates late events of a closed descriptor from those of a
/// newer descriptor with the same number.
struct Watch {
    var handler: (any ReadinessHandler)?
    var generation: UInt32

    func mark(_ descriptor: Int32) -> UInt64 { UInt64(generation & 0x7fff_ffff) << 32 | UInt64(descriptor) }
}

extension ReactorLoop {
    /// Calls the handler when the descriptor is ready, from now until `unwatch`. The caller owns the descriptor and
    /// must unwatch it before closing it.
    package func watch(
        _ descriptor: Int32, _ interest: Interest, _ handler: any ReadinessHandler
    ) throws(ReactorError) {
        precondition(isCurrent)
        precondition(descriptor >= 0)
        let index = Int(descriptor)
        while watches.count <= index { watches.append(Watch(handler: nil, generation: 0)) }
        precondition(watches[index].handler == nil, "a descriptor has one handler")
        try poller.add(descriptor, interest, mark: watches[index].mark(descriptor))
        watches[index].handler = handler
    }

    package func rewatch(_ descriptor: Int32, _ interest: Interest) throws(ReactorError) {
        precondition(isCurrent)
        precondition(isWatched(descriptor))
        try poller.change(descriptor, interest, mark: watches[Int(descriptor)].mark(descriptor))
    }

    /// Stops watching. Safe inside callbacks: readiness already reported in this tick is dropped. Does nothing if the
    /// descriptor isn't watched.
    package func unwatch(_ descriptor: Int32) {
        precondition(isCurrent)
        guard isWatched(descriptor) else { return }
        watches[Int(descriptor)].handler = nil
        watches[Int(descriptor)].generation &+= 1
        poller.remove(descriptor)
    }

    private func isWatched(_ descriptor: Int32) -> Bool {
        descriptor >= 0 && Int(descriptor) < watches.count && watches[Int(descriptor)].handler != nil
    }

    func deliver(_ readiness: Readiness, mark: UInt64) {
        let index = Int(mark & 0xffff_ffff)
        guard index < watches.count, watches[index].mark(Int32(index)) == mark, let handler = watches[index].handler
        else { return }
        handler.descriptorIsReady(Int32(index), readiness)
    }
}
