import Model
import Postgres

extension RegistryStore {
    /// The rows that one page passes if not all of them are asked for.
    static let scanMax = 5_000

    /// Returns what follows a cursor; nil: the cursor comes from a list over another index.
    package func devices(
        app: AppID, _ filter: DeviceFilter, after cursor: DeviceCursor? = nil, limit: Int
    ) async throws(StoreFault) -> DevicePage? {
        precondition(limit > 0)
        let scan = filter.scan
        guard cursor.map({ $0.scan == scan }) ?? true else { return nil }
        let rowsMax = filter.isPassingOthers ? max(limit, Self.scanMax) : limit
        let query = Query(filter, app, rowsMax: rowsMax, after: cursor)
        return try await translating { () throws(PostgresError) in
            let options = TransactionOptions(isReadOnly: true)
            let passed = try await pool.run([Query(PlannerSQL.throughKeys), query], transaction: options)[1]
            var ids: [Int64] = []
            var row = 0
            while row < passed.rowCount, ids.count < limit {
                if try passed.bool(row, 3) { ids.append(try passed.int64(row, 0)) }
                row += 1
            }
            var next: DeviceCursor?
            if row > 0, row < passed.rowCount || passed.rowCount == rowsMax {
                next = DeviceCursor(
                    scan: scan, id: try passed.int64(row - 1, 0), kind: try passed.int16(row - 1, 1),
                    installation: scan == .named ? try passed.text(row - 1, 2) : "")
            }
            return DevicePage(devices: try await records(ids, app), next: next)
        }
    }

    private func records(_ ids: [Int64], _ app: AppID) async throws(PostgresError) -> [DeviceRecord] {
        if ids.isEmpty { return [] }
        let query = Query(DeviceListSQL.records) {
            $0.int64(app.value)
            $0.int64Array(ids)
        }
        let options = TransactionOptions(isReadOnly: true)
        return try DeviceRecord.all(
            in: try await pool.run([Query(PlannerSQL.throughKeys), query], transaction: options)[1])
    }

    /// Returns the live registrations that hold these tokens, by place. A place may have several, if its text can be
    /// read as tokens of several providers.
    package func holders(
        app: AppID, of readings: [TokenReading]
    ) async throws(StoreFault) -> [(place: Int, device: DeviceRecord)] {
        if readings.isEmpty { return [] }
        let query = Query(DeviceListSQL.holders) {
            $0.int64(app.value)
            $0.int32Array(readings.map { Int32($0.place) })
            $0.int16Array(readings.map(\.provider.rawValue))
            $0.bytesArray(readings.map(\.token.bytes))
        }
        return try await translating { () throws(PostgresError) in
            let options = TransactionOptions(isReadOnly: true)
            let rows = try await pool.run([Query(PlannerSQL.throughKeys), query], transaction: options)[1]
            var found: [(place: Int, device: DeviceRecord)] = []
            for row in 0..<rows.rowCount {
                found.append((Int(try rows.int32(row, 17)), try DeviceRecord(reading: rows, row: row)))
            }
            return found
        }
    }
}

/// One way to read a text as a token.
package struct TokenReading: Equatable, Sendable {
    /// The place of the text in the caller's list.
    package let place: Int
    package let provider: Provider
    package let token: DeviceToken
    package init(place: Int, provider: Provider, token: DeviceToken) {
        self.place = place
        self.provider = provider
        self.token = token
    }
}

extension Query {
    fileprivate init(_ filter: DeviceFilter, _ app: AppID, rowsMax: Int, after cursor: DeviceCursor?) {
        var parameters = Parameters()
        parameters.filter(filter, app, rowsMax: rowsMax, after: cursor)
        guard let condition = filter.condition else {
            self.init(DeviceListSQL.statement(filter.scan), parameters)
            return
        }
        let filterSQL = FilterSQL(condition.expression, now: condition.now, adding: &parameters)
        self.init(DeviceListSQL.statement(filter.scan, filteredBy: filterSQL), parameters)
    }
}

extension Parameters {
    fileprivate mutating func filter(_ filter: DeviceFilter, _ app: AppID, rowsMax: Int, after cursor: DeviceCursor?) {
        int64(app.value)
        text(filter.user)
        text(filter.tag)
        int16(filter.provider?.rawValue)
        int16(filter.state?.rawValue)
        int16(filter.kind?.rawValue)
        let silent = filter.staleCutoffs ?? []
        int16Array(silent.map(\.provider.rawValue))
        instantArray(silent.map(\.instant))
        int64(Int64(rowsMax))
        int64(cursor?.id ?? 0)
        // The scan by kind and id begins with the requested kind.
        int16(cursor?.kind ?? filter.kind?.rawValue ?? 0)
        text(cursor?.installation ?? "")
        bool(filter.staleCutoffs != nil)
    }
}
