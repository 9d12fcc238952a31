import Basis
import Calendar
import JSON

/// A message with the same texts to the same audience, accepted a moment ago: probably the command was given twice.
package enum RecentDuplicate {
    static let ageMax: Duration = .seconds(60)
    /// Older messages are not looked at, and further candidates not compared, so that nobody waits.
    static let listedMax = 2_000
    static let comparedMax = 20
    /// Lists shorten long texts, but not to less than this.
    private static let charactersCompared = 100

    /// Whether a stored request has the texts and the audience of a message. A message without a text has no duplicate.
    package static func isSame(_ request: JSONValue, as message: JSONObject) -> Bool {
        guard let texts = plain(message["notification"]), let stored = plain(request.object?["notification"]) else {
            return false
        }
        return texts == stored && audience(of: message) == audience(of: request.object ?? JSONObject())
    }

    /// A stored audience names its kind, also if the message did not.
    private static func audience(of message: JSONObject) -> JSONValue? {
        var audience = message["audience"]?.object
        audience?["kind"] = nil
        return plain(audience.map(JSONValue.object))
    }

    /// Whether a listed message may have the same texts.
    ///
    /// - Parameter newest: the last acceptance in the list.
    package static func mayBeSame(_ listed: JSONValue, as message: JSONObject, newest: WallInstant) -> Bool {
        guard let accepted = time(listed, "accepted_at"), newest - accepted <= ageMax else { return false }
        let common = listed.elements("texts").first { $0.object?["language"]?.isNull != false }
        return ["title", "body"].allSatisfy { part in
            guard let shown = common?.object?[part]?.string else { return true }
            let own = message["notification"]?.object?[part]?.string ?? ""
            return own.prefix(charactersCompared) == shown.prefix(charactersCompared)
        }
    }

    /// The value with sorted members and elements, without null and without what is empty. nil: nothing is left.
    private static func plain(_ value: JSONValue?) -> JSONValue? {
        switch value {
        case nil, .null?: return nil
        case .array(let elements)?:
            let plain = elements.compactMap { Self.plain($0) }.map { (text: $0.sentence, value: $0) }
            return plain.isEmpty ? nil : .array(plain.sorted { $0.text < $1.text }.map(\.value))
        case .object(let object)?:
            let members = object.members.compactMap { member in plain(member.value).map { JSONMember(member.name, $0) }
            }
            return members.isEmpty ? nil : .object(JSONObject(members.sorted { $0.name < $1.name }))
        case let value?: return value
        }
    }

    /// The time since a message was accepted, both by the gateway's clock; nil: an older gateway does not tell.
    package static func age(of account: JSONValue) -> Duration? {
        guard let accepted = time(account, "accepted_at"), let now = time(account.object?["progress"] ?? .null, "at")
        else { return nil }
        return max(.zero, now - accepted)
    }

    static func time(_ value: JSONValue, _ member: String) -> WallInstant? {
        value.object?[member]?.string.flatMap { RFC3339.parse($0) }
    }

    /// "The message 0192... with the same text was sent to the same audience 12 s ago, by marketing."
    static func sentence(_ message: JSONValue) -> String {
        let author = message.object?["author"]?.string.map { ", by " + TerminalText.clean($0) } ?? ""
        return "The message \(message.shown("id")) with the same text was sent to the same audience "
            + "\(ProgressText.span(age(of: message) ?? .zero)) ago\(author)."
    }
}

extension GatewayClient {
    /// Finds a duplicate among the app's newest messages; nil also if they can't be read.
    ///
    /// - Parameters:
    ///   - path: the app's messages.
    ///   - ids: messages that are no duplicates: the tests of this command.
    func recentDuplicate(of message: JSONObject, path: String, except ids: [String]) async -> JSONValue? {
        guard let items = try? await list(path, of: .message, limit: RecentDuplicate.listedMax).items,
            let newest = items.first.flatMap({ RecentDuplicate.time($0, "accepted_at") })
        else { return nil }
        let candidates = items.filter {
            !ids.contains($0.shown("id")) && RecentDuplicate.mayBeSame($0, as: message, newest: newest)
        }
        for candidate in candidates.prefix(RecentDuplicate.comparedMax) {
            let one = path + "/" + Self.escaped(candidate.shown("id"))
            guard let account = try? await get(one, as: .message), let request = account.object?["request"],
                RecentDuplicate.isSame(request, as: message),
                let age = RecentDuplicate.age(of: account), age <= RecentDuplicate.ageMax
            else { continue }
            return account
        }
        return nil
    }
}
