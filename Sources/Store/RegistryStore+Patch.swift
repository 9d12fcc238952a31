import JSON
import Postgres
import PushModel

/// What a patch may make of a registration.
package struct DevicePatchLimits: Equatable, Sendable {
    package let tagsMax: Int
    /// As minimal JSON.
    package let attributesBytesMax: Int
    package init(tagsMax: Int, attributesBytesMax: Int) {
        self.tagsMax = tagsMax
        self.attributesBytesMax = attributesBytesMax
    }
}

package enum DevicePatchReply: Equatable, Sendable {
    /// Every kind of the installation, as it stands now.
    case patched([DeviceRecord])
    case unknownDevice
    /// Nothing was changed: so many would be kept.
    case tooManyTags(Int)
    case attributesTooLong(bytes: Int)
}

extension RegistryStore {
    /// Changes what an installation's registrations say of it: of one kind, or of all (nil).
    package func patch(
        _ patch: DevicePatch, app: AppID, installation: String, kind: TokenKind?, limits: DevicePatchLimits
    ) async throws(StoreFault) -> DevicePatchReply {
        let lock = Query(PatchSQL.lock) {
            $0.int64(app.value)
            $0.text(installation)
            $0.int16(kind?.rawValue)
        }
        let look = Query(RegistrationSQL.device) {
            $0.int64(app.value)
            $0.text(installation)
        }
        let pool = pool
        let options = TransactionOptions(lockTimeout: Self.lockTimeout)
        return try await translating { () throws(PostgresError) in
            try await pool.retryingConflicts { () throws(PostgresError) in
                try await pool.transaction(options) { transaction throws(PostgresError) -> DevicePatchReply in
                    let found = try await transaction.run([Query(PlannerSQL.throughKeys), lock])[1]
                    guard found.rowCount > 0 else { return .unknownDevice }
                    let rows = try (0..<found.rowCount).map { row throws(PostgresError) in
                        try PatchedRow(reading: found, row: row, patch)
                    }
                    for row in rows {
                        if let refusal = row.refusal(limits) {
                            await transaction.abandon()
                            return refusal
                        }
                    }
                    let changed = rows.filter(\.isChanged)
                    let writing = changed.isEmpty ? [] : [Self.write(changed)]
                    let answers = try await transaction.runAndCommit(writing + [look])
                    return .patched(try DeviceRecord.all(in: answers[answers.count - 1]))
                }
            }
        }
    }

    private static func write(_ rows: [PatchedRow]) -> Query {
        Query(PatchSQL.write) {
            $0.int64Array(rows.map(\.id))
            $0.textArray(rows.map(\.user))
            $0.textArray(rows.map(\.locale))
            $0.textArray(rows.map(\.timeZone))
            $0.textArray(rows.map(\.appVersion))
            $0.textBytesArray(rows.map { ArrayLiteral.encode($0.tags) })
            $0.jsonArray(rows.map(\.attributes))
        }
    }
}

/// A row as it is to be.
private struct PatchedRow {
    let id: Int64
    let user: String?
    let locale: String?
    let timeZone: String?
    let appVersion: String?
    let tags: [String]
    let attributes: [UInt8]
    let isChanged: Bool
    /// As minimal JSON; the database writes more blanks.
    private let attributesBytes: Int
    private let tagsBefore: Int

    init(reading rows: ResultSet, row: Int, _ patch: DevicePatch) throws(PostgresError) {
        id = try rows.int64(row, 0)
        let texts = try (1...4).map { column throws(PostgresError) in try rows.textOrNil(row, column) }
        let stored = (tags: try rows.textArray(row, 5), attributes: try rows.json(row, 6))
        user = patch.user.applied(to: texts[0])
        locale = patch.locale.applied(to: texts[1])
        timeZone = patch.timeZone.applied(to: texts[2])
        appVersion = patch.appVersion.applied(to: texts[3])
        tags = patch.patched(stored.tags)
        tagsBefore = stored.tags.count
        switch patch.attributes {
        case .keep: attributes = stored.attributes
        case .clear: attributes = Array("{}".utf8)
        case .set(let change):
            guard let before = try? JSONReader.read(stored.attributes, limits: .trusted),
                let change = try? JSONReader.read(change, limits: .trusted)
            else { throw .unexpectedShape(statement: "patch_lock", column: 6) }
            attributes = before.mergePatched(with: change).bytes
        }
        attributesBytes = patch.attributes == .keep ? 0 : attributes.count
        let after = [user, locale, timeZone, appVersion].map { $0.map { Array($0.utf8) } }
        isChanged =
            after != texts.map { $0.map { Array($0.utf8) } } || attributes != stored.attributes
            || tags.map { Array($0.utf8) } != stored.tags.map { Array($0.utf8) }
    }

    func refusal(_ limits: DevicePatchLimits) -> DevicePatchReply? {
        if tags.count > limits.tagsMax, tags.count > tagsBefore { return .tooManyTags(tags.count) }
        if attributesBytes > limits.attributesBytesMax { return .attributesTooLong(bytes: attributesBytes) }
        return nil
    }
}

extension DeviceRecord {
    static func all(in rows: ResultSet) throws(PostgresError) -> [DeviceRecord] {
        var records: [DeviceRecord] = []
        records.reserveCapacity(rows.rowCount)
        for row in 0..<rows.rowCount { records.append(try DeviceRecord(reading: rows, row: row)) }
        return records
    }
}
