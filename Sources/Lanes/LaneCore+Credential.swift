import LaneRules

// Consequences of answers for the credential and the connections, reported by their reader.
extension LaneCore {
    func retire(_ id: ConnectionID) {
        connections.first { $0.id == id }?.handle(.retire)
        hook()
    }

    /// Retires connections whose first provider token is not the current one; without a current one, all that carried
    /// any.
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
        note(.credentialRefused(reason: reason))
        decide(.credentialRefused)
        hook()
    }
}
