import Basis
import JSON
import Model
import TriggerRules

// The members of a subscription to items that say what it is about. Activations and modifications share them.
extension EnvelopeReader {
    mutating func itemNames() throws(Problem) -> [String] {
        try itemNames("items", of: "an item", "the names of 1 to \(SubscriptionTerms.namesMax) items")
    }

    mutating func fieldNames() throws(Problem) -> [String] {
        try itemNames("fields", of: "a field", "the names of 1 to \(SubscriptionTerms.namesMax) fields of the items")
    }

    private mutating func itemNames(
        _ member: String, of subject: String, _ meaning: String
    ) throws(Problem) -> [String] {
        let place = pointer / member
        let elements = try required(member, meaning).elements(countMax: SubscriptionTerms.namesMax, at: place)
        guard !elements.isEmpty else {
            throw Problem(.invalidValue, "\(member) is an empty list. Name \(subject), or several.", at: place)
        }
        var names: [String] = []
        for (index, element) in elements.enumerated() {
            let name = try element.anyString(at: place / index)
            do throws(ItemNameFault) { try ItemName.check(name) } catch {
                throw Problem(error, of: subject, at: place / index)
            }
            guard !names.contains(where: { $0.hasSameBytes(as: name) }) else {
                throw Problem(.invalidValue, "This name is listed twice.", at: place / index)
            }
            names.append(name)
        }
        return names
    }

    /// Takes the mode of updates; `MERGE` if it is absent. Refuses the described service's other modes by name.
    mutating func updateMode() throws(Problem) -> UpdateMode {
        if take("selector") != nil {
            throw Problem(
                .modeNotSupported,
                "Updates can't be selected: a subscription gets all updates of its items. Leave this out.",
                at: pointer / "selector")
        }
        guard let text = try anyString("mode") else { return .merge }
        if let mode = UpdateMode(rawValue: text) { return mode }
        let modes = UpdateMode.allCases.map(\.rawValue).joined(separator: " or ")
        guard !["COMMAND", "RAW", "UNFILTERED"].contains(text) else {
            throw Problem(
                .modeNotSupported, "Subscriptions with pushes have no mode \(text). Use \(modes).",
                at: pointer / "mode")
        }
        throw Problem(.invalidValue, "mode must be \(modes).", at: pointer / "mode")
    }

    mutating func whenPaused() throws(Problem) -> WhenPaused {
        try choice("when_paused", WhenPaused.allCases.map(\.rawValue), WhenPaused.init(rawValue:)) ?? .newest
    }

    mutating func pauseSeconds() throws(Problem) -> Int32? { try integer("pause_seconds", TriggerSettings.pause) }

    mutating func subscriptionEnd(now: WallInstant) throws(Problem) -> WallInstant? {
        try futureInstant("expires_at", now: now, "the subscription would never be active")
    }
}

extension TriggerTerms {
    /// Parses a trigger.
    /// - Parameter pointer: its place in the body.
    static func read(_ text: String, fields: [String], at pointer: JSONPointer) throws(Problem) -> TriggerTerms {
        do throws(TriggerFault) {
            let expression = try TriggerExpression(parsing: text, fields: fields)
            return TriggerTerms(text: text, thresholds: expression.thresholds)
        } catch { throw Problem(error, of: text, at: pointer) }
    }
}
