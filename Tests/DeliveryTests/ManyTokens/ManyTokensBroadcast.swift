import Basis
import CompiledMessages
import Content
import Delivery
import Lanes
import Model
import ProviderInterface
import QueueRules
import Reactor
import Synchronization
import TLS
import TestSupport
import Testing

/// A broadcast over a real lane: parcels are encoded, sent, read and settled as the engine does, without a database.
struct ManyTokensBroadcast {
    static let devices = 100_000
    static let parcelMembers = 5_000

    /// The results that the gateway found.
    struct Result {
        var ends: [TerminalStatus: Int] = [:]
        var retired: Set<Int> = []
        var suspected: Set<Int> = []
        var causes: Set<WaitCause> = []
        var standIn = ManyTokensStandIn.Account()

        var ended: Int { ends.values.reduce(0, +) }
        func ended(_ state: TerminalState) -> Int { ends.filter { $0.key.state == state }.values.reduce(0, +) }
    }

    static let message: CompiledMessage = {
        var content = MessageContent(notification: NotificationText(body: "Noon"))
        content.localizations = [Localization(locale: "fr", text: NotificationText(body: "Midi"))]
        return CompiledMessage(content, message: TemplateWorld.id, by: [ManyTokensProvider()])
    }()

    /// Every fifth device speaks French.
    static func parcel(of devices: [Int], after remainder: Remainder? = nil) -> LeasedParcel {
        var (tokens, locales): ([UInt8], [UInt8]) = ([], [])
        let members = devices.enumerated().map { place, device in
            let token = Array(ManyTokensStandIn.token(of: device).utf8)
            let locale = Array((device % 5 == 0 ? "fr" : "en").utf8)
            defer {
                tokens += token
                locales += locale
            }
            return LeasedMember(
                index: Int32(place), registration: RegistrationID(Int64(device)), status: .present,
                generation: TokenGeneration(1), badge: 0, tokenStart: Int32(tokens.count),
                tokenCount: Int32(token.count), isSuspected: false, localeStart: Int32(locales.count),
                localeCount: Int32(locale.count))
        }
        return LeasedParcel(
            id: ParcelID(Int64(devices[0])), message: TemplateWorld.id, app: AppID(1), route: RouteID(1), epoch: 1,
            settles: 0, attempt: remainder?.attempt ?? 0, lapses: 0, retrySpent: remainder?.retrySpent ?? .zero,
            answerLost: remainder?.answerLost ?? false, expiresAt: TemplateWorld.now + .seconds(86_400),
            leasedAt: TemplateWorld.now, memberCount: devices.count, members: members, tokens: tokens,
            locales: locales, settledBits: [])
    }

    /// Sends a parcel on the lane, and returns its answers.
    static func answers(to pushes: EncodedPushes, on lane: Lane, ticket: UInt64) async -> [AnswerBatch] {
        let sink = ManyTokensSink()
        lane.submit(pushes.batch, ticket: BatchTicket(ticket), sink: sink)
        var (answers, answered): ([AnswerBatch], Int) = ([], 0)
        for await batch in sink.batches {
            answers.append(batch)
            answered += batch.answers.count
            if answered == pushes.batch.requests.count { break }
        }
        return answers
    }

    static func reading(of batch: AnswerBatch, to parcel: LeasedParcel, laneIsProven: Bool = false) -> AnswerReading {
        var names = ReasonNames()
        return AnswerReading(
            batch, of: ManyTokensProvider(), pushType: .alert, laneIsProven: laneIsProven, wereTried: false,
            tokens: MemberTokens(of: parcel), now: TemplateWorld.now, &names)
    }

    /// Sends to all devices, and again to those that wait, until all pushes ended.
    static func run(faults: [Int: ManyTokensStandIn.Fault]) async throws -> Result {
        let standIn = ManyTokensStandIn(faults: faults)
        let peer = try await Peer(standIn.script)
        let loop = try ReactorLoop(name: "lane")
        let lane = try lane(to: peer, on: loop)
        var result = Result()
        var waiting = stride(from: 1, through: devices, by: parcelMembers).map { first in
            parcel(of: Array(first..<first + parcelMembers))
        }
        var ticket: UInt64 = 0
        while let parcel = waiting.popLast() {
            ticket += 1
            let settle = try #require(await settle(parcel, on: lane, ticket: ticket))
            result.take(settle)
            for remainder in settle.settlement.remainders {
                waiting.append(self.parcel(of: remainder.members.map { Int($0.value) }, after: remainder))
            }
        }
        await lane.drain()
        loop.stop()
        peer.stop()
        result.standIn = standIn.account
        return result
    }

    private static func settle(_ parcel: LeasedParcel, on lane: Lane, ticket: UInt64) async throws -> PendingSettle? {
        let now = Clocks.monotonicNow()
        var run = ParcelRun(
            parcel: parcel, leasedAt: now, policy: RetryPolicy(),
            isRepeatable: message.reading(by: .hms) == .repeatable)
        let encoder = try #require(ParcelEncoder(parcel, message, nil, PushTarget(.hms, "/send")))
        let pushes = await encoder.batch(
            of: run.takeMembersToSend(), now: TemplateWorld.now, noStreamAfter: now + .seconds(600))
        for batch in await answers(to: pushes, on: lane, ticket: ticket) {
            let reading = reading(of: batch, to: parcel)
            for position in reading.accepted { run.recordAccepted(Int(position)) }
            for other in reading.others {
                run.record(other.outcome, for: Int(other.position), quote: other.quote, now: now)
            }
        }
        return run.takeSettlement()
    }

    private static func lane(to peer: Peer, on loop: ReactorLoop) throws -> Lane {
        var settings = LaneSettings(
            host: "push.example", port: 443, tls: try TLSContext.client(trust: PeerWorld.shared.trust()),
            connectionsMax: 1, requestDeadline: .seconds(60))
        settings.resolver = OneAddress(address: peer.address)
        settings.streamsAtStart = 100
        settings.times.dialDeadline = .seconds(60)
        settings.unreachableAfter = .seconds(60)
        settings.answerRules = ManyTokensProvider().answerRules
        return Lane(settings, on: loop, observer: NoObserver())
    }
}

extension ManyTokensBroadcast.Result {
    fileprivate mutating func take(_ settle: PendingSettle) {
        for count in settle.settlement.terminalCounts { ends[count.terminalStatus, default: 0] += Int(count.count) }
        causes.formUnion(settle.settlement.remainders.map(\.cause))
        for guarded in settle.verdicts {
            let device = Int(guarded.registration.value)
            switch guarded.verdict {
            case .unregistered: retired.insert(device)
            case .suspected, .suspectedInBoth: suspected.insert(device)
            case .cleared, .found: break
            }
        }
    }
}

private final class ManyTokensSink: AnswerSink {
    let batches: AsyncStream<AnswerBatch>
    private let continuation: AsyncStream<AnswerBatch>.Continuation

    init() { (batches, continuation) = AsyncStream.makeStream(of: AnswerBatch.self) }

    func deliver(_ answers: AnswerBatch) { continuation.yield(answers) }
}

private struct OneAddress: HostResolver {
    let address: SocketAddress
    func addresses(of host: String, port: UInt16) async throws(ReactorError) -> [SocketAddress] { [address] }
}

private final class NoObserver: LaneObserver {
    func laneChanged(canSend: Bool, because: LaneEvent) {}
    func laneNoted(_ event: LaneEvent) {}
}
