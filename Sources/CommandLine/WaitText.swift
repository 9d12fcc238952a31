import JSON
import Model
import ProviderInterface
import Providers

package enum WaitText {
    package static func lines(of message: JSONValue, app: String) -> [String] {
        if let waits = message.object?["progress"]?.object?["waiting"]?.array {
            return summed(waits).flatMap { lines(of: $0, message.shown("id"), app: app) }
        }
        // An older gateway's form.
        return message.elements("waiting").flatMap { wait in
            lines(of: wait, isRefused: wait.shown("for") != "credential", app: app)
        }
    }

    /// Merges the waits that concern the whole message into the first of each cause, instead of one line per route.
    private static func summed(_ waits: [JSONValue]) -> [JSONValue] {
        var places: [String: Int] = [:]  // lookup only
        var merged: [JSONValue] = []
        for wait in waits {
            let cause = wait.shown("for")
            guard cause == "resume" || cause == "cancellation", var first = places[cause].map({ merged[$0] })?.object
            else {
                places[cause] = places[cause] ?? merged.count
                merged.append(wait)
                continue
            }
            let pushes = [JSONValue.object(first).count("pushes"), wait.count("pushes")].sum
            first["pushes"] = .number(.whole(pushes))
            merged[places[cause] ?? 0] = .object(first)
        }
        return merged
    }

    private static func lines(of wait: JSONValue, _ id: String, app: String) -> [String] {
        let pushes = wait.count("pushes")
        let what = "\(pushes) \(pushes == 1 ? "push waits" : "pushes wait")"
        let reason = wait.object?["reason"]?.string.map { " (\(TerminalText.clean($0)))" } ?? ""
        switch wait.shown("for") {
        case "credential": return lines(of: wait, isRefused: false, app: app)
        case "credential_refused": return lines(of: wait, isRefused: true, app: app)
        case "unreachable":
            return [
                "\(what): \(place(wait)) has been unreachable since \(wait.shown("since"))\(reason)",
                "  -> sending continues once it is reachable; carillon doctor, run beside the gateway, finds the cause",
            ]
        case "throttled":
            let until = wait.object?["until"]?.string.map { "at \(TerminalText.clean($0))" } ?? "now"
            return [
                "\(what): \(place(wait)) has been throttling since \(wait.shown("since"))\(reason)",
                "  -> no action is needed: a few pushes are tried \(until)",
            ]
        case "later": return ["\(what) until \(wait.shown("until")) at least: \(place(wait))\(reason)"]
        case "resume":
            let isWhole = wait.object?["pushes"]?.isNull == true
            return [
                isWhole ? "the message is paused" : "\(what): the message is paused",
                "  -> carillon messages resume \(id) --app \(app) continues \(isWhole ? "it" : "them")",
            ]
        case "cancellation": return ["\(pushes) \(pushes == 1 ? "push is" : "pushes are") being counted as cancelled"]
        // The message's own lines show its hour.
        case "hour": return []
        case let name: return ["\(what) for \(name): \(place(wait))\(reason)"]
        }
    }

    private static func lines(of wait: JSONValue, isRefused: Bool, app: String) -> [String] {
        let pushes = wait.count("pushes")
        let what = "\(pushes) \(pushes == 1 ? "push waits" : "pushes wait")"
        let why =
            isRefused
            ? "\(place(wait)) rejects the credential (\(wait.shown("reason"))); one push a minute retries"
            : "no active credential covers \(place(wait))"
        let remedy = remedy(
            app: app, provider: wait.shown("provider"), environment: wait.shown("environment"), topic: topic(wait),
            isRefused: isRefused)
        return ["\(what): \(why)", "  -> " + remedy]
    }

    /// The remedy, as a command that can be pasted.
    package static func remedy(
        app: String, provider: String, environment: String, topic: String, isRefused: Bool
    ) -> String {
        let kinds = Provider(name: provider).flatMap { PushProviders.offered($0) }?.credentialForms.map(\.kind) ?? []
        let add =
            kinds.contains(.serviceAccount)
            ? "carillon credentials add --app \(app) --service-account firebase.json --activate"
            : "carillon credentials add --app \(app) --p8 AuthKey_....p8 --team-id ..."
                + (topic.isEmpty ? "" : " --topic \(topic)") + " --environment \(environment) --activate"
        return isRefused ? "add a valid credential: \(add)" : "\(add), or carillon credentials activate ID --app \(app)"
    }

    private static func topic(_ wait: JSONValue) -> String {
        wait.object?["topic"]?.string.map { TerminalText.clean($0) } ?? ""
    }

    private static func place(_ wait: JSONValue) -> String {
        let topic = topic(wait)
        return "\(wait.shown("provider")) \(wait.shown("environment"))" + (topic.isEmpty ? "" : ", topic \(topic)")
    }
}
