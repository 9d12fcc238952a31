import Model
import Requests
import Store

extension MessageHandlers {
    func failures(_ call: Call) async throws(Problem) -> Answer {
        let id = try messageID(call)
        let limit = try call.query.limit()
        let failed = TerminalState.allCases.filter { $0 != .accepted }
        let state = try call.query.choice("state", failed.map(\.name)) { name in failed.first { $0.name == name } }
        let filter = FailureFilter(state: state, reason: call.query["reason"])
        let cursor = try call.query.cursor { HistoryCursor(text: $0) }
        let app = try await apps.app(of: call)
        let page = try await reads.read(
            of: app.id, await store.failures(app: app.id, id: id, filter: filter, from: cursor, limit: limit))
        guard let page else { throw .unknownMessage }
        return Answer(.ok, HistoryAnswer.page(page.items, next: page.next?.text))
    }

    func pushHistory(_ call: Call) async throws(Problem) -> Answer {
        let id = try messageID(call)
        let installation = try DeviceHandlers.installation(call.detail)
        let app = try await apps.app(of: call)
        let pushHistory = try await reads.read(
            of: app.id, await store.pushHistory(app: app.id, id: id, installation: installation))
        guard let pushHistory else { throw .unknownMessage }
        return Answer(.ok, HistoryAnswer.body(pushHistory))
    }
}
