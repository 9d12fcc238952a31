import Basis

/// Quarantine for parcels that may crash their process (rule 10).
///
/// A parcel whose lease expired twice may hold a push that ends its process. All leases of a crashed process expire
/// together. So such a parcel is leased only while the process holds no other: if it expires again, it is the cause.
/// Windows bound what quarantine costs the other parcels.
enum PoisonQuarantine: Equatable, Sendable {
    /// Ordinary parcels are leased. No quarantine starts before `until`. → draining
    case off(until: MonotonicInstant?)
    /// No parcel is leased. Pushes without a stream go back; pushes with one are answered and settled. → isolated
    case draining
    /// Suspect parcels are leased, one at a time. At `until` the parcel in hand is taken back. → off
    case isolated(until: MonotonicInstant, isOver: Bool)
}

extension Dispatcher {
    /// When time alone changes the quarantine; nil: only other events do.
    var nextQuarantineChange: MonotonicInstant? {
        switch quarantine {
        case .off(let until): routes.contains(where: mayLeaseLapsed) ? until : nil
        case .draining: nil
        case .isolated(let until, let isOver): isOver ? nil : until
        }
    }

    mutating func updateQuarantine(_ now: MonotonicInstant, _ actions: inout [DispatchAction]) {
        guard !isDraining else { return }
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
