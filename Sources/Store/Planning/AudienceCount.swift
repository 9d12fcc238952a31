import Basis
import Content
import Model
import Postgres

/// A message whose audience is counted before it is sent.
package struct CountedMessage: Sendable {
    package let app: AppID
    package let audience: Audience
    package let kind: TokenKind
    /// The time at which the message would be due; nil: at once.
    package let dueAt: WallInstant?
    /// nil: the message is due everywhere at the same instant.
    package let localSending: LocalSending?

    package init(
        app: AppID, audience: Audience, kind: TokenKind, dueAt: WallInstant? = nil, localSending: LocalSending? = nil
    ) {
        (self.app, self.audience, self.kind, self.dueAt, self.localSending) = (app, audience, kind, dueAt, localSending)
    }
}

/// The pushes that a message accepted now would have: one for each member of its audience.
package struct AudienceCount: Equatable, Sendable {
    /// A part of the count, by its name.
    package struct Part: Equatable, Sendable {
        package let name: String
        package let count: Int64
        package init(_ name: String, _ count: Int64) { (self.name, self.count) = (name, count) }
    }

    /// Registrations, and tokens that no registration holds.
    package let count: Int64
    /// Counting took too long and ended early: all counts are lower than the audience's.
    package let isCutShort: Bool
    /// Installations and users who were named and have no live registration of the kind. They are not in `count`.
    package let unknown: Int64
    /// Members whose local hour is past, included in `count`; nil: the message has no local hour.
    package let passed: Int64?
    /// Each list adds up to `count`, the largest part first.
    package let byProvider: [Part]
    package let byLanguage: [Part]
    package let byTimeZone: [Part]
}

extension MessageStore {
    /// Counts an audience by the statements that cut it. It writes nothing. No slice begins when `time` is over.
    package func count(
        _ message: CountedMessage, idsMax: Int = 20_000, for time: Duration = .seconds(2), now: WallInstant? = nil
    ) async throws(StoreFault) -> AudienceCount {
        var tally = AudienceTally(isLocal: message.localSending != nil)
        let isWhole = try await walk(message, idsMax: idsMax, for: time, now: now) {
            slice, transaction throws(PostgresError) in
            try await slice.count(in: transaction)
        } takes: {
            tally.add($0)
            return true
        }
        return tally.count(isCutShort: !isWhole)
    }
}

extension ReadSlice {
    fileprivate func count(in transaction: PostgresTransaction) async throws(PostgresError) -> CountedSlice {
        var slice = CountedSlice(found: found)
        guard !found.ids.isEmpty else { return slice }
        let members = Query(AudienceCountSQL.members) { $0.int64Array("members", found.ids) }
        slice.groups = try await transaction.run(members).map(MemberGroup.init)
        slice.groups += inline.map { MemberGroup(provider: $0, locale: nil, timeZone: nil, count: 1) }
        slice.passed = try await plan.local?.passed(found.ids, in: transaction) ?? 0
        return slice
    }
}

/// A row of `AudienceCountSQL.members`.
private struct MemberGroup: Sendable {
    /// nil: a newer program's.
    let provider: Provider?
    let locale: String?
    let timeZone: String?
    let count: Int64
}

extension MemberGroup {
    init(_ row: inout Row) throws(PostgresError) {
        provider = Provider(rawValue: try row.int16())
        (locale, timeZone, count) = (try row.textOrNil(), try row.textOrNil(), try row.int64())
    }
}

private struct CountedSlice: Sendable {
    let found: FoundMembers
    var groups: [MemberGroup] = []
    var passed = 0
}

/// The counts of the slices so far.
private struct AudienceTally: Sendable {
    private let isLocal: Bool
    private var unknown: Int64 = 0
    private var passed: Int64 = 0
    private var providers = NamedCounts()
    private var languages = NamedCounts()
    private var timeZones = NamedCounts()

    init(isLocal: Bool) { self.isLocal = isLocal }

    mutating func add(_ slice: CountedSlice) {
        unknown += slice.found.early.reduce(0) { $0 + Int64($1.members.count) }
        passed += Int64(slice.passed)
        for group in slice.groups {
            providers.add(group.count, to: group.provider?.name ?? NamedCounts.other)
            languages.add(group.count, to: group.locale.flatMap(LocaleTable.language) ?? NamedCounts.none)
            timeZones.add(group.count, to: group.timeZone ?? NamedCounts.none)
        }
    }

    func count(isCutShort: Bool) -> AudienceCount {
        AudienceCount(
            count: providers.sum, isCutShort: isCutShort, unknown: unknown, passed: isLocal ? passed : nil,
            byProvider: providers.parts, byLanguage: languages.parts, byTimeZone: timeZones.parts)
    }
}

/// Counts by name. Devices choose some of the names, so their number is bounded.
private struct NamedCounts: Sendable {
    static let none = "none"
    static let other = "other"
    /// More names than there are languages or time zones in the world.
    private static let namesMax = 2_000
    private static let partsMax = 50

    private var counts: [String: Int64] = [:]
    private(set) var sum: Int64 = 0

    mutating func add(_ count: Int64, to name: String) {
        sum += count
        let isKept = counts[name] != nil || counts.count < Self.namesMax
        counts[isKept ? name : Self.other, default: 0] += count
    }

    /// The most frequent names, always `none`, and `other` for the sum of the others, which comes last.
    var parts: [AudienceCount.Part] {
        let order = counts.filter { $0.key != Self.other }.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        let listed = order.enumerated().filter { $0.offset < Self.partsMax || $0.element.key == Self.none }
            .map { AudienceCount.Part($0.element.key, $0.element.value) }
        let others = sum - listed.reduce(0) { $0 + $1.count }
        return listed + (others > 0 ? [AudienceCount.Part(Self.other, others)] : [])
    }
}
