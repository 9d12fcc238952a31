import Basis
import LaneRules
import ProviderInterface
import Reactor
import Synchronization

/// What a lane has, for metrics. As of the last turn.
package struct LaneSnapshot: Equatable, Sendable {
    package var connections = 0
    package var streamsOpen = 0
    /// What the peer allows on the connections that there are.
    package var streamsMax = 0
    /// Requests without a stream.
    package var waiting = 0
    /// Requests without an answer, waiting ones included: what a caller has to bound.
    package var unanswered = 0
    package var canSend = true
    package init() {}

    init(connections: Int, streamsOpen: Int, streamsMax: Int, waiting: Int, unanswered: Int, canSend: Bool) {
        self.connections = connections
        self.streamsOpen = streamsOpen
        self.streamsMax = streamsMax
        self.waiting = waiting
        self.unanswered = unanswered
        self.canSend = canSend
    }
}

/// The connections of one credential to one provider: requests in, answers out, one pace, one breaker.
///
/// Lives on its loop. Opens connections as requests come, up to a bound, and keeps one warm. Every request that is
/// submitted is answered exactly once, within its batch's `noStreamAfter` and its own deadline; drain it before
/// letting it go, and before its loop stops.
package actor Lane: PinnedActor {
    package nonisolated let loop: ReactorLoop
    private nonisolated let published: Published
    private let core: LaneCore

    /// Where the loop leaves the census, and finds the way back to the lane.
    private final class Published: Sendable {
        let census = Mutex(LaneSnapshot())
        let lane = Mutex(WeakLane())
    }

    private struct WeakLane: Sendable {
        weak var lane: Lane?
    }

    package init(_ settings: LaneSettings, on loop: ReactorLoop, observer: any LaneObserver) {
        let published = Published()
        let host = settings.proxy?.host ?? settings.host
        let port = settings.proxy?.port ?? settings.port
        let resolver = settings.resolver
        self.loop = loop
        self.published = published
        core = LaneCore(
            settings, on: loop, observer: observer,
            resolve: { id in
                guard let lane = published.lane.withLock({ $0.lane }) else { return }
                Task { await lane.resolve(id, host, port, resolver) }
            },
            publish: { census in published.census.withLock { $0 = census } })
        published.lane.withLock { $0.lane = self }
    }

    package nonisolated var census: LaneSnapshot { published.census.withLock { $0 } }

    /// Whether requests may be handed over, as the observer was told last: from any thread, at any time. True before
    /// anything was tried.
    package nonisolated var canSend: Bool { census.canSend }

    /// Takes a batch. The sink hears of each of its requests once.
    package nonisolated func submit(_ batch: PushBatch, ticket: BatchTicket, sink: any AnswerSink) {
        enter { $0.submit(batch, ticket, sink) }
    }

    /// Streams may open for the batch until then: its lease was renewed.
    package nonisolated func extend(_ ticket: BatchTicket, noStreamAfter: MonotonicInstant) {
        enter { $0.extend(ticket, noStreamAfter: noStreamAfter) }
    }

    /// What has no stream yet is answered `.unsent(.withdrawn)`; what is in flight runs to its answer.
    package nonisolated func withdraw(_ ticket: BatchTicket) {
        enter { $0.withdraw(ticket) }
    }

    /// Opens the connection that the lane keeps.
    package nonisolated func warmUp() {
        enter { $0.decide(.warmUp) }
    }

    /// After ExpiredProviderToken: connections whose first provider token is not the present one take no more requests,
    /// and close when they have their answers; while there is none, all that carried any. APNs goes on refusing on such
    /// a connection.
    package nonisolated func replaceConnections() {
        enter { $0.replaceConnections() }
    }

    /// It takes no more requests, and closes when it has answered what it took: an answer of its peer asked for that
    /// (IdleTimeout, Shutdown). Nothing happens where it is gone.
    package nonisolated func retire(_ connection: ConnectionID) {
        enter { $0.retire(connection) }
    }

    /// An answer said that the credential is refused: as if the peer had said so by GOAWAY. What waits comes back at
    /// once, what is in flight runs to its answer, every connection closes; after `LaneLimits.credentialBackoff`, or
    /// `retry()`, one dial tries. Until an answer shows that the credential is taken, one request goes out at a time.
    ///
    /// While the lane is blocked for that, and about connections that were there the time before, it is no news and
    /// nothing happens: so every refusal may be told as it comes.
    /// - Parameter reason: the provider's word; it is logged.
    /// - Parameter connection: where the answer was heard (`Answer.origin`).
    package nonisolated func refuseCredential(reason: String, receivedOn connection: ConnectionID? = nil) {
        enter { $0.refuseCredential(reason, connection) }
    }

    /// Something was mended (a credential, a certificate): a blocked lane dials at once. It can send again, and says
    /// so, when a connection has proved itself.
    package nonisolated func retry() {
        enter { $0.decide(.retry) }
    }

    /// Answers what has no stream `.unsent(.withdrawn)`, waits for the rest, and closes. Later submissions are handed
    /// back.
    package func drain() async {
        await withCheckedContinuation { core.drain($0) }
    }

    /// In the order of the calls, in the loop's next turn.
    private nonisolated func enter(_ work: @escaping @Sendable (LaneCore) -> Void) {
        loop.perform { self.assumeIsolated { work($0.core) } }
    }

    private func resolve(_ id: ConnectionID, _ host: String, _ port: UInt16, _ resolver: any HostResolver) async {
        let result: Result<[SocketAddress], ReactorError>
        do throws(ReactorError) {
            result = .success(try await resolver.addresses(of: host, port: port))
        } catch {
            result = .failure(error)
        }
        core.resolved(id, result)
    }
}
