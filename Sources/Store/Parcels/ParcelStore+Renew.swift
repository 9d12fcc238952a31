import Basis
import Model
import Postgres
import QueueRules

extension ParcelStore {
    /// More would keep the last leases of the list waiting for the first ones.
    package static let renewedTogetherMax = 500

    /// Renews leases of one owner for that much longer, in one statement. A lease that others have locked at this moment
    /// is not waited for: it alone fails with `.contended`, and may be asked for again.
    ///
    /// - Parameter leases: each parcel once, at most `renewedTogetherMax`.
    /// - Returns: for each lease in their order, whether it still is the owner's.
    package func renew(
        _ leases: [LeaseName], owner: ProcessID, for length: Duration, now: WallInstant? = nil
    ) async -> [Result<Bool, StoreFault>] {
        precondition(leases.count <= Self.renewedTogetherMax)
        guard !leases.isEmpty else { return [] }
        do {
            return try await renewTogether(leases, owner, length, now: now)
        } catch { return leases.map { _ in .failure(error) } }
    }

    private func renewTogether(
        _ leases: [LeaseName], _ owner: ProcessID, _ length: Duration, now: WallInstant?
    ) async throws(StoreFault) -> [Result<Bool, StoreFault>] {
        var names = Parameters()
        names.int64Array("parcels", leases.map(\.parcel.value))
        names.int32Array("epochs", leases.map(\.epoch))
        names.uuid("owner", owner.value)
        var renewing = names
        renewing.int64("lease_us", length.wholeMicroseconds)
        renewing.instant("now", now)
        let queries = [
            Query(PlannerSQL.throughKeys), Query(ParcelSQL.renew, renewing), Query(ParcelSQL.held, names),
        ]
        return try await translating { () throws(PostgresError) in
            let answers = try await pool.run(queries, transaction: TransactionOptions())
            var replies = [Result<Bool, StoreFault>](repeating: .success(false), count: leases.count)
            // These leases still are the owner's. Those that were not renewed were found locked.
            let held = try answers[2].map { row throws(PostgresError) in
                let place = try row.place(upTo: leases.count)
                row.skip()
                return place
            }
            for place in held { replies[place] = .failure(.contended) }
            for place in try answers[1].places(upTo: leases.count) { replies[place] = .success(true) }
            return replies
        }
    }
}
