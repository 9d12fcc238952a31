import JSON

/// Wake-up in words: an app's settings and counts, and the wake-ups that a phone gets.
package enum WakeUpText {
    /// - Parameters:
    ///   - settings: `wakeup` in the answer about the app.
    ///   - counts: the answer of `GET .../wakeup`.
    package static func lines(settings: JSONValue, counts: JSONValue) -> [String] {
        let presentation = settings.object?["apns"] ?? .null
        let alert = presentation.shown("presentation") == "alert" ? " (\"\(presentation.shown("title"))\")" : ""
        let due = counts.count("due_watches")
        let since = counts.object?["due_since"]?.string.map { ", since \(TerminalText.clean($0))" } ?? ""
        return [
            "wake-up        " + (settings.object?["enabled"]?.bool == true ? "on" : "off"),
            "expiry         \(number("day", settings, "default_days")) after the last refresh",
            "gathering      changes within \(settings.shown("gather_ms")) ms are told together",
            "heaviest node  \(settings.shown("weight_leaves")) values, \(settings.shown("weight_bytes")) bytes",
            "on Apple       \(presentation.shown("presentation"))\(alert)",
            "subscriptions  \(counts.shown("subscriptions")) to \(number("path", counts, "watches"))",
            "at most        \(settings.shown("subscriptions_max")); above half of them, unproven ones end after "
                + number("hour", settings, "unproven_hours"),
            "to be told     " + (due == 0 ? "nothing" : "changes of \(number("path", counts, "due_watches"))\(since)"),
            "to be revoked  " + (counts.count("revocations") == 0 ? "nothing" : number("job", counts, "revocations")),
            "notices        \(counts.shown("notices")) under way",
        ]
    }

    private static func number(_ noun: String, _ value: JSONValue, _ member: String) -> String {
        "\(value.shown(member)) \(noun)\(value.count(member) == 1 ? "" : "s")"
    }

    /// Says what a wake-up tells the app on a phone.
    ///
    /// - Parameter data: the data map of the push.
    package static func sentence(of data: JSONValue) -> String {
        let path = data.shown("sp")
        switch (data.shown("t"), data.shown("s")) {
        case ("noData", _): return "something changed at \(path); the app reads what it needs"
        case ("value", "OK"): return "\(path) is now \(data.shown("d"))"
        case ("value", _): return "\(path) changed, and its value is too big for a push; the app reads it"
        case ("childEvent", "OK"), ("childEvent", "OnlyKeys"):
            let events = children(of: data)
            return "at \(path), " + (events.isEmpty ? "nothing changed" : events.joined(separator: "; "))
        case ("childEvent", _): return "children of \(path) changed, too many for a push; the app reads them"
        case ("revoke", _): return "the subscription to \(path) was revoked: \(data.shown("r"))"
        default: return "an unknown wake-up: " + TerminalText.clean(data.sentence)
        }
    }

    private static func children(of data: JSONValue) -> [String] {
        [("added", "were added"), ("changed", "were changed"), ("removed", "were removed")].compactMap { member, verb in
            let text = data.shown(member)
            return ["{}", "[]", "-"].contains(text) ? nil : "these \(verb): \(text)"
        }
    }
}
