/// What the bookkeeper counts for the census.
package struct WorldIncidents: Sendable {
    /// Settles that found their parcel in other hands, or gone.
    package var losers = 0
    /// Settles that found that they had been written before.
    package var ambiguousSettles = 0
    package var handOvers = 0
    package var handOversToFCM = 0
    package var handOversToAPNs = 0
    package var drains = 0
    /// Requests that had to wait for their lane's pace.
    package var rateLimited = 0
    /// Beside another lane of their project, that had something to send too.
    package var rateLimitedGroup = 0
    /// Parts of a project's quota that a process got while others held some.
    package var quotaParts = 0
    /// Access tokens that took the place of refused ones.
    package var accessRenewed = 0
    /// Pushes that their own environment did not know.
    package var triedInSibling = 0
    package var found = 0
    /// Found, and left where they are, since too many were.
    package var suspectRoutes = 0
    package var refusedInBoth = 0
    /// Installations that went over to another provider.
    package var sidesChanged = 0
    package var paused = 0
    /// Rates that were changed, set or taken away.
    package var rated = 0
    /// Shares of a message that were leased as its rate allowed them.
    package var quanta = 0
    /// Settled without a lease.
    package var endedUnsent = 0
    /// How often each checker had something to judge, by its place.
    package private(set) var judged = [Int](repeating: 0, count: WorldChecker.allCases.count)
    /// By the census's names.
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
