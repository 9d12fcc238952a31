/// The world's counts for the census.
package struct WorldIncidents: Sendable {
    /// Settles whose parcel another owner held, or that was gone.
    package var losers = 0
    /// Settles that found themselves written before.
    package var ambiguousSettles = 0
    package var handOvers = 0
    package var handOversToFCM = 0
    package var handOversToAPNs = 0
    package var drains = 0
    /// Requests that had to wait for their lane's pace.
    package var rateLimited = 0
    /// Such requests beside another lane of their project that had something to send too.
    package var rateLimitedGroup = 0
    /// Direct messages that were cut when they were accepted, and their parcels that were leased and left ready.
    package var cuts = 0
    package var cutLeases = 0
    package var cutsReady = 0
    /// Heartbeats of a process that counted others of its project.
    package var dividedQuotas = 0
    /// Access tokens that replaced refused ones.
    package var accessRenewed = 0
    /// Pushes whose token the origin route did not know.
    package var triedInSibling = 0
    package var found = 0
    /// Tokens that were found but stayed on their route, because too many were found.
    package var suspectRoutes = 0
    package var refusedInBoth = 0
    /// Installations that changed to another provider.
    package var sidesChanged = 0
    package var paused = 0
    /// Rates that were changed, set or removed.
    package var rated = 0
    /// Quanta that were leased as their message's rate allowed.
    package var quanta = 0
    /// Parcels that were settled without a lease.
    package var endedUnsent = 0
    /// Pushes whose lease or message ended while they waited for a stream.
    package var withdrawn = 0
    /// The number of times that each checker had something to judge, by its raw value.
    package private(set) var judged = [Int](repeating: 0, count: WorldChecker.allCases.count)
    /// Counts by the census's names.
    package private(set) var noted: [(name: String, count: Int)] = []

    mutating func judge(_ checker: WorldChecker) { judged[checker.rawValue] += 1 }

    mutating func note(_ fault: WorldFault) { note(fault.rawValue) }
    mutating func note(storm kind: AnswerKind) { note("storm of \(kind)") }

    mutating func note(_ trouble: StepTrouble, _ step: StoreStep) { note(trouble.name(step)) }

    private mutating func note(_ name: String) {
        if let place = noted.firstIndex(where: { $0.name == name }) {
            noted[place].count += 1
        } else {
            noted.append((name, 1))
        }
    }
}
