import Basis
import Model
import QueueRules
import TriggerRules

/// A line of an app's producer.
struct SimulatedUpdate: Sendable {
    let app: AppID
    let update: ItemUpdate
}

// The backends' producers, and the phones that subscribe to items.
extension SimulatedWorld {
    private static let itemNames = ["anduct", "ations"]
    private static let itemFields = ["price", "name"]

    mutating func scheduleItems() {
        guard plan.updates > 0 else { return }
        for device in devices.indices where devices[device].kind == .alert {
            if subscriber.happens(perMille: plan.itemFollowers) { activate(device, nil) }
            if subscriber.happens(perMille: plan.itemTriggers) { activate(device, drawTrigger()) }
        }
        let latest = SimulatedTime(nanoseconds: plan.faultsEnd.nanoseconds * 3 / 4)
        var times: [SimulatedTime] = []
        for _ in 0..<plan.updates {
            // Some come in bursts.
            let isSoon = subscriber.happens(perMille: 500)
            times.append(isSoon ? (times.last ?? .zero) + .milliseconds(200) : subscriber.within(.zero...latest))
        }
        for time in times.sorted() { scheduleUpdate(at: time) }
        // Each follower must hear of these.
        for app in 1...plan.apps {
            for name in Self.itemNames {
                schedule(ItemUpdate(name, #"{"price": 50}"#), AppID(Int64(app)), at: plan.faultsEnd + .seconds(30))
            }
        }
        scheduleItemEvent()
    }

    private mutating func scheduleUpdate(at time: SimulatedTime) {
        let isNumber = subscriber.happens(perMille: 800)
        let price = isNumber ? "\(subscriber.within(0...100))" : subscriber.pick(["null", #""-""#])
        let json = subscriber.pick([
            #"{"price": \#(price)}"#, #"{"price": \#(price), "name": "up"}"#, #"{"name": "down"}"#, #"{"volume": 1}"#,
        ])
        let app = AppID(Int64(subscriber.within(1...plan.apps)))
        schedule(ItemUpdate(subscriber.pick(Self.itemNames), json), app, at: time)
    }

    private mutating func schedule(_ update: ItemUpdate?, _ app: AppID, at time: SimulatedTime) {
        guard let update else { return }
        updates.append(SimulatedUpdate(app: app, update: update))
        queue.put(.produce(updates.count - 1), at: time)
    }

    private mutating func scheduleItemEvent() {
        guard let every = plan.itemEventEvery else { return }
        let next = now + subscriber.within(.zero...every + every)
        if next < plan.faultsEnd { queue.put(.itemEvent, at: next) }
    }

    mutating func happenToItems() {
        scheduleItemEvent()
        let device = subscriber.below(devices.count)
        guard devices[device].kind == .alert, let row = row(of: device) else { return }
        let own = store.itemSubscriptions.filter { $0.registration == row.id }
        let fired = own.filter(\.isTriggered)
        switch subscriber.below(4) {
        case 0 where !own.isEmpty:
            let gone = subscriber.pick(own).id
            store.removeItemSubscriptions { $0.id == gone }
            trail.add("\(devices[device].installation) ends subscription \(gone)")
        case 1 where !fired.isEmpty:
            let again = subscriber.pick(fired).id
            if store.reactivate(again, now: wall) { items.subscriptions[again]?.isArmed = true }
            trail.add("\(devices[device].installation) arms subscription \(again) again")
        default: activate(device, subscriber.happens(perMille: 500) ? drawTrigger() : nil)
        }
    }

    private mutating func drawTrigger() -> SimulatedTrigger {
        SimulatedTrigger(isAbove: subscriber.happens(perMille: 500), bound: subscriber.pick([20, 50, 80]))
    }

    private mutating func activate(_ device: Int, _ trigger: SimulatedTrigger?) {
        guard let row = row(of: device) else { return }
        let expiresAt = subscriber.happens(perMille: plan.shortItemSubscriptions) ? wall + .seconds(60) : nil
        let template = TemplateSource(
            given: [], content: Array(subscriber.pick(["short", "long"]).utf8),
            isShown: subscriber.happens(perMille: 700))
        let terms = SubscriptionTerms(
            items: subscriber.pick([["anduct"], ["ations"], ["ations", "anduct"]]), fields: Self.itemFields,
            mode: subscriber.pick(UpdateMode.allCases),
            trigger: trigger.map { TriggerTerms(text: $0.text, thresholds: []) }, template: template,
            pauseSeconds: subscriber.pick(plan.itemPauses), whenPaused: subscriber.pick([.newest, .newest, .drop]),
            expiresAt: expiresAt)
        let (id, isNew) = store.activate(
            terms, coalescing: subscriber.happens(perMille: 300), registration: row.id, app: row.app, now: wall)
        trail.add("\(devices[device].installation) has subscription \(id) to items")
        if isNew { items.subscriptions[id] = ItemLedger.Subscription(trigger: trigger, isArmed: false) }
        items.subscriptions[id]?.isArmed = trigger != nil
    }

    /// Sends lines to a gateway, and again until their answer comes.
    mutating func produce(_ line: Int) {
        let app = updates[line].app
        let received = updatesReceived[app] ?? -1
        guard received < line else { return }
        queue.put(.produce(line), at: now + subscriber.within(.seconds(8) ... .seconds(20)))
        let running = processes.indices.filter { processes[$0].isAlive && !processes[$0].isFrozen }
        guard !running.isEmpty else { return }
        let lines = updates.indices.filter { updates[$0].app == app && $0 > received && $0 <= line }
        call(.updateItems(lines), subscriber.pick(running))
    }

    var areUpdatesReceived: Bool { updates.indices.allSatisfy { updatesReceived[updates[$0].app] ?? -1 >= $0 } }

    mutating func noteUpdated(_ lines: [Int], raisedAny: Bool, _ index: Int) {
        guard let last = lines.last else { return }
        updatesReceived[updates[last].app] = max(updatesReceived[updates[last].app] ?? -1, last)
        guard raisedAny else { return }
        pushItems(index)
        for other in processes where other.index != index && other.isAlive {
            guard !(isFaulty && random.happens(perMille: plan.notificationLost)) else { continue }
            queue.put(.itemsRaised(other.addressee), at: after(.zero ... .milliseconds(50)))
        }
    }

    /// Starts rounds and then releases, one transaction at a time: a notification meanwhile causes more afterwards.
    mutating func pushItems(_ index: Int) {
        guard !processes[index].isDraining else { return }
        guard !processes[index].isPushingItems else {
            processes[index].mustPushItemsAgain = true
            return
        }
        processes[index].isPushingItems = true
        processes[index].mustPushItemsAgain = false
        call(.pushItems(.follow), index)
    }

    mutating func receiveItemPushes(_ reply: StoreReply, _ work: ItemWork, _ index: Int) {
        let incarnation = processes[index].incarnation
        if case .fannedOut(let ready?) = reply {
            passOn(ready, index)
            guard processes[index].isAlive, processes[index].incarnation == incarnation else { return }
            return call(.pushItems(work), index)
        }
        if case (.follow, .fannedOut) = (work, reply) { return call(.pushItems(.release), index) }
        processes[index].isPushingItems = false
        // After a fault, the regular upkeep tries again.
        if processes[index].mustPushItemsAgain, case .fannedOut = reply { pushItems(index) }
    }
}

// One transaction each, and its record for the checkers.
extension SimulatedWorld {
    /// Takes those of the lines that were not taken before, as `update_producers` has it.
    ///
    /// - Returns: whether items have become due, or pushes are held.
    mutating func applyUpdates(_ lines: [Int]) -> Bool {
        guard let first = lines.first else { return false }
        let app = updates[first].app
        let new = lines.filter { $0 > items.lastLine[app] ?? -1 }
        guard let last = new.last else { return false }
        items.lastLine[app] = last
        let before = store
        let raised = store.update(new.map { updates[$0].update }, app: app, now: wall)
        falsifyFirings(before)
        record(new, before)
        return raised
    }

    /// - Returns: the routes with new parcels; nil: nothing was due.
    mutating func applyItemPushes(_ work: ItemWork) -> [ReadyRoute]? {
        let before = store
        let seed = plan.seed
        let order = SimulatedFanOutOrder(
            subscriptionsMax: plan.itemSlice, fewSubscriptions: plan.itemSlice, parcelMembersMax: plan.parcelMembersMax,
            lifetime: .seconds(86_400), gather: ThrottleWindow.gathering)
        var messages = items.messages
        func name() -> MessageID {
            messages += 1
            return MessageID(UniversalID(high: 2_000_000 + messages, low: seed))
        }
        let cut: [SimulatedItemPush]?
        switch work {
        case .follow: cut = store.followItems(order, now: wall, name: name)
        case .release: cut = store.releaseItems(order, now: wall, name: name)
        }
        guard let pushes = cut else { return nil }
        items.messages = messages
        if work == .follow { falsifyRound(before) }
        checkWindows(pushes, before)
        for push in pushes { record(push, before) }
        switch work {
        case .follow: checkFollowed(before, pushes)
        case .release: checkReleased(before, pushes)
        }
        return recordParcels(after: before.lastParcel)
    }

    mutating func endItemSubscriptions() {
        let instant = wall
        store.removeItemSubscriptions { $0.isExpired(instant) }
    }
}
