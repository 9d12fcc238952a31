import JSON
import Model

// An app's wake-up settings in the body of `PATCH /v1/apps/{app}`.
extension EnvelopeReader {
    package mutating func wakeUp() throws(Problem) -> WakeUpChange {
        var change = WakeUpChange()
        guard var reader = try object("wakeup") else { return change }
        change.isEnabled = try reader.bool("enabled")
        change.defaultDays = try reader.integer("default_days", WakeUpSettings.days)
        change.longestDays = try reader.integer("longest_days", WakeUpSettings.days)
        change.gatherMilliseconds = try reader.integer("gather_ms", WakeUpSettings.gather)
        change.weightBytesMax = try reader.integer("weight_bytes", WakeUpSettings.weight)
        change.weightLeavesMax = try reader.integer("weight_leaves", WakeUpSettings.weight)
        change.subscriptionsMax = try reader.integer("subscriptions_max", WakeUpSettings.subscriptions)
        change.unprovenHours = try reader.integer("unproven_hours", WakeUpSettings.unproven)
        if var apns = try reader.object("apns") {
            change.presentation = try apns.presentation()
            try apns.end()
        }
        try reader.end()
        return change
    }

    private mutating func presentation() throws(Problem) -> WakeUpPresentation {
        let asked = try required("presentation", "\"background\" or \"alert\"").anyString(at: pointer / "presentation")
        switch asked {
        case "background": return .background
        case "alert":
            return .alert(
                title: try requiredText("title", bytesMax: WakeUpPresentation.titleBytesMax),
                body: try requiredText("body", bytesMax: WakeUpPresentation.bodyBytesMax))
        default:
            throw Problem(.invalidValue, "presentation must be one of background, alert.", at: pointer / "presentation")
        }
    }

    private mutating func requiredText(_ name: String, bytesMax: Int) throws(Problem) -> String {
        let text = try requiredString(
            name, bytesMax: bytesMax, "the text that is shown if the app's extension does not replace it")
        guard RegistrationRequest.isText(text) else { throw .controlCharacters(at: pointer / name) }
        return text
    }
}
