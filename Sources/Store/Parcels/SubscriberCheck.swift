import Basis
import Expressions
import Model
import Postgres
import WakeUpRules

/// Asks the read rules again about the subscribers of a leased wake-up (decision 0068).
///
/// The fan-out asked them when it cut the push, which may leave much later. A change of the rules ends subscriptions
/// itself. A change of the data that the rules look up ends none, nor does the time.
struct SubscriberCheck: Sendable {
    let reader: RuleReader
    let now: WallInstant

    /// The subscriptions that a parcel's push is still meant for.
    struct Subscribers: Sendable {
        let watch: WatchID
        let members: [(registration: Int64, subscription: Int64)]
    }

    private struct Watch {
        let id: Int64
        let app: Int64
        let path: NodePath
        /// nil: the app has no rules.
        let revision: Int64?

        init(_ row: inout Row) throws(PostgresError) {
            (id, app) = (try row.int64(), try row.int64())
            (path, revision) = (NodePath(stored: try row.text()), try row.int64OrNil())
        }
    }

    /// Returns the registrations whose users may read the path, in the order of the parcels.
    func readers(
        of parcels: [Subscribers], in transaction: PostgresTransaction
    ) async throws(PostgresError) -> [Set<Int64>] {
        if parcels.isEmpty { return [] }
        let query = Query(AudienceCheckSQL.watches) { $0.int64Array("watches", parcels.map(\.watch.value)) }
        let watches = try await transaction.run(query).map(Watch.init)
        let revisions = watches.compactMap { watch in watch.revision.map { (watch.app, $0) } }
        let rules = try await reader.rules(Dictionary(revisions) { first, _ in first }, in: transaction)
        var readers: [Set<Int64>] = []
        for parcel in parcels {
            readers.append(Set(parcel.members.map(\.registration)))
            guard let watch = watches.first(where: { $0.id == parcel.watch.value }),
                rules[watch.app].mayChange(at: watch.path.keys)
            else { continue }
            let check = RuleCheck(app: watch.app, rules: rules[watch.app], now: now)
            let mayRead = try await check.mayRead(
                watch.path, subscriptions: parcel.members.map(\.subscription), in: transaction)
            readers[readers.count - 1] = Set(zip(parcel.members, mayRead).filter(\.1).map(\.0.registration))
        }
        return readers
    }
}
