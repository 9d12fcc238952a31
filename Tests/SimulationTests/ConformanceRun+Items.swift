import Basis
import Model
import Store
import Synchronization
import Testing
import TriggerRules
import TriggerStore
import Worlds

// Items, the devices that subscribe to them, and their pushes.
extension ConformanceRun {
    private static let items = ["anduct", "ations", "bagies"]
    private static let lifetime: Duration = .seconds(86_400)
    /// The fourth is ordered by no threshold.
    private static let triggers = [
        "Double.parseDouble(${price}) > 5", "Double.parseDouble(${price}) <= 3", "Integer.parseInt(${price}) != 4",
        #"${name}.equals("up")"#,
    ]

    mutating func useItems() async throws -> String? {
        switch random.below(20) {
        case 0..<6: try await update()
        case 6..<10: try await activate()
        case 10..<11: try await reactivate()
        case 11..<12: try await deactivate()
        case 12..<16: try await followItems()
        case 16..<19: try await releaseItems()
        default: try await endItemSubscriptions()
        }
    }

    /// Takes a few updates in one transaction: few prices, so that triggers fire often.
    private mutating func update() async throws -> String? {
        let app = random.pick(apps)
        var updates: [ItemUpdate] = []
        var texts: [String] = []
        for _ in 0..<random.within(1...3) {
            let item = random.pick(Self.items)
            let price = random.pick(["\(random.below(9))", "\(random.below(9)).5", #""none""#, "null"])
            let json = random.pick([
                #"{"price": \#(price)}"#, #"{"price": \#(price), "name": "up"}"#, #"{"name": "down"}"#,
                #"{"volume": 1}"#,
            ])
            updates.append(try #require(ItemUpdate(item, json)))
            texts.append("\(item) \(json)")
        }
        pushHistory.append("update of app \(app.value) at \(now.microseconds): \(texts.joined(separator: ", "))")
        let before = simulated.itemSubscriptions.count(where: \.isTriggered)
        let real = await triggerStores.updates.take(updates, app: app, now: now)
        let raised = simulated.update(updates, app: app, now: now)
        fired += simulated.itemSubscriptions.count(where: \.isTriggered) - before
        return differ("update", real.replies, updates.map { _ in .success(.taken) })
            ?? differ("update", real.raisedAny, raised)
    }

    private mutating func activate() async throws -> String? {
        let phones = simulated.registrations.filter { $0.stored.kind == .alert }
        guard !phones.isEmpty else { return nil }
        let phone = random.pick(phones)
        let terms = drawTerms()
        let coalescing = random.happens(perMille: 300)
        let key = UniversalID(high: 0x17e5, low: UInt64(pushHistory.count))
        pushHistory.append(
            "activate \(terms.trigger?.text ?? "a follower") of \(terms.items) for \(phone.id.value), \(coalescing)")
        let real = try await triggerStores.subscriptions.activate(
            terms, key: key, coalescing: coalescing, registration: phone.id, user: nil, app: phone.app, once: nil,
            now: now, answer: { _, _ in [] })
        let expected = simulated.activate(
            terms, coalescing: coalescing, registration: phone.id, app: phone.app, now: now)
        if expected.isNew { itemKeys[expected.id] = key }
        guard case .activated(let subscription, let isNew) = real else { return "the activation was refused: \(real)" }
        return differ("activate", subscription.id, expected.id) ?? differ("activate", isNew, expected.isNew)
    }

    private mutating func drawTerms() -> SubscriptionTerms {
        let fields = ["price", "name"]
        let trigger = random.pick([nil, random.pick(Self.triggers)]).map { text in
            TriggerTerms(
                text: text, thresholds: (try? TriggerExpression(parsing: text, fields: fields))?.thresholds ?? [])
        }
        let template = TemplateSource(
            given: [], content: Array(random.pick(["short", "long"]).utf8), isShown: random.happens(perMille: 700))
        return SubscriptionTerms(
            items: random.pick([["anduct"], ["ations"], ["bagies", "anduct"]]), fields: fields,
            mode: random.pick(UpdateMode.allCases), trigger: trigger, template: template,
            pauseSeconds: random.pick([nil, 0, 5, 60]), whenPaused: random.pick([.newest, .newest, .drop]),
            expiresAt: random.pick([nil, nil, now + .seconds(90)]))
    }

    private mutating func reactivate() async throws -> String? {
        guard !simulated.itemSubscriptions.isEmpty else { return nil }
        let row = random.pick(simulated.itemSubscriptions)
        guard let key = itemKeys[row.id] else { return nil }
        pushHistory.append("reactivate \(row.id)")
        let real = try await triggerStores.subscriptions.reactivate(key, of: row.registration, now: now)
        return differ("reactivate", real != .unknown, simulated.reactivate(row.id, now: now))
    }

    private mutating func deactivate() async throws -> String? {
        guard !simulated.itemSubscriptions.isEmpty else { return nil }
        let row = random.pick(simulated.itemSubscriptions)
        guard let key = itemKeys[row.id] else { return nil }
        pushHistory.append("deactivate \(row.id)")
        let real = try await triggerStores.subscriptions.remove(key, of: row.registration, now: now)
        let instant = now
        let removed = simulated.removeItemSubscriptions { $0.id == row.id && !$0.isExpired(instant) }
        return differ("deactivate", real, removed == 1)
    }

    private mutating func endItemSubscriptions() async throws -> String? {
        pushHistory.append("end expired subscriptions to items at \(now.microseconds)")
        let real = try await triggerStores.subscriptions.removeExpired(now: now)
        let instant = now
        return differ("expire", real, simulated.removeItemSubscriptions { $0.isExpired(instant) } > 0)
    }

    private mutating func followItems() async throws -> String? {
        let orders = drawOrders("follow")
        let names = ItemPushNames(number: pushHistory.count)
        let real = try await triggerStores.pushes.follow(orders.real, now: now, contents: names.contents)
        let expected = simulated.followItems(orders.simulated, now: now) { names.nextExpected() }
        return compare("follow", real, expected, names)
    }

    private mutating func releaseItems() async throws -> String? {
        let orders = drawOrders("release")
        let names = ItemPushNames(number: pushHistory.count)
        let real = try await triggerStores.pushes.release(orders.real, now: now, contents: names.contents)
        let expected = simulated.releaseItems(orders.simulated, now: now) { names.nextExpected() }
        return compare("release", real, expected, names)
    }

    private mutating func drawOrders(
        _ operation: String
    ) -> (real: ItemPushOrder, simulated: SimulatedFanOutOrder) {
        let (subscriptionsMax, parcelMembersMax) = (random.pick([1, 2, 100]), random.pick([1, 3]))
        pushHistory.append("\(operation) at \(now.microseconds), \(subscriptionsMax) each")
        let real = ItemPushOrder(subscriptionsMax: subscriptionsMax, parcelMembersMax: parcelMembersMax, format: 1)
        // The real store's number of followers of an item that shares its transaction.
        let simulated = SimulatedFanOutOrder(
            subscriptionsMax: subscriptionsMax, fewSubscriptions: 64, parcelMembersMax: parcelMembersMax,
            lifetime: Self.lifetime, gather: ThrottleWindow.gathering)
        return (real, simulated)
    }

    private mutating func compare(
        _ operation: String, _ real: ItemPushReply, _ expected: [SimulatedItemPush]?, _ names: ItemPushNames
    ) -> String? {
        let cut = expected ?? []
        itemPushes += cut.reduce(0) { $0 + $1.members.count }
        held += simulated.heldPushes.count
        let lines = cut.map { ItemPushNames.line($0.template, $0.texts) }
        return differ(operation, real != .nothing, expected != nil) ?? differ(operation, names.lines, lines)
    }
}

/// The messages of one transaction, in the order in which the real store makes them, and their ids.
private final class ItemPushNames: Sendable {
    private let number: Int
    private let made = Mutex<[String]>([])
    private let expected = Mutex(0)

    init(number: Int) { self.number = number }

    var lines: [String] { made.withLock { $0 } }

    static func line(_ template: Int64, _ texts: [String?]) -> String {
        "\(template): " + texts.map { $0 ?? "-" }.joined(separator: ",")
    }

    private func name(_ place: Int) -> MessageID {
        MessageID(UniversalID(high: 0x17e5_0000 + UInt64(number), low: UInt64(place)))
    }

    func nextExpected() -> MessageID {
        name(
            expected.withLock { count in
                count += 1
                return count
            })
    }

    var contents: ItemPushContents {
        ItemPushContents { group in
            let place = self.made.withLock { made in
                made.append(Self.line(group.template.value, group.texts))
                return made.count
            }
            return ItemPushContent(
                id: self.name(place), content: [], pushType: .alert, badge: .increment, lifetime: .seconds(86_400),
                readsLocale: false)
        }
    }
}
