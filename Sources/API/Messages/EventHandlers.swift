import HTTPTypes
import Listener
import Requests

/// The events of one message: an answer that ends when the message does.
struct EventHandlers: Sendable {
    let messages: MessageHandlers
    let watches: MessageFollowers
    let limits: GatewayLimits
    let authenticator: APIKeyAuthenticator

    func follow(_ call: Call) async throws(Problem) -> AnswerStream {
        let id = try messages.messageID(call)
        let app = try await messages.apps.app(of: call)
        let first = try await messages.progress(id, of: app.id)
        let isStream = call.request.method != .head && !first.isOver
        var slot: MessageFollowers.FollowerSlot?
        if isStream {
            do throws(MessageFollowers.Refusal) {
                slot = try watches.follow(MessageFollowers.Subject(app: app.id, message: id))
            } catch { throw Problem(error, limits) }
        }
        // The closure does not capture the call, which would keep the request's head for as long.
        let (check, apps, caller) = (authenticator.check(of: call, app), messages.apps, call.caller)
        let events = MessageEvents(first: first, slot: slot, limits: limits) { () async throws(Problem) in
            try await check()
            // A deleted app's messages are removed in the background. A new app with its slug does not own them.
            guard try await apps.app(app.slug, for: caller).id == app.id else { throw .unknownMessage }
        }
        return AnswerStream(
            headers: [.contentType: "text/event-stream", .cacheControl: "no-store", .accelBuffering: "no"]
        ) { write in
            try await events.run(write)
            return true
        }
    }
}

extension Problem {
    fileprivate init(_ refusal: MessageFollowers.Refusal, _ limits: GatewayLimits) {
        switch refusal {
        case .full:
            self.init(
                .overloaded, "Too many messages are followed on this process. Poll GET .../messages/{id} instead.",
                retryAfterSeconds: RetryHint.streams)
        case .shareUsedUp:
            self.init(
                .shareUsedUp,
                "This app already follows messages \(limits.streamsPerAppMax) times, which is the limit of one app. "
                    + "Close some, or poll GET .../messages/{id} instead.", retryAfterSeconds: RetryHint.streams)
        }
    }
}
