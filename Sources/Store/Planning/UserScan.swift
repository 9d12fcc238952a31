import Postgres

/// What named users own, by rising ids over all of them, for one slice: however many devices one has, and however unequal
/// the users are, a few times a slice's rows are read.
///
/// Of each user some are read at first, a slice's worth in all. Who has more holds the slice back to the last of those; so
/// as much is read of all of these where they are few, or of a quarter, those who hold it back the most, and so on until half
/// a slice is together. At one of these steps they are about as many as the users whose devices come next.
package struct UserScan {
    /// What is to be read next: of which users, behind which of their ids, how many of each at most.
    package struct Part: Equatable, Sendable {
        package let users: [String]
        package let after: [Int64]
        package let rowsEach: Int
        fileprivate let places: [Int]
    }

    /// A registration that was looked at.
    package struct Row: Equatable, Sendable {
        /// The user's among those of the part.
        let place: Int
        let id: Int64
        let route: Int64
        let fits: Bool

        package init(place: Int, id: Int64, route: Int64, fits: Bool) {
            self.place = place
            self.id = id
            self.route = route
            self.fits = fits
        }
    }

    /// A slice: those who fit, by rising ids.
    package struct Slice {
        package fileprivate(set) var ids: [Int64] = []
        package fileprivate(set) var routes: [Int64] = []
        /// The last id that was looked at; nil: there was none.
        package let through: Int64?
        package let isLast: Bool
    }

    /// Most people have no more.
    private static let rowsEachLeast = 4
    private static let narrowing = 4

    private let users: [String]
    private let idsMax: Int
    private var rows: [Row] = []
    /// Users of the last part; nil: there was none.
    private var breadth: Int?
    /// The last id that was read of each user of whom there may be more.
    private var open: [Int: Int64]

    /// - Parameter users: each once.
    package init(_ users: [String], after: Int64, idsMax: Int) {
        precondition(idsMax > 0)
        self.users = users
        self.idsMax = idsMax
        open = Dictionary(uniqueKeysWithValues: users.indices.map { ($0, after) })
    }

    /// Everything up to here has been read; nil: all there is.
    private var reach: Int64? { open.values.min() }

    private var reached: [Row] {
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

    /// - Parameter read: of each user of the part the first ones, as many as there are or as it says, in any order.
    package mutating func take(_ read: [Row], of part: Part) {
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
        for row in rising where row.fits {
            slice.ids.append(row.id)
            slice.routes.append(row.route)
        }
        return slice
    }
}

extension UserScan {
    /// - Parameter answer: as `AudienceSQL.ofUsers` tells it.
    mutating func take(_ answer: ResultSet, of part: Part) throws(PostgresError) {
        let read = try [Row](reading: answer)
        guard read.allSatisfy({ part.users.indices.contains($0.place) }) else {
            throw .unexpectedShape(statement: AudienceSQL.ofUsers.name, column: 0)
        }
        take(read, of: part)
    }
}

extension UserScan.Slice {
    /// The same slice, of those who are in it now.
    func reread(_ answer: ResultSet) throws(PostgresError) -> UserScan.Slice {
        var slice = UserScan.Slice(through: through, isLast: isLast)
        for row in try [UserScan.Row](reading: answer).sorted(by: { $0.id < $1.id }) where row.fits {
            slice.ids.append(row.id)
            slice.routes.append(row.route)
        }
        return slice
    }
}

extension [UserScan.Row] {
    fileprivate init(reading answer: ResultSet) throws(PostgresError) {
        self = []
        reserveCapacity(answer.rowCount)
        for row in 0..<answer.rowCount {
            append(
                UserScan.Row(
                    place: Int(try answer.int64(row, 0)) - 1, id: try answer.int64(row, 1),
                    route: try answer.int64(row, 2), fits: try answer.bool(row, 3)))
        }
    }
}
