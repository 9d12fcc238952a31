import DeliveryRules
import PushModel

/// How often each kind of trouble came about: a simulation that never gets into any proves nothing.
struct WorldCensus: Equatable, Sendable {
    var worlds = 0
    var events = 0
    var pushes = 0
    var repeats = 0
    var lapses = 0
    var losers = 0
    var ambiguousSettles = 0
    var handOvers = 0
    var retired = 0
    var confirmed = 0
    var cleared = 0
    var expired = 0
    var gaveUp = 0
    var poisoned = 0
    var innocentlyPoisoned = 0
    var deletedMembers = 0
    var drains = 0

    mutating func add(_ world: SimulatedWorld) {
        worlds += 1
        events += world.events
        pushes += world.apple.log.count
        for pair in world.ledger.pairs { repeats += max(0, world.apple.seen(pair).count - 1) }
        lapses += world.ledger.lapsedLeases
        losers += world.incidents.losers
        ambiguousSettles += world.incidents.ambiguousSettles
        handOvers += world.incidents.handOvers
        drains += world.incidents.drains
        for told in world.store.feedback {
            switch (told.verdict, told.reason) {
            case (.retired, "BadDeviceToken"): confirmed += 1
            case (.retired, _): retired += 1
            case (.cleared, _): cleared += 1
            default: break
            }
        }
        for message in world.store.messages { count(message.reasons, world) }
    }

    private mutating func count(_ reasons: [EndingTotal], _ world: SimulatedWorld) {
        for total in reasons {
            switch (total.ending.state, total.ending.reason) {
            case (.expired, _): expired += Int(total.count)
            case (.gaveUp, EndingReason.poison):
                poisoned += Int(total.count)
                if world.poisonous.isEmpty { innocentlyPoisoned += Int(total.count) }
            case (.gaveUp, _): gaveUp += Int(total.count)
            case (.unregistered, EndingReason.deviceDeleted): deletedMembers += Int(total.count)
            default: break
            }
        }
    }

    /// The kinds that never came about.
    var missing: [String] {
        let counts = [
            ("repeats", repeats), ("lapses", lapses), ("losers", losers), ("ambiguous settles", ambiguousSettles),
            ("hand-overs", handOvers), ("retired", retired), ("confirmed", confirmed), ("cleared", cleared),
            ("expired", expired), ("gave up", gaveUp), ("poisoned", poisoned), ("deleted members", deletedMembers),
            ("drains", drains),
        ]
        return counts.filter { $0.1 == 0 }.map(\.0)
    }
}

/// What the bookkeeper counts for the census.
struct WorldIncidents: Sendable {
    /// Settles that found their parcel in other hands, or gone.
    var losers = 0
    /// Settles that found that they had been written before.
    var ambiguousSettles = 0
    var handOvers = 0
    var drains = 0
}
