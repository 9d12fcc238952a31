import DeliveryRules
import PushModel

/// What carrying out pauses and cancels did.
package struct SimulatedStopWork: Sendable {
    /// Parcels that were held, released or ended.
    package var parcels = 0
    /// With their parcels as they were before.
    package var settled: [(settlement: Settlement, before: ParcelRow)] = []
}

extension SimulatedStore {
    package mutating func wish(_ wish: LifeWish, _ id: MessageID, now: WallInstant) -> LifeReply {
        guard let place = placeOfMessage(id) else { return .noSuchMessage }
        switch wish {
        case .cancel: cancel(place)
        case .pause:
            if messages[place].state.rawValue < MessageState.paused.rawValue { messages[place].state = .paused }
        case .resume: resume(place, now)
        case .rate(let perSecond): setRate(perSecond, place, now)
        }
        let message = messages[place]
        if message.isStopped {
            let isNews = wish == .pause || wish == .cancel
            if isNews, message.audience != message.members, !stops.contains(id) { stops.append(id) }
        } else if wish == .resume {
            stops.removeAll { $0 == id }
        }
        let stands =
            switch wish {
            case .pause: message.state == .paused
            case .resume, .rate: message.state != .cancelled && message.state != .finished
            case .cancel: message.state == .cancelled
            }
        return stands ? .stands : .over(message.state)
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

    /// What waits for its hour becomes a plan, and reaches whoever exists by now.
    package mutating func fallDue(now: WallInstant) -> Int {
        let due = schedules.filter { $0.dueAt <= now }
        schedules.removeAll { $0.dueAt <= now }
        for row in due {
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

    /// What one of its parcels, new or come back, may be.
    package func isStopped(_ id: MessageID) -> Bool { message(id)?.isStopped ?? false }

    /// Out of the way of leases.
    mutating func hold(_ id: MessageID) -> Int {
        var count = 0
        for place in parcels.indices where parcels[place].message == id && parcels[place].waits {
            parcels[place].isHeld = true
            parcels[place].isPaced = false
            count += 1
        }
        return count
    }

    package mutating func carryOut(now: WallInstant) -> SimulatedStopWork {
        let held = Set(parcels.filter(\.isHeld).map(\.message))  // lookup only
        let paced = Set(parcels.filter(\.isPaced).map(\.message))  // lookup only
        let found = messages.filter {
            held.contains($0.id) || stops.contains($0.id) || paced.contains($0.id) && isUnpaced($0, now)
        }
        var work = SimulatedStopWork()
        for message in found where message.isStopped { work.parcels += hold(message.id) }
        for message in found where isOver(message, now) { endHeld(message, now, &work) }
        for message in found where !message.isStopped {
            for place in parcels.indices where parcels[place].message == message.id && parcels[place].isHeld {
                parcels[place].isHeld = false
                parcels[place].dueAt = max(parcels[place].dueAt, now)
                work.parcels += 1
            }
            if isUnpaced(message, now) { work.parcels += unpace(message, now) }
        }
        stops = stops.filter { message($0)?.isAtItsEnd == false }
        rates = rates.filter { message($0.message)?.isAtItsEnd == false }
        return work
    }

    /// Nobody will send any more what is held of it, or some of that.
    private func isOver(_ message: MessageRow, _ now: WallInstant) -> Bool {
        message.state == .cancelled || message.state == .paused && hasExpired(message, \.isHeld, now)
    }

    /// All of it, or what left at the hours of earlier clocks.
    func hasExpired(_ message: MessageRow, _ waits: KeyPath<ParcelRow, Bool>, _ now: WallInstant) -> Bool {
        message.expiresAt <= now
            || parcels.contains { $0.message == message.id && $0[keyPath: waits] && $0.expiresAt <= now }
    }

    private mutating func endHeld(_ message: MessageRow, _ now: WallInstant, _ work: inout SimulatedStopWork) {
        let over = parcels.filter {
            $0.message == message.id && $0.isHeld && (message.state == .cancelled || $0.expiresAt <= now)
        }
        for id in over.map(\.id) {
            guard let place = placeOfParcel(id) else { continue }
            parcels[place].isHeld = false
            parcels[place].epoch += 1
            parcels[place].lease = LeaseRow(owner: ProcessID(message.id.value), until: now)
            let before = parcels[place]
            let settlement = before.unsent.settlement(isCancelled: message.state == .cancelled)
            _ = settle(settlement, now: now)
            work.settled.append((settlement, before))
            work.parcels += 1
        }
    }
}

extension MessageRow {
    package var isStopped: Bool { state == .paused || state == .cancelled }

    /// Nothing of it will change any more.
    package var isAtItsEnd: Bool { state == .finished || state == .cancelled && audience == members }
}

extension ParcelRow {
    package var isReady: Bool { lease == nil && !isHeld && !isPaced }
    /// For a lease, or for its rate before that.
    var waits: Bool { lease == nil && !isHeld }

    fileprivate var unsent: UnsentParcel {
        UnsentParcel(
            id: id, message: message, epoch: epoch, settles: settles, attempt: attempt,
            mayHaveBeenShown: isBadgeMarked && (answerLost || lapses > 0), members: members, settledBits: bitmap,
            heldBits: uncounted?.bits ?? [])
    }
}
