import Basis
import Model
import Postgres

/// Counts the messages that users get on one day of the app's clock, up to the daily cap. It runs two statements for
/// any number of messages and users, and writes one version of each row that changes.
struct DailyCapCounter: Sendable {
    /// Days since 1970.
    let day: Int32
    let app: AppID
    let cap: Int32

    /// Counts messages for their users. It locks all these users at once, in the order of the keys, so that two leases
    /// of the same users wait for each other and never deadlock.
    ///
    /// - Parameter asked: messages with their users, in the order of counting: a user who reaches the cap with one of
    ///   them doesn't get the next. Both may occur twice.
    /// - Returns: for each of `asked`, the users who get it or got it before, as UTF-8: two texts that look equal may
    ///   be two users.
    func free(
        _ asked: [(message: UniversalID, users: [String])], in transaction: PostgresTransaction
    ) async throws(PostgresError) -> [Set<[UInt8]>] {
        var free = [Set<[UInt8]>](repeating: [], count: asked.count)
        guard asked.count > 1 else {
            guard let (message, users) = asked.first else { return free }
            let found = try await transaction.run(counting(message, Self.eachOnce(users)))[1]
            for row in 0..<found.rowCount { free[0].insert(Array(try found.text(row, 0).utf8)) }
            return free
        }
        var places: [UniversalID: [Int]] = [:]  // lookup only
        for (place, (message, _)) in asked.enumerated() { places[message, default: []].append(place) }
        let found = try await transaction.run(counting(asked))[1]
        for row in 0..<found.rowCount {
            let who = Array(try found.text(row, 0).utf8)
            for message in try found.uuidArray(row, 1) {
                for place in places[message] ?? [] { free[place].insert(who) }
            }
        }
        return free
    }

    private static func eachOnce(_ users: [String]) -> [String] {
        var distinct: [String] = []
        var known: Set<[UInt8]> = []
        for owner in users where known.insert(Array(owner.utf8)).inserted { distinct.append(owner) }
        return distinct
    }

    private func counting(_ message: UniversalID, _ users: [String]) -> [Query] {
        [
            Query(LimitSQL.count) {
                $0.int32(day)
                $0.int64(app.value)
                $0.uuid(message)
                $0.int32(cap)
                $0.textArray(users)
            },
            Query(LimitSQL.counted) {
                $0.int32(day)
                $0.int64(app.value)
                $0.uuid(message)
                $0.textArray(users)
            },
        ]
    }

    private func counting(_ asked: [(message: UniversalID, users: [String])]) -> [Query] {
        var users: [String] = []
        var messages: [[UniversalID]] = []
        var places: [[UInt8]: Int] = [:]  // lookup only
        for (message, owners) in asked {
            for owner in owners {
                let who = Array(owner.utf8)
                if let place = places[who] {
                    if !messages[place].contains(message) { messages[place].append(message) }
                } else {
                    places[who] = users.count
                    users.append(owner)
                    messages.append([message])
                }
            }
        }
        var begins: [Int32] = []
        var ends: [Int32] = []
        var last: Int32 = 0
        for own in messages {
            begins.append(last + 1)
            last += Int32(own.count)
            ends.append(last)
        }
        let (owners, starts, stops, flat) = (users, begins, ends, messages.flatMap { $0 })
        return [
            Query(LimitSQL.countGroup) {
                $0.int32(day)
                $0.int64(app.value)
                $0.int32(cap)
                $0.textArray(owners)
                $0.int32Array(starts)
                $0.int32Array(stops)
                $0.uuidArray(flat)
            },
            Query(LimitSQL.countedGroup) {
                $0.int32(day)
                $0.int64(app.value)
                $0.textArray(owners)
                $0.uuidArray(asked.map(\.message))
            },
        ]
    }
}
