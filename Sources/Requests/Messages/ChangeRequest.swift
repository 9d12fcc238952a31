import JSON
import Model

/// The body of `PATCH /v1/apps/{app}/messages/{message}`: the members that change, each as a whole.
package struct ChangeRequest: Equatable, Sendable {
    package typealias Change<Value: Equatable & Sendable> = ProfileChange.Change<Value>

    static let perSecond: ClosedRange<Int32> = 1...MessageRate.perSecondMax

    package private(set) var name: Change<String> = .keep
    package private(set) var ratePerSecond: Change<Int32> = .keep
    /// The new time as it was written: what it means depends on the message. `clear`: now.
    package private(set) var sendAt: Change<String> = .keep
    /// nil: the notification stays.
    package private(set) var notification: GivenNotification?
    /// nil: the audience stays.
    package private(set) var audience: Audience?

    package static func read(_ body: [UInt8]) throws(Problem) -> ChangeRequest {
        var reader = try EnvelopeReader(body: body)
        var change = ChangeRequest()
        if reader.peek("name") != nil { change.name = try reader.messageName().map { .set($0) } ?? .clear }
        if reader.peek("rate_per_second") != nil {
            change.ratePerSecond = try reader.integer("rate_per_second", perSecond).map { .set($0) } ?? .clear
        }
        if reader.peek("send_at") != nil { change.sendAt = try reader.anyString("send_at").map { .set($0) } ?? .clear }
        if reader.peek("notification") != nil { change.notification = try GivenNotification.read(&reader) }
        if reader.peek("audience") != nil { change.audience = try AudienceRequest.read(&reader) }
        try reader.end()
        guard change != ChangeRequest() else {
            throw Problem(
                .missingMember,
                "The request changes nothing: give name, send_at, notification, audience or rate_per_second.", at: .root
            )
        }
        return change
    }

    /// The new rate if nothing else changes; `keep`: something else does.
    package var rateAlone: Change<Int32> {
        var others = self
        others.ratePerSecond = .keep
        return others == ChangeRequest() ? ratePerSecond : .keep
    }

    /// Whether the change requires that the message has not started.
    package var isBeforeStart: Bool { name != .keep || changesRequest }

    /// Whether a message at a local hour may start at another time.
    package var movesStart: Bool { sendAt != .keep || audience != nil }

    /// Whether anything changes but the name and the rate.
    package var changesRequest: Bool { sendAt != .keep || notification != nil || audience != nil }
}

extension EnvelopeReader {
    /// Takes a message's name: without white space around it, 1 to 120 characters.
    mutating func messageName() throws(Problem) -> String? {
        let place = pointer / "name"
        guard let text = try anyString("name") else { return nil }
        let name = text.trimmed
        let length = name.unicodeScalars.count
        guard length > 0 else {
            throw Problem(.invalidValue, "This name is empty. Leave it out for a message without one.", at: place)
        }
        guard length <= MessageLabel.nameCharactersMax else {
            throw Problem(
                .valueTooLong, "This has \(length) characters; the limit is \(MessageLabel.nameCharactersMax).",
                at: place)
        }
        guard !name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw .controlCharacters(at: place)
        }
        return name
    }
}

extension String {
    fileprivate var trimmed: String {
        let start = drop(while: \.isWhitespace)
        guard let last = start.lastIndex(where: { !$0.isWhitespace }) else { return "" }
        return String(start[...last])
    }
}
