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
        do throws(StoreFault) {
            return try await renewTogether(leases, owner, length, now: now)
        } catch { return leases.map { _ in .failure(error) } }
    }

    private func renewTogether(
        _ leases: [LeaseName], _ owner: ProcessID, _ length: Duration, now: WallInstant?
    ) async throws(StoreFault) -> [Result<Bool, StoreFault>] {
        var names = Parameters()
        names.int64Array(leases.map(\.parcel.value))
        names.int32Array(leases.map(\.epoch))
        names.uuid(owner.value)
        var renewing = names
        renewing.int64(length.wholeMicroseconds)
        renewing.instant(now)
        let queries = [
            Query(PlannerSQL.throughKeys), Query(ParcelSQL.renew, renewing), Query(ParcelSQL.held, names),
        ]
        return try await translating { () throws(PostgresError) in
            let answers = try await pool.run(queries, transaction: TransactionOptions())
            var replies = [Result<Bool, StoreFault>](repeating: .success(false), count: leases.count)
            // These leases still are the owner's. Those that were not renewed were found locked.
            for row in 0..<answers[2].rowCount {
                replies[try Self.place(row, in: answers[2], of: leases.count)] = .failure(.contended)
            }
            for row in 0..<answers[1].rowCount {
                replies[try Self.place(row, in: answers[1], of: leases.count)] = .success(true)
            }
            return replies
        }
    }

    private static func place(_ row: Int, in answer: ResultSet, of count: Int) throws(PostgresError) -> Int {
        let place = Int(try answer.int64(row, 0))
        guard (1...count).contains(place) else {
            throw .unexpectedShape(statement: ParcelSQL.renew.name, column: 0)
        }
        return place - 1
    }
}
