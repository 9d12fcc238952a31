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
        guard asked.count > 1 else {
            guard !asked.isEmpty else { return [] }
            let found = try await transaction.run(counting(asked))[1]
            return [Set(try found.map { row throws(PostgresError) in try row.textBytes() })]
        }
        let days = try await transaction.run(counting(asked))[1].map { row throws(PostgresError) in
            (user: try row.textBytes(), messages: try row.uuidArray())
        }
        var places: [UniversalID: [Int]] = [:]  // lookup only
        for (place, (message, _)) in asked.enumerated() { places[message, default: []].append(place) }
        var free = [Set<[UInt8]>](repeating: [], count: asked.count)
        for day in days {
            for place in day.messages.flatMap({ places[$0] ?? [] }) { free[place].insert(day.user) }
        }
        return free
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
        var counted = Parameters()
        counted.int32("day", day)
        counted.int64("app", app.value)
        counted.textArray("users", users)
        var count = counted
        count.int32("cap", cap)
        if asked.count == 1 {
            count.uuid("message", asked[0].message)
            counted.uuid("message", asked[0].message)
            return [Query(LimitSQL.count, count), Query(LimitSQL.counted, counted)]
        }
        var ends: [Int32] = []
        for own in messages { ends.append((ends.last ?? 0) + Int32(own.count)) }
        count.int32Array("begins", zip(messages, ends).map { $1 - Int32($0.count) + 1 })
        count.int32Array("ends", ends)
        count.uuidArray("messages", messages.flatMap { $0 })
        counted.uuidArray("messages", asked.map(\.message))
        return [Query(LimitSQL.countGroup, count), Query(LimitSQL.countedGroup, counted)]
    }
}
