import Basis
import Lanes
import ProviderInterface
import Reactor
import Synchronization
import TLS
import TestSupport
import Testing

/// Collects a lane's answers, and waits for them.
final class Sink: AnswerSink {
    private struct State {
        var kinds: [Int32: [Answer.Kind]] = [:]
        var origins: [Int32: AnswerOrigin] = [:]
        var bodies: [Int32: [UInt8]] = [:]
        var order: [Int32] = []
        var waiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }
    private let state = Mutex(State())
    /// The action of the batch's owner on an answer.
    private let onAnswer: @Sendable (Answer) -> Void

    init(onAnswer: @escaping @Sendable (Answer) -> Void = { _ in }) { self.onAnswer = onAnswer }

    func deliver(_ answers: AnswerBatch) {
        for answer in answers.answers { onAnswer(answer) }
        let ready = state.withLock { state in
            for answer in answers.answers {
                state.kinds[answer.tag, default: []].append(answer.kind)
                state.order.append(answer.tag)
                state.origins[answer.tag] = answer.origin
                if case .response(_, _, let body) = answer.kind {
                    state.bodies[answer.tag] = Array(answers.bytes[body.range])
                }
            }
            let count = state.order.count
            let ready = state.waiters.filter { $0.count <= count }
            state.waiters.removeAll { $0.count <= count }
            return ready
        }
        for waiter in ready { waiter.continuation.resume() }
    }

    /// Waits for `count` answers in all and returns them ordered by tag. Fails if a request was answered twice.
    func answers(_ count: Int) async -> [Answer.Kind] {
        await withCheckedContinuation { continuation in
            let isReady = state.withLock { state in
                if state.order.count >= count { return true }
                state.waiters.append((count, continuation))
                return false
            }
            if isReady { continuation.resume() }
        }
        return state.withLock { state in
            #expect(state.kinds.values.allSatisfy { $0.count == 1 }, "each request is answered once")
            return state.kinds.sorted { $0.key < $1.key }.flatMap(\.value)
        }
    }

    var order: [Int32] { state.withLock { $0.order } }
    func origin(_ tag: Int32) -> AnswerOrigin? { state.withLock { $0.origins[tag] } }
    func body(_ tag: Int32) -> [UInt8]? { state.withLock { $0.bodies[tag] } }
}

/// Records a lane's notices, and waits for one of them.
final class Observer: LaneObserver {
    private struct State {
        var events: [LaneEvent] = []
        var changes: [Bool] = []
        var waiters:
            [(condition: @Sendable ([LaneEvent], [Bool]) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []
    }
    private let state = Mutex(State())

    func laneChanged(canSend: Bool, because: LaneEvent) { note { $0.changes.append(canSend) } }
    func laneNoted(_ event: LaneEvent) { note { $0.events.append(event) } }

    private func note(_ body: (inout State) -> Void) {
        let ready = state.withLock { state in
            body(&state)
            let (events, changes) = (state.events, state.changes)
            let ready = state.waiters.filter { $0.condition(events, changes) }
            state.waiters.removeAll { $0.condition(events, changes) }
            return ready
        }
        for waiter in ready { waiter.continuation.resume() }
    }

    var events: [LaneEvent] { state.withLock { $0.events } }
    var changes: [Bool] { state.withLock { $0.changes } }

    func wait(until condition: @escaping @Sendable ([LaneEvent], [Bool]) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isReady = state.withLock { state in
                if condition(state.events, state.changes) { return true }
                state.waiters.append((condition, continuation))
                return false
            }
            if isReady { continuation.resume() }
        }
    }
}

/// A resolver that returns fixed addresses.
struct FixedAddresses: HostResolver {
    let addresses: [SocketAddress]
    func addresses(of host: String, port: UInt16) async throws(ReactorError) -> [SocketAddress] { addresses }
}

/// Provider tokens that the test changes.
final class Tokens: AuthorizationSource {
    private let token: Mutex<Authorization?>
    init(_ generation: UInt64?) { token = Mutex(generation.map(Self.make)) }
    var current: Authorization? { token.withLock { $0 } }
    func change(to generation: UInt64?) { token.withLock { $0 = generation.map(Self.make) } }
    private static func make(_ generation: UInt64) -> Authorization {
        Authorization(value: Array("bearer token-\(generation)".utf8), generation: generation)
    }
}

/// A lane to a peer, on its own loop.
final class Bench: Sendable {
    let loop: ReactorLoop
    let lane: Lane
    let observer = Observer()
    let sink = Sink()

    init(
        _ peers: [SocketAddress], authorization: (any AuthorizationSource)? = nil, identity: TLSIdentity? = nil,
        trust: TLSTrust? = nil, _ change: (inout LaneSettings) -> Void = { _ in }
    ) throws {
        loop = try ReactorLoop(name: "lane")
        let tls = try TLSContext.client(trust: trust ?? PeerWorld.shared.trust(), identity: identity)
        var settings = LaneSettings(
            host: "push.example", port: 443, tls: tls, authorization: authorization, connectionsMax: 8,
            requestDeadline: .seconds(20))
        settings.resolver = FixedAddresses(addresses: peers)
        settings.streamsAtStart = 1
        // Other tests may occupy both cores for as long as a handshake or a name lookup may take.
        settings.times.dialDeadline = .seconds(60)
        settings.unreachableAfter = .seconds(60)
        settings.limits.backoff.floor = .milliseconds(20)
        settings.limits.backoff.ceiling = .milliseconds(200)
        settings.limits.dialInterval = .milliseconds(10)
        change(&settings)
        lane = Lane(settings, on: loop, observer: observer)
    }

    convenience init(
        _ peer: Peer, authorization: (any AuthorizationSource)? = nil, identity: TLSIdentity? = nil,
        _ change: (inout LaneSettings) -> Void = { _ in }
    ) throws {
        try self.init([peer.address], authorization: authorization, identity: identity, change)
    }

    /// Drains the lane so that nothing is left on the loop, then stops the loop.
    func finish() async {
        await lane.drain()
        loop.stop()
    }

    func submit(
        _ tags: Range<Int32>, ticket: UInt64 = 1, noStreamAfter: Duration = .seconds(60), isUrgent: Bool = false,
        sink: Sink? = nil
    ) {
        let batch = Self.batch(tags, noStreamAfter: Clocks.monotonicNow() + noStreamAfter, isUrgent: isUrgent)
        lane.submit(batch, ticket: BatchTicket(ticket), sink: sink ?? self.sink)
    }

    /// Makes a batch like a parcel's pushes: shared fields, and one path, id and body per request.
    ///
    /// - Parameter padding: the number of bytes to add to each path.
    static func batch(
        _ tags: Range<Int32>, noStreamAfter: MonotonicInstant, padding: Int = 0, isUrgent: Bool = false,
        reportsWhenSent: Bool = false
    ) -> PushBatch {
        let end = String(repeating: "~", count: padding)
        var bytes: [UInt8] = []
        func append(_ text: String) -> ByteRange {
            let start = bytes.count
            bytes += text.utf8
            return ByteRange(start: start, count: bytes.count - start)
        }
        let requests = tags.map { tag in
            PushBatch.Request(
                tag: tag, path: append("/3/device/\(tag)\(end)"),
                id: append("123e4567-e89b-12d3-a456-\(100_000_000_000 + Int(tag))"),
                body: append(#"{"aps":{"alert":"Twelve o'clock","badge":\#(tag)}}"#))
        }
        let fields = [("apns-topic", "com.example.app"), ("apns-push-type", "alert"), ("apns-priority", "10")]
        return PushBatch(
            idHeader: Array("apns-id".utf8),
            sharedFields: fields.map { .init($0, $1.utf8) },
            bytes: bytes, requests: requests, noStreamAfter: noStreamAfter, isUrgent: isUrgent,
            reportsWhenSent: reportsWhenSent)
    }
}

extension Answer.Kind {
    static let accepted = Answer.Kind.response(status: 200, retryAfter: .empty, body: .empty)

    var status: UInt16? {
        if case .response(let status, _, _) = self { return status }
        return nil
    }
}

extension Collection where Element == Answer.Kind {
    func count(of kind: Answer.Kind) -> Int { reduce(0) { $0 + ($1 == kind ? 1 : 0) } }
}
