import Model

extension Dispatcher {
    /// Takes back pushes without a stream of messages that are paused or cancelled. Pushes with a stream are answered
    /// and settled.
    mutating func noteStopped(_ messages: [StoppedMessage], _ actions: inout [DispatchAction]) {
        guard !messages.isEmpty else { return }
        var stops: [MessageID: MessageStop] = [:]  // lookup only
        for stopped in messages { stops[stopped.message] = stopped.stop }
        for place in runs.indices {
            guard let stop = stops[runs[place].run.parcel.message], runs[place].run.stop != stop else { continue }
            let isNew = runs[place].run.stop == nil
            runs[place].run.stop = stop
            if isNew { withdraw(place, &actions) }
        }
    }
}
