import Basis
import Model
import ServiceLifecycle

/// One message, followed by one client: server-sent events (WHATWG HTML, section 9.2).
///
/// What is there at once, then whatever changed, then `finished`. Ends without it where the process stops: a client comes
/// back, and hears the whole again.
struct MessageEvents: Sendable {
    let first: MessageProgress
    /// nil: the message is over already.
    let slot: MessageFollowers.FollowerSlot?
    let limits: GatewayLimits
    /// Throws where the key no longer opens this: it was revoked, has expired, or its app is gone.
    let checkKey: @Sendable () async throws(Problem) -> Void

    /// When a client whose connection broke comes back.
    private static let greeting = Array("retry: 2000\n\n".utf8)
    /// A line that means nothing, so that everybody in between sees that somebody is there.
    private static let heartbeat = Array(": \n\n".utf8)

    /// - Parameter write: suspends while the client does not read; throws once it is hung up on (`AnswerStallHandler`).
    func run(_ write: ([UInt8]) async throws -> Void) async throws {
        var lastID: Int64?
        try await write(Self.greeting + ProgressEvent(first).bytes(after: &lastID))
        guard let slot, !first.isOver else { return }
        var last = first
        let clock = ContinuousClock()
        var (checkedAt, wroteAt) = (clock.now, clock.now)
        for await snapshot in slot.snapshots.cancelOnGracefulShutdown()
        where snapshot.query > slot.queryBefore || snapshot.isLast {
            // Never by its time: the clock that it has it from may have gone back.
            let news = snapshot.event.flatMap { event in
                let isLater = snapshot.seenBy > slot.queryBefore || event.progress.isOver
                return isLater && !event.progress.isSame(as: last) ? event : nil
            }
            guard news != nil || snapshot.isLast || clock.now - wroteAt >= limits.heartbeatEvery else { continue }
            if clock.now - checkedAt >= limits.eventKeyCheck {
                if let problem = await refusal() { return try await write(Self.end(problem)) }
                checkedAt = clock.now
            }
            if let news {
                last = news.progress
                try await write(news.bytes(after: &lastID))
            } else if !snapshot.isLast {
                try await write(Self.heartbeat)
            }
            wroteAt = clock.now
            if let problem = snapshot.problem { try await write(Self.end(problem)) }
            if snapshot.isLast { return }
        }
    }

    /// nil: the key opens this still, or nobody can tell just now.
    private func refusal() async -> Problem? {
        do { try await checkKey() } catch { return error.retryAfterSeconds == nil ? error : nil }
        return nil
    }

    /// The last event of a stream that must not go on.
    private static func end(_ problem: Problem) -> [UInt8] {
        Array("event: problem\ndata: ".utf8) + problem.body + Array("\n\n".utf8)
    }
}
