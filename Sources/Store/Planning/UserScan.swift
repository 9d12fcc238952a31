import Postgres

/// Reads the registrations of named users for one slice, by rising ids over all users. However many devices one has,
/// and however unequal the users are, it reads only a few times a slice's rows.
///
/// At first it reads some rows of each user, a slice's worth in all. A user with more rows ends the slice at the last
/// row that was read of that user. So the next part reads a slice's worth from all such users if they are few, or from
/// the quarter that ends the slice first. This goes on until half a slice is together. At one of these steps the users
/// that are read are about as many as those whose devices come next.
package struct UserScan {
    /// The next read: of which users, above which id of each, and how many rows of each at most.
    package struct Part: Equatable, Sendable {
        package let users: [String]
        package let after: [Int64]
        package let rowsEach: Int
        fileprivate let places: [Int]
    }

    /// A registration that was looked at.
    package struct Registration: Equatable, Sendable {
        /// The user's place in the part.
        let place: Int
        let id: Int64
        let route: Int64
        let fits: Bool

        package init(place: Int, id: Int64, route: Int64, fits: Bool) {
            (self.place, self.id, self.route, self.fits) = (place, id, route, fits)
        }

        /// Reads a row of `AudienceSQL.ofUsers`.
        fileprivate init(_ row: inout Row) throws(PostgresError) {
            (place, id, route, fits) = (Int(try row.int64()) - 1, try row.int64(), try row.int64(), try row.bool())
        }
    }

    /// A slice: the registrations that fit, by rising ids.
    package struct Slice {
        package fileprivate(set) var ids: [Int64] = []
        package fileprivate(set) var routes: [Int64] = []
        /// The last id that was looked at; nil: none was.
        package let through: Int64?
        package let isLast: Bool
    }

    /// Most users have no more devices.
    private static let rowsEachLeast = 4
    private static let narrowing = 4

    private let users: [String]
    private let idsMax: Int
    private var rows: [Registration] = []
    /// The number of users in the last part; nil: there was none.
    private var breadth: Int?
    /// The last id that was read of each user who may have more.
    private var open: [Int: Int64]

    /// - Parameter users: each once.
    package init(_ users: [String], after: Int64, idsMax: Int) {
        precondition(idsMax > 0)
        (self.users, self.idsMax) = (users, idsMax)
        open = Dictionary(uniqueKeysWithValues: users.indices.map { ($0, after) })
    }

    /// Everything up to this id has been read; nil: everything there is.
    private var reach: Int64? { open.values.min() }

    private var reached: [Registration] {
        guard let reach else { return rows }
        return rows.filter { $0.id <= reach }
    }

    /// nil: enough has been read.
    package var next: Part? {
        if open.isEmpty { return nil }
        guard let breadth else { return part(Array(users.indices)) }
        guard breadth > 1, reached.count * 2 < idsMax else { return nil }
        let areFew = open.count * 2 <= breadth
        let last = open.sorted { ($0.value, $0.key) < ($1.value, $1.key) }
        return part(last.prefix(areFew ? open.count : max(1, breadth / Self.narrowing)).map(\.key).sorted())
    }

    private func part(_ places: [Int]) -> Part {
        Part(
            users: places.map { users[$0] }, after: places.map { open[$0] ?? 0 },
            rowsEach: max(Self.rowsEachLeast, (idsMax + places.count - 1) / places.count), places: places)
    }

    /// - Parameter read: the first rows of each user of the part, as many as there are or as the part asks for, in any
    ///   order.
    package mutating func take(_ read: [Registration], of part: Part) {
        var counts = [Int](repeating: 0, count: part.places.count)
        var last = part.after
        for row in read {
            counts[row.place] += 1
            last[row.place] = max(last[row.place], row.id)
        }
        rows += read
        breadth = part.places.count
        for (place, user) in part.places.enumerated() {
            open[user] = counts[place] >= part.rowsEach ? last[place] : nil
        }
    }

    package var slice: Slice {
        let rising = reached.sorted { $0.id < $1.id }.prefix(idsMax)
        var slice = Slice(through: rising.last?.id, isLast: open.isEmpty && rising.count < idsMax)
        slice.take(rising.filter(\.fits))
        return slice
    }
}

extension UserScan {
    /// - Parameter answer: the answer to `AudienceSQL.ofUsers`.
    mutating func take(_ answer: ResultSet, of part: Part) throws(PostgresError) {
        let read = try answer.map(Registration.init)
        guard read.allSatisfy({ part.users.indices.contains($0.place) }) else {
            throw .unexpectedShape(statement: AudienceSQL.ofUsers.name, column: 0)
        }
        take(read, of: part)
    }
}

extension UserScan.Slice {
    /// Returns the same slice, with the registrations that are in it now.
    func reread(_ answer: ResultSet) throws(PostgresError) -> UserScan.Slice {
        var slice = UserScan.Slice(through: through, isLast: isLast)
        slice.take(try answer.map(UserScan.Registration.init).sorted { $0.id < $1.id }.filter(\.fits))
        return slice
    }

    fileprivate mutating func take(_ rising: [UserScan.Registration]) {
        (ids, routes) = (rising.map(\.id), rising.map(\.route))
    }
}
