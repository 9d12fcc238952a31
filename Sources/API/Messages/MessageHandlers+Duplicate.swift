import Basis
import Delivery
import Model
import Requests
import Store

extension MessageHandlers {
    /// Accepts a message like another one, paused: it starts when it is resumed.
    func duplicate(_ call: Call) async throws(Problem) -> Answer {
        let id = try messageID(call)
        let app = try await apps.app(of: call)
        let found = try await reads.read(of: app.id, await store.record(app: app.id, id: id))
        guard let record = found else { throw .unknownMessage }
        guard call.caller.has(record.scope) else { throw .missingScope([record.scope]) }
        // Without a body, the message is what a repeated request must have in common with the first one.
        let claim = call.idempotencyClaim(of: Array(id.value.text.utf8))
        guard let request = record.request else {
            // The content may have been deleted between the request and its repetition.
            if let claim, let answer = try await translating(.isKeyed, await earlier(claim, in: app)) {
                return made(answer, in: app, .created, [Answer.replayedHeader])
            }
            throw .contentSwept
        }
        guard request.isOfSender else {
            throw Problem(.notSupported, "The gateway made this message itself, and makes the next one when it is due.")
        }
        guard request.content.options.pushType != .liveActivity else { throw .activityHasItsTime() }
        var asked = IntakeRequest(
            [request.content], to: audience(request.audience, in: app), app: app.id,
            sendAt: request.sendAt.flatMap { $0.isAhead(of: clock()) ? $0 : nil }, ratePerSecond: request.ratePerSecond,
            name: record.name.map(Self.copied), author: call.caller.author, idempotency: claim)
        asked.isHeld = true
        return try await accept(asked, in: app, .created)
    }

    private func earlier(_ claim: IdempotencyClaim, in app: AppRecord) async throws(StoreFault) -> [UInt8]? {
        switch try await store.earlier(claim, app: app.id) {
        case .replayed(let answer)?: answer
        case .accepted?, .mismatch?, nil: nil
        }
    }

    private static let copy = " (copy)"

    /// The name of a duplicate. A long name is cut, so that the ending fits.
    private static func copied(_ name: String) -> String {
        var whole = name + copy
        var kept = name[...]
        while whole.unicodeScalars.count > MessageLabel.nameCharactersMax {
            kept = kept.dropLast()
            whole = kept + copy
        }
        return whole
    }
}

extension SendHour {
    /// Whether some clock has still to show it.
    fileprivate func isAhead(of now: WallInstant) -> Bool {
        switch self {
        case .instant(let instant): instant > now
        case .local(let sending): sending.hour.last > now
        }
    }
}
