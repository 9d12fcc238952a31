import Basis
import Model
import QueueRules
import Reactor
import Store
import Testing

// The limits of an app, and what is sent under them.
extension StoreWorld {
    /// Sets quiet hours in hours of the day, and a daily cap; nil clears a limit.
    func spare(
        quiet: (from: Int, to: Int)? = nil, cap: Int32? = nil, zone: String = "UTC",
        at now: WallInstant = StoreWorld.dawn
    ) async throws {
        var change = AppChange()
        change.timeZone = zone
        let hours = quiet.flatMap { QuietHours(from: $0.from * 60, to: $0.to * 60) }
        change.limits.quietHours = hours.map { .set($0) } ?? .clear
        change.limits.dailyCap = cap.map { .set($0) } ?? .clear
        _ = try await stores.registry.changeApp(app, change, wakingAtOnce: 1, now: now)
    }

    /// Registers i1, i2, ... in these time zones.
    func register(zones: [String?]) async throws {
        for (place, zone) in zones.enumerated() {
            var registration = StoreWorld.registration("i\(place + 1)", token: place + 1)
            registration.profile[.timeZone] = zone.map { .set($0) } ?? .keep
            try await register(registration)
        }
    }

    /// Registers i1, i2, ... for these users.
    func register(users: [String?]) async throws {
        for (place, user) in users.enumerated() {
            var registration = StoreWorld.registration("i\(place + 1)", token: place + 1)
            registration.profile[.user] = user.map { .set($0) } ?? .keep
            try await register(registration)
        }
    }

    /// Sends a leased parcel by the delivery rules, with every push accepted at once, and settles it.
    @discardableResult
    func deliver(_ parcel: LeasedParcel) async throws -> [RegistrationID] {
        let start = MonotonicInstant(nanoseconds: 0)
        var run = ParcelRun(parcel: parcel, leasedAt: start, policy: RetryPolicy(), isRepeatable: true)
        let sent = run.takeMembersToSend().map { parcel.members[Int($0)].registration }
        for position in parcel.members.indices { run.record(.accepted, for: position, now: start) }
        if let pending = run.takeSettlement() {
            #expect(try await stores.parcels.settle([pending.settlement], now: parcel.leasedAt)[0].get() == .settled)
        }
        return sent
    }

    /// Returns the settlement of a leased parcel whose pushes are all accepted at once.
    func accepted(_ parcel: LeasedParcel) throws -> Settlement {
        let start = MonotonicInstant(nanoseconds: 0)
        var run = ParcelRun(parcel: parcel, leasedAt: start, policy: RetryPolicy(), isRepeatable: true)
        for position in parcel.members.indices { run.record(.accepted, for: position, now: start) }
        let pending = run.takeSettlement()
        return try #require(pending).settlement
    }

    /// Leases and delivers until nothing is left, and returns the ids that received a push.
    func deliverAll(at now: WallInstant = StoreWorld.dawn) async throws -> [Int64] {
        var sent: [Int64] = []
        while let parcel = try await lease(at: now) { sent += try await deliver(parcel).map(\.value) }
        return sent.sorted()
    }

    func badges() async throws -> [Int] {
        let rows = try await pool.read(
            query("SELECT badge::int8 FROM registration_pulse ORDER BY registration_id"))
        return try (0..<rows.rowCount).map { Int(try rows.int64($0, 0)) }
    }

    func suppressed(_ number: UInt64 = 1) async throws -> [TerminalTotal] {
        try await account(StoreWorld.message(number)).reasons.filter { $0.terminalStatus.state == .suppressed }
    }
}
