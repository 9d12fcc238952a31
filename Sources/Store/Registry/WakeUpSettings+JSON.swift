import JSON
import Model

// Wake-up settings as the app's row and the API hold them.
extension WakeUpSettings {
    /// Reads settings that we wrote; members that are missing keep their defaults. Returns nil if one has no meaning.
    init?(stored members: JSONObject) {
        self.init()
        func number(_ name: String, _ value: inout Int32) -> Bool {
            guard let member = members[name] else { return true }
            guard let stored = member.integer.flatMap(Int32.init(exactly:)) else { return false }
            value = stored
            return true
        }
        isEnabled = members["enabled"]?.bool ?? false
        guard number("default_days", &defaultDays), number("longest_days", &longestDays),
            number("gather_ms", &gatherMilliseconds), number("weight_bytes", &weightBytesMax),
            number("weight_leaves", &weightLeavesMax), number("subscriptions_max", &subscriptionsMax),
            number("unproven_hours", &unprovenHours)
        else { return nil }
        guard let apns = members["apns"] else { return }
        guard let stored = apns.object.flatMap(WakeUpPresentation.init(stored:)) else { return nil }
        presentation = stored
    }

    package func write(to writer: inout JSONWriter) {
        writer.member("enabled", isEnabled)
        writer.member("default_days", defaultDays)
        writer.member("longest_days", longestDays)
        writer.member("gather_ms", gatherMilliseconds)
        writer.member("weight_bytes", weightBytesMax)
        writer.member("weight_leaves", weightLeavesMax)
        writer.member("subscriptions_max", subscriptionsMax)
        writer.member("unproven_hours", unprovenHours)
        writer.object("apns") { presentation.write(to: &$0) }
    }
}

extension WakeUpChange {
    /// The members that change.
    func write(to writer: inout JSONWriter) {
        if let isEnabled { writer.member("enabled", isEnabled) }
        if let defaultDays { writer.member("default_days", defaultDays) }
        if let longestDays { writer.member("longest_days", longestDays) }
        if let gatherMilliseconds { writer.member("gather_ms", gatherMilliseconds) }
        if let weightBytesMax { writer.member("weight_bytes", weightBytesMax) }
        if let weightLeavesMax { writer.member("weight_leaves", weightLeavesMax) }
        if let subscriptionsMax { writer.member("subscriptions_max", subscriptionsMax) }
        if let unprovenHours { writer.member("unproven_hours", unprovenHours) }
        if let presentation { writer.object("apns") { presentation.write(to: &$0) } }
    }
}

extension WakeUpPresentation {
    fileprivate init?(stored members: JSONObject) {
        switch members["presentation"]?.string {
        case "background": self = .background
        case "alert":
            guard let title = members["title"]?.string, let body = members["body"]?.string else { return nil }
            self = .alert(title: title, body: body)
        default: return nil
        }
    }

    fileprivate func write(to writer: inout JSONWriter) {
        switch self {
        case .background: writer.member("presentation", "background")
        case .alert(let title, let body):
            writer.member("presentation", "alert")
            writer.member("title", title)
            writer.member("body", body)
        }
    }
}
