import LaneRules

// What answers say about the credential and the connections, told by who reads them.
extension LaneCore {
    func retire(_ id: ConnectionID) {
        connections.first { $0.id == id }?.handle(.retire)
        hook()
    }

    /// Connections that carried another provider token than the present one finish and close; where there is none now,
    /// all that carried any.
    func replaceConnections() {
        let current = settings.authorization?.current?.generation
        for connection in connections
        where connection.firstAuthorization != nil && connection.firstAuthorization != current {
            connection.handle(.retire)
        }
        hook()
    }

    func refuseCredential(_ reason: String, _ id: ConnectionID?) {
        guard machine.isNew(refusalOn: id) else { return }
        trust.refused()
        note(.credentialRefused(reason: reason))
        decide(.credentialRefused)
        hook()
    }
}
