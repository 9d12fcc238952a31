import Basis
import Calendar
import JSON
import Model

enum FCMScalars {
    /// Returns a description of the expected value, for the sender; nil: the value is good.
    static func expectation(_ value: JSONValue, _ shape: FCMShape) -> String? {
        switch shape {
        case .string: value.string == nil ? "a string" : nil
        case .bool: value.bool == nil ? "true or false" : nil
        case .number: value.number == nil ? "a number" : nil
        case .count: isCount(value) ? nil : "a whole number, not negative"
        case .fraction: isFraction(value) ? nil : "a number from 0 to 1"
        case .names(let names): isName(value, of: names) ? nil : "one of " + names.joined(separator: ", ")
        case .duration: duration(value) == nil ? "seconds as text, like \"3.5s\"" : nil
        case .timeToLive: isTimeToLive(value) ? nil : "seconds as text, from \"0s\" to \"\(FCMLimits.ttlSecondsMax)s\""
        case .timestamp:
            value.string.flatMap { RFC3339.parse($0) } == nil ? "a time, like \"2026-12-01T12:00:00Z\"" : nil
        case .color: isColor(value) ? nil : "a colour, like \"#rrggbb\""
        case .url(let isSecure): isURL(value, isSecure) ? nil : isSecure ? "an https URL" : "a URL"
        case .analyticsLabel: isLabel(value) ? nil : "1 to 50 of letters, digits and -_.~%"
        case .stringOrObject: value.string == nil && value.object == nil ? "a string or an object" : nil
        // The members of objects and lists are checked one by one.
        case .list, .strings, .message, .complete, .members, .reserved, .legacy: nil
        }
    }

    /// Does the same for a header inside `apns` or `webpush`. Unknown headers may have any value.
    static func expectation(_ text: String, ofHeader name: String, _ use: FCMStringsUse) -> String? {
        if use == .appData { return nil }
        guard text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f }) else { return "a header without control characters" }
        switch (use, name) {
        case (.apnsHeaders, "apns-priority"): return ["1", "5", "10"].contains(text) ? nil : "\"1\", \"5\" or \"10\""
        case (.apnsHeaders, "apns-expiration"): return isDigits(text) ? nil : "seconds since 1970 as text"
        case (.apnsHeaders, "apns-collapse-id"):
            let bytesMax = FCMLimits.collapseIDBytesMax
            return (1...bytesMax).contains(text.utf8.count) ? nil : "1 to \(bytesMax) bytes"
        case (.apnsHeaders, "apns-push-type"): return PushType(name: text) == nil ? "a push type of APNs" : nil
        case (.webPushHeaders, "TTL"): return isDigits(text) ? nil : "whole seconds as text"
        case (.webPushHeaders, "Urgency"):
            let names = ["very-low", "low", "normal", "high"]
            return names.contains(text) ? nil : "one of " + names.joined(separator: ", ")
        // RFC 8030, section 5.4.
        case (.webPushHeaders, "Topic"):
            let isTopic = (1...32).contains(text.utf8.count) && text.utf8.allSatisfy { isOf($0, "-_") }
            return isTopic ? nil : "1 to 32 of letters, digits, - and _"
        default: return nil
        }
    }

    private static func isCount(_ value: JSONValue) -> Bool {
        value.integer.map { (0...Int64(Int32.max)).contains($0) } ?? false
    }

    private static func isFraction(_ value: JSONValue) -> Bool {
        value.number.map { (0...1).contains($0.double) } ?? false
    }

    private static func isName(_ value: JSONValue, of names: [String]) -> Bool {
        value.string.map { text in names.contains { $0.hasSameBytes(as: text) } } ?? false
    }

    private static func duration(_ value: JSONValue) -> Duration? { value.string.flatMap { FCMDuration.parse($0) } }

    private static func isTimeToLive(_ value: JSONValue) -> Bool {
        duration(value).map { $0 <= .seconds(FCMLimits.ttlSecondsMax) } ?? false
    }

    private static func isColor(_ value: JSONValue) -> Bool {
        guard let text = value.string, text.utf8.count == 7, text.utf8.first == UInt8(ascii: "#") else { return false }
        return text.utf8.dropFirst().allSatisfy { Character(Unicode.Scalar($0)).isHexDigit }
    }

    /// Checks only that it begins like a URL and is printable. The device finds out what the address leads to.
    private static func isURL(_ value: JSONValue, _ isSecure: Bool) -> Bool {
        guard let text = value.string, text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f }) else { return false }
        let schemes = isSecure ? ["https://"] : ["https://", "http://"]
        return schemes.contains { text.hasPrefix($0) && text.utf8.count > $0.utf8.count }
    }

    private static func isLabel(_ value: JSONValue) -> Bool {
        value.string.map { (1...50).contains($0.utf8.count) && $0.utf8.allSatisfy { isOf($0, "-_.~%") } } ?? false
    }

    private static func isDigits(_ text: String) -> Bool {
        (1...10).contains(text.utf8.count) && text.utf8.allSatisfy(\.isDigit)
    }

    private static func isOf(_ byte: UInt8, _ signs: String) -> Bool {
        byte.isLetter || byte.isDigit || signs.utf8.contains(byte)
    }
}
