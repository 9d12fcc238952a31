import Basis
import Delivery
import JSON
import Model
import Requests
import Store

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
