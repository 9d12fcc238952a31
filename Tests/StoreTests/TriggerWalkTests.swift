import Basis
import Foundation
import Model
import Postgres
import Store
import TestSupport
import Testing
import TriggerRules
import TriggerStore

private let dawn = StoreWorld.dawn

@Suite("A random walk of updates among thousands of armed thresholds")
struct TriggerWalkTests {
    /// The same in every run. Others:
    /// `CARILLON_THRESHOLDS=100000 CARILLON_WALK_SEED=7 scripts/test --filter TriggerWalkTests`.
    private static func input(_ name: String, else fallback: UInt64) -> UInt64 {
        ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) } ?? fallback
    }

    @Test("fires exactly those that an update satisfies, each once until it is armed again")
    func exact() async throws {
        let seed = Self.input("CARILLON_WALK_SEED", else: 1)
        let count = max(1_000, Int(clamping: Self.input("CARILLON_THRESHOLDS", else: 5_000)))
        print("seed \(seed)")
        try await withItems { items in
            var walk = Walk(items: items, updates: count / 10, seed: seed)
            try await walk.arm(count)
            while walk.updatesLeft > 0 {
                try await walk.update()
                let held = try await items.held().map { "\($0.subscription) \(($0.texts?.first ?? nil) ?? "-")" }
                let (expected, left) = (walk.held, walk.updatesLeft)
                try #require(held == expected, "seed \(seed), \(left) updates before the end")
                try await walk.releaseAndReactivate()
            }
            let (armed, triggered) = (walk.armed, walk.triggered)
            #expect(try await items.triggered() == triggered, "seed \(seed)")
            let rows = try await items.world.pool.read(query("SELECT subscription_id FROM armed ORDER BY 1"))
            let found = try rows.map(Int64.init)
            #expect(found == armed, "seed \(seed)")
            #expect(walk.firedCount > count / 10 && armed.count > count / 10, "seed \(seed)")
            #expect(walk.reactivatedCount > walk.batchCount / 10, "seed \(seed)")
        }
    }
}

/// A price in quarters: as whole numbers, all of them are exact.
private struct WalkPrice {
    /// nil: the text is no number.
    var quarters: Int?
    /// Whether the text is one of digits alone, as `Integer.parseInt` takes it.
    var isInteger = false
    var text: String

    init(_ quarters: Int, _ random: inout SeededGenerator) {
        self.quarters = quarters
        isInteger = quarters.isMultiple(of: 4) && Bool.random(using: &random)
        text = isInteger ? "\(quarters / 4)" : "\(Double(quarters) / 4)"
    }

    init(text: String) { self.text = text }
}

private struct WalkThreshold {
    let mode: UpdateMode
    let conversion: NumberConversion
    let comparison: TriggerComparison
    let quarters: Int

    var bound: Double { Double(quarters) / 4 }
    var trigger: String { "\(conversion.rawValue)(${last_price}) \(comparison.rawValue) \(bound)" }

    func fires(at price: WalkPrice) -> Bool {
        guard let number = price.quarters, conversion == .double || price.isInteger else { return false }
        return switch comparison {
        case .equal: number == quarters
        case .notEqual: number != quarters
        case .less: number < quarters
        case .atMost: number <= quarters
        case .more: number > quarters
        case .atLeast: number >= quarters
        }
    }
}

/// The walk of a price, with a model that asks each threshold after each update.
///
/// Held pushes stand for the pushes that are sent: each is one row, which a release takes away.
private struct Walk {
    /// A subscription of the database and its threshold.
    private struct Subscription {
        let id: Int64
        let key: UniversalID
        let registration: RegistrationID
        let threshold: WalkThreshold
        var isArmed = true
        /// The text with which it fired, until its push is released.
        var heldText: String?
    }

    private static let devices = 4
    private static let modes = UpdateMode.allCases

    let items: ItemWorld
    private(set) var updatesLeft: Int
    private(set) var firedCount = 0
    private(set) var reactivatedCount = 0
    private(set) var batchCount = 0
    private var random: SeededGenerator
    private var subscriptions: [Subscription] = []
    /// Bounds are at most so far from the start, in quarters: the walk comes to about half of them.
    private let reach: Int
    private var quarters = 0
    /// The item's last price.
    private var price: WalkPrice?

    init(items: ItemWorld, updates: Int, seed: UInt64) {
        (self.items, updatesLeft) = (items, updates)
        random = SeededGenerator(seed: seed)
        reach = Int(3 * Double(updates).squareRoot())
    }

    var held: [String] {
        subscriptions.compactMap { subscription in subscription.heldText.map { "\(subscription.id) \($0)" } }
    }
    var armed: [Int64] { subscriptions.filter(\.isArmed).map(\.id) }
    var triggered: [Int64] { subscriptions.filter { !$0.isArmed }.map(\.id) }

    /// Takes the next updates in one transaction.
    mutating func update() async throws {
        let isLarge = Int.random(in: 0..<10, using: &random) == 0
        let count = min(updatesLeft, Int.random(in: 1...(isLarge ? 40 : 5), using: &random))
        var updates: [ItemUpdate] = []
        for _ in 0..<count { updates.append(try step()) }
        updatesLeft -= count
        batchCount += 1
        let result = await items.stores.updates.take(updates, app: items.world.app, now: dawn)
        #expect(result.replies.allSatisfy { $0 == .success(.taken) })
    }

    /// Makes an update, and asks all thresholds.
    private mutating func step() throws -> ItemUpdate {
        quarters += Int.random(in: -3...3, using: &random)
        switch Int.random(in: 0..<20, using: &random) {
        case 0:
            ask(own: nil)
            return try ItemWorld.update("anduct", #"{"bid": 1}"#)
        case 1:
            price = nil
            ask(own: nil)
            return try ItemWorld.update("anduct", #"{"last_price": null}"#)
        case 2: price = WalkPrice(text: "n/a")
        default: price = WalkPrice(quarters, &random)
        }
        ask(own: price)
        return try ItemWorld.update("anduct", #"{"last_price": "\#(price?.text ?? "")"}"#)
    }

    /// - Parameter own: the price that the update itself names.
    private mutating func ask(own: WalkPrice?) {
        for place in subscriptions.indices where subscriptions[place].isArmed {
            let shown = subscriptions[place].threshold.mode == .merge ? price : own
            guard let shown, subscriptions[place].threshold.fires(at: shown), subscriptions[place].heldText == nil
            else { continue }
            subscriptions[place].isArmed = false
            subscriptions[place].heldText = shown.text
            firedCount += 1
        }
    }

    /// Mostly lets the held pushes go, and arms some triggers again, also those whose pushes are held still.
    mutating func releaseAndReactivate() async throws {
        if Int.random(in: 0..<4, using: &random) > 0 {
            try await items.releaseAll()
            for place in subscriptions.indices { subscriptions[place].heldText = nil }
        }
        for _ in 0..<Int.random(in: 0...3, using: &random) {
            guard let place = subscriptions.indices.randomElement(using: &random) else { return }
            let subscription = subscriptions[place]
            let reply = try await items.stores.subscriptions.reactivate(
                subscription.key, of: subscription.registration, now: dawn)
            #expect(reply.subscription?.status == .active)
            if !subscription.isArmed { reactivatedCount += 1 }
            subscriptions[place].isArmed = true
        }
    }
}

// The subscriptions.
extension Walk {
    /// Activates one threshold of each mode, conversion and comparison, and copies their rows with other bounds.
    mutating func arm(_ count: Int) async throws {
        for device in 0..<Self.devices { try await items.register("phone-\(device)") }
        var patterns: [(id: Int64, registration: RegistrationID, threshold: WalkThreshold)] = []
        for mode in Self.modes {
            for conversion in NumberConversion.allCases {
                for comparison in TriggerComparison.allCases {
                    let phone = "phone-\(patterns.count % Self.devices)"
                    let threshold = threshold(mode, conversion, comparison)
                    let made = try await items.subscribe(
                        phone, try ItemWorld.terms(["anduct"], mode, trigger: threshold.trigger))
                    let registration = try await items.device(phone)
                    patterns.append((made.id, registration, threshold))
                    subscriptions.append(
                        Subscription(id: made.id, key: made.key, registration: registration, threshold: threshold))
                }
            }
        }
        var copies: [(pattern: Int, key: UniversalID, threshold: WalkThreshold)] = []
        for number in patterns.count..<count {
            let pattern = number % patterns.count
            let kind = patterns[pattern].threshold
            let key = UniversalID(high: random.next(), low: random.next())
            copies.append((pattern, key, threshold(kind.mode, kind.conversion, kind.comparison)))
        }
        let ids = try await copy(
            patterns: copies.map { patterns[$0.pattern].id }, keys: copies.map(\.key),
            thresholds: copies.map(\.threshold))
        for copy in copies {
            subscriptions.append(
                Subscription(
                    id: try #require(ids[copy.key]), key: copy.key, registration: patterns[copy.pattern].registration,
                    threshold: copy.threshold))
        }
        subscriptions.sort { $0.id < $1.id }
    }

    /// A threshold that the price mostly does not satisfy yet.
    private mutating func threshold(
        _ mode: UpdateMode, _ conversion: NumberConversion, _ comparison: TriggerComparison
    ) -> WalkThreshold {
        let distance = Int.random(in: -reach / 10...reach, using: &random)
        let quarters =
            switch comparison {
            case .equal: Bool.random(using: &random) ? distance : -distance
            case .notEqual: 0
            case .less, .atMost: -distance
            case .more, .atLeast: distance
            }
        return WalkThreshold(mode: mode, conversion: conversion, comparison: comparison, quarters: quarters)
    }

    /// Copies subscriptions, each with another threshold of the same kind.
    /// - Returns: their ids.
    private func copy(
        patterns: [Int64], keys: [UniversalID], thresholds: [WalkThreshold]
    ) async throws -> [UniversalID: Int64] {
        let copySubscriptions = query(
            """
            WITH known AS MATERIALIZED (SELECT * FROM item_subscriptions)
            INSERT INTO item_subscriptions (key, app_id, registration_id, items, fields, mode, trigger, template_id,
                when_paused, identity_hash)
            SELECT asked.key, k.app_id, k.registration_id, k.items, k.fields, k.mode, asked.trigger, k.template_id,
                k.when_paused, k.identity_hash
            FROM unnest(:keys, :patterns, :triggers) AS asked (key, pattern, trigger)
            JOIN known k ON k.id = asked.pattern
            """
        ) {
            $0.uuidArray("keys", keys)
            $0.int64Array("patterns", patterns)
            $0.textArray("triggers", thresholds.map(\.trigger))
        }
        let copyThresholds = query(
            """
            WITH known AS MATERIALIZED (SELECT * FROM armed)
            INSERT INTO armed (item_id, mode, field, conversion, comparison, bound, subscription_id)
            SELECT k.item_id, k.mode, k.field, k.conversion, k.comparison, asked.bound, s.id
            FROM unnest(:keys, :patterns, :bounds) AS asked (key, pattern, bound)
            JOIN known k ON k.subscription_id = asked.pattern
            CROSS JOIN LATERAL (SELECT id FROM item_subscriptions WHERE key = asked.key LIMIT 1) AS s
            """
        ) {
            $0.uuidArray("keys", keys)
            $0.int64Array("patterns", patterns)
            $0.doubleArray("bounds", thresholds.map(\.bound))
        }
        _ = try await items.world.pool.run([copySubscriptions, copyThresholds], deadline: .seconds(300))
        let rows = try await items.world.pool.read(query("SELECT key, id FROM item_subscriptions"))
        return Dictionary(
            uniqueKeysWithValues: try rows.map { row throws(PostgresError) in (try row.uuid(), try row.int64()) })
    }
}
