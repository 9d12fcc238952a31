import Basis
import JSON
import Model
import QueueRules
import WakeUpRules

/// A write of data that the backend sends until a gateway answers.
struct SimulatedWrite: Sendable {
    let app: AppID
    let write: TreeWrite
}

// The backend's data, and the phones that watch it.
extension SimulatedWorld {
    private static let paths = ["/", "/a", "/b"].map(NodePath.init(stored:))
    /// Values that stand beside each other, above each other, and where nobody looks.
    private static let targets = ["/a/x", "/a/x", "/a/y", "/b", "/b/z", "/c"].map(NodePath.init(stored:))

    mutating func scheduleWakeUps() {
        guard plan.writes > 0 else { return }
        for device in devices.indices where subscriber.happens(perMille: plan.subscribed) { subscribe(device) }
        let latest = SimulatedTime(nanoseconds: plan.faultsEnd.nanoseconds * 3 / 4)
        for number in 0..<plan.writes {
            let value: JSONValue = subscriber.happens(perMille: 200) ? .null : .string("value-\(number)")
            guard let write = try? TreeWrite.put(value, at: subscriber.pick(Self.targets)) else { continue }
            writes.append(SimulatedWrite(app: AppID(Int64(subscriber.within(1...plan.apps))), write: write))
            // Some come in bursts.
            let isSoon = number > 0 && subscriber.happens(perMille: 500)
            lastWriteAt = isSoon ? lastWriteAt + .milliseconds(200) : subscriber.within(.zero...latest)
            queue.put(.writeNode(writes.count - 1), at: lastWriteAt)
        }
        scheduleLastWrites()
        scheduleSubscriberEvent()
    }

    /// Changes data below each watched path once more after the faults: then each phone must hear of all changes.
    private mutating func scheduleLastWrites() {
        for app in 1...plan.apps {
            for target in Set(Self.targets).sorted() {
                guard let write = try? TreeWrite.put(.string("last"), at: target) else { continue }
                writes.append(SimulatedWrite(app: AppID(Int64(app)), write: write))
                queue.put(.writeNode(writes.count - 1), at: plan.faultsEnd + .seconds(30))
            }
        }
    }

    private mutating func scheduleSubscriberEvent() {
        guard let every = plan.subscriberEventEvery else { return }
        let next = now + subscriber.within(.zero...every + every)
        if next < plan.faultsEnd { queue.put(.subscriberEvent, at: next) }
    }

    mutating func happenToASubscriber() {
        scheduleSubscriberEvent()
        let device = subscriber.below(devices.count)
        guard subscriber.happens(perMille: 300) else { return subscribe(device) }
        store.unsubscribe(drawSubscribing(device))
    }

    /// Lets a phone subscribe, and then read the data.
    private mutating func subscribe(_ device: Int) {
        let request = drawSubscribing(device)
        guard let registration = store.subscribe(request, now: wall),
            let row = store.subscriptions.first(where: { row in
                row.registration == registration && store.watch(row.watch)?.path == request.path
            })
        else { return }
        trail.add("\(devices[device].installation) subscribes to \(request.path.text), \(request.mode.name)")
        var told = wakeUps.subscriptions[row.id] ?? .init(seq: row.sentSeq, view: .whole(""))
        told.view = view(of: row)
        wakeUps.subscriptions[row.id] = told
    }

    private mutating func drawSubscribing(_ device: Int) -> SimulatedSubscribing {
        let phone = devices[device]
        let lifetime: Duration =
            subscriber.happens(perMille: plan.shortSubscriptions) ? .seconds(60) : .seconds(2_592_000)
        return SimulatedSubscribing(
            app: phone.app, path: subscriber.pick(Array(Self.paths.prefix(plan.watchedPaths))),
            tokens: [(phone.provider, phone.token)], installation: "nameless-\(phone.provider)-\(phone.token.bytes)",
            mode: subscriber.pick(WakeUpMode.allCases), lifetime: lifetime)
    }

    /// Sends a write to a gateway, and again until its answer comes.
    mutating func askToWrite(_ number: Int) {
        guard !written.contains(number) else { return }
        queue.put(.writeNode(number), at: now + subscriber.within(.seconds(8) ... .seconds(20)))
        let running = processes.indices.filter { processes[$0].isAlive && !processes[$0].isFrozen }
        if !running.isEmpty { call(.writeNode(number), subscriber.pick(running)) }
    }

    mutating func noteWritten(_ number: Int, raisedAny: Bool, _ index: Int) {
        written.insert(number)
        guard raisedAny else { return }
        fanOut(index)
        for other in processes where other.index != index && other.isAlive {
            guard !(isFaulty && random.happens(perMille: plan.notificationLost)) else { continue }
            queue.put(.watchesRaised(other.addressee), at: after(.zero ... .milliseconds(50)))
        }
    }

    /// Starts a fan-out, one at a time: a notification during one causes another afterwards.
    mutating func fanOut(_ index: Int) {
        guard !processes[index].isDraining else { return }
        guard !processes[index].isFanningOut else {
            processes[index].mustFanOutAgain = true
            return
        }
        processes[index].isFanningOut = true
        processes[index].mustFanOutAgain = false
        call(.fanOut, index)
    }

    mutating func receiveFanOut(_ reply: StoreReply, _ index: Int) {
        processes[index].isFanningOut = false
        let incarnation = processes[index].incarnation
        let mustGoOn = processes[index].mustFanOutAgain
        guard case .fannedOut(let ready?) = reply else {
            // After a fault, the regular upkeep tries again.
            if mustGoOn, case .fannedOut = reply { fanOut(index) }
            return
        }
        passOn(ready, index)
        if processes[index].isAlive, processes[index].incarnation == incarnation { fanOut(index) }
    }

    /// Hands new parcels to the Dispatcher, and to other processes.
    mutating func passOn(_ ready: [ReadyRoute], _ index: Int) {
        guard !ready.isEmpty else { return }
        let incarnation = processes[index].incarnation
        send(.planned(ready), to: index)
        if processes[index].isAlive, processes[index].incarnation == incarnation { notifyOthers(index) }
    }
}

// One transaction each, and its record for the checkers.
extension SimulatedWorld {
    mutating func applyWrite(_ number: Int) -> Bool {
        let write = writes[number]
        return !store.write([write.write], app: write.app, gather: plan.gather, now: wall).isEmpty
    }

    private var fanOutOrder: SimulatedFanOutOrder {
        SimulatedFanOutOrder(
            subscriptionsMax: plan.fanOutMax, fewSubscriptions: plan.fanOutMax, parcelMembersMax: plan.parcelMembersMax,
            lifetime: plan.wakeUpLifetime, gather: plan.gather)
    }

    /// - Returns: the routes with new parcels; nil: no watch was due.
    mutating func applyFanOut() -> [ReadyRoute]? {
        let before = store
        var messages = wakeUps.messages
        let reply = store.fanOut(fanOutOrder, now: wall) { _ in
            messages += 1
            return Self.wakeUpID(messages, plan.seed)
        }
        guard let reply else { return nil }
        checkWaits(before)
        for wakeUp in reply { record(wakeUp, before) }
        wakeUps.messages = messages
        if store.dueWatches.contains(where: { $0.after > 0 }) { wakeUps.slices += 1 }
        return recordParcels(after: before.lastParcel)
    }

    mutating func applyEnds() -> [ReadyRoute]? {
        endItemSubscriptions()
        let before = store
        var messages = wakeUps.messages
        let notices = store.endExpired(fanOutOrder, now: wall) {
            messages += 1
            return Self.wakeUpID(messages, plan.seed)
        }
        guard let notices else { return nil }
        wakeUps.messages = messages
        wakeUps.expired += before.subscriptions.count - store.subscriptions.count
        for notice in notices { forms[notice.message] = MessageForm(.background, badge: .none, notice.message) }
        return recordParcels(after: before.lastParcel)
    }

    private static func wakeUpID(_ number: UInt64, _ seed: UInt64) -> MessageID {
        MessageID(UniversalID(high: 1_000_000 + number, low: seed))
    }

    mutating func recordParcels(after last: Int64) -> [ReadyRoute] {
        let new = store.parcels.filter { $0.id.value > last }
        for parcel in new { recordNew(parcel) }
        return store.routes.compactMap { route in
            let own = new.filter { $0.route == route.id }
            guard !own.isEmpty else { return nil }
            return route.ready(
                .app, ordinary: true, urgent: own.contains { $0.urgency == .transactional }, lapsed: false)
        }
    }
}
