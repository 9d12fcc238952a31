import Encodings
import Postgres

/// The search for the rows of some registrations. It locks them in the order of their ids.
enum MemberKeys: Equatable, Sendable {
    /// One scan of the key from the first id to the last; every id in between is meant.
    case range(first: Int64, last: Int64)
    /// One scan of the key, with a bit for each id that is meant.
    case walk(first: Int64, last: Int64, wanted: [UInt8])
    /// One search for each id.
    case each([Int64])

    /// Passing an unwanted row costs less than a fourth of searching for one.
    static let scannedMax: Int64 = 4

    /// - Parameter ids: in rising order.
    init(_ ids: [Int64]) {
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

    /// The condition on a column of ids, for a statement that is not prepared.
    func condition(on key: String, adding parameters: inout Parameters) -> String {
        switch self {
        case .range(let first, let last):
            return "\(key) BETWEEN \(parameters.place { $0.int64(first) }) AND \(parameters.place { $0.int64(last) })"
        case .walk(let first, let last, let wanted):
            let from = parameters.place { $0.int64(first) }
            let bits = parameters.place { $0.bytes(wanted) }
            return """
                \(key) BETWEEN \(from) AND \(parameters.place { $0.int64(last) })
                    AND get_bit(\(bits), \(key) - \(from)) = 1
                """
        case .each(let ids): return "\(key) = ANY (\(parameters.place { $0.int64Array(ids) }))"
        }
    }
}

/// A statement about members, in each form of `MemberKeys`.
struct MemberStatement: Sendable {
    private let ranging: Statement
    private let walking: Statement
    private let each: Statement

    /// - Parameters:
    ///   - key: the column that holds the members' ids.
    ///   - used: the number of parameters before those of the keys.
    ///   - sql: makes the statement around the condition.
    init(_ name: String, key: String, after used: Int, _ sql: (_ isMember: String) -> String) {
        let (first, last, wanted) = ("$\(used + 1)", "$\(used + 2)", "$\(used + 3)")
        let isBetween = "\(key) BETWEEN \(first) AND \(last)"
        ranging = Statement(name + "_ranging", sql(isBetween))
        walking = Statement(name + "_walking", sql("\(isBetween) AND get_bit(\(wanted), \(key) - \(first)) = 1"))
        each = Statement(name, sql("\(key) = ANY (\(first))"))
    }

    func query(_ keys: MemberKeys, _ parameters: Parameters = Parameters()) -> Query {
        var parameters = parameters
        switch keys {
        case .range(let first, let last):
            parameters.int64(first)
            parameters.int64(last)
            return Query(ranging, parameters)
        case .walk(let first, let last, let wanted):
            parameters.int64(first)
            parameters.int64(last)
            parameters.bytes(wanted)
            return Query(walking, parameters)
        case .each(let ids):
            parameters.int64Array(ids)
            return Query(each, parameters)
        }
    }
}
