import Basis
import Model
import QueueRules

// Messages that have a rate, and their rate-limited parcels.
extension SimulatedStore {
    mutating func setRate(_ perSecond: Int32?, _ place: Int, _ now: WallInstant) {
        let message = messages[place]
        guard message.state != .finished, message.state != .cancelled else { return }
        messages[place].ratePerSecond = perSecond
        guard perSecond != nil else { return rates.removeAll { $0.message == message.id } }
        if let known = rates.firstIndex(where: { $0.message == message.id }) {
            rates[known].nextAt = min(rates[known].nextAt, now + MessagePace.debtMax)
        } else {
            rates.append(RateRow(message: message.id, nextAt: now))
        }
    }

    package func rates(among ids: [MessageID]) -> [RatedMessage] {
        ids.sorted().compactMap { id in
            message(id)?.ratePerSecond.map { RatedMessage(message: id, perSecond: $0) }
        }
    }

    /// Whether new and returning parcels of the message are rate-limited. Those of a stopped message are on hold
    /// instead.
    func isRateLimited(_ id: MessageID) -> Bool {
        message(id).map { $0.ratePerSecond != nil && !$0.isStopped } ?? false
    }

    func waitsForRate(_ place: Int, _ now: WallInstant) -> Bool {
        let parcel = parcels[place]
        return isRateLimited(parcel.message) && !parcel.isQuarantined && parcel.origin == nil && now < parcel.expiresAt
    }

    mutating func pace(_ id: MessageID, _ now: WallInstant) {
        for place in parcels.indices where parcels[place].message == id && parcels[place].isReady {
            if waitsForRate(place, now) { parcels[place].isRateLimited = true }
        }
    }

    /// Whether parcels of the message wait for a rate in vain.
    func isRateLifted(_ message: MessageRow, _ now: WallInstant) -> Bool {
        message.ratePerSecond == nil || hasExpired(message, \.isRateLimited, now)
    }

    mutating func liftRates(_ id: MessageID, atMost limit: Int, _ now: WallInstant) -> Int {
        guard let message = message(id), !message.isStopped else { return 0 }
        let places = parcels.indices.filter { place in
            parcels[place].message == id && parcels[place].isRateLimited
                && (message.ratePerSecond == nil || parcels[place].expiresAt <= now)
        }
        for place in places.prefix(limit) { parcels[place].isRateLimited = false }
        return min(places.count, limit)
    }

    /// Charges a parcel that did not wait to its message's rate, without deferred members. A parcel of
    /// which nothing is sent after too many expired leases is free.
    mutating func charge(_ parcel: LeasedParcel, _ now: WallInstant) {
        if now < parcel.expiresAt, PoisonRule.maySend(parcel.members.count, afterLapses: parcel.lapses) {
            take(parcel.members.count - parcel.deferredCount, parcel.message, now)
        }
    }

    private mutating func take(_ pushes: Int, _ id: MessageID, _ now: WallInstant) {
        guard pushes != 0, let rate = message(id)?.ratePerSecond,
            let place = rates.firstIndex(where: { $0.message == id })
        else { return }
        rates[place].nextAt = MessagePace.next(after: pushes, from: rates[place].nextAt, perSecond: rate, now: now)
    }

    /// Leases a quantum of the next parcel whose message's rate allows one now.
    mutating func leaseQuantum(_ order: LeaseOrder, _ now: WallInstant) -> Lease {
        let inOrder = waiting(order.route, order.service, order.knownFormats, order.passing, now).filter { place in
            rates.contains { $0.message == parcels[place].message && $0.instant(now) <= now }
        }
        var leased: LeasedParcel?
        if let place = inOrder.min(by: { isBefore(parcels[$0], parcels[$1]) }) {
            leased = leaseQuantum(of: place, order, now)
        }
        let left = waiting(order.route, order.service, order.knownFormats, order.passing, now)
            .map { parcels[$0].message }
        let next = rates.filter { left.contains($0.message) }.map { $0.instant(now) }.min()
        // The deferred members become known only after the wait was computed.
        if let leased { take(-leased.deferredCount, leased.message, now) }
        return Lease(leased.map { [$0] } ?? [], again: next.map { max(.zero, $0 - now) })
    }

    private func waiting(
        _ route: RouteID, _ service: TopicService, _ formats: [Int16], _ passing: [MessageID], _ now: WallInstant
    ) -> [Int] {
        parcels.indices.filter {
            let parcel = parcels[$0]
            return parcel.isRateLimited && parcel.route == route && parcel.service == service && parcel.dueAt <= now
                && formats.contains(parcel.format) && isRateLimited(parcel.message) && !passing.contains(parcel.message)
        }
    }

    private func isBefore(_ one: ParcelRow, _ other: ParcelRow) -> Bool {
        if one.urgency != other.urgency { return one.urgency.rawValue < other.urgency.rawValue }
        return one.dueAt == other.dueAt ? one.id < other.id : one.dueAt < other.dueAt
    }

    private mutating func leaseQuantum(
        of place: Int, _ order: LeaseOrder, _ now: WallInstant
    ) -> LeasedParcel {
        let parcel = parcels[place]
        let rate = message(parcel.message)?.ratePerSecond ?? 1
        let isSent = now < parcel.expiresAt
        let quantum = isSent ? MessagePace.quantum(of: parcel.pending, perSecond: rate) : parcel.pending
        if isSent { take(quantum, parcel.message, now) }
        guard quantum < parcel.pending else {
            parcels[place].isRateLimited = false
            return lease(isSent ? gather(into: place, rate, now) : place, order, now)
        }
        return lease(split(quantum, from: place), order, now)
    }

    /// Merges later parcels that differ only in their members into this one, whole parcels as long as there is room.
    private mutating func gather(into place: Int, _ rate: Int32, _ now: WallInstant) -> Int {
        let own = parcels[place]
        guard own.isUntouched else { return place }
        let room = MessagePace.quantum(of: Self.gatheredMax, perSecond: rate) - own.members.count
        let waiting = parcels.indices.filter {
            let other = parcels[$0]
            return other.isRateLimited && other.message == own.message && other.route == own.route && other.dueAt <= now
        }
        let next = waiting.sorted { isBefore(parcels[$0], parcels[$1]) }.prefix(Self.gatheredParcelsMax)
        var (members, taken) = (own.members, [ParcelID]())
        for other in next where parcels[other].isAlike(own) {
            guard members.count + parcels[other].pending <= own.members.count + room else { break }
            members += parcels[other].members
            taken.append(parcels[other].id)
        }
        take(members.count - own.members.count, own.message, now)
        parcels[place].members = members.sorted()
        parcels[place].settled = [Bool](repeating: false, count: members.count)
        parcels.removeAll { taken.contains($0.id) }
        return placeOfParcel(own.id) ?? place
    }

    private static let gatheredMax = 5_000
    private static let gatheredParcelsMax = 256

    /// Moves members to a new parcel: they are handed over, like a remainder.
    private mutating func split(_ count: Int, from place: Int) -> Int {
        let whole = parcels[place]
        let taken = whole.settled.indices.filter { !whole.settled[$0] }.prefix(count)
        for index in taken { parcels[place].settled[index] = true }
        parcels[place].handedOver += count
        let uncounted = whole.uncounted.map { bits in taken.map { bits[$0] } }
        lastParcel += 1
        parcels.append(
            ParcelRow(
                id: ParcelID(lastParcel), message: whole.message, app: whole.app, route: whole.route,
                format: whole.format, service: whole.service, urgency: whole.urgency, attempt: whole.attempt,
                lapses: whole.lapses,
                retrySpent: whole.retrySpent, isBadgeMarked: whole.isBadgeMarked, badgeSet: whole.badgeSet,
                uncounted: uncounted?.contains(true) == true ? uncounted : nil, answerLost: whole.answerLost,
                waitsFor: whole.waitsFor, dueAt: whole.dueAt, expiresAt: whole.expiresAt,
                members: taken.map { whole.members[$0] }, settled: [Bool](repeating: false, count: count)))
        return parcels.count - 1
    }

    /// Routes with a rate-limited parcel, by rising id, then by service.
    package func rateLimitedRoutes(knownFormats: [Int16], now: WallInstant) -> [ReadyRoute] {
        routes.flatMap { route in
            TopicService.allCases.compactMap { service in
                let waiting = waiting(route.id, service, knownFormats, [], now)
                    .map { parcels[$0].message }
                let instants = rates.filter { waiting.contains($0.message) }.map { $0.instant(now) }
                guard let next = instants.min() else { return nil }
                var ready = route.ready(service, ordinary: false, urgent: false, lapsed: false)
                ready.quantumAfter = max(.zero, next - now)
                return ready
            }
        }
    }
}

extension RateRow {
    fileprivate func instant(_ now: WallInstant) -> WallInstant { MessagePace.instant(nextAt, now: now) }
}

extension ParcelRow {
    /// Whether it was never leased.
    fileprivate var isUntouched: Bool { epoch == 0 && settles == 0 && !settled.contains(true) && uncounted == nil }

    fileprivate func isAlike(_ other: ParcelRow) -> Bool {
        isUntouched && format == other.format && attempt == other.attempt && lapses == other.lapses
            && retrySpent == other.retrySpent
            && answerLost == other.answerLost && waitsFor == other.waitsFor && expiresAt == other.expiresAt
            && isBadgeMarked == other.isBadgeMarked && badgeSet == nil && other.badgeSet == nil
    }
}
