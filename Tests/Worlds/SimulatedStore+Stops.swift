import Basis
import Model
import QueueRules

extension SimulatedStore {
    package mutating func control(_ control: ControlRequest, _ id: MessageID, now: WallInstant) -> ControlReply {
        guard let place = placeOfMessage(id) else { return .noSuchMessage }
        switch control {
        case .cancel: cancel(place)
        case .pause:
            if messages[place].state.rawValue < MessageState.paused.rawValue { messages[place].state = .paused }
        case .resume: resume(place, now)
        case .rate(let perSecond): setRate(perSecond, place, now)
        }
        let message = messages[place]
        if message.isStopped {
            let isNew = control == .pause || control == .cancel
            if isNew, message.audience != message.members, !stops.contains(id) { stops.append(id) }
        } else if control == .resume {
            stops.removeAll { $0 == id }
        }
        let done =
            switch control {
            case .pause: message.state == .paused
            case .resume, .rate: message.state != .cancelled && message.state != .finished
            case .cancel: message.state == .cancelled
            }
        return done ? .done : .over(message.state)
    }

    private mutating func cancel(_ place: Int) {
        let message = messages[place]
        schedules.removeAll { $0.message == message.id }
        guard message.state != .finished, message.state != .cancelled else { return }
        messages[place].state = .cancelled
        if message.audience == nil, !plans.contains(where: { $0.message == message.id }) {
            messages[place].audience = message.plannedMembers
        }
    }

    private mutating func resume(_ place: Int, _ now: WallInstant) {
        let message = messages[place]
        guard message.state == .paused else { return }
        let isScheduled = schedules.contains { $0.message == message.id }
        messages[place].state =
            isScheduled
            ? .scheduled
            : message.audience != nil ? .sending : message.plannedMembers > 0 ? .planning : .accepted
        finishIfComplete(place, now)
    }

    /// Turns due schedules into plans. Their horizon is the highest registration id now.
    mutating func fallDue(now: WallInstant, atMost limit: Int) -> Int {
        let waiting = schedules.filter { $0.dueAt <= now }.sorted { left, right in
            left.dueAt == right.dueAt ? left.message < right.message : left.dueAt < right.dueAt
        }
        let due = waiting.prefix(limit)
        for row in due {
            schedules.removeAll { $0.message == row.message }
            plans.append(row.plan)
            guard let place = placeOfMessage(row.message) else { continue }
            messages[place].horizon = registrations.last?.id ?? RegistrationID(0)
            if messages[place].state == .scheduled { messages[place].state = .accepted }
        }
        return due.count
    }

    package func stopped(among ids: [MessageID]) -> [StoppedMessage] {
        ids.sorted().compactMap { id in
            switch message(id)?.state {
            case .paused: StoppedMessage(message: id, stop: .paused)
            case .cancelled: StoppedMessage(message: id, stop: .cancelled)
            default: nil
            }
        }
    }

    /// Whether a new or returning parcel of the message must be on hold.
    package func isStopped(_ id: MessageID) -> Bool { message(id)?.isStopped ?? false }

    /// Puts waiting parcels of a stopped message on hold, out of the way of leases.
    mutating func putOnHold(_ id: MessageID, atMost limit: Int = .max) -> Int {
        guard isStopped(id) else { return 0 }
        let places = parcels.indices.filter { parcels[$0].message == id && parcels[$0].waits }.prefix(limit)
        for place in places {
            parcels[place].isOnHold = true
            parcels[place].isRateLimited = false
        }
        return places.count
    }

    /// Makes parcels on hold ready again, behind parcels that are due now.
    mutating func release(_ id: MessageID, atMost limit: Int, _ now: WallInstant) -> Int {
        guard !isStopped(id) else { return 0 }
        let places = parcels.indices.filter { parcels[$0].message == id && parcels[$0].isOnHold }.prefix(limit)
        for place in places {
            parcels[place].isOnHold = false
            parcels[place].dueAt = max(parcels[place].dueAt, now)
        }
        return places.count
    }

    /// Returns the steps for a page of messages that are stopped, or have parcels that are on hold or wait for a rate
    /// in vain. The step for the next page follows.
    func checkControls(after last: MessageID?, atMost limit: Int, _ now: WallInstant) -> [UpkeepStep] {
        let onHold = Set(parcels.filter(\.isOnHold).map(\.message))  // lookup only
        let rateLimited = Set(parcels.filter(\.isRateLimited).map(\.message))  // lookup only
        let all = messages.filter { message in
            onHold.contains(message.id) || stops.contains(message.id)
                || rateLimited.contains(message.id) && isRateLifted(message, now)
        }
        let behind = all.filter { message in last.map { $0 < message.id } ?? true }
        let found = behind.sorted { $0.id < $1.id }.prefix(limit)
        // Holds come first: parcels of stopped messages that are still ready get in the way of others.
        var steps = found.filter(\.isStopped).map { UpkeepStep.putOnHold($0.id) }
        steps += found.filter { isOver($0, now) }.map { .end($0.id) }
        for message in found where !message.isStopped {
            steps.append(.release(message.id))
            if isRateLifted(message, now) { steps.append(.liftRates(message.id)) }
        }
        if let next = found.last, found.count == limit { return steps + [.checkControls(after: next.id)] }
        return steps + (last == nil && found.isEmpty ? [.forgetRates] : [.forgetStops, .forgetRates])
    }

    mutating func forgetStops() -> Int {
        let before = stops.count
        stops = stops.filter { message($0)?.isAtItsEnd == false }
        return before - stops.count
    }

    mutating func forgetRates() -> Int {
        let before = rates.count
        rates = rates.filter { message($0.message)?.isAtItsEnd == false }
        return before - rates.count
    }

    /// Whether parcels on hold will never be sent: the message is cancelled, or some of them have expired.
    private func isOver(_ message: MessageRow, _ now: WallInstant) -> Bool {
        message.state == .cancelled || message.state == .paused && hasExpired(message, \.isOnHold, now)
    }

    /// Whether the whole message has expired, or parcels that were due at the hours of earlier clocks.
    func hasExpired(_ message: MessageRow, _ waits: KeyPath<ParcelRow, Bool>, _ now: WallInstant) -> Bool {
        message.expiresAt <= now
            || parcels.contains { $0.message == message.id && $0[keyPath: waits] && $0.expiresAt <= now }
    }

    /// Leases and settles parcels on hold in one transaction: nobody sees them leased.
    mutating func end(
        _ id: MessageID, atMost limit: Int, _ now: WallInstant
    ) -> [(settlement: Settlement, before: ParcelRow)] {
        guard let message = message(id), message.isStopped else { return [] }
        let isCancelled = message.state == .cancelled
        let over = parcels.filter { $0.message == id && $0.isOnHold && (isCancelled || $0.expiresAt <= now) }
        return over.prefix(limit).map(\.id).compactMap { id in
            guard let place = placeOfParcel(id) else { return nil }
            parcels[place].isOnHold = false
            parcels[place].epoch += 1
            parcels[place].lease = LeaseRow(owner: ProcessID(message.id.value), until: now)
            let before = parcels[place]
            let settlement = before.unsent(increments: message.badge == .increment)
                .settlement(isCancelled: isCancelled)
            _ = settle([settlement], now: now)
            return (settlement, before)
        }
    }
}

extension MessageRow {
    package var isStopped: Bool { state == .paused || state == .cancelled }

    /// Whether the message can change no more.
    package var isAtItsEnd: Bool { state == .finished || state == .cancelled && audience == members }
}

extension ParcelRow {
    package var isReady: Bool { lease == nil && !isOnHold && !isRateLimited }
    /// Whether it waits for a lease, or for its rate before that.
    var waits: Bool { lease == nil && !isOnHold }

    fileprivate func unsent(increments: Bool) -> UnsentParcel {
        UnsentParcel(
            id: id, message: message, route: route, epoch: epoch, settles: settles, attempt: attempt,
            mayHaveBeenShown: isBadgeMarked && (answerLost || lapses > 0), countsBadges: isBadgeMarked && increments,
            members: members, settledBits: bitmap,
            deferredBits: uncounted?.bits ?? [])
    }
}
