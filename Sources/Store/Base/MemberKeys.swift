import Encodings
import Postgres

/// The search for the rows of some ids, such as those of registrations. It locks them in the order of the ids.
package enum MemberKeys: Equatable, Sendable {
    /// One scan of the key from the first id to the last; every id in between is meant.
    case range(first: Int64, last: Int64)
    /// One scan of the key, with a bit for each id that is meant.
    case walk(first: Int64, last: Int64, wanted: [UInt8])
    /// One search for each id.
    case each([Int64])

    /// Passing an unwanted row costs less than a fourth of searching for one.
    static let scannedMax: Int64 = 4

    /// - Parameter ids: in rising order, each once.
    package init(_ ids: [Int64]) {
        guard let first = ids.first, let last = ids.last, last - first < Self.scannedMax * Int64(ids.count) else {
            self = .each(ids)
            return
        }
        guard last - first >= Int64(ids.count) else {
            self = .range(first: first, last: last)
            return
        }
        var wanted = MemberBitmap(count: Int(last - first) + 1)
        for id in ids { wanted[Int(id - first)] = true }
        self = .walk(first: first, last: last, wanted: wanted.bytes)
    }

    /// The condition on a column of ids, for a statement that is not prepared. Adds the values that it names.
    func condition(on key: String, adding parameters: inout Parameters) -> String {
        bind(to: &parameters)
        return switch self {
        case .range: Self.isInRange(key)
        case .walk: Self.isWanted(key)
        case .each: Self.isOneOf(key)
        }
    }

    fileprivate static func isInRange(_ key: String) -> String { "\(key) BETWEEN :first_member AND :last_member" }

    fileprivate static func isWanted(_ key: String) -> String {
        "\(isInRange(key)) AND get_bit(:wanted_members, \(key) - :first_member) = 1"
    }

    fileprivate static func isOneOf(_ key: String) -> String { "\(key) = ANY (:members)" }

    fileprivate func bind(to parameters: inout Parameters) {
        switch self {
        case .range(let first, let last):
            parameters.int64("first_member", first)
            parameters.int64("last_member", last)
        case .walk(let first, let last, let wanted):
            parameters.int64("first_member", first)
            parameters.int64("last_member", last)
            parameters.bytes("wanted_members", wanted)
        case .each(let ids): parameters.int64Array("members", ids)
        }
    }
}

/// A statement about rows that are found by their ids, in each form of `MemberKeys`.
package struct MemberStatement: Sendable {
    private let ranging: Statement
    private let walking: Statement
    private let each: Statement

    /// - Parameters:
    ///   - name: the name of its form with one search for each id. The other forms add their own word to it.
    ///   - key: the column that holds the ids.
    ///   - sql: makes the statement around the condition. It may name other parameters, whose values `query` takes.
    package init(_ name: String, key: String, _ sql: (_ isMember: String) -> String) {
        ranging = Statement(name + "_ranging", sql(MemberKeys.isInRange(key)))
        walking = Statement(name + "_walking", sql(MemberKeys.isWanted(key)))
        each = Statement(name, sql(MemberKeys.isOneOf(key)))
    }

    /// Returns the query for these rows.
    ///
    /// - Parameter parameters: the values of the statement's other parameters.
    package func query(_ keys: MemberKeys, _ parameters: Parameters = Parameters()) -> Query {
        var parameters = parameters
        keys.bind(to: &parameters)
        return switch keys {
        case .range: Query(ranging, parameters)
        case .walk: Query(walking, parameters)
        case .each: Query(each, parameters)
        }
    }
}
