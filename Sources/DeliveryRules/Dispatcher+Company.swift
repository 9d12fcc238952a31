import PushModel

/// Whether parcels travel together or alone (rule 10).
///
/// A parcel whose leases lapsed twice may hold a push that ends its process. Everything that the process holds lapses
/// with it, so such a parcel is leased only where the process holds nothing else: whoever lapses then has done it by
/// itself. Turns bound what that costs the others.
enum Company: Equatable, Sendable {
    /// Ordinary parcels, as many as may be held; no turn for the lapsed before `until`. → parting
    case together(until: MonotonicInstant?)
    /// Nothing more is leased; what has no stream yet goes back, what has one is answered and settled. → alone
    case parting
    /// Lapsed parcels, one at a time. At `until` the one that travels is taken back. → together
    case alone(until: MonotonicInstant, isOver: Bool)
}

extension Dispatcher {
    /// When time alone changes the company; nil: only other events do.
    var nextTurn: MonotonicInstant? {
        switch company {
        case .together(let until): routes.contains(where: mayLeaseLapsed) ? until : nil
        case .parting: nil
        case .alone(let until, let isOver): isOver ? nil : until
        }
    }

    mutating func changeCompany(_ now: MonotonicInstant, _ actions: inout [DispatchAction]) {
        guard !isDraining else { return }
        let holdsNothing = runs.isEmpty && leasesOutstanding == 0
        switch company {
        case .together(let until):
            guard until.map({ $0 <= now }) ?? true, routes.contains(where: mayLeaseLapsed) else { return }
            company = .parting
            withdrawAll(&actions)
            if holdsNothing { company = .alone(until: now + settings.aloneFor, isOver: false) }
        case .parting:
            if holdsNothing { company = .alone(until: now + settings.aloneFor, isOver: false) }
        case .alone(let until, let isOver):
            if holdsNothing && (isOver || until <= now || !routes.contains(where: mayLeaseLapsed)) {
                company = .together(until: now + settings.togetherFor)
            } else if !isOver && until <= now {
                company = .alone(until: until, isOver: true)
                withdrawAll(&actions)
            }
        }
    }
}
