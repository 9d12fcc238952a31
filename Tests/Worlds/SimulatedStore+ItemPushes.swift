import Basis
import Model
import TriggerRules

/// A message of subscriptions, as a round or a release cuts it.
package struct SimulatedItemPush: Equatable, Sendable {
    package let message: MessageID
    package let app: AppID
    package let template: Int64
    package let texts: [String?]
    /// The subscriptions' ids, the items that their pushes are about, and their registrations.
    package let subscriptions: [Int64]
    package let items: [Int64]
    package let members: [RegistrationID]
}

/// A push that goes.
private struct LeavingItemPush {
    let subscription: ItemSubscriptionRow
    let item: Int64
    let texts: [String?]

    func sharesMessage(with other: LeavingItemPush) -> Bool {
        subscription.template == other.subscription.template && texts == other.texts
            && subscription.terms.fields == other.subscription.terms.fields
    }
}

// Rounds of followers.
extension SimulatedStore {
    package static let dueItemsMax = 64
    private static let never = WallInstant(microseconds: 0)

    /// Notifies followers of due items of updates, in one transaction. Returns the messages; nil: no item is due.
    ///
    /// - Parameter name: makes the id of a message.
    package mutating func followItems(
        _ order: SimulatedFanOutOrder, now: WallInstant, name: () -> MessageID
    ) -> [SimulatedItemPush]? {
        guard let (due, limit) = claimItems(order, now) else { return nil }
        let found = candidates(of: due, limit)
        let candidates = found.prefix(decidedCount(of: found, order))
        let stop = candidates.count < found.count ? found[candidates.count].item : nil
        for follower in candidates.map(\.follower) { makeWindow(of: follower.subscription) }
        var round = FollowerRound(windows: openings(of: candidates.map(\.subscription)), now: now)
        var leaving: [LeavingItemPush] = []
        var held: [HeldPushRow] = []
        var notified: [ItemFollowerRow] = []
        var shut: [(registration: RegistrationID, opensAt: WallInstant)] = []
        for (item, follower, subscription) in candidates {
            let missed = missedItems(of: subscription, besides: item)
            let newest = missed.max { ($0.updatedAt, $0.id) < ($1.updatedAt, $1.id) } ?? item
            switch round.decide(status(of: follower, item, newest, subscription, now), canSend: { true }) {
            case .passed: continue
            case .notified: break
            case .sent(let opensAt):
                let texts = newest.state.texts(of: subscription.terms.fields, subscription.terms.mode)
                leaving.append(LeavingItemPush(subscription: subscription, item: newest.id, texts: texts))
                shut.append((subscription.registration, opensAt))
            case .held(let until):
                held.append(
                    HeldPushRow(
                        subscription: subscription.id, app: item.app, registration: subscription.registration,
                        item: newest.id, texts: nil, readyAt: now, dueAt: until))
            }
            notified += missed.map {
                ItemFollowerRow(item: $0.id, subscription: subscription.id, sentSeq: $0.state.seq)
            }
        }
        for row in notified { note(row) }
        for row in held { hold(row) }
        for (registration, opensAt) in shut { setWindow(of: registration, opensAt) }
        if let stop { lastFollowed = stop.app.value }
        let complete = ordered(due).map(\.id).prefix { $0 != stop?.id }
        for row in due {
            if row.item == stop?.id {
                pause(row, behind: candidates.last { $0.item.id == row.item }?.subscription.id, now)
            } else if complete.contains(row.item) {
                end(row, limit, now)
            }
        }
        return cut(leaving, order, now, name)
    }

    /// A transaction takes fewer followers of several items.
    private func decidedCount(of found: [Candidate], _ order: SimulatedFanOutOrder) -> Int {
        let severalMax = max(1, order.subscriptionsMax / 4)
        let several = found.indices.filter { found[$0].subscription.terms.items.count > 1 }
        return several.count > severalMax ? several[severalMax] : found.count
    }

    /// The item, and the subscription's other items with updates that it misses.
    private func missedItems(of subscription: ItemSubscriptionRow, besides item: ItemRow) -> [ItemRow] {
        let others = itemFollowers.filter { $0.subscription == subscription.id && $0.item != item.id }
        return [item]
            + others.compactMap { follower in
                self.item(follower.item).flatMap { other in
                    other.state.lastSeq(naming: subscription.terms.fields) > follower.sentSeq ? other : nil
                }
            }
    }

    /// Leaves an item due for the followers behind the last one that was decided on.
    private mutating func pause(_ row: DueItemRow, behind last: Int64?, _ now: WallInstant) {
        guard let place = dueItems.firstIndex(where: { $0.item == row.item }), let item = item(row.item) else { return }
        let after = last ?? row.after
        guard after > 0 else { return }
        (dueItems[place].dueAt, dueItems[place].after) = (now, after)
        dueItems[place].roundSeq = row.roundSeq ?? item.state.seq
    }

    /// Claims due items, whose apps take turns. An item with many followers has a transaction for itself.
    ///
    /// - Returns: also the most followers of each that are read; nil: none is due.
    private mutating func claimItems(
        _ order: SimulatedFanOutOrder, _ now: WallInstant
    ) -> (due: [DueItemRow], limit: Int)? {
        let last = lastFollowed
        let all = dueItems.filter { $0.dueAt <= now }.sorted { one, other in
            let (isBehind, isOtherBehind) = (one.app.value <= last, other.app.value <= last)
            if isBehind != isOtherBehind { return isOtherBehind }
            return (one.app, one.dueAt, one.item) < (other.app, other.dueAt, other.item)
        }
        var due = Array(all.prefix(Self.dueItemsMax))
        guard let first = due.first else { return nil }
        let few = order.fewSubscriptions
        if due.count == 1 || next(of: first, few).count == few {
            lastFollowed = first.app.value
            return ([first], order.subscriptionsMax)
        }
        lastFollowed = due[due.count - 1].app.value
        if let waiting = due.first(where: { next(of: $0, few).count == few }) {
            due.removeAll { next(of: $0, few).count == few }
            lastFollowed = waiting.app.value - 1
        }
        return (due, few)
    }

    /// The next followers of an item, by rising id.
    private func next(of row: DueItemRow, _ limit: Int) -> [ItemFollowerRow] {
        let own = itemFollowers.filter { $0.item == row.item && $0.subscription > row.after }
        return Array(own.sorted { $0.subscription < $1.subscription }.prefix(limit))
    }

    private typealias Candidate = (item: ItemRow, follower: ItemFollowerRow, subscription: ItemSubscriptionRow)

    /// The items app by app, as they were claimed. Of an app the item that was updated last comes first.
    private func ordered(_ due: [DueItemRow]) -> [ItemRow] {
        func turn(_ item: ItemRow) -> Int { due.firstIndex { $0.app == item.app } ?? 0 }
        return due.compactMap { item($0.item) }.sorted { one, other in
            let (first, second) = (turn(one), turn(other))
            return first == second
                ? (one.updatedAt, one.id) > (other.updatedAt, other.id) : first < second
        }
    }

    /// The followers that miss an update, in the order of their items.
    private func candidates(of due: [DueItemRow], _ limit: Int) -> [Candidate] {
        ordered(due).flatMap { item in
            (due.first { $0.item == item.id }.map { next(of: $0, limit) } ?? []).compactMap { follower -> Candidate? in
                guard let subscription = itemSubscription(follower.subscription),
                    item.state.lastSeq(naming: subscription.terms.fields) > follower.sentSeq
                else { return nil }
                return (item, follower, subscription)
            }
        }
    }

    private func status(
        of follower: ItemFollowerRow, _ item: ItemRow, _ newest: ItemRow, _ subscription: ItemSubscriptionRow,
        _ now: WallInstant
    ) -> FollowerStatus {
        let held = heldPush(of: subscription.id)
        return FollowerStatus(
            subscription: subscription.id, registration: subscription.registration.value, item: newest.id,
            missesUpdate: item.state.lastSeq(naming: subscription.terms.fields) > follower.sentSeq,
            isExpired: subscription.isExpired(now),
            isSilent: registration(subscription.registration)?.isLive != true, heldItem: held?.item,
            holdsTriggered: held?.isTriggered ?? false,
            deviceDueAt: heldPushes.filter { $0.registration == subscription.registration }.map(\.dueAt).min(),
            quietUntil: quietUntil(subscription, now), push: subscription.push(isTriggered: false))
    }

    private mutating func hold(_ row: HeldPushRow) {
        guard let known = heldPushes.firstIndex(where: { $0.subscription == row.subscription }) else {
            return heldPushes.append(row)
        }
        let (former, next) = (item(heldPushes[known].item), item(row.item))
        if let former, let next, former.updatedAt > next.updatedAt { return }
        if !heldPushes[known].isTriggered { heldPushes[known].item = row.item }
    }

    private mutating func end(_ row: DueItemRow, _ limit: Int, _ now: WallInstant) {
        guard let place = dueItems.firstIndex(where: { $0.item == row.item }), let item = item(row.item) else { return }
        let read = next(of: row, limit)
        let roundSeq = row.roundSeq ?? item.state.seq
        if read.count == limit, let last = read.last {
            (dueItems[place].dueAt, dueItems[place].after) = (now, last.subscription)
            dueItems[place].roundSeq = roundSeq
        } else if item.state.seq == roundSeq {
            dueItems.remove(at: place)
        } else {
            (dueItems[place].dueAt, dueItems[place].after) = (now + ThrottleWindow.gathering, 0)
            dueItems[place].roundSeq = nil
        }
    }
}

// Releases of held pushes.
extension SimulatedStore {
    package static let releasedDevicesMax = 1_000

    /// Decides on held pushes that are due, in one transaction. Returns the messages; nil: none is due.
    package mutating func releaseItems(
        _ order: SimulatedFanOutOrder, now: WallInstant, name: () -> MessageID
    ) -> [SimulatedItemPush]? {
        let last = lastReleased
        let all = heldPushes.filter { $0.dueAt <= now }.sorted { one, other in
            let (isBehind, isOtherBehind) = (one.app.value <= last, other.app.value <= last)
            if isBehind != isOtherBehind { return isOtherBehind }
            return (one.app, one.dueAt, one.subscription) < (other.app, other.dueAt, other.subscription)
        }
        var claimed: [HeldPushRow] = []
        for row in all.prefix(min(order.subscriptionsMax, Self.releasedDevicesMax)) {
            makeWindow(of: row.subscription)
            if !claimed.contains(where: { $0.registration == row.registration }) { claimed.append(row) }
        }
        guard let lastClaimed = claimed.last else { return nil }
        lastReleased = lastClaimed.app.value
        let leaving = claimed.compactMap { releaseFirst(of: $0.registration, now) }
        return cut(leaving, order, now, name)
    }

    /// Decides on the first due push of a device. Returns it, if it goes.
    private mutating func releaseFirst(of device: RegistrationID, _ now: WallInstant) -> LeavingItemPush? {
        let due = heldPushes.filter { $0.registration == device && $0.dueAt <= now }
        guard let first = due.min(by: { ($0.readyAt, $0.subscription) < ($1.readyAt, $1.subscription) }) else {
            return nil
        }
        guard registration(device)?.isLive == true else {
            keepHeld(of: device, now)
            return nil
        }
        guard let subscription = itemSubscription(first.subscription), !subscription.isExpired(now) else {
            heldPushes.removeAll { $0.subscription == first.subscription }
            return nil
        }
        let quietUntil = quietUntil(subscription, now)
        let opensAt = deviceWindows.first { $0.registration == device }?.opensAt
        let held = HeldPush(subscription.push(isTriggered: first.isTriggered), readyAt: first.readyAt)
        switch ThrottleWindow(opensAt: opensAt, quietUntil: quietUntil).release(held, now: now) {
        case .send(let opensAt): return send(first, subscription, opensAt: opensAt, now)
        case .hold(_, let until), .replace(_, let until):
            putOff(device, until: until, isQuiet: quietUntil != nil)
        case .drop: heldPushes.removeAll { $0.subscription == first.subscription }
        }
        return nil
    }

    /// Drops the due pushes of a device that gets nothing now. Those of triggers are kept for some time.
    private mutating func keepHeld(of device: RegistrationID, _ now: WallInstant) {
        heldPushes.removeAll {
            $0.registration == device && $0.dueAt <= now
                && !($0.isTriggered && $0.readyAt + HeldPush.keptMax > now)
        }
        for place in heldPushes.indices
        where heldPushes[place].registration == device && heldPushes[place].dueAt <= now {
            heldPushes[place].dueAt = min(now + HeldPush.keptAtOnce, heldPushes[place].readyAt + HeldPush.keptMax)
        }
    }

    private mutating func send(
        _ held: HeldPushRow, _ subscription: ItemSubscriptionRow, opensAt: WallInstant, _ now: WallInstant
    ) -> LeavingItemPush? {
        heldPushes.removeAll { $0.subscription == held.subscription }
        guard let item = item(held.item) else { return nil }
        let fields = subscription.terms.fields
        if !held.isTriggered {
            note(ItemFollowerRow(item: item.id, subscription: subscription.id, sentSeq: item.state.seq))
        }
        setWindow(of: held.registration, opensAt)
        if opensAt > now { putOff(held.registration, until: opensAt, isQuiet: false) }
        return LeavingItemPush(
            subscription: subscription, item: item.id,
            texts: held.texts ?? item.state.texts(of: fields, subscription.terms.mode))
    }

    /// Puts off the pushes of a device. isQuiet: only those that a person sees.
    private mutating func putOff(_ device: RegistrationID, until: WallInstant, isQuiet: Bool) {
        for place in heldPushes.indices where heldPushes[place].registration == device {
            let isShown = itemSubscription(heldPushes[place].subscription)?.terms.template.isShown ?? false
            if heldPushes[place].dueAt < until, isShown || !isQuiet { heldPushes[place].dueAt = until }
        }
    }
}

// The steps that rounds and releases share.
extension SimulatedStore {
    private mutating func note(_ row: ItemFollowerRow) {
        for place in itemFollowers.indices
        where itemFollowers[place].item == row.item && itemFollowers[place].subscription == row.subscription {
            itemFollowers[place].sentSeq = max(itemFollowers[place].sentSeq, row.sentSeq)
        }
    }

    private mutating func makeWindow(of subscription: Int64) {
        guard let registration = itemSubscription(subscription)?.registration,
            !deviceWindows.contains(where: { $0.registration == registration })
        else { return }
        deviceWindows.append(DeviceWindowRow(registration: registration))
    }

    private mutating func setWindow(of registration: RegistrationID, _ opensAt: WallInstant) {
        for place in deviceWindows.indices where deviceWindows[place].registration == registration {
            deviceWindows[place].opensAt = opensAt
        }
    }

    private func openings(of subscriptions: [ItemSubscriptionRow]) -> [Int64: WallInstant] {
        var openings: [Int64: WallInstant] = [:]  // lookup only
        for window in deviceWindows where subscriptions.contains(where: { $0.registration == window.registration }) {
            openings[window.registration.value] = window.opensAt ?? Self.never
        }
        return openings
    }

    /// The end of the quiet hours that a push waits for; nil: it waits for none.
    package func quietUntil(_ subscription: ItemSubscriptionRow, _ now: WallInstant) -> WallInstant? {
        guard subscription.terms.template.isShown else { return nil }
        let limits = limits(of: subscription.app)
        return limits.quietHours?.until(now, minutesEast: minutesEast(subscription.registration, limits))
    }

    /// Writes the messages. Pushes with the same template and texts share one, in which each device is once.
    private mutating func cut(
        _ pushes: [LeavingItemPush], _ order: SimulatedFanOutOrder, _ now: WallInstant, _ name: () -> MessageID
    ) -> [SimulatedItemPush] {
        var groups: [[[LeavingItemPush]]] = []
        for push in pushes {
            guard let group = groups.firstIndex(where: { $0[0][0].sharesMessage(with: push) }) else {
                groups.append([[push]])
                continue
            }
            let device = push.subscription.registration
            let message = groups[group].firstIndex { message in
                !message.contains { $0.subscription.registration == device }
            }
            if let message { groups[group][message].append(push) } else { groups[group].append([push]) }
        }
        return groups.flatMap { $0 }.map { pushes in
            let first = pushes[0].subscription
            let members = pushes.map(\.subscription.registration)
            let id = name()
            writeMessage(
                id, first.app, Audience(.itemSubscribers(PushTemplateID(first.template))), members.sorted(), order, now,
                kind: .alert, badge: .increment)
            return SimulatedItemPush(
                message: id, app: first.app, template: first.template, texts: pushes[0].texts,
                subscriptions: pushes.map(\.subscription.id), items: pushes.map(\.item), members: members)
        }
    }
}
