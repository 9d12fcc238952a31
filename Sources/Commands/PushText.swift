import JSON

/// The story of one push for people.
package struct PushText {
    private let story: JSONValue

    package init(_ story: JSONValue) { self.story = story }

    package var lines: [String] {
        var lines = ["\(story.shown("installation")) (\(story.shown("kind")))  \(Self.standing(story))"]
        for step in story.object?["steps"]?.array ?? [] { lines.append("  \(step.shown("at"))  \(Self.words(step))") }
        if story.object?["push_id"] != nil { lines.append("push id \(story.shown("push_id"))") }
        return lines
    }

    private static func standing(_ story: JSONValue) -> String {
        let state = story.shown("state")
        let reason = self.reason(story)
        switch state {
        case "planning": return "its turn has not come yet"
        case "not_in_audience": return "the message was not for it"
        case "waiting": return "waits\(place(story))\(reason), to be tried at \(story.shown("due_at"))"
        case "sending": return "is being sent\(place(story))"
        case "not_kept": return "over, but what would tell how is no longer kept"
        default: return state + reason
        }
    }

    private static func words(_ step: JSONValue) -> String {
        let attempts = step.count("attempts") > 1 ? ", attempt \(step.count("attempts"))" : ""
        switch step.shown("step") {
        case "message_accepted": return "the gateway accepted the message"
        case "goes_on": return "to be tried again\(place(step))\(attempts)\(reason(step))"
        default: return step.shown("step") + place(step) + attempts + reason(step)
        }
    }

    /// Where it was sent, or is about to be.
    private static func place(_ push: JSONValue) -> String {
        guard push.object?["provider"] != nil else { return "" }
        let topic = push.shown("topic")
        let parts = [push.shown("environment"), topic].filter { !$0.isEmpty && $0 != "-" }
        return " at \(push.shown("provider")) (\(parts.joined(separator: ", ")))"
    }

    private static func reason(_ push: JSONValue) -> String {
        push.object?["reason"]?.string.map { ": \(TerminalText.clean($0))" } ?? ""
    }
}
