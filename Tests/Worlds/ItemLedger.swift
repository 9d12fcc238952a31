import Basis
import Model
import TriggerRules

/// The world's own record of what items were updated with, and of what subscriptions are owed. Only checkers read it.
package struct ItemLedger: Sendable {
    struct Subscription: Sendable {
        let trigger: SimulatedTrigger?
        /// It has a trigger that did not fire since it was armed.
        var isArmed: Bool
        /// The items with an update that it must still show, and when the first of these was taken. Never iterated.
        var owed: [Int64: WallInstant] = [:]
    }

    /// The updates of each item, oldest first. Never iterated.
    private var updates: [Int64: [UpdateFields]] = [:]
    /// Never iterated.
    var subscriptions: [Int64: Subscription] = [:]
    /// When each device's window opens. Never iterated.
    var opensAt: [RegistrationID: WallInstant] = [:]
    /// How many releases in a row served other apps while one waited. Never iterated.
    var passedOver: [AppID: Int] = [:]
    /// The last line of each app that was taken. Never iterated.
    var lastLine: [AppID: Int] = [:]
    var messages: UInt64 = 0
    package var fired = 0
    package var held = 0
    package var dropped = 0
    package var slices = 0
    /// The pushes of items that were cut.
    package var cut = 0
    /// The longest time for which a follower was owed the newest texts.
    package var longestWait = Duration.zero

    mutating func note(_ fields: UpdateFields, of item: Int64) { updates[item, default: []].append(fields) }

    /// The text of a field after the item's last update; nil: it has no value.
    func text(_ field: String, of item: Int64, _ mode: UpdateMode) -> String? {
        switch mode {
        case .merge: updates[item]?.last { $0.change(field) != nil }?.change(field)?.text
        case .distinct: updates[item]?.last?.change(field)?.text
        }
    }

    /// The texts that a trigger's push shows if the item's last update fires it.
    func firingTexts(_ terms: SubscriptionTerms, of item: Int64) -> [String?] {
        terms.fields.map { text($0, of: item, terms.mode) }
    }

    /// The texts that a push without a trigger shows now.
    func newestTexts(_ terms: SubscriptionTerms, of item: Int64) -> [String?] {
        switch terms.mode {
        case .merge: return firingTexts(terms, of: item)
        case .distinct:
            let last = updates[item]?.last { $0.names(anyOf: terms.fields) }
            return terms.fields.map { last?.change($0)?.text }
        }
    }

    /// Records that the subscription is owed nothing of the item any more.
    mutating func settle(_ subscription: Int64, _ item: Int64) { subscriptions[subscription]?.owed[item] = nil }
}

extension UpdateFields {
    fileprivate func change(_ name: String) -> Change? { changes.first { $0.name == name } }

    func names(anyOf fields: [String]) -> Bool { changes.contains { fields.contains($0.name) } }
}

/// A trigger of these worlds, whose prices are whole numbers.
struct SimulatedTrigger: Sendable {
    let isAbove: Bool
    let bound: Int

    var text: String { "Double.parseDouble(${price}) \(isAbove ? ">" : "<=") \(bound)" }

    /// Decided without the product's rules.
    func holds(_ price: String?) -> Bool {
        guard let price = price.flatMap({ Int($0) }) else { return false }
        return isAbove ? price > bound : price <= bound
    }
}

/// A transaction that breaks a promise to subscribers of items. It tests the checkers.
package enum ItemLie: CaseIterable, Sendable {
    /// A trigger stays armed when it has fired.
    case firesTwice
    /// A trigger whose level was reached before does not fire.
    case firesAtCrossings
    case losesHeldPushes
    /// The badge rises for a push that was dropped.
    case raisesBadgesOfDropped
}
