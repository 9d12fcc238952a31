import Basis
import Model
import WakeUpRules

/// How a fan-out of the simulated store divides its work.
package struct SimulatedFanOutOrder: Sendable {
    package let subscriptionsMax: Int
    package let fewSubscriptions: Int
    package let parcelMembersMax: Int
    package let lifetime: Duration
    package let gather: Duration

    package init(
        subscriptionsMax: Int, fewSubscriptions: Int, parcelMembersMax: Int, lifetime: Duration, gather: Duration
    ) {
        (self.subscriptionsMax, self.fewSubscriptions) = (subscriptionsMax, fewSubscriptions)
        (self.parcelMembersMax, self.lifetime, self.gather) = (parcelMembersMax, lifetime, gather)
    }
}

/// A wake-up, as a fan-out decides it for subscriptions that get the same one.
package struct SimulatedWakeUp: Equatable, Sendable {
    package let watch: Int64
    /// The watch's number when it was read.
    package let seq: Int64
    package let mode: WakeUpMode
    package let provider: Provider
    /// The data of the node, or the children that changed, as text. nil: there is nothing to report.
    package let text: String?
    /// The subscriptions' ids, and their registrations.
    package let subscriptions: [Int64]
    package let members: [RegistrationID]
    package var message: MessageID?
}

extension SimulatedStore {
    package static let watchesMax = 64

    /// Notifies subscriptions of due watches of changes, in one transaction. Returns the wake-ups; nil: no watch is due.
    ///
    /// - Parameter name: makes the id of a message about a watch.
    package mutating func fanOut(
        _ order: SimulatedFanOutOrder, now: WallInstant, name: (_ watch: Int64) -> MessageID
    ) -> [SimulatedWakeUp]? {
        var due = claimWatches(now)
        guard !due.isEmpty else { return nil }
        let leftApp: AppID?
        (due, leftApp) = divide(due, order)
        let limit = leftApp == nil && due.count == 1 ? order.subscriptionsMax : order.fewSubscriptions
        var writes: [SimulatedWakeUp] = []
        var slices: [(watch: Int64, slice: WatchSlice)] = []
        for row in due {
            guard let watch = watch(row.watch) else { continue }
            let read = next(of: row, limit).compactMap { status(of: $0, now) }
            var slice = WatchSlice(
                WatchClaim(tries: row.tries, roundSeq: row.roundSeq, after: row.after, skippedEarlier: row.skipped),
                status(of: watch, order),
                reading: read, limit: limit)
            writes += wakeUps(of: watch, &slice, name)
            slices.append((watch.id, slice))
        }
        for wakeUp in writes { carryOut(wakeUp, order, now) }
        for (watch, slice) in slices { end(slice, of: watch, now) }
        // Those that had no subscription are removed, with all that belongs to them.
        for row in due where row.after == 0 && !subscriptions.contains(where: { $0.watch == row.watch }) {
            watches.removeAll { $0.id == row.watch }
            childChanges.removeAll { $0.watch == row.watch }
            dueWatches.removeAll { $0.watch == row.watch }
        }
        lastFannedOut = leftApp.map { $0.value - 1 } ?? due.last?.app.value ?? 0
        return writes
    }

    /// Due watches; apps take turns, and those of one app come in the order in which they fell due.
    private func claimWatches(_ now: WallInstant) -> [DueWatchRow] {
        func wasServedLast(_ row: DueWatchRow) -> Bool { row.app.value <= lastFannedOut }
        let due = dueWatches.filter { $0.dueAt <= now }.sorted { one, other in
            if wasServedLast(one) != wasServedLast(other) { return wasServedLast(other) }
            return (one.app, one.dueAt, one.watch) < (other.app, other.dueAt, other.watch)
        }
        return Array(due.prefix(Self.watchesMax))
    }

    /// Leaves watches with many subscriptions to transactions of their own. The first one has this for itself.
    private func divide(_ due: [DueWatchRow], _ order: SimulatedFanOutOrder) -> ([DueWatchRow], leftApp: AppID?) {
        let counts = due.map { next(of: $0, order.fewSubscriptions).count }
        let division = FanOutDivision(counts: counts, sharedMax: order.fewSubscriptions)
        let taken = due.indices.filter { division.takes($0) }.map { due[$0] }
        if division == .firstAlone { return (taken, nil) }
        return (taken, due.indices.first { !division.takes($0) }.map { due[$0].app })
    }

    private func next(of row: DueWatchRow, _ limit: Int) -> [SubscriptionRow] {
        let own = subscriptions.filter { $0.watch == row.watch && $0.registration.value > row.after }
        return Array(own.sorted { $0.registration < $1.registration }.prefix(limit))
    }

    private func status(of watch: WatchRow, _ order: SimulatedFanOutOrder) -> WatchStatus {
        WatchStatus(
            seq: watch.seq, moves: watch.moves, isEnabled: true, isTooHeavy: false, gather: order.gather,
            readsValue: true, readsChildren: true)
    }

    /// Decides which groups are notified, and of what.
    private func wakeUps(
        of watch: WatchRow, _ slice: inout WatchSlice, _ name: (Int64) -> MessageID
    ) -> [SimulatedWakeUp] {
        let candidates = slice.candidates
        let access = CandidateAccess(candidates, mayRead: candidates.map { _ in true })
        let decision = slice.decide(access, unsettled: unsettled(candidates), lost: lost(candidates))
        return decision.wakeUps.map { group, members in
            let text = text(for: group, watch)
            let message = text.map { _ in name(watch.id) }
            let progress = slice.progress(of: members, message: message?.value)
            return SimulatedWakeUp(
                watch: watch.id, seq: watch.seq, mode: group.mode, provider: group.provider, text: text,
                subscriptions: progress.map(\.subscription),
                members: members.map { RegistrationID($0.registration) }, message: message)
        }
    }

    private func status(of subscription: SubscriptionRow, _ now: WallInstant) -> SubscriptionStatus? {
        guard let registration = registration(subscription.registration) else { return nil }
        return SubscriptionStatus(
            id: subscription.id, registration: registration.id.value, route: registration.stored.route.value,
            mode: subscription.mode, provider: registration.stored.provider,
            isExpired: subscription.expiresAt <= now, isRetired: !registration.isLive,
            sentSeq: subscription.sentSeq, message: subscription.message?.value)
    }

    /// The pushes of the candidates' last messages that have not ended.
    private func unsettled(_ candidates: [SubscriptionStatus]) -> PushSet {
        let messages = candidates.lastMessages
        var pushes = PushSet()
        for parcel in parcels where messages.contains(parcel.message.value) {
            let pending = parcel.members.indices.filter { !parcel.settled[$0] }
            pushes.add(parcel.message.value, pending.map { parcel.members[$0].value })
        }
        return pushes
    }

    /// The pushes of the candidates' last messages that ended without an answer that they were accepted.
    private func lost(_ candidates: [SubscriptionStatus]) -> PushSet {
        let messages = candidates.lastMessagesAboutChildren
        var pushes = PushSet()
        for row in history where messages.contains(row.message.value) {
            guard case .ended(let status) = row.entry.event, status.state != .accepted else { continue }
            pushes.add(row.message.value, row.entry.members.map(\.value))
        }
        return pushes
    }

    private func text(for group: WakeUpGroup, _ watch: WatchRow) -> String? {
        switch group.mode {
        case .noData: return "changed"
        case .value: return data(of: watch.app, at: watch.path)
        case .childEvent:
            guard group.sentSeq >= watch.overflowSeq else { return "too big" }
            return changes(of: watch, group)
        }
    }

    private func data(of app: AppID, at path: NodePath) -> String {
        String(decoding: NodeText.compose(leaves(of: app, at: path), at: path), as: UTF8.self)
    }

    /// The children that changed after a write, as the real world reports them; nil: no child has changed.
    private func changes(of watch: WatchRow, _ group: WakeUpGroup) -> String? {
        let seq = group.sentSeq
        var changes = ChildChanges()
        var seen: [String] = []
        for change in childChanges where change.watch == watch.id && change.seq > seq && !seen.contains(change.child) {
            seen.append(change.child)
            let path = watch.path.named(change.child)
            let now = leaves(of: watch.app, at: path)
            let data = NodeData.json(NodeText.compose(now, at: path))
            changes.note(change.child, existed: change.existed, now: now.isEmpty ? nil : data)
        }
        return changes.isEmpty ? nil : changes.text
    }

    /// Writes a message with its parcels, and notes the progress of subscriptions.
    private mutating func carryOut(_ wakeUp: SimulatedWakeUp, _ order: SimulatedFanOutOrder, _ now: WallInstant) {
        for place in subscriptions.indices where wakeUp.subscriptions.contains(subscriptions[place].id) {
            subscriptions[place].sentSeq = wakeUp.seq
            guard let message = wakeUp.message else { continue }
            subscriptions[place].message = message
        }
        guard let id = wakeUp.message, let app = watch(wakeUp.watch)?.app else { return }
        writeMessage(id, app, Audience(.subscribers(WatchID(wakeUp.watch))), wakeUp.members, order, now)
    }

    mutating func writeMessage(
        _ id: MessageID, _ app: AppID, _ audience: Audience, _ members: [RegistrationID],
        _ order: SimulatedFanOutOrder, _ now: WallInstant, kind: TokenKind = .wakeUp, badge: BadgeChange = .none
    ) {
        var message = MessageRow(
            id: id, app: app, format: 1, service: .app, state: .sending,
            urgency: members.count <= 100 ? .transactional : .bulk, kind: kind, badge: badge,
            audienceWanted: audience, ignored: .all, horizon: RegistrationID(0), acceptedAt: now,
            expiresAt: now + order.lifetime, dueAt: nil, localSending: nil)
        message.plannedMembers = Int64(members.count)
        message.audience = Int64(members.count)
        messages.append(message)
        let routed = members.compactMap { id in
            registration(id).map { SimulatedMember(id: id, route: $0.stored.route) }
        }
        _ = writeParcels(routed, message, order.parcelMembersMax, now)
    }

    private mutating func end(_ slice: WatchSlice, of id: Int64, _ now: WallInstant) {
        guard let place = placeOfWatch(id) else { return }
        let end = slice.end
        if end.wakesSome { watches[place].cutAt = now }
        let watch = watches[place]
        if end.reportedToAll {
            watches[place].overflowSeq = max(watch.overflowSeq, end.roundSeq)
            childChanges.removeAll { $0.watch == id && $0.seq <= end.roundSeq }
        }
        let hasChanged = watch.seq != end.roundSeq || watch.moves != end.moves
        if end.reportedToAll, !hasChanged { dueWatches.removeAll { $0.watch == id } }
        guard let row = dueWatches.firstIndex(where: { $0.watch == id }) else { return }
        dueWatches[row].dueAt = now + (hasChanged ? end.soonest : end.next)
        dueWatches[row].soonestAt = now + end.soonest
        dueWatches[row].skipped = end.skipped
        dueWatches[row].tries = end.tries
        dueWatches[row].roundSeq = end.after > 0 ? end.roundSeq : nil
        dueWatches[row].after = end.after
    }
}

// Subscriptions that end by themselves.
extension SimulatedStore {
    /// Ends expired subscriptions, with their notices. Returns the notices; nil: none has expired.
    package mutating func endExpired(
        _ order: SimulatedFanOutOrder, now: WallInstant, name: () -> MessageID
    ) -> [SimulatedNotice]? {
        let ended = subscriptions.filter { $0.expiresAt <= now }
        guard !ended.isEmpty else { return nil }
        removeSubscriptions { $0.expiresAt <= now }
        var notices: [SimulatedNotice] = []
        for watch in watches {
            for provider in Provider.allCases {
                let members = ended.filter { $0.watch == watch.id }.map(\.registration).sorted().filter {
                    registration($0).map { $0.isLive && $0.stored.provider == provider } ?? false
                }
                guard !members.isEmpty else { continue }
                let id = name()
                writeMessage(id, watch.app, Audience(.revoked(WatchID(watch.id))), members, order, now)
                notices.append(SimulatedNotice(watch: watch.id, provider: provider, message: id, members: members))
            }
        }
        return notices
    }
}

/// Devices that are notified that their subscription has expired.
package struct SimulatedNotice: Equatable, Sendable {
    package let watch: Int64
    package let provider: Provider
    package let message: MessageID
    package let members: [RegistrationID]
}

extension ChildChanges {
    /// The changes as text, by kind and then by name.
    package var text: String {
        func data(_ child: Child) -> String {
            guard case .json(let json) = child.data else { return "\(child.key)=?" }
            return "\(child.key)=\(String(decoding: json, as: UTF8.self))"
        }
        let kinds = [added.map { "+" + data($0) }, changed.map { "~" + data($0) }, removed.map { "-" + $0 }]
        return kinds.flatMap { $0.sorted() }.joined(separator: " ")
    }
}
