import Content
import JSON
import Model

/// The known keys inside `aps`. Unknown keys pass: APNs ignores those that it does not know, and may know more
/// tomorrow. Source: "Generating a remote notification", "Starting and updating Live Activities".
enum APNsPayloadKeys {
    enum Shape: Equatable {
        case string
        case strings
        case object
        case bool
        case number(ClosedRange<Double>, String)
        /// 1, or 0 for its absence.
        case flag
        case badge
        case names([String])
        case alert
        case sound
        /// Text, or in a Live Activity an object with a localization key.
        case text
    }

    private static let anyNumber = Shape.number(-.greatestFiniteMagnitude ... .greatestFiniteMagnitude, "a number")

    private static func shape(of key: String, _ type: PushType) -> Shape? {
        switch key {
        case "alert": .alert
        case "badge": .badge
        case "sound": .sound
        case "thread-id", "category", "target-content-id", "filter-criteria": .string
        case "content-available", "mutable-content", "input-push-token": .flag
        case "interruption-level": .names(["passive", "active", "time-sensitive", "critical"])
        // Live Activities order themselves by any number.
        case "relevance-score": type == .liveActivity ? anyNumber : .number(0...1, "a number from 0 to 1")
        // Milliseconds would be a time in the far future: a Live Activity would take no update after that one.
        case "timestamp", "stale-date", "dismissal-date": .number(0...100_000_000_000, "seconds since 1970")
        case "event": .names(["start", "update", "end"])
        case "content-state", "attributes": .object
        case "attributes-type", "input-push-channel": .string
        case "content-changed": .bool
        case "url-args": .strings
        default: nil
        }
    }

    private static func alertShape(of key: String, _ type: PushType) -> Shape? {
        switch key {
        case "title", "body": type == .liveActivity ? .text : .string
        case "subtitle", "launch-image", "title-loc-key", "subtitle-loc-key", "loc-key", "action-loc-key", "action",
            "summary-arg":
            .string
        case "title-loc-args", "subtitle-loc-args", "loc-args": .strings
        case "summary-arg-count": .number(0...Double(Int32.max), "a number, not negative")
        case "sound": .sound
        default: nil
        }
    }

    static func check(_ aps: JSONObject, _ type: PushType) throws(ProviderFault) {
        for member in aps.members {
            guard let shape = shape(of: member.name, type) else { continue }
            try check(member.value, shape, .root / "apns" / "aps" / member.name, type)
        }
    }

    private static func check(
        _ value: JSONValue, _ shape: Shape, _ pointer: JSONPointer, _ type: PushType
    ) throws(ProviderFault) {
        let expected: String?
        switch shape {
        case .string: expected = value.string == nil ? "a string" : nil
        case .strings: expected = isStrings(value) ? nil : "an array of strings"
        case .object: expected = value.object == nil ? "an object" : nil
        case .bool: expected = value.bool == nil ? "true or false" : nil
        case .flag: expected = value == 1 || value == 0 ? nil : "1"
        case .badge:
            let isBadge = value.integer.map { (0...Int64(Int32.max)).contains($0) } ?? false
            expected = isBadge ? nil : "a whole number, not negative"
        case .number(let range, let names):
            expected = value.number.map { range.contains($0.double) } ?? false ? nil : names
        case .names(let names):
            let isName = value.string.map { names.contains($0) } ?? false
            expected = isName ? nil : "one of " + names.joined(separator: ", ")
        case .alert: expected = try isAlert(value, pointer, type) ? nil : "a string or an object"
        case .sound: expected = try isSound(value, pointer, type) ? nil : "a string or an object"
        case .text: expected = try isText(value, pointer, type) ? nil : "a string, or an object with loc-key"
        }
        if let expected { throw .wrongValue(pointer, expected: expected) }
    }

    private static func isStrings(_ value: JSONValue) -> Bool {
        value.array.map { $0.allSatisfy { $0.string != nil } } ?? false
    }

    private static func isAlert(
        _ value: JSONValue, _ pointer: JSONPointer, _ type: PushType
    ) throws(ProviderFault) -> Bool {
        guard let alert = value.object else { return value.string != nil }
        for member in alert.members {
            guard let shape = alertShape(of: member.name, type) else { continue }
            try check(member.value, shape, pointer / member.name, type)
        }
        return true
    }

    private static func isSound(
        _ value: JSONValue, _ pointer: JSONPointer, _ type: PushType
    ) throws(ProviderFault) -> Bool {
        guard let sound = value.object else { return value.string != nil }
        if let critical = sound["critical"] { try check(critical, .flag, pointer / "critical", type) }
        if let name = sound["name"] { try check(name, .string, pointer / "name", type) }
        if let volume = sound["volume"] {
            try check(volume, .number(0...1, "a number from 0 to 1"), pointer / "volume", type)
        }
        return true
    }

    private static func isText(
        _ value: JSONValue, _ pointer: JSONPointer, _ type: PushType
    ) throws(ProviderFault) -> Bool {
        guard let text = value.object else { return value.string != nil }
        guard let key = text["loc-key"] else { return false }
        try check(key, .string, pointer / "loc-key", type)
        if let arguments = text["loc-args"] { try check(arguments, .strings, pointer / "loc-args", type) }
        return true
    }
}
