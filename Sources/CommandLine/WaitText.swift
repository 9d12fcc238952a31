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
            var wait = wait.object ?? JSONObject()
            if wait["for"] != "credential" { wait["for"] = .string(PushWait.Cause.credentialRefused.name) }
            return lines(of: .object(wait), message.shown("id"), app: app)
        }
    }

    /// Merges the waits that concern the whole message into the first of each cause, instead of one line per route.
    private static func summed(_ waits: [JSONValue]) -> [JSONValue] {
        var places: [String: Int] = [:]  // lookup only
        var merged: [JSONValue] = []
        for wait in waits {
            let cause = wait.shown("for")
            guard ["resume", "cancellation", "rate"].contains(cause),
                var first = places[cause].map({ merged[$0] })?.object
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
        if let explanation = Explanation(of: wait, app: app) {
            return ["\(what): \(explanation.why)", "  -> " + explanation.remedy]
        }
        switch wait.shown("for") {
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
        case "predecessor": return ["the message waits until the pushes of another one have been tried\(reason)"]
        // The account shows them as the next ones.
        case "turn": return []
        case "rate": return ["\(what) for the message's rate"]
        case "planning" where wait.object?["until"]?.isNull ?? true: return []
        case "planning":
            return [
                "the audience can't be found; it is tried again at \(wait.shown("until"))",
                "  -> the gateway's log says why: \"Message can't be planned and is set aside\"",
            ]
        case let name: return ["\(what) for \(name): \(place(wait))\(reason)"]
        }
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

    fileprivate static func topic(_ wait: JSONValue) -> String {
        wait.object?["topic"]?.string.map { TerminalText.clean($0) } ?? ""
    }

    private static func place(_ wait: JSONValue) -> String {
        WaitPlace(provider: wait.shown("provider"), environment: wait.shown("environment"), topic: topic(wait)).text
    }
}

/// The place at which pushes wait.
package struct WaitPlace: Sendable {
    package let provider: String
    package let environment: String
    /// Empty: the credential's only topic.
    package let topic: String

    package init(provider: String, environment: String, topic: String) {
        (self.provider, self.environment, self.topic) = (provider, environment, topic)
    }

    fileprivate var text: String { "\(provider) \(environment)" + (topic.isEmpty ? "" : ", topic \(topic)") }
}

extension WaitText {
    /// Why pushes wait for a credential, a token, a topic or their provider, and what to do.
    package struct Explanation: Equatable, Sendable {
        package let why: String
        package let remedy: String

        /// - Parameters:
        ///   - since: as the API writes times; nil: unknown.
        ///   - reason: the provider's word; nil: there is none.
        ///   - until: the time of the next try; nil: unknown, or it is now.
        /// - Returns: nil for a cause that has nothing to do with them.
        package init?(
            _ cause: PushWait.Cause, app: String, at place: WaitPlace, since: String?, reason: String?,
            until: String? = nil
        ) {
            let start = since.map { " since \($0)" } ?? ""
            let word = reason.map { " (\($0))" } ?? ""
            func add(isRefused: Bool) -> String {
                WaitText.remedy(
                    app: app, provider: place.provider, environment: place.environment, topic: place.topic,
                    isRefused: isRefused)
            }
            switch cause {
            case .credential:
                (why, remedy) = ("no active credential covers \(place.text)\(start)", add(isRefused: false))
            case .credentialRefused:
                why = "\(place.text) rejects the credential\(start)\(word); one push a minute retries"
                remedy = add(isRefused: true)
            case .credentialUnusable:
                (why, remedy) = ("the credential for \(place.text) can't be used\(start)\(word)", add(isRefused: true))
            case .token:
                why = "the credential for \(place.text) gets no token\(start)\(word); the gateway tries again"
                remedy = "check this machine's clock and its way to the provider, or " + add(isRefused: true)
            case .topicRefused:
                why = "\(place.text) refuses this topic to the credential\(start)\(word); it is tried once a minute"
                remedy = add(isRefused: true)
            case .topicMissing:
                why = "the registrations at \(place.text) name no topic, and the credential has several\(start)"
                remedy = "register the devices with their topic, or activate a credential for a single topic"
            case .unreachable:
                why = "\(place.text) has been unreachable\(start)\(word)"
                remedy =
                    "sending continues once it is reachable; carillon doctor, run beside the gateway, finds the cause"
            case .throttled:
                why = "\(place.text) has been throttling\(start)\(word)"
                remedy = "no action is needed: a few pushes are tried \(until.map { "at \($0)" } ?? "now")"
            case .newerProgram:
                why = "a newer version of the gateway wrote them\(start)"
                remedy = "run that version: the one that was asked can't send them"
            case .onHold, .later, .rate, .turn: return nil
            }
        }

        fileprivate init?(of wait: JSONValue, app: String) {
            func text(_ name: String) -> String? { wait.object?[name]?.string.map { TerminalText.clean($0) } }
            guard let name = wait.object?["for"]?.string,
                let cause = PushWait.Cause.allCases.first(where: { $0.name == name })
            else { return nil }
            let place = WaitPlace(
                provider: wait.shown("provider"), environment: wait.shown("environment"), topic: WaitText.topic(wait))
            self.init(cause, app: app, at: place, since: text("since"), reason: text("reason"), until: text("until"))
        }
    }
}
