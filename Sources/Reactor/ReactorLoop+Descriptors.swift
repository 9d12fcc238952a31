/// One descriptor's place in the loop. The generation tells an event of the closed descriptor from one of the
/// descriptor that got its number since.
struct Watch {
    var handler: (any ReadinessHandler)?
    var generation: UInt32

    func mark(_ descriptor: Int32) -> UInt64 { UInt64(generation & 0x7fff_ffff) << 32 | UInt64(descriptor) }
}

extension ReactorLoop {
    /// From now until `unwatch` the handler hears of the descriptor. The caller owns the descriptor, and unwatches
    /// it before closing it.
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

    /// Safe inside callbacks: readiness that the kernel reported in this turn is not delivered any more.
    /// Does nothing for a descriptor that isn't watched.
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
