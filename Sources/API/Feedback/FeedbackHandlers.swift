import HTTPTypes
import Registry
import Store

/// The verdicts on tokens, oldest first.
struct FeedbackHandlers: Sendable {
    let apps: AppHandlers
    let reads: ReadAdmission

    /// Reads a page. `next` continues from it, even if nothing is new yet, and may be used again and again. No page
    /// follows a gap: a client that comes too late must learn of it.
    func read(_ call: Call) async throws(Problem) -> Answer {
        let limit = try call.query.limit(.feedback)
        let after = try call.query["after"].map { (text) throws(Problem) in
            guard let cursor = FeedbackCursor(text: text) else { throw Problem.invalidCursor }
            return cursor
        }
        let app = try await apps.app(of: call)
        let page = try await reads.read(of: app.id) { () async throws(StoreFault) in
            try await apps.registry.feedback(app: app.id, after: after, limit: limit)
        }
        guard !page.hasGap else { throw .feedbackSwept }
        return Answer(.ok, FeedbackAnswer.page(page.items, next: page.next?.text))
    }

    /// Restores the token that an entry retired. May be repeated.
    func undo(_ call: Call) async throws(Problem) -> Answer {
        guard let id = Int64(call.subject), id > 0 else { throw .unknownFeedback }
        let app = try await apps.app(of: call)
        let reply: UndoReply
        do { reply = try await apps.registry.undo(feedback: id, app: app.id) } catch {
            throw Problem(error, .isIdempotent)
        }
        switch reply {
        case .live(let device): return Answer(.ok, DeviceAnswer.body(device, call.caller.tokenView))
        case .unknownFeedback: throw .unknownFeedback
        case .unknownDevice:
            throw Problem(
                .unknownDevice, "The device of this entry was removed since. Only registering it brings it back.")
        case .notARetirement:
            throw Problem(
                .notARetirement,
                "This entry retired no token, so that there is nothing to bring back. Only entries whose verdict is "
                    + "retired are undone.")
        case .replaced:
            throw Problem(
                .tokenReplaced, "The device registered another token since; the retired one is not its own any more.")
        case .moved:
            throw Problem(
                .tokenMoved,
                "Another installation of the app has this token now. One token belongs to one installation: POST "
                    + ".../devices/lookup tells to which.")
        }
    }
}

extension Problem {
    fileprivate static let unknownFeedback = Problem(
        .unknownFeedback, "The app's feed has no entry of this id. GET .../feedback lists them.")
    fileprivate static let feedbackSwept = Problem(
        .feedbackSwept,
        "Entries that followed this cursor have outlived their retention. Start without after for all that is kept, and "
            + "compare your devices with GET .../devices?state=retired.")
}
