import Basis
import Model
import TriggerRules

// The promises to subscribers of items.
extension SimulatedWorld {
    /// Checks that updates fire exactly the armed triggers whose level they reach. Notes what followers are owed.
    mutating func record(_ lines: [Int], _ before: SimulatedStore) {
        let armed = before.itemSubscriptions.filter { mayFire($0, before) }
        var due: [Int64: (item: Int64, texts: [String?])] = [:]  // lookup only
        for update in lines.map({ updates[$0] }) {
            guard let item = store.item(update.update.item, of: update.app)?.id else { continue }
            items.note(update.update.fields, of: item)
            for row in before.itemSubscriptions
            where row.app == update.app && row.terms.items.contains(update.update.item) {
                if row.terms.trigger == nil, update.update.fields.names(anyOf: row.terms.fields) { owe(row, item) }
                guard due[row.id] == nil, armed.contains(where: { $0.id == row.id }),
                    items.subscriptions[row.id]?.trigger?.holds(items.text("price", of: item, row.terms.mode)) == true
                else { continue }
                due[row.id] = (item, items.firingTexts(row.terms, of: item))
            }
        }
        for row in before.itemSubscriptions where row.terms.trigger != nil {
            checkFired(row, due[row.id], wasHeld: before.heldPush(of: row.id) != nil)
        }
        for held in before.heldPushes where store.heldPush(of: held.subscription) != held {
            fail("P1", "an update changes a held push")
        }
        checkOneHeld()
    }

    private func mayFire(_ row: ItemSubscriptionRow, _ before: SimulatedStore) -> Bool {
        items.subscriptions[row.id]?.isArmed == true && !row.isExpired(wall) && before.heldPush(of: row.id) == nil
            && before.registration(row.registration)?.isLive == true
    }

    private mutating func owe(_ row: ItemSubscriptionRow, _ item: Int64) {
        guard items.subscriptions[row.id]?.owed[item] == nil else { return }
        let now = wall
        items.subscriptions[row.id]?.owed[item] = now
    }

    private mutating func checkFired(
        _ row: ItemSubscriptionRow, _ due: (item: Int64, texts: [String?])?, wasHeld: Bool
    ) {
        let held = wasHeld ? nil : store.heldPush(of: row.id)
        if items.subscriptions[row.id]?.isArmed == false { judge(.firesOnce) } else { judge(.firesAtLevel) }
        switch (due, held) {
        case (nil, nil): return
        case (nil, _?):
            let isArmed = items.subscriptions[row.id]?.isArmed == true
            fail(isArmed ? "P1" : "P4", isArmed ? "a trigger fires below its level" : "a trigger fires twice")
        case (_?, nil): fail("P1", "a trigger does not fire although its level is reached")
        case (let due?, let held?):
            if held.item != due.item || held.texts != due.texts {
                fail("P1", "a trigger's push has \(held.texts ?? []) instead of \(due.texts)")
            }
            items.subscriptions[row.id]?.isArmed = false
            items.fired += 1
        }
    }

    /// Checks the texts of a message's pushes.
    mutating func record(_ push: SimulatedItemPush, _ before: SimulatedStore) {
        forms[push.message] = MessageForm(.alert, badge: .increment, push.message)
        for (place, id) in push.subscriptions.enumerated() {
            guard let row = before.itemSubscription(id) else {
                return fail("P1", "a push is cut whose subscription has ended")
            }
            items.cut += 1
            if let held = before.heldPush(of: id), held.isTriggered {
                judge(.heldKept)
                if held.texts != push.texts { fail("P1", "a trigger's push goes with other texts than it had") }
                continue
            }
            let item = push.items[place]
            judge(.newestSent)
            let newest = items.newestTexts(row.terms, of: item)
            if push.texts != newest { fail("P1", "a push shows \(push.texts) instead of \(newest)") }
            if let since = items.subscriptions[id]?.owed[item] {
                items.longestWait = max(items.longestWait, wall - since)
            }
            items.settle(id, item)
        }
    }

    /// Checks that the windows of a transaction's pushes are open, and that one push at most shuts each.
    mutating func checkWindows(_ pushes: [SimulatedItemPush], _ before: SimulatedStore) {
        let rows = pushes.flatMap(\.subscriptions).compactMap { before.itemSubscription($0) }
        var shut: Set<RegistrationID> = []  // lookup only
        for row in rows {
            if let opensAt = items.opensAt[row.registration] {
                judge(.onePushAWindow)
                if wall < opensAt { fail("P8", "a device gets two pushes of items in one window") }
            }
            if store.quietUntil(row, wall) != nil { fail("P2", "a push of an item is cut in its device's quiet hours") }
            if row.push(isTriggered: false).pause > .zero, !shut.insert(row.registration).inserted {
                fail("P8", "a device gets two pushes of items at once")
            }
        }
        for row in rows {
            let opensAt = wall + row.push(isTriggered: false).pause
            items.opensAt[row.registration] = max(items.opensAt[row.registration] ?? opensAt, opensAt)
        }
    }

    /// Checks that what a round noted as shown was sent, is held, or may be dropped.
    mutating func checkFollowed(_ before: SimulatedStore, _ pushes: [SimulatedItemPush]) {
        let sent = Set(pushes.flatMap(\.subscriptions))  // lookup only
        if store.dueItems.contains(where: { $0.after > 0 }) { items.slices += 1 }
        for former in before.itemFollowers {
            let row = store.itemFollowers.first { $0.item == former.item && $0.subscription == former.subscription }
            guard let row, row.sentSeq != former.sentSeq, let subscription = before.itemSubscription(row.subscription)
            else { continue }
            if let held = store.heldPush(of: row.subscription) {
                // The item that was updated last makes the push of several.
                if held.item != row.item { items.settle(row.subscription, row.item) }
                continue
            }
            items.settle(row.subscription, row.item)
            if !sent.contains(row.subscription) { checkDropped(subscription, "an update of a follower is lost") }
        }
        items.held += store.heldPushes.count - before.heldPushes.count
        for held in before.heldPushes {
            guard let left = store.heldPush(of: held.subscription) else {
                fail("P1", "a round loses a held push")
                continue
            }
            if held.isTriggered, left != held { fail("P1", "a round replaces a trigger's push") }
            if left.item != held.item { items.settle(held.subscription, held.item) }
        }
        checkOneHeld()
    }

    /// Checks that a release loses no push, and does not look at the same pushes again at once.
    mutating func checkReleased(_ before: SimulatedStore, _ pushes: [SimulatedItemPush]) {
        let sent = Set(pushes.flatMap(\.subscriptions))  // lookup only
        for held in before.heldPushes {
            if let left = store.heldPush(of: held.subscription) {
                if left.item != held.item || left.texts != held.texts { fail("P1", "a release changes a held push") }
                continue
            }
            guard !sent.contains(held.subscription) else { continue }
            judge(.heldKept)
            items.settle(held.subscription, held.item)
            guard let subscription = before.itemSubscription(held.subscription) else { continue }
            let isDue = held.readyAt <= wall
            if held.isTriggered || !isDue {
                checkSilent(subscription, "a held push is lost")
            } else {
                checkDropped(subscription, "a held push is lost")
            }
        }
        let due = before.heldPushes.filter { $0.dueAt <= wall }
        judge(.releasesMove)
        let isStill = due.allSatisfy { held in store.heldPush(of: held.subscription).map { $0.dueAt <= wall } ?? false }
        if isStill { fail("P8", "a release has its next turn at once") }
        if sent.count > plan.itemSlice { fail("P8", "a release cuts \(sent.count) pushes") }
        for app in 1...plan.apps { checkTurn(of: AppID(Int64(app)), due) }
    }

    private mutating func checkDropped(_ row: ItemSubscriptionRow, _ sentence: String) {
        items.dropped += 1
        if row.terms.whenPaused != .drop { checkSilent(row, sentence) }
    }

    /// Checks that nothing may be sent to the subscription.
    private mutating func checkSilent(_ row: ItemSubscriptionRow, _ sentence: String) {
        let isLive = store.registration(row.registration)?.isLive == true
        if isLive, !row.isExpired(wall) { fail("P1", sentence) }
    }

    private mutating func checkTurn(of app: AppID, _ due: [HeldPushRow]) {
        let own = due.filter { $0.app == app }
        let isServed = own.contains { held in store.heldPush(of: held.subscription).map { $0.dueAt > wall } ?? true }
        guard !own.isEmpty, !isServed else {
            items.passedOver[app] = 0
            return
        }
        judge(.itemTurns)
        items.passedOver[app, default: 0] += 1
        if items.passedOver[app, default: 0] >= plan.apps { fail("P7", "an app waits while another one has two turns") }
    }

    private mutating func checkOneHeld() {
        let subscriptions = store.heldPushes.map(\.subscription)
        if Set(subscriptions).count < subscriptions.count { fail("P8", "a subscription holds two pushes") }
    }

    /// Checks at the end that followers were notified of all.
    mutating func checkItems() {
        for row in store.itemSubscriptions where !row.isExpired(wall) {
            guard store.registration(row.registration)?.isLive == true, let known = items.subscriptions[row.id] else {
                continue
            }
            if !known.owed.isEmpty { fail("P1", "a follower was not notified of the newest update") }
        }
    }
}

// False transactions.
extension SimulatedWorld {
    mutating func falsifyFirings(_ before: SimulatedStore) {
        guard itemLie == .firesTwice || itemLie == .firesAtCrossings else { return }
        for place in store.itemSubscriptions.indices {
            let row = store.itemSubscriptions[place]
            guard row.isTriggered, before.itemSubscription(row.id)?.isTriggered == false,
                let held = store.heldPush(of: row.id)
            else { continue }
            if itemLie == .firesAtCrossings {
                let price = items.text("price", of: held.item, row.terms.mode)
                guard items.subscriptions[row.id]?.trigger?.holds(price) == true else { continue }
                store.heldPushes.removeAll { $0.subscription == row.id }
            }
            store.itemSubscriptions[place].isTriggered = false
        }
    }

    mutating func falsifyRound(_ before: SimulatedStore) {
        switch itemLie {
        case .losesHeldPushes:
            let new = store.heldPushes.filter { before.heldPush(of: $0.subscription) == nil }.map(\.subscription)
            store.heldPushes.removeAll { new.contains($0.subscription) }
        case .raisesBadgesOfDropped:
            for former in before.itemFollowers {
                let isNoted = store.itemFollowers.contains {
                    $0.item == former.item && $0.subscription == former.subscription && $0.sentSeq > former.sentSeq
                }
                guard isNoted, let row = before.itemSubscription(former.subscription), row.terms.whenPaused == .drop,
                    store.heldPush(of: row.id) == nil
                else { continue }
                store.raiseBadge(row.registration, .increment)
            }
        case .firesTwice, .firesAtCrossings, nil: return
        }
    }
}
