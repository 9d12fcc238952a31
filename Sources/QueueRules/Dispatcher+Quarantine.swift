import Basis

/// Whether parcels travel together or alone (rule 10).
///
/// A parcel whose leases lapsed twice may hold a push that ends its process. Everything that the process holds lapses
/// with it, so such a parcel is leased only where the process holds nothing else: whoever lapses then has done it by
/// itself. Turns bound what that costs the others.
enum PoisonQuarantine: Equatable, Sendable {
    /// Ordinary parcels, as many as may be held; no turn for the lapsed before `until`. → parting
    case off(until: MonotonicInstant?)
    /// Nothing more is leased; what has no stream yet goes back, what has one is answered and settled. → alone
    case draining
    /// Lapsed parcels, one at a time. At `until` the one that travels is taken back. → together
    case isolated(until: MonotonicInstant, isOver: Bool)
}

extension Dispatcher {
    /// When time alone changes the company; nil: only other events do.
    var nextQuarantineChange: MonotonicInstant? {
        switch quarantine {
        case .off(let until): routes.contains(where: mayLeaseLapsed) ? until : nil
        case .draining: nil
        case .isolated(let until, let isOver): isOver ? nil : until
        }
    }

    mutating func updateQuarantine(_ now: MonotonicInstant, _ actions: inout [DispatchAction]) {
        guard !isDraining else { return }
        let holdsNothing = runs.isEmpty && leasesOutstanding == 0
        switch quarantine {
        case .off(let until):
            guard until.map({ $0 <= now }) ?? true, routes.contains(where: mayLeaseLapsed) else { return }
            quarantine = .draining
            withdrawAll(&actions)
            if holdsNothing { quarantine = .isolated(until: now + settings.quarantineWindow, isOver: false) }
        case .draining:
            if holdsNothing { quarantine = .isolated(until: now + settings.quarantineWindow, isOver: false) }
        case .isolated(let until, let isOver):
            if holdsNothing && (isOver || until <= now || !routes.contains(where: mayLeaseLapsed)) {
                quarantine = .off(until: now + settings.quarantineInterval)
            } else if !isOver && until <= now {
                quarantine = .isolated(until: until, isOver: true)
                withdrawAll(&actions)
            }
        }
    }
}
