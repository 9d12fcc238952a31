import Basis
import Model
import QueueRules
import Reactor
import Testing

/// Times depend on the machine: they are printed, not asserted. The number of bytes is asserted.
@Suite("The history that a settle writes")
struct SettleCostTests {
    private static let members = 5_000
    private static let rounds = 7

    private struct Costs {
        var reported: [Duration] = []
        var unreported: [Duration] = []

        mutating func note(_ time: Duration, isReported: Bool) {
            if isReported { reported.append(time) } else { unreported.append(time) }
        }

        static func median(_ times: [Duration]) -> Duration { times.sorted()[times.count / 2] }
    }

    private func settle(_ world: StoreWorld, _ number: UInt64, isReported: Bool) async throws -> Duration {
        try await world.send(world.newMessage(number))
        let parcel = try #require(try await world.lease())
        // One in a hundred tokens is unregistered, spread over the parcel.
        var run = ParcelRun(
            parcel: parcel, leasedAt: MonotonicInstant(nanoseconds: 0), policy: RetryPolicy(), isRepeatable: true)
        let gone = Outcome.rejected(Rejection(fault: .tokenUnregistered, reason: "Unregistered"))
        for position in 0..<Self.members {
            if position % 100 == 0 {
                run.record(gone, for: position, now: MonotonicInstant(nanoseconds: 0))
            } else {
                run.recordAccepted(position)
            }
        }
        let start = Clocks.monotonicNow()
        let whole = try #require(run.takeSettlement()?.settlement)
        let settlement = Settlement(
            parcel: whole.parcel, message: whole.message, route: whole.route, epoch: whole.epoch,
            settles: whole.settles,
            terminalCounts: whole.terminalCounts, settledBits: whole.settledBits, remainders: [], pendingAfter: 0,
            sample: whole.sample, history: isReported ? whole.history : [])
        #expect(try await world.stores.parcels.settle([settlement], now: StoreWorld.dawn)[0].get() == .settled)
        return Clocks.monotonicNow() - start
    }

    @Test("takes two rows with about one bit for each member")
    func cost() async throws {
        try await withStores { world in
            for start in stride(from: 1, to: Self.members, by: 1_000) { try await world.register(start...start + 999) }
            var costs = Costs()
            for round in 0..<Self.rounds {
                for isReported in [true, false] {
                    let number = UInt64(round * 2 + (isReported ? 1 : 2))
                    costs.note(try await settle(world, number, isReported: isReported), isReported: isReported)
                }
            }
            let rows = try await world.number("SELECT count(*) FROM push_history")
            let bytes = try await world.number("SELECT sum(pg_column_size(h.*)) FROM push_history h") / Self.rounds
            #expect(rows == 2 * Self.rounds)
            #expect(bytes < 2 * (Self.members / 8 + 150))
            print(
                "A settle of \(Self.members) members: \(Costs.median(costs.reported)) with its history of \(bytes) bytes, "
                    + "\(Costs.median(costs.unreported)) without")
        }
    }
}
