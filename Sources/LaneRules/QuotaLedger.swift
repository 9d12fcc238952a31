import Basis
import Model

/// A part of a project's quota, in millionths of it: whole numbers, so that parts add up wherever they are added.
package struct QuotaPart: Hashable, Comparable, Sendable {
    package let millionths: Int32
    package init(millionths: Int32) { self.millionths = min(max(millionths, 0), Self.wholeMillionths) }

    private static let wholeMillionths: Int32 = 1_000_000
    package static let none = QuotaPart(millionths: 0)
    /// Less is not worth a question before its time.
    static let slight = QuotaPart(millionths: 10_000)
    package static let whole = QuotaPart(millionths: wholeMillionths)

    package static func < (left: QuotaPart, right: QuotaPart) -> Bool { left.millionths < right.millionths }

    static func - (left: QuotaPart, right: QuotaPart) -> QuotaPart {
        QuotaPart(millionths: left.millionths - right.millionths)
    }

    /// Of one.
    var fraction: Double { Double(millionths) / Double(Self.wholeMillionths) }
}

/// What a process says when it asks for its part.
package struct QuotaRequest: Equatable, Sendable {
    /// Rising with each of its asks: one that is overtaken on its way changes nothing.
    package let number: Int64
    /// As much as it would use.
    package let wants: QuotaPart
    /// What it may use until it hears the answer.
    package let holds: QuotaPart

    package init(number: Int64, wants: QuotaPart, holds: QuotaPart) {
        self.number = number
        self.wants = wants
        self.holds = holds
    }
}

package struct QuotaGrant: Equatable, Sendable {
    package let part: QuotaPart
    /// The others hold much of what is its due, and will hear so when they ask.
    package let isShort: Bool
    /// How long the project has been sent to, by whomever.
    package let rampAge: Duration
    /// Nobody sent to it for a while: the ramp begins with this process.
    package let begins: Bool
}

/// Which process may use which part of a project's quota: what all of them ask, each once a second while it sends
/// (decision 0033).
///
/// What they may use together is never more than the whole: a part that is taken from one is given to another only when
/// the one has said that it uses less, or has been silent for `retention`. A clock that is set forward takes that away once.
package struct QuotaLedger: Equatable, Sendable {
    package struct Entry: Equatable, Sendable {
        package let process: ProcessID
        package let number: Int64
        package let wants: QuotaPart
        /// The most that it may be using before it asks again.
        package let part: QuotaPart
        package var askedAt: WallInstant

        package init(process: ProcessID, number: Int64, wants: QuotaPart, part: QuotaPart, askedAt: WallInstant) {
            self.process = process
            self.number = number
            self.wants = wants
            self.part = part
            self.askedAt = askedAt
        }
    }

    /// Longer than a process uses a part without having asked again, by more than its clock may be slow.
    package static let retention: Duration = .seconds(3)
    /// More at once than anybody runs: further ones get nothing.
    package static let entriesMax = 1_000

    /// nil: nobody has asked yet.
    package private(set) var rampSince: WallInstant?
    package private(set) var askedAt: WallInstant?
    /// In the order of their last asks.
    package private(set) var entries: [Entry]

    package init(rampSince: WallInstant? = nil, askedAt: WallInstant? = nil, entries: [Entry] = []) {
        self.rampSince = rampSince
        self.askedAt = askedAt
        self.entries = entries
    }

    /// - Returns: nil for what was overtaken by a later ask of the same process: then nothing has changed.
    package mutating func answer(_ ask: QuotaRequest, of process: ProcessID, now: WallInstant) -> QuotaGrant? {
        var next = self
        guard let grant = next.take(ask, of: process, now) else { return nil }
        self = next
        return grant
    }

    private mutating func take(_ ask: QuotaRequest, of process: ProcessID, _ now: WallInstant) -> QuotaGrant? {
        applyClock(now)
        let begins = askedAt.map { now - $0 >= RequestPace.idleAfter } ?? true
        entries.removeAll { now - $0.askedAt >= Self.retention }
        if let known = entries.first(where: { $0.process == process }), known.number >= ask.number { return nil }
        entries.removeAll { $0.process == process }
        guard entries.count < Self.entriesMax else { return nil }
        let due = Self.due(ask.wants, beside: entries.map(\.wants))
        let free = entries.reduce(QuotaPart.whole) { $0 - $1.part }
        let part = min(due, free)
        entries.append(
            Entry(process: process, number: ask.number, wants: ask.wants, part: max(part, ask.holds), askedAt: now))
        let since = begins ? now : rampSince ?? now
        (askedAt, rampSince) = (now, since)
        return QuotaGrant(part: part, isShort: due - part > .slight, rampAge: now - since, begins: begins)
    }

    /// Nothing was asked later than now: a clock that is set back must not keep parts for those that have ended.
    private mutating func applyClock(_ now: WallInstant) {
        for place in entries.indices { entries[place].askedAt = min(entries[place].askedAt, now) }
        askedAt = askedAt.map { min($0, now) }
        rampSince = rampSince.map { min($0, now) }
    }

    /// Everybody gets what it wants as far as it goes, nobody less than those that want more; what nobody wants goes to
    /// all alike.
    private static func due(_ own: QuotaPart, beside others: [QuotaPart]) -> QuotaPart {
        let wants = (others + [own]).map(\.millionths).sorted()
        var left = QuotaPart.whole.millionths
        for (place, want) in wants.enumerated() {
            let even = left / Int32(wants.count - place)
            if want > even { return QuotaPart(millionths: min(own.millionths, even)) }
            left -= want
        }
        return QuotaPart(millionths: own.millionths + left / Int32(wants.count))
    }
}
