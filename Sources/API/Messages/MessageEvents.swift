import Listener
import Model
import Requests
import ServiceLifecycle

/// The server-sent events of one message for one client (WHATWG HTML, section 9.2).
///
/// The stream begins with the present progress, goes on with each change, and ends with `finished`. It ends without
/// `finished` if the process stops. The client then connects again, and gets the whole progress anew.
struct MessageEvents: Sendable {
    let first: MessageProgress
    /// The follower's slot; nil if the message is already over.
    let slot: MessageFollowers.FollowerSlot?
    let limits: GatewayLimits
    /// Throws if the key no longer opens the message: it was revoked, has expired, or its app is gone.
    let checkKey: @Sendable () async throws(Problem) -> Void

    /// The time after which a client whose connection broke connects again: two seconds.
    private static let greeting = Array("retry: 2000\n\n".utf8)
    /// A line without meaning, which shows the client and all proxies that the connection is alive.
    private static let heartbeat = Array(": \n\n".utf8)

    /// - Parameter write: suspends while the client does not read; throws once the connection is closed.
    func run(_ write: ([UInt8]) async throws -> Void) async throws {
        var lastID: Int64?
        try await write(Self.greeting + ProgressEvent(first).bytes(after: &lastID))
        guard let slot, !first.isOver else { return }
        var last = first
        let clock = ContinuousClock()
        var (checkedAt, wroteAt) = (clock.now, clock.now)
        for await snapshot in slot.snapshots.cancelOnGracefulShutdown()
        where snapshot.query > slot.queryBefore || snapshot.isLast {
            // The time of the progress does not decide: the database's clock may have gone back.
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

    /// The problem with the key; nil if the key still opens the message, or if that can't be checked just now.
    private func refusal() async -> Problem? {
        do { try await checkKey() } catch { return error.retryAfterSeconds == nil ? error : nil }
        return nil
    }

    private static func end(_ problem: Problem) -> [UInt8] {
        Array("event: problem\ndata: ".utf8) + problem.body + Array("\n\n".utf8)
    }
}
