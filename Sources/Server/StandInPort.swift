import Reactor

/// A port that a stand-in listens on, and the option that chooses it.
package enum StandInPort {
    package static func open(
        _ port: UInt16, chosenWith option: String, _ start: () async throws(ReactorError) -> UInt16
    ) async throws(StartFault) -> UInt16 {
        do { return try await start() } catch {
            guard case .system(_, let failure) = error else {
                throw StartFault("\(option): can't listen on port \(port): \(error)")
            }
            guard failure == .addressInUse else {
                throw StartFault("\(option): can't listen on port \(port): \(failure)")
            }
            throw StartFault(
                "port \(port) is taken: another program listens there; stop it or choose another with \(option)")
        }
    }
}
