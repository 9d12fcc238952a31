import HTTPTypes
import Requests
import Store

struct FeedbackHandlers: Sendable {
    let apps: AppHandlers
    let store: FeedbackStore
    let reads: ReadAdmission

    /// Reads a page. `next` continues from it, even if nothing is new yet, and may be used again and again. No page
    /// follows a gap: a client that comes too late must learn of it.
    func read(_ call: Call) async throws(Problem) -> Answer {
        let limit = try call.query.limit()
        let after = try call.query.cursor("after") { FeedbackCursor(text: $0) }
        let app = try await apps.app(of: call)
        let page = try await reads.read(of: app.id, await store.page(app: app.id, after: after, limit: limit))
        guard !page.hasGap else { throw .feedbackSwept }
        return Answer(.ok, FeedbackAnswer.page(page.items, next: page.next?.text))
    }

    /// Restores the token that an entry retired. May be repeated.
    func undo(_ call: Call) async throws(Problem) -> Answer {
        guard let id = Int64(call.subject), id > 0 else { throw .unknownFeedback }
        let app = try await apps.app(of: call)
        switch try await translating(.isIdempotent, await apps.registry.undo(feedback: id, app: app.id)) {
        case .live(let device): return Answer(.ok, DeviceAnswer.body(device, call.caller.tokenView))
        case .unknownFeedback: throw .unknownFeedback
        case .unknownDevice:
            throw Problem(
                .unknownDevice, "The device of this entry has been removed. To restore it, register it again.")
        case .notARetirement:
            throw Problem(
                .notARetirement,
                "This entry did not retire a token, so there is nothing to undo. Only entries with the verdict "
                    + "retired can be undone.")
        case .replaced:
            throw Problem(
                .tokenReplaced, "The device registered another token since. The retired one is no longer its own.")
        case .moved:
            throw Problem(
                .tokenMoved,
                "Another installation of the app has this token now. POST .../devices/lookup shows which "
                    + "installation.")
        }
    }
}

extension Problem {
    fileprivate static let unknownFeedback = Problem(
        .unknownFeedback, "The app's feed has no entry with this id. GET .../feedback lists the entries.")
    fileprivate static let feedbackSwept = Problem(
        .feedbackSwept,
        "Entries after this cursor were deleted at the end of their retention. Start without after to read all stored "
            + "entries, and compare your devices with GET .../devices?state=retired.")
}
