import Model
import Store

/// Pause, resume, cancel and rate change. Each may be repeated: a message that is already as requested stays so.
extension MessageHandlers {
    func changeRate(_ call: Call) async throws(Problem) -> Answer {
        try await change(.rate(try RateRequest.read(call.body)), call)
    }

    func change(_ control: ControlRequest, _ call: Call) async throws(Problem) -> Answer {
        let id = try messageID(call)
        let app = try await apps.app(of: call)
        let reply: ControlReply
        let account: MessageAccount?
        do throws(StoreFault) {
            reply = try await store.control(control, app: app.id, id: id)
            account = reply == .done ? try await self.account(id, of: app.id) : nil
        } catch { throw Problem(error, .isIdempotent) }
        if case .over(let state) = reply {
            throw Problem(
                .messageOver,
                "The message is \(state.name): it can no longer be \(control.participle). "
                    + (state == .cancelled ? "Send it again as a new message." : "All its pushes have ended."))
        }
        guard let account else { throw .unknownMessage }
        return Answer(.ok, MessageAnswer.body(account))
    }

    /// Reads the account without a timeout: the change is made, and its answer must follow.
    private func account(_ id: MessageID, of app: AppID) async throws(StoreFault) -> MessageAccount? {
        try await reads.readWithoutTimeout(of: app) { () async throws(StoreFault) in
            try await store.account(app: app, id: id)
        }
    }
}

extension ControlRequest {
    fileprivate var participle: String {
        switch self {
        case .pause: "paused"
        case .resume: "resumed"
        case .cancel: "cancelled"
        case .rate: "made faster or slower"
        }
    }
}
