import LaneRules
import ProviderInterface
import Reactor
import Synchronization

package struct LaneSnapshot: Equatable, Sendable {
    package var connections = 0
    package var streamsOpen = 0
    /// The number of streams that the peer allows on the open connections.
    package var streamsMax = 0
    /// Requests without a stream.
    package var waiting = 0
    /// Requests without an answer, waiting ones included. The caller has to bound these.
    package var unanswered = 0
    package var canSend = true
}

/// The connections of one credential to one provider: requests in, answers out, one pace, one breaker.
///
/// Lives on its loop. Opens connections as requests come, up to a bound, and keeps one warm. Every submitted request is
/// answered exactly once, within its batch's `noStreamAfter` and its own deadline. The owner drains a lane before
/// releasing it, and before its loop stops.
package actor Lane: PinnedActor {
    package nonisolated let loop: ReactorLoop
    private nonisolated let published: Published
    private let core: LaneCore

    /// The census for other threads, and the loop's way back to the lane.
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
        (self.loop, self.published) = (loop, published)
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

    /// Takes a batch. The sink gets one answer for each of its requests.
    package nonisolated func submit(_ batch: PushBatch, ticket: BatchTicket, sink: any AnswerSink) {
        enter { $0.submit(batch, ticket, sink) }
    }

    /// Answers requests without a stream `.unsent(.withdrawn)`. Those in flight run to their answers.
    package nonisolated func withdraw(_ ticket: BatchTicket) { enter { $0.withdraw(ticket) } }

    /// Opens the connection that the lane keeps.
    package nonisolated func warmUp() { enter { $0.decide(.warmUp) } }

    /// Retires connections after ExpiredProviderToken, because APNs goes on refusing on them.
    ///
    /// These are the connections whose first provider token is not the current one; without a current one, all that
    /// carried any. They take no more requests and close after their last answer.
    package nonisolated func replaceConnections() { enter { $0.replaceConnections() } }

    /// Retires a connection after the peer asked for that in an answer (IdleTimeout, Shutdown). It takes no more
    /// requests and closes after its last answer. Does nothing if the connection is gone.
    package nonisolated func retire(_ connection: ConnectionID) { enter { $0.retire(connection) } }

    /// Blocks the lane after an answer that refused the credential, as a GOAWAY with that reason does.
    ///
    /// Waiting requests come back at once, those in flight run to their answers, and every connection closes. After
    /// `LaneLimits.credentialBackoff`, or `retry()`, one dial tries. The owner then submits one request at a time, until
    /// an answer shows that the credential is accepted.
    ///
    /// A refusal does nothing while the lane is blocked for that reason, or on a connection that was open at an earlier
    /// refusal. So every refusal may be reported as it comes.
    /// - Parameter reason: the provider's reason; it is logged.
    /// - Parameter connection: the connection that the answer came on (`Answer.origin`).
    package nonisolated func refuseCredential(reason: String, receivedOn connection: ConnectionID? = nil) {
        enter { $0.refuseCredential(reason, connection) }
    }

    /// Retires every connection after an answer that refused a provider token which may be good. Others are dialled.
    ///
    /// Requests in flight run to their answers. The lane is not blocked: its owner submits one request at a time, until
    /// an answer shows that the token is accepted. A refusal on a connection that was open at an earlier one is ignored.
    package nonisolated func suspectCredential(reason: String, receivedOn connection: ConnectionID) {
        enter { $0.suspectCredential(reason, connection) }
    }

    /// Makes a blocked lane dial at once, because a credential or certificate was corrected. It reports that it can
    /// send when a connection has proved itself.
    package nonisolated func retry() { enter { $0.decide(.retry) } }

    /// Answers requests without a stream `.unsent(.withdrawn)`, waits for the others, and closes. Later submissions are
    /// handed back.
    package func drain() async { await withCheckedContinuation { core.drain($0) } }

    /// Runs the work in the loop's next tick, in the order of the calls.
    private nonisolated func enter(_ work: @escaping @Sendable (LaneCore) -> Void) {
        loop.perform { self.assumeIsolated { work($0.core) } }
    }

    private func resolve(_ id: ConnectionID, _ host: String, _ port: UInt16, _ resolver: any HostResolver) async {
        let result: Result<[SocketAddress], ReactorError>
        do throws(ReactorError) { result = .success(try await resolver.addresses(of: host, port: port)) } catch {
            result = .failure(error)
        }
        core.resolved(id, result)
    }
}
