import JSON

/// What of a message waits for somebody to act, for people.
package enum WaitText {
    /// - Parameters:
    ///   - message: its account, as the gateway tells it.
    ///   - app: whose message it is.
    package static func lines(of message: JSONValue, app: String) -> [String] {
        let waits = message.object?["waiting"]?.array ?? []
        return waits.flatMap { wait in
            let pushes = wait.count("pushes")
            let what = "\(pushes) \(pushes == 1 ? "push waits" : "pushes wait")"
            let why =
                wait.shown("for") == "credential"
                ? "no active credential covers \(place(wait))"
                : "\(place(wait)) refuses the credential (\(wait.shown("reason"))); a push a minute tries again"
            return ["\(what): \(why)", "  -> " + remedy(wait, app: app)]
        }
    }

    /// What to do, in a line that can be pasted.
    package static func remedy(
        app: String, provider: String, environment: String, topic: String, isRefused: Bool
    ) -> String {
        let add =
            provider == "fcm"
            ? "carillon credentials add --app \(app) --service-account firebase.json --activate"
            : "carillon credentials add --app \(app) --p8 AuthKey_....p8 --team-id ..."
                + (topic.isEmpty ? "" : " --topic \(topic)") + " --environment \(environment) --activate"
        return isRefused ? "hand in a good one: \(add)" : "\(add), or carillon credentials activate ID --app \(app)"
    }

    private static func remedy(_ wait: JSONValue, app: String) -> String {
        let topic = wait.object?["topic"]?.string.map { TerminalText.clean($0) } ?? ""
        return remedy(
            app: app, provider: wait.shown("provider"), environment: wait.shown("environment"), topic: topic,
            isRefused: wait.shown("for") != "credential")
    }

    private static func place(_ wait: JSONValue) -> String {
        let topic = wait.object?["topic"]?.string.map { TerminalText.clean($0) } ?? ""
        return "\(wait.shown("provider")) \(wait.shown("environment"))" + (topic.isEmpty ? "" : ", topic \(topic)")
    }
}
