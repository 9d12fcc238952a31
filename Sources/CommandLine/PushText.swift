import JSON
import QueueRules

package struct PushText {
    private let history: JSONValue

    package init(_ history: JSONValue) { self.history = history }

    package var lines: [String] {
        var lines = ["\(history.shown("installation")) (\(history.shown("kind")))  \(Self.status(history))"]
        for step in history.elements("steps") { lines.append("  \(step.shown("at"))  \(Self.text(step))") }
        if history.object?["push_id"] != nil { lines.append("push id \(history.shown("push_id"))") }
        return lines
    }

    private static func status(_ history: JSONValue) -> String {
        let state = history.shown("state")
        let reason = self.reason(history)
        switch state {
        case "planning": return "not planned yet"
        case "not_in_audience": return "the device is not in the audience"
        case "waiting": return "waiting\(place(history))\(reason), next attempt at \(history.shown("due_at"))"
        case "sending": return "being sent\(place(history))"
        case "not_kept": return "ended, but its outcome is no longer stored"
        default: return withheld(history) ?? state + reason
        }
    }

    private static func text(_ step: JSONValue) -> String {
        let attempts = step.count("attempts") > 1 ? ", attempt \(step.count("attempts"))" : ""
        switch step.shown("step") {
        case "message_accepted": return "the gateway accepted the message"
        case "goes_on": return "will be retried\(place(step))\(attempts)\(reason(step))"
        default: return withheld(step) ?? step.shown("step") + place(step) + attempts + reason(step)
        }
    }

    /// The sentence about a push that the gateway itself ended; nil: a provider decided, or all tries failed.
    private static func withheld(_ push: JSONValue) -> String? {
        let why: String
        switch push.object?["reason"]?.string {
        case TerminalReason.cancelled: why = "the message was cancelled"
        case TerminalReason.expired: why = "the message expired"
        case TerminalReason.dryRun: why = "the message is a dry run"
        case TerminalReason.nothingToShow: why = "no visible text is left for the device"
        case TerminalReason.localTimePassed: why = "the hour had passed on the device's clock"
        case TerminalReason.quietHours: why = "it would expire before the quiet hours end"
        case TerminalReason.dailyCap: why = "the user has reached the daily cap"
        case TerminalReason.deviceDeleted: why = "the device was removed"
        case TerminalReason.retired: why = "the device's token is retired"
        case TerminalReason.userChanged: why = "the device's user changed"
        case TerminalReason.audienceChanged: why = "the device left the audience"
        case TerminalReason.unknownDevice: why = "no such installation is registered"
        case TerminalReason.unknownUser: why = "the user has no device"
        case TerminalReason.noRegistrationOfKind: why = "the device has no token of this kind"
        default: return nil
        }
        return "not sent: \(why)"
    }

    /// The provider, environment and topic that it was or will be sent to.
    private static func place(_ push: JSONValue) -> String {
        guard push.object?["provider"] != nil else { return "" }
        let topic = push.shown("topic")
        let parts = [push.shown("environment"), topic].filter { !$0.isEmpty && $0 != "-" }
        return " at \(push.shown("provider")) (\(parts.joined(separator: ", ")))"
    }

    private static func reason(_ push: JSONValue) -> String {
        guard let reason = push.object?["reason"]?.string else { return "" }
        let detail = push.object?["detail"]?.string.map { " (\(TerminalText.clean($0)))" } ?? ""
        return ": \(TerminalText.clean(reason))\(detail)"
    }
}
