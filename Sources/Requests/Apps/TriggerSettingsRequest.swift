import Expressions
import JSON
import Model

// An app's settings for subscriptions to items in the body of `PATCH /v1/apps/{app}`.
extension EnvelopeReader {
    /// Takes the member `triggers`. Only PostgreSQL knows whether its patterns are regular expressions.
    package mutating func triggers() throws(Problem) -> TriggerChange {
        var change = TriggerChange()
        guard var reader = try object("triggers") else { return change }
        change.isEnabled = try reader.bool("enabled")
        change.pauseSeconds = try reader.integer("pause_seconds", TriggerSettings.pause)
        change.allow = try reader.patterns()
        if var hooks = try reader.object("hooks") {
            change.deviceHook = try hooks.hook("device", .device)
            change.activationHook = try hooks.hook("activation", .activation)
            change.tokenHook = try hooks.hook("token", .token)
            try hooks.end()
        }
        try reader.end()
        return change
    }

    /// Takes the patterns of triggers. null removes all of them, and so does an empty list.
    private mutating func patterns() throws(Problem) -> [String]? {
        guard let value = takeAny("allow") else { return nil }
        if value.isNull { return [] }
        let place = pointer / "allow"
        var patterns: [String] = []
        for (index, element) in try value.elements(countMax: TriggerSettings.patternsMax, at: place).enumerated() {
            let pattern = try element.text(bytesMax: TriggerSettings.patternBytesMax, at: place / index)
            guard !TriggerPattern.hasBackReference(pattern) else {
                throw Problem(
                    .invalidValue,
                    "A pattern has no back-references, such as \\1: some take for ever. Spell the part out again.",
                    at: place / index)
            }
            patterns.append(pattern)
        }
        return patterns
    }

    /// Takes a hook, which may be true or false as a rule may. nil: it is absent. null removes it.
    private mutating func hook(_ name: String, _ kind: HookExpression.Kind) throws(Problem) -> String?? {
        guard let value = takeAny(name) else { return nil }
        if value.isNull { return .some(nil) }
        let text = try Self.expression(value, at: pointer / name)
        do throws(ReadRuleFault) { _ = try HookExpression(parsing: text, kind: kind, at: pointer / name) } catch {
            throw Problem(error)
        }
        return text
    }

    private static func expression(_ value: JSONValue, at pointer: JSONPointer) throws(Problem) -> String {
        if let claim = value.bool { return claim ? "true" : "false" }
        return try value.anyString(at: pointer)
    }
}

/// A regular expression that triggers are matched with, as PostgreSQL reads it.
package enum TriggerPattern {
    /// Whether the pattern may refer back to what a part of it matched.
    ///
    /// A backslash and the character behind it belong together, also inside brackets. So a digit there is refused too,
    /// which no pattern for triggers needs.
    /// Source: PostgreSQL, "Regular Expression Escapes" and "Regular Expression Metasyntax".
    package static func hasBackReference(_ pattern: String) -> Bool {
        var isEscaped = false
        for byte in pattern.utf8 {
            if isEscaped, (UInt8(ascii: "1")...UInt8(ascii: "9")).contains(byte) { return true }
            isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
        }
        return false
    }
}
