import HTTPTypes
import PushModel
import Registry
import Store

/// What we concluded about tokens, oldest first.
struct FeedbackHandlers: Sendable {
    let apps: AppHandlers

    /// `next` leads on from here, also where nothing is new yet: it can be asked again and again.
    func read(_ call: Call) async throws(Problem) -> Answer {
        let limit = try call.query.limit(.feedback)
        let after = try call.query["after"].map { (text) throws(Problem) in
            guard let cursor = FeedbackCursor(text: text) else { throw Problem.invalidCursor }
            return cursor
        }
        let app = try await apps.app(of: call)
        let page: FeedbackPage
        do { page = try await apps.registry.feedback(app: app.id, after: after, limit: limit) } catch {
            throw Problem(error, .reads)
        }
        return Answer(.ok, FeedbackAnswer.page(page.items, next: page.next?.text))
    }
}
