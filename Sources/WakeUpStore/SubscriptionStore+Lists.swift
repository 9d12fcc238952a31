import Basis
import Model
import Postgres
import Store
import WakeUpRules

/// One subscription, as operators see it.
package struct SubscriptionRecord: Equatable, Sendable {
    package let id: SubscriptionID
    package let path: NodePath
    package let installation: String
    package let kind: TokenKind
    package let provider: Provider
    package let mode: WakeUpMode
    /// The user whose token came with the subscription; nil: nobody's.
    package let user: String?
    package let state: SubscriptionState
    package let expiresAt: WallInstant
    package let createdAt: WallInstant
    /// The last changes were not reported to the device yet.
    package let isBehind: Bool
    /// The last message to the device; nil: there was none.
    package let lastMessage: MessageID?
}

/// Whether changes are reported to a subscription.
package enum SubscriptionState: String, CaseIterable, Sendable {
    case active
    /// The device's token is retired. The subscription gets changes again if that is undone.
    case dormant
    /// The subscription is over. It is removed within seconds.
    case expired

    /// The number in an order to end subscriptions.
    var column: Int16 {
        switch self {
        case .active: 1
        case .dormant: 2
        case .expired: 3
        }
    }
}

/// The subscriptions that a list shows. nil: any.
package struct SubscriptionFilter: Equatable, Sendable {
    package var path: NodePath?
    package var installation: String?
    package var user: String?
    package var state: SubscriptionState?

    package init() {}

    /// The scan along the index that leaves the fewest subscriptions to pass.
    var scan: SubscriptionScan {
        if installation != nil { return .ofInstallation }
        if user != nil { return .ofUser }
        return path == nil ? .ofApp : .ofWatch
    }

    /// Whether the scan may pass subscriptions that are not asked for.
    var isPassingOthers: Bool {
        switch scan {
        case .ofApp, .ofWatch: state != nil
        case .ofUser: path != nil || state != nil
        case .ofInstallation: path != nil || user != nil || state != nil
        }
    }
}

/// The index that a list walks.
enum SubscriptionScan: Sendable {
    /// Every subscription of the app, by id.
    case ofApp
    /// Those to one path, by registration.
    case ofWatch
    /// Those of one installation's tokens, by id.
    case ofInstallation
    /// Those that one user's token made, by id.
    case ofUser
}

/// A position in a list of subscriptions. It is opaque to clients, and valid for lists with the same filters.
package struct SubscriptionCursor: Equatable, Sendable {
    /// The registration in a list of one path; 0 in all others.
    let registration: Int64
    let id: Int64

    private static let mark = UInt8(ascii: "-")

    fileprivate init(registration: Int64, id: Int64) { (self.registration, self.id) = (registration, id) }

    /// nil: the text is no cursor of ours.
    package init?(text: String) {
        let numbers = text.utf8.split(separator: Self.mark, omittingEmptySubsequences: false).map {
            Int64(String(Substring($0)))
        }
        guard let id = numbers.last ?? nil, id >= 0 else { return nil }
        switch numbers.count {
        case 1: self.init(registration: 0, id: id)
        case 2:
            guard let registration = numbers[0], registration > 0 else { return nil }
            self.init(registration: registration, id: id)
        default: return nil
        }
    }

    package var text: String { registration == 0 ? String(id) : "\(registration)-\(id)" }

    fileprivate func isOf(_ scan: SubscriptionScan) -> Bool { (registration > 0) == (scan == .ofWatch) }
}

/// A page of a list. More may follow a page that is not full, even an empty one.
package struct SubscriptionPage: Equatable, Sendable {
    package let subscriptions: [SubscriptionRecord]
    /// nil: nothing follows.
    package let next: SubscriptionCursor?
}

extension SubscriptionStore {
    /// The rows that one page passes if not all of them are asked for.
    private static let scanMax = 5_000

    /// Returns the subscriptions behind a cursor; nil: the cursor comes from a list with other filters.
    package func list(
        app: AppID, _ filter: SubscriptionFilter, after cursor: SubscriptionCursor? = nil, limit: Int
    ) async throws(StoreFault) -> SubscriptionPage? {
        precondition(limit > 0)
        let scan = filter.scan
        guard cursor.map({ $0.isOf(scan) }) ?? true else { return nil }
        let rowsMax = filter.isPassingOthers ? max(limit, Self.scanMax) : limit
        let query = Query(SubscriptionListSQL.statement(scan)) {
            $0.subscriptions(filter, app, rowsMax: rowsMax, after: cursor)
        }
        return try await translating { () throws(PostgresError) in
            let rows = try await pool.runThroughKeys(query, isReadOnly: true).map { row throws(PostgresError) in
                (isAskedFor: try row.bool(), id: try row.int64(), registration: try row.int64())
            }
            var ids: [Int64] = []
            var count = 0
            while count < rows.count, ids.count < limit {
                if rows[count].isAskedFor { ids.append(rows[count].id) }
                count += 1
            }
            var next: SubscriptionCursor?
            if count > 0, count < rows.count || rows.count == rowsMax {
                let last = rows[count - 1]
                next = SubscriptionCursor(registration: scan == .ofWatch ? last.registration : 0, id: last.id)
            }
            return SubscriptionPage(subscriptions: try await records(ids, app), next: next)
        }
    }

    /// Returns one subscription; nil: the app has none with this id.
    package func subscription(_ id: SubscriptionID, app: AppID) async throws(StoreFault) -> SubscriptionRecord? {
        try await translated(await records([id.value], app).first)
    }

    private func records(_ ids: [Int64], _ app: AppID) async throws(PostgresError) -> [SubscriptionRecord] {
        if ids.isEmpty { return [] }
        let query = Query(SubscriptionListSQL.records) {
            $0.int64("app", app.value)
            $0.int64Array("subscriptions", ids)
        }
        return try await pool.runThroughKeys(query, isReadOnly: true).map(SubscriptionRecord.init)
    }
}

extension SubscriptionRecord {
    fileprivate init(_ row: inout Row) throws(PostgresError) {
        (id, path) = (SubscriptionID(try row.int64()), NodePath(stored: try row.text()))
        (installation, kind, provider) = (try row.text(), try row.stored(), try row.stored())
        (mode, user) = (try row.stored(), try row.textOrNil())
        let (isExpired, isRetired) = (try row.bool(), try row.bool())
        state = isExpired ? .expired : isRetired ? .dormant : .active
        (expiresAt, createdAt) = (try row.instant(), try row.instant())
        isBehind = try row.bool()
        lastMessage = try row.optional(UniversalID.init).map(MessageID.init)
    }
}

extension Parameters {
    fileprivate mutating func subscriptions(
        _ filter: SubscriptionFilter, _ app: AppID, rowsMax: Int, after cursor: SubscriptionCursor?
    ) {
        int64("app", app.value)
        text("path", filter.path?.text)
        text("user", filter.user)
        int16("state", filter.state?.column)
        int64("after", cursor?.id ?? 0)
        int64("limit", Int64(rowsMax))
        switch filter.scan {
        case .ofApp, .ofUser: break
        case .ofWatch: int64("after_registration", cursor?.registration ?? 0)
        case .ofInstallation: text("installation", filter.installation)
        }
    }
}
