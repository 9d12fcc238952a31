import Basis
import Delivery
import JSON
import Model
import Store

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
        if reader.peek("notification") != nil {
            change.notification = try GivenNotification.read(&reader)
        }
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
    var rateAlone: Change<Int32> {
        var others = self
        others.ratePerSecond = .keep
        return others == ChangeRequest() ? ratePerSecond : .keep
    }

    /// Whether the change requires that the message has not started.
    var isBeforeStart: Bool { name != .keep || changesRequest }

    /// Whether a message at a local hour may start at another time.
    var movesStart: Bool { sendAt != .keep || audience != nil }

    private var changesRequest: Bool { sendAt != .keep || notification != nil || audience != nil }
}

extension ChangeRequest {
    /// Makes the new request from the stored one.
    func revision(
        of record: MessageRecord, for caller: Caller, in app: AppRecord
    ) throws(Problem) -> RequestedRevision {
        for scope in [record.scope, audience?.scope ?? record.scope] where !caller.has(scope) {
            throw .missingScope([scope])
        }
        if ratePerSecond != .keep, record.state.isOver { throw .over(record.state, "made faster or slower") }
        var revision = RequestedRevision()
        (revision.name, revision.ratePerSecond) = (name, ratePerSecond)
        guard isBeforeStart else { return revision }
        guard record.hasNotStarted else { throw .started(record.state) }
        guard changesRequest else { return revision }
        guard var request = record.request else { throw .contentSwept }
        if let audience { request.audience = audience.withCutoffs(of: app, at: record.acceptedAt) }
        if let notification {
            (request.content.notification, request.content.localizations) = (
                notification.text, notification.localizations
            )
            request.content.presentation = notification.presentation
            request.content.isTemplate = request.content.hasBraces
        }
        try MessageRequest.checkKind(of: request.audience, request.content.options.pushType)
        if sendAt != .keep {
            let pushType = request.content.options.pushType
            guard pushType != .liveActivity else { throw .activityHasItsTime(at: Self.timePlace) }
            request.sendAt = try hour(after: request.sendAt)
        }
        (revision.request, revision.isRedated) = (request, sendAt != .keep)
        return revision
    }

    static let timePlace = JSONPointer.root / "send_at"

    private func hour(after old: SendHour?) throws(Problem) -> SendHour? {
        guard case .set(let text) = sendAt else { return nil }
        let place = Self.timePlace
        guard case .local(let sending) = old else { return .instant(try SendHourText.instant(text, at: place)) }
        let hour = try SendHourText.localHour(text, at: place)
        return .local(LocalSending(hour: hour, sendsPassed: sending.sendsPassed))
    }
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

extension MessageState {
    var isOver: Bool { self == .finished || self == .cancelled }
}

extension Audience {
    /// Fixes the cutoffs of a stale audience at the time when its message was accepted.
    func withCutoffs(of app: AppRecord, at acceptedAt: @autoclosure () -> WallInstant) -> Audience {
        guard case .stale = selection else { return self }
        var audience = self
        audience.selection = .stale(app.settings.stale.staleCutoffs(now: acceptedAt()))
        return audience
    }
}

extension Problem {
    static func over(_ state: MessageState, _ participle: String) -> Problem {
        Problem(
            .messageOver,
            "The message is \(state.name): it can no longer be \(participle). "
                + (state == .cancelled ? "Send it again as a new message." : "All its pushes have ended."))
    }

    static func started(_ state: MessageState) -> Problem {
        switch state {
        case .cancelled, .finished:
            return Problem(
                .messageStarted,
                "The message is \(state.name): it can no longer be changed. To send it again, change and resume a "
                    + "duplicate (POST .../duplicate).")
        case .accepted, .scheduled, .planning, .sending, .paused:
            return Problem(
                .messageStarted,
                "The message has started: its state is \(state.name). Only its rate can be changed. To "
                    + "send something else, cancel it (POST .../cancel), and change and resume a duplicate "
                    + "(POST .../duplicate).")
        }
    }

    static let contentSwept = Problem(
        .contentSwept,
        "The message's content has been deleted at the end of its retention. Send it again as a new message.")

    /// Devices ignore an update that is older than the one before.
    static func activityHasItsTime(at pointer: JSONPointer? = nil) -> Problem {
        Problem(
            .notForPushType,
            "A push to a Live Activity carries the time of its message, which can't be changed. Send a new message.",
            at: pointer)
    }
}
