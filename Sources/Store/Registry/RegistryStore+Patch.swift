import JSON
import Model
import Postgres

/// The limits that a registration must meet after a patch.
package struct DevicePatchLimits: Equatable, Sendable {
    package let tagsMax: Int
    /// The size as minimal JSON.
    package let attributesBytesMax: Int
    /// Members at every depth.
    package let attributesMembersMax: Int

    package init(tagsMax: Int, attributesBytesMax: Int, attributesMembersMax: Int) {
        (self.tagsMax, self.attributesBytesMax) = (tagsMax, attributesBytesMax)
        self.attributesMembersMax = attributesMembersMax
    }
}

package enum DevicePatchReply: Equatable, Sendable {
    /// Every kind of the installation, with its values now.
    case patched([DeviceRecord])
    case unknownDevice
    /// Nothing was changed: the patch would leave this many tags.
    case tooManyTags(Int)
    case attributesTooLong(bytes: Int)
    case tooManyAttributes(members: Int)
}

extension RegistryStore {
    /// Changes the profile of an installation's registrations: of one kind, or of all (nil).
    package func patch(
        _ patch: DevicePatch, app: AppID, installation: String, kind: TokenKind?, limits: DevicePatchLimits
    ) async throws(StoreFault) -> DevicePatchReply {
        let lock = Query(PatchSQL.lock) {
            $0.installation(installation, of: app)
            $0.int16("kind", kind?.rawValue)
        }
        let query = Query(RegistrationSQL.device) { $0.installation(installation, of: app) }
        let options = TransactionOptions(lockTimeout: Self.lockTimeout)
        return try await translated(
            await pool.retryingTransaction(options) { transaction throws(PostgresError) -> DevicePatchReply in
                let found = try await transaction.runThroughKeys(lock)
                guard found.rowCount > 0 else { return .unknownDevice }
                var attributes = try AttributesPatch(patch.profile.attributes)
                let rows = try found.map { row throws(PostgresError) in try PatchedRow(&row, patch, &attributes) }
                for row in rows {
                    if let refusal = row.refusal(limits) { return await transaction.abandon(returning: refusal) }
                }
                let changed = rows.filter(\.isChanged)
                let writing = changed.isEmpty ? [] : [Self.write(changed)]
                let answers = try await transaction.runAndCommit(writing + [query])
                return .patched(try answers[answers.count - 1].map(DeviceRecord.init))
            })
    }

    private static func write(_ rows: [PatchedRow]) -> Query {
        Query(PatchSQL.write) {
            $0.int64Array("registrations", rows.map(\.id))
            $0.profiles(rows.map(\.profile), attributes: rows.map(\.profile.attributes))
        }
    }
}

/// A row with the patch applied.
private struct PatchedRow {
    let id: Int64
    let profile: RegistrationProfile
    let isChanged: Bool
    private let attributesSize: AttributesPatch.Size
    private let tagsBefore: Int

    init(_ row: inout Row, _ patch: DevicePatch, _ attributesPatch: inout AttributesPatch) throws(PostgresError) {
        id = try row.int64()
        let stored = try RegistrationProfile(&row)
        var profile = stored.changed(by: patch.profile)
        profile.tags = patch.patched(stored.tags)
        (profile.attributes, attributesSize) = try attributesPatch.applied(to: stored.attributes)
        (self.profile, isChanged, tagsBefore) = (profile, profile != stored, stored.tags.count)
    }

    func refusal(_ limits: DevicePatchLimits) -> DevicePatchReply? {
        let tagCount = profile.tags.count
        if tagCount > limits.tagsMax, tagCount > tagsBefore { return .tooManyTags(tagCount) }
        if attributesSize.bytes > limits.attributesBytesMax { return .attributesTooLong(bytes: attributesSize.bytes) }
        if attributesSize.members > limits.attributesMembersMax {
            return .tooManyAttributes(members: attributesSize.members)
        }
        return nil
    }
}

/// Applies a patch to stored attributes. The kinds of an installation nearly always store the same, so each different
/// text is merged once.
private struct AttributesPatch {
    /// The size of the patched attributes; zero if the patch leaves them alone.
    struct Size: Equatable {
        /// The length as minimal JSON; the database writes more blanks.
        let bytes: Int
        let members: Int
    }

    private enum Change {
        case keep, clear
        case merge(JSONValue)
    }

    private let change: Change
    /// Results by the stored attributes.
    private var merged: [[UInt8]: (bytes: [UInt8], size: Size)] = [:]  // lookup only

    init(_ attributes: ProfileChange.Change<[UInt8]>) throws(PostgresError) {
        switch attributes {
        case .keep: change = .keep
        case .clear: change = .clear
        case .set(let bytes): change = .merge(try Self.read(bytes))
        }
    }

    mutating func applied(to stored: [UInt8]) throws(PostgresError) -> (bytes: [UInt8], size: Size) {
        switch change {
        case .keep: return (stored, Size(bytes: 0, members: 0))
        case .clear: return (Array("{}".utf8), Size(bytes: 2, members: 0))
        case .merge(let patch):
            if let known = merged[stored] { return known }
            let value = try Self.read(stored).mergePatched(with: patch)
            let bytes = value.bytes
            let result = (bytes: bytes, size: Size(bytes: bytes.count, members: value.memberCount))
            merged[stored] = result
            return result
        }
    }

    private static func read(_ bytes: [UInt8]) throws(PostgresError) -> JSONValue {
        guard let value = try? JSONReader.read(bytes, limits: .trusted) else {
            throw .unexpectedShape(statement: "patch_lock", column: 6)
        }
        return value
    }
}
