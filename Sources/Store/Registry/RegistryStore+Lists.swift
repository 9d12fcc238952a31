import Model
import Postgres

extension RegistryStore {
    /// The rows that one page passes if not all of them are asked for.
    static let scanMax = 5_000
    /// The stored bytes of devices with which a page ends before its limit. A thousand usual devices have fewer.
    static let pageBytes = 2 << 20
    /// The devices that are read at once. So many of the largest size are about five megabytes.
    static let recordsMax = 250

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
            let passed = try await pool.runThroughKeys(query, isReadOnly: true)
            // The rows that are asked for: id and place among the passed ones.
            var asked: [(id: Int64, place: Int)] = []
            var count = 0
            while count < passed.rowCount, asked.count < limit {
                var row = passed.row(count)
                if try row.bool() { asked.append((try row.int64(), count)) }
                count += 1
            }
            let devices = try await records(asked.map(\.id), app)
            if devices.readCount < asked.count { count = asked[devices.readCount].place }
            var next: DeviceCursor?
            if count > 0, count < passed.rowCount || passed.rowCount == rowsMax {
                var last = passed.row(count - 1)
                last.skip()
                next = DeviceCursor(
                    scan: scan, id: try last.int64(), kind: try last.int16(),
                    installation: scan == .named ? try last.text() : "")
            }
            return DevicePage(devices: devices.found, next: next)
        }
    }

    /// Reads the first of these registrations, up to a number of bytes. Deleted ones count as read.
    private func records(
        _ ids: [Int64], _ app: AppID
    ) async throws(PostgresError) -> (found: [DeviceRecord], readCount: Int) {
        var found: [DeviceRecord] = []
        var (readCount, bytes) = (0, 0)
        while readCount < ids.count, bytes < Self.pageBytes {
            let next = Array(ids[readCount...].prefix(Self.recordsMax))
            let query = Query(DeviceListSQL.records) {
                $0.int64("app", app.value)
                $0.int64Array("registrations", next)
            }
            let records = try await pool.runThroughKeys(query, isReadOnly: true).map(DeviceRecord.init)
            found += records
            readCount += next.count
            bytes += records.reduce(0) { $0 + $1.variableBytes }
        }
        return (found, readCount)
    }

    /// Returns the live registrations that hold these tokens, by place. A place may have several, if its text can be
    /// read as tokens of several providers.
    package func holders(
        app: AppID, of readings: [TokenReading]
    ) async throws(StoreFault) -> [(place: Int, device: DeviceRecord)] {
        if readings.isEmpty { return [] }
        let query = Query(DeviceListSQL.holders) {
            $0.int64("app", app.value)
            $0.int32Array("places", readings.map { Int32($0.place) })
            $0.int16Array("providers", readings.map(\.provider.rawValue))
            $0.bytesArray("tokens", readings.map(\.token.bytes))
        }
        return try await translated(
            await pool.runThroughKeys(query, isReadOnly: true).map { row throws(PostgresError) in
                let device = try DeviceRecord(&row)
                return (place: Int(try row.int32()), device: device)
            })
    }
}

extension DeviceRecord {
    /// The bytes of the values that may be long.
    fileprivate var variableBytes: Int {
        token.bytes.count + profile.attributes.count + profile.tags.reduce(0) { $0 + $1.utf8.count }
    }
}

/// One way to read a text as a token.
package struct TokenReading: Equatable, Sendable {
    /// The place of the text in the caller's list.
    package let place: Int
    package let provider: Provider
    package let token: DeviceToken
    package init(place: Int, provider: Provider, token: DeviceToken) {
        (self.place, self.provider, self.token) = (place, provider, token)
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
        int64("app", app.value)
        text("user", filter.user)
        text("tag", filter.tag)
        int16("provider", filter.provider?.rawValue)
        int16("state", filter.state?.rawValue)
        int16("kind", filter.kind?.rawValue)
        bool("is_stale", filter.staleCutoffs != nil)
        int16Array("stale_providers", (filter.staleCutoffs ?? []).map(\.provider.rawValue))
        instantArray("stale_since", (filter.staleCutoffs ?? []).map(\.instant))
        int64("limit", Int64(rowsMax))
        switch filter.scan {
        case .named:
            text("after_installation", cursor?.installation ?? "")
            int16("after_kind", cursor?.kind ?? 0)
        case .live:
            // The scan begins with the requested kind.
            int16("after_kind", cursor?.kind ?? filter.kind?.rawValue ?? 0)
            int64("after_id", cursor?.id ?? 0)
        case .notActive, .ofUser, .tagged: int64("after_id", cursor?.id ?? 0)
        }
    }
}
