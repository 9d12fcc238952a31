import Basis
import Model
import QueueRules

extension SimulatedStore {
    package func readyRoutes(knownFormats: [Int16], now: WallInstant) -> [ReadyRoute] {
        routes.flatMap { route in
            TopicService.allCases.compactMap { service in
                let due = parcels.filter {
                    $0.route == route.id && $0.service == service && $0.isReady && $0.dueAt <= now
                        && knownFormats.contains($0.format)
                }
                guard !due.isEmpty else { return nil }
                return route.ready(
                    service, ordinary: due.contains { !$0.isQuarantined },
                    urgent: due.contains { $0.isWanted(.urgent, now) }, lapsed: due.contains(where: \.isQuarantined))
            }
        }
    }

    /// Ends leases that expired without a renewal. Their parcels count the expiry in `lapses`. They are ready
    /// again, a single push after a pause from its third expiry on.
    @discardableResult
    package mutating func rescue(now: WallInstant, atMost limit: Int = UpkeepLimits().rescuedMax) -> Int {
        let ended = parcels.indices.compactMap { place in
            parcels[place].lease.flatMap { $0.until < now ? (place: place, until: $0.until) : nil }
        }
        let first = ended.sorted { $0.until == $1.until ? $0.place < $1.place : $0.until < $1.until }.prefix(limit)
        for (place, _) in first {
            parcels[place].lease = nil
            parcels[place].lapses = min(parcels[place].lapses, Int16.max - 1) + 1
            let parcel = parcels[place]
            let pause = PoisonRule.pause(parcel.pending, afterLapses: parcel.lapses)
            if pause > .zero { parcels[place].dueAt = min(now + pause, parcel.goesOnUntil) }
        }
        return first.count
    }

    /// Leases the next due parcels, in their order. It takes several only where all are small, transactional and not
    /// cross-environment. The first lease raises the badges and sets the badge mark (P3).
    package mutating func lease(_ order: LeaseOrder, _ size: LeaseGroup = .standard, now: WallInstant) -> Lease {
        guard order.scope != .rateLimited else { return leaseQuantum(order, now) }
        var size = size
        if !order.scope.mayBringSeveral { size.parcelsMax = 1 }
        var lease = Lease()
        while true {
            let claimed = group(inOrder(order, now), size)
            // Evaluated before any parcel changes. A stopped or rate-limited parcel does not affect those of other
            // messages.
            let kept = claimed.filter { place in
                isStopped(parcels[place].message) || order.scope.mayBringSeveral && waitsForRate(place, now)
            }
            let free = claimed.filter { !kept.contains($0) }
            for place in kept {
                if isStopped(parcels[place].message) {
                    _ = putOnHold(parcels[place].message)
                } else {
                    pace(parcels[place].message, now)
                    lease.again = .zero
                }
            }
            guard free.isEmpty, !claimed.isEmpty else {
                for place in free {
                    let leased = self.lease(place, order, now)
                    if order.scope != .expired { charge(leased, now) }
                    lease.parcels.append(leased)
                }
                return lease
            }
        }
    }

    /// - Parameter due: in the order of leases.
    private func group(_ due: [Int], _ size: LeaseGroup) -> [Int] {
        guard let first = due.first else { return [] }
        var taken = [first]
        guard parcels[first].urgency == .transactional, parcels[first].origin == nil else { return taken }
        var members = parcels[first].members.count
        for place in due.dropFirst() {
            members += parcels[place].members.count
            guard taken.count < size.parcelsMax, members <= size.membersMax,
                parcels[place].urgency == .transactional, parcels[place].origin == nil
            else { break }
            taken.append(place)
        }
        return taken
    }

    /// Leases this parcel, which may have been split from another just now.
    mutating func lease(_ place: Int, _ order: LeaseOrder, _ now: WallInstant) -> LeasedParcel {
        let (neverSent, unmarked) = (parcels[place].neverSent, parcels[place].unmarkedCount)
        let deferrals = judge(place, now)
        if deferrals == nil, !parcels[place].isBadgeMarked, now < parcels[place].expiresAt { raiseBadges(place) }
        parcels[place].epoch += 1
        let increments = message(parcels[place].message)?.badge == .increment
        parcels[place].lease = LeaseRow(
            owner: order.owner, until: now + order.leaseFor,
            badgeSet: increments && parcels[place].unmarkedCount < unmarked ? lastBadgeSet : nil)
        var parcel = handOut(parcels[place], order.service, now)
        if let deferrals, deferrals.contains(where: { $0 != .none }) { parcel.deferrals = deferrals }
        parcel.neverSent = neverSent
        if increments, parcels[place].isBadgeMarked {
            parcel.countsBadges = true
            let row = parcels[place]
            if let left = row.uncounted {
                parcel.uncounted = row.members.indices.filter { !row.settled[$0] }.map { left[$0] }
            }
        }
        return parcel
    }

    /// The due parcels in the order of leases.
    private func inOrder(_ order: LeaseOrder, _ now: WallInstant) -> [Int] {
        let due = parcels.indices.filter {
            let parcel = parcels[$0]
            return parcel.route == order.route && parcel.service == order.service && parcel.isReady
                && parcel.dueAt <= now && order.knownFormats.contains(parcel.format)
                && parcel.isWanted(order.scope, now)
        }
        return due.sorted { left, right in
            let (one, other) = (parcels[left], parcels[right])
            if one.urgency != other.urgency { return one.urgency.rawValue < other.urgency.rawValue }
            return one.dueAt == other.dueAt ? one.id < other.id : one.dueAt < other.dueAt
        }
    }

    /// Raises the badge of every member that has a registration, whatever its state and route. The mark covers the
    /// whole parcel. A member that was retired or on another route at the first lease may still be sent to.
    private mutating func raiseBadges(_ place: Int) {
        let parcel = parcels[place]
        parcels[place].isBadgeMarked = true
        guard let message = message(parcel.message) else { return }
        for (index, id) in parcel.members.enumerated() where !parcel.settled[index] {
            raiseBadge(id, message.badge)
        }
    }

    mutating func raiseBadge(_ id: RegistrationID, _ change: BadgeChange) {
        guard let row = placeOfRegistration(id) else { return }
        switch change {
        case .none: break
        case .increment:
            guard registrations[row].badge < .max else { return }
            registrations[row].badge += 1
            registrations[row].raised += 1
        case .value(let badge): set(badge, at: row)
        }
    }

    /// Sets a registration's badge. No increment before that is taken back.
    mutating func set(_ badge: Int32, at row: Int) {
        lastBadgeSet += 1
        registrations[row].badge = badge
        registrations[row].raised = 0
        registrations[row].badgeSet = lastBadgeSet
    }

    /// Takes an increment back from a registration's badge, unless the badge was set since.
    ///
    /// - Parameter badgeSet: the number of the last set before the increment; nil: it is not known.
    mutating func lowerBadge(_ id: RegistrationID, incrementedAfter badgeSet: Int64?) {
        guard let badgeSet, let row = placeOfRegistration(id), registrations[row].raised > 0,
            badgeSet >= registrations[row].badgeSet
        else { return }
        registrations[row].badge -= 1
        registrations[row].raised -= 1
    }

    private func handOut(_ parcel: ParcelRow, _ service: TopicService, _ now: WallInstant) -> LeasedParcel {
        let hasBadge = message(parcel.message)?.badge ?? .none != .none
        let other = parcel.origin == nil ? otherEnvironment(of: parcel.route, service, now) : nil
        var members: [LeasedMember] = []
        var tokens: [UInt8] = []
        for (index, id) in parcel.members.enumerated() where !parcel.settled[index] {
            if let target = inlineTarget(id) {
                members.append(
                    LeasedMember(
                        index: Int32(index), registration: id, status: .present, generation: TokenGeneration(1),
                        badge: message(parcel.message)?.badge.fromZero ?? 0, tokenStart: Int32(tokens.count),
                        tokenCount: Int32(target.token.bytes.count), isSuspected: false))
                tokens += target.token.bytes
                continue
            }
            let row = registration(id)
            let token = row?.stored.token.bytes ?? []
            members.append(
                LeasedMember(
                    index: Int32(index), registration: id, status: status(of: row, in: parcel),
                    generation: row?.stored.generation ?? TokenGeneration(0), badge: hasBadge ? row?.badge ?? 0 : 0,
                    tokenStart: row == nil ? 0 : Int32(tokens.count), tokenCount: Int32(token.count),
                    isSuspected: row?.stored.state == .suspected,
                    mayBeInSibling: row.map { other == nil || $0.mayBeInSibling } ?? false,
                    isSampled: row?.stored.kind != .wakeUp, isUnproven: row?.isUnproven ?? false))
            tokens += token
        }
        return LeasedParcel(
            id: parcel.id, message: parcel.message, app: parcel.app, route: parcel.route, epoch: parcel.epoch,
            settles: parcel.settles, attempt: parcel.attempt, lapses: parcel.lapses, retrySpent: parcel.retrySpent,
            answerLost: parcel.answerLost, origin: parcel.origin,
            otherEnvironment: other,
            ratePerSecond: message(parcel.message)?.ratePerSecond, urgency: parcel.urgency,
            expiresAt: parcel.expiresAt, leasedAt: now, memberCount: parcel.members.count, members: members,
            tokens: tokens, settledBits: parcel.bitmap)
    }

    private func status(of row: RegistrationRow?, in parcel: ParcelRow) -> MemberStatus {
        guard let row else { return .deleted }
        guard row.isLive else { return .retired }
        if let change = excluded(row, from: parcel) { return .excluded(change) }
        let isPresent =
            if let origin = parcel.origin {
                row.stored.route == origin.route && row.stored.generation == origin.generation
            } else {
                row.stored.route == parcel.route
            }
        return isPresent ? .present : .moved(to: row.stored.route)
    }

    /// The sibling of an APNs route, where an unblocked credential covers the service. The service's own credential
    /// comes before the app's.
    private func otherEnvironment(of id: RouteID, _ service: TopicService, _ now: WallInstant) -> RouteID? {
        guard let own = route(id), own.provider == .apns else { return nil }
        let sibling = routes.first {
            $0.app == own.app && $0.provider == own.provider && $0.environment != own.environment
                && $0.topic == own.topic
        }
        let there = senders.filter { $0.app == sibling?.app && $0.environment == sibling?.environment }
        guard let sibling,
            let sender = there.first(where: { $0.service == service }) ?? there.first(where: { $0.service == nil })
        else { return nil }
        return sender.blockedUntil.map { now < $0 } ?? false ? nil : sibling.id
    }

    /// Renews leases; returns for each whether it still is the owner's.
    package mutating func renew(
        _ leases: [LeaseName], owner: ProcessID, for length: Duration, now: WallInstant
    ) -> [Bool] {
        leases.map { name in
            guard let place = placeOfParcel(name.parcel), parcels[place].epoch == name.epoch,
                let lease = parcels[place].lease, lease.owner == owner
            else { return false }
            parcels[place].lease?.until = max(lease.until, now + length)
            return true
        }
    }
}

extension BadgeChange {
    /// The value of a badge that was zero before.
    fileprivate var fromZero: Int32 {
        switch self {
        case .none: 0
        case .increment: 1
        case .value(let badge): badge
        }
    }
}

extension RegistrationRow {
    package var mayBeInSibling: Bool { environmentsCompared != stored.generation }
}

extension ParcelRow {
    package var isQuarantined: Bool { lapses >= PoisonRule.quarantineFrom }

    fileprivate func isWanted(_ scope: LeaseScope, _ now: WallInstant) -> Bool {
        switch scope {
        case .ordinary, .rateLimited: !isQuarantined
        case .urgent: urgency == .transactional && !isQuarantined
        case .lapsed: isQuarantined
        case .expired: goesOnUntil <= now
        }
    }

    /// When it is claimed as expired. A cross-environment parcel counts as expired from `origin.until` on.
    fileprivate var goesOnUntil: WallInstant { min(expiresAt, origin?.until ?? expiresAt) }

    /// The bitmap as it goes over the wire: empty where nothing is settled yet.
    package var bitmap: [UInt8] {
        settled.contains(true) ? settled.bits : []
    }

    /// The number of open members that the badge mark does not cover.
    fileprivate var unmarkedCount: Int {
        settled.indices.count { !settled[$0] && (!isBadgeMarked || uncounted?[$0] ?? false) }
    }

    /// Whether each open member was never sent. Empty where no answer was lost and no lease expired, or no member
    /// qualifies.
    fileprivate var neverSent: [Bool] {
        guard answerLost || lapses > 0 else { return [] }
        let open = settled.indices.filter { !settled[$0] }
        let never = open.map { !isBadgeMarked || uncounted?[$0] ?? false }
        return never.contains(true) ? never : []
    }
}

extension [Bool] {
    /// The bits packed into bytes. The first one is the lowest bit of the first byte.
    var bits: [UInt8] {
        var bits = [UInt8](repeating: 0, count: (count + 7) / 8)
        for place in indices where self[place] { bits[place >> 3] |= 1 << UInt8(place & 7) }
        return bits
    }
}
