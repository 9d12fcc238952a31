import Basis
import Model
import QueueRules
import Testing

private let dawn = StoreWorld.dawn

@Suite("The estimate of a message's end, computed from its rows")
struct EstimateTests {
    /// Sends one message to so many devices, in parcels of one member, from `dawn` on.
    private func sending(
        to devices: Int, _ body: (StoreWorld, (_ at: Int) async throws -> Void) async throws -> Void
    ) async throws {
        try await withStores { world in
            _ = try await world.credential()
            try await world.register(1...devices)
            try await world.send(world.newMessage(lifetime: .seconds(7_200)), parcelMembersMax: 1)
            try await body(world) { seconds in
                let now = dawn + .seconds(seconds)
                let parcel = try #require(try await world.lease(at: now))
                try await world.settle(parcel.settling([(0..<1, TerminalStatus(.accepted))]), at: now)
            }
        }
    }

    private func pace(_ world: StoreWorld, _ at: Int) async throws -> Double? {
        try await world.checkedProgress(at: dawn + .seconds(at)).pushesPerSecond
    }

    private func control(_ world: StoreWorld, _ control: ControlRequest, _ at: Int) async throws {
        let now = dawn + .seconds(at)
        _ = try await world.stores.messages.control(control, app: world.app, id: StoreWorld.message(1), now: now)
        try await world.stores.stops.carryOut(now: now)
    }

    @Test("uses the pace of the last 15 to 30 seconds, after at least two seconds of sending")
    func rateLimited() async throws {
        try await sending(to: 60) { world, send in
            #expect(try await pace(world, 0) == nil)
            try await send(0)
            #expect(try await pace(world, 1) == nil)
            for second in 1...14 { try await send(second) }
            #expect(try await pace(world, 14) == 1)
            // The rate halves here. The pace shows it in full once both samples come after this point.
            for second in stride(from: 16, through: 48, by: 2) { try await send(second) }
            #expect(try await pace(world, 48) == 0.5)
            #expect(try await world.checkedProgress(at: dawn + .seconds(48)).estimatedEnd == dawn + .seconds(48 + 56))
        }
    }

    @Test("uses the pace since the last resume, however long the pause was")
    func resumed() async throws {
        for pause in [3, 20, 600] {
            try await sending(to: 30) { world, send in
                for second in 0...5 { try await send(second) }
                try await control(world, .pause, 6)
                try await control(world, .resume, 6 + pause)
                #expect(try await pace(world, 6 + pause) == nil)
                for second in 0...4 { try await send(6 + pause + second) }
                #expect(try await pace(world, 10 + pause) == 1)
            }
        }
    }

    @Test("starts again when the rate changes, but not for the same rate or a resume without a pause")
    func rateChanged() async throws {
        try await sending(to: 30) { world, send in
            for second in 0...5 { try await send(second) }
            try await control(world, .resume, 5)
            try await control(world, .rate(nil), 5)
            #expect(try await pace(world, 5) == 1)
            try await control(world, .rate(1_000), 6)
            #expect(try await pace(world, 6) == nil)
            try await control(world, .rate(nil), 6)
            for second in [7, 7, 8, 8, 9, 9] { try await send(second) }
            // The first settlement begins the measurement and does not count.
            #expect(try await pace(world, 9) == 2.5)
            try await control(world, .rate(1_000), 9)
            #expect(try await pace(world, 9) == nil)
        }
    }

    @Test("reports no pace during a standstill, and excludes the standstill afterwards")
    func stoodStill() async throws {
        try await sending(to: 40) { world, send in
            for second in 0...10 { try await send(second) }
            #expect(try await pace(world, 40) == 1)
            #expect(try await pace(world, 41) == nil)
            for second in 41...45 { try await send(second) }
            #expect(try await pace(world, 45) == 1)
        }
    }

    @Test("disappears if the last pushes are long overdue, while the pace is still reported")
    func overdue() async throws {
        try await sending(to: 12) { world, send in
            for second in 0...10 { try await send(second) }
            func end(_ at: Int) async throws -> WallInstant? {
                try await world.checkedProgress(at: dawn + .seconds(at)).estimatedEnd
            }
            #expect(try await end(17) == dawn + .seconds(18))
            #expect(try await end(18) == nil)
            #expect(try await pace(world, 18) == 1)
        }
    }

    @Test("reports the right pace at any moment if settlements are 25 seconds apart")
    func slow() async throws {
        try await sending(to: 9) { world, send in
            for second in [0, 25, 50, 75] {
                try await send(second)
                for later in [second, second + 12, second + 24] {
                    #expect(try await pace(world, later) == (second == 0 ? nil : 0.04))
                }
            }
        }
    }

    @Test("survives settlements out of order, and starts again if the clock is set back")
    func outOfOrder() async throws {
        try await sending(to: 60) { world, send in
            for second in [1, 0, 2, 1, 3, 2, 4, 3, 5, 4] { try await send(100 + second) }
            #expect(try await pace(world, 105) == 2.25)
            // The next settlements lie around a sample.
            for second in [6, 16, 15, 17, 16, 18] { try await send(100 + second) }
            #expect(try await pace(world, 118) == 15.0 / 17)
            for second in [60, 61, 62] { try await send(second) }
            #expect(try await pace(world, 62) == 1)
        }
    }

    @Test("counts every terminal state of an open parcel, and no push that will be retried")
    func parts() async throws {
        try await withStores { world in
            _ = try await world.credential()
            try await world.register(1...11)
            try await world.send(world.newMessage(lifetime: .seconds(7_200)), parcelMembersMax: 8)
            let parcel = try #require(try await world.lease())
            func part(
                _ settles: Int32, _ states: [TerminalState], bits: UInt8, again: Range<Int> = 0..<0
            ) -> Settlement {
                Settlement(
                    parcel: parcel.id, message: parcel.message, route: parcel.route, epoch: 1, settles: settles,
                    terminalCounts: states.map { TerminalCount(terminalStatus: TerminalStatus($0, "\($0)"), count: 1) },
                    settledBits: [bits],
                    remainders: again.isEmpty ? [] : [parcel.remainder(again, after: .seconds(60))],
                    pendingAfter: 8 - bits.nonzeroBitCount)
            }
            try await world.settle(part(0, [.accepted], bits: 0b1))
            try await world.settle(
                part(1, [.rejected, .unregistered, .expired], bits: 0b1_1111, again: 4..<5), at: dawn + .seconds(2))
            #expect(try await pace(world, 2) == 1.5)
            try await world.settle(
                part(2, [.suppressed, .gaveUp], bits: 0b1111_1111, again: 7..<8), at: dawn + .seconds(4))
            #expect(try await pace(world, 4) == 1.25)
        }
    }

    @Test("keeps messages apart: one without a settlement reports no pace")
    func apart() async throws {
        try await withStores { world in
            for environment in [PushEnvironment.production, .sandbox] { try await world.credential(environment) }
            try await world.register(1...3)
            try await world.register(4...6, environment: .sandbox)
            for number in [1, 2] as [UInt64] {
                try await world.send(world.newMessage(number, lifetime: .seconds(7_200)), parcelMembersMax: 1)
            }
            func send(_ at: Int) async throws -> MessageID {
                let now = dawn + .seconds(at)
                let parcel = try #require(try await world.lease(at: now))
                try await world.settle(parcel.settling([(0..<1, TerminalStatus(.accepted))]), at: now)
                return parcel.message
            }
            let first = [try await send(0), try await send(1), try await send(2)]
            #expect(first == [MessageID](repeating: StoreWorld.message(1), count: 3), "the older message is first")
            // The first route of the message is done; the other message has not begun.
            let progress = try await world.checkedProgress(at: dawn + .seconds(2))
            #expect(progress.providers.map(\.ready) == [3] && progress.pushesPerSecond == 1)
            #expect(try await world.progress(2, at: dawn + .seconds(2)).pushesPerSecond == nil)
        }
    }

    @Test("counts each message's own members if several messages are settled together")
    func together() async throws {
        try await withStores { world in
            _ = try await world.credential()
            try await world.register(1...3)
            for number in [1, 2] as [UInt64] {
                try await world.send(world.newMessage(number, lifetime: .seconds(7_200)), parcelMembersMax: 1)
            }
            func settle(_ count: Int, _ at: Int) async throws {
                let now = dawn + .seconds(at)
                var parcels: [LeasedParcel] = []
                for _ in 0..<count { parcels.append(try #require(try await world.lease(at: now))) }
                let replies = await world.stores.parcels.settle(parcels.map { $0.settlingAll() }, now: now)
                #expect(replies.allSatisfy { $0 == .success(.settled) })
            }
            // All pushes of the first message but one are settled.
            try await settle(2, 0)
            #expect(try await world.number("SELECT ended FROM message_paces") == 2)
            // The last push of the first message and two of the second are settled.
            try await settle(3, 2)
            #expect(try await world.number("SELECT count(*) FROM message_paces WHERE ended = 2") == 2)
        }
    }

    @Test("writes no pace row for a message that ends with its first settlement")
    func single() async throws {
        try await sending(to: 1) { world, send in
            try await send(0)
            #expect(try await world.number("SELECT count(*) FROM message_paces") == 0)
        }
    }

    @Test("shows the share of the app's ids that planning has passed, unaffected by other apps")
    func scanned() async throws {
        try await withStores { world in
            let neighbour = try await world.neighbour()
            try await neighbour.register(1...50)
            let ids = try await world.register(1...9).map(\.value).sorted()
            try await neighbour.register(51...90)
            #expect(try await world.stores.messages.accept([world.newMessage()], now: dawn) == .accepted)
            #expect(try await world.checkedProgress().scanned == 0)
            _ = try await world.stores.messages.plan(atMost: 1, idsMax: 3, knownFormats: [1], now: dawn)
            let progress = try await world.checkedProgress()
            let share = Double(ids[2] - ids[0] + 1) / Double(ids[8] - ids[0] + 1)
            #expect(progress.scanned == share && progress.account.audience == nil)
            #expect(progress.estimatedAudience == Int64((3 / share).rounded()))
            while try await world.stores.messages.plan(atMost: 1, knownFormats: [1], now: dawn) != .nothing {}
            let planned = try await world.checkedProgress()
            #expect(planned.scanned == nil && planned.estimatedAudience == 9)
        }
    }

    @Test("shows no planned share for named devices, tokens, local hours or an empty app")
    func byNames() async throws {
        try await withStores { world in
            func scanned(_ number: UInt64, _ audience: Audience, isLocal: Bool = false) async throws -> Double? {
                var message = world.newMessage(number, audience: audience)
                if isLocal { message.localSending = LocalSending(hour: LocalHour(inUTC: dawn + .seconds(3_600))) }
                #expect(try await world.stores.messages.accept([message], now: dawn) == .accepted)
                return try await world.progress(number, at: dawn).scanned
            }
            #expect(try await scanned(1, .all) == nil)
            try await world.register(1...2)
            #expect(try await scanned(2, .all) == 0)
            #expect(try await scanned(3, .tags(TagExpression(any: ["news"]))) == 0)
            #expect(try await scanned(4, .users(["ann"])) == 0)
            #expect(try await scanned(5, .installations(["i1", "i2"])) == nil)
            #expect(try await scanned(6, .all, isLocal: true) == nil)
            let target = InlineTarget(
                provider: .apns, environment: .production, topic: StoreWorld.topic, token: StoreWorld.token(9))
            #expect(try await scanned(7, .tokens([target])) == nil)
        }
    }
}
