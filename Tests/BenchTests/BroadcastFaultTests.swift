import Testing
import carillon_bench

@Suite("The report of a measured broadcast")
struct BroadcastFaultTests {
    private static let rate = 20_000
    private static let devices = 200_000

    /// The counts that the sink would have sampled, ten a second.
    private func samples(perSecond: Double) -> [BroadcastControlFigures.Sample] {
        let start = ContinuousClock.now
        return (0...Int(10 * Double(Self.devices) / perSecond)).map { tenth in
            BroadcastControlFigures.Sample(
                at: start + .milliseconds(100 * tenth), pushes: Int64(perSecond * Double(tenth) / 10))
        }
    }

    private func figures(
        _ control: BroadcastControl, accepted: Int = devices, cancelled: Int = 0, received: Int = devices,
        whilePaused: Int64? = nil, gatewaysSending: Int = 2, perSecond: Double? = nil
    ) -> BroadcastControlFigures {
        BroadcastControlFigures(
            control: control, devices: Self.devices, accepted: Int64(accepted), cancelled: Int64(cancelled),
            received: Int64(received), whilePaused: whilePaused, gateways: 2, gatewaysSending: gatewaysSending,
            samples: perSecond.map { samples(perSecond: $0) } ?? [])
    }

    private func codes(_ figures: BroadcastControlFigures) -> [String] { figures.faults.map(\.code) }

    @Test(
        "names a rate that differs from the requested one by more than a twentieth",
        arguments: [
            (1.0, []), (0.96, []), (1.04, []), (0.94, ["rate_missed"]), (1.06, ["rate_exceeded"]),
        ] as [(Double, [String])])
    func rate(share: Double, expected: [String]) {
        let one = figures(.rate(Self.rate), perSecond: share * Double(Self.rate))
        #expect(codes(one) == expected)
        #expect(one.wasInTime)
    }

    @Test("names a burst far above the rate, although the mean is right", arguments: [20_000, 21_000, 23_101])
    func exceedsRate(atOnce: Int64) {
        let start = ContinuousClock.now
        let samples = (0...100).map { tenth in
            BroadcastControlFigures.Sample(
                at: start + .milliseconds(100 * tenth), pushes: max(Int64(2_000 * tenth), tenth == 0 ? 0 : atOnce))
        }
        let figures = BroadcastControlFigures(
            control: .rate(Self.rate), devices: Self.devices, accepted: Int64(Self.devices), cancelled: 0,
            received: Int64(Self.devices), whilePaused: nil, gateways: 2, gatewaysSending: 2, samples: samples)
        #expect(figures.faults == (atOnce > 23_100 ? [.rateExceeded(1)] : []))
    }

    @Test("names a missed rate where no second was counted")
    func noSeconds() {
        #expect(figures(.rate(Self.rate)).faults == [.rateMissed(share: 0)])
    }

    @Test("names a push sent during the pause, and a broadcast that ended before the pause")
    func paused() {
        #expect(figures(.pause(.seconds(60)), whilePaused: 0).faults.isEmpty)
        #expect(figures(.pause(.seconds(60)), whilePaused: 1).faults == [.sentWhilePaused(1)])
        let late = figures(.pause(.seconds(60)), whilePaused: nil, gatewaysSending: 1)
        #expect(late.faults == [.tooSoon])
        // No rate was requested, so none can be missed.
        #expect(figures(.pause(.seconds(60)), whilePaused: 0, perSecond: 1_000).faults.isEmpty)
    }

    @Test("names a gateway that sent nothing", arguments: [0, 1, 2])
    func senders(count: Int) {
        let expected: [BroadcastFault] = count < 2 ? [.gatewayIdle(sending: count)] : []
        #expect(figures(.pause(.seconds(2)), whilePaused: 0, gatewaysSending: count).faults == expected)
        #expect(
            figures(.cancel, accepted: 100_000, cancelled: 100_000, received: 100_000, gatewaysSending: count).faults
                == expected)
        #expect(
            figures(.rate(Self.rate), gatewaysSending: count, perSecond: Double(Self.rate)).faults == expected)
    }

    @Test("names pushes that are unaccounted for, and pushes that the sink counts differently")
    func account() {
        let half = Self.devices / 2
        #expect(figures(.cancel, accepted: half, cancelled: half, received: half).faults.isEmpty)
        #expect(
            figures(.cancel, accepted: half, cancelled: half - 1, received: half).faults == [.unaccounted(1)])
        #expect(
            figures(.cancel, accepted: half, cancelled: half, received: half + 3).faults
                == [.sinkDisagrees(excess: 3)])
        #expect(
            figures(.cancel, accepted: half, cancelled: half, received: half - 3).faults
                == [.sinkDisagrees(excess: -3)])
        #expect(figures(.cancel).faults == [.tooSoon])
    }

    @Test("names too much memory and a late first push")
    func promises() {
        #expect(BroadcastFault.found(memoryBytesMax: 150_000_000, first: .seconds(1)).isEmpty)
        #expect(
            BroadcastFault.found(memoryBytesMax: 150_000_001, first: .milliseconds(1_001)).map(\.code)
                == ["much_memory", "late_start"])
    }

    private func reached(
        accepted: Int64, suppressed: Int64 = 0, cancelled: Int64 = 0, received: Int64, meant: Int64? = nil
    ) -> [BroadcastFault] {
        BroadcastReachFigures(
            audience: 70, accepted: accepted, suppressed: suppressed, cancelled: cancelled, received: received,
            meant: meant, first: .milliseconds(200), lead: nil, time: .seconds(1)
        ).faults
    }

    @Test("names devices outside the audience, and pushes that only the sink knows of")
    func reach() {
        #expect(reached(accepted: 70, received: 70).isEmpty)
        #expect(reached(accepted: 10, suppressed: 30, cancelled: 30, received: 10, meant: 10).isEmpty)
        #expect(reached(accepted: 70, received: 71) == [.sinkDisagrees(excess: 1)])
        #expect(reached(accepted: 69, received: 69) == [.unaccounted(1)])
        #expect(reached(accepted: 70, received: 70, meant: 10) == [.wrongDevices(accepted: 70, meant: 10)])
    }
}
