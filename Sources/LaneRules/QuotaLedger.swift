import Basis
import Model

/// A part of a project's quota, in millionths. Whole numbers, so that parts add up the same in Swift and in SQL.
package struct QuotaPart: Hashable, Comparable, Sendable {
    package let millionths: Int32
    package init(millionths: Int32) { self.millionths = min(max(millionths, 0), Self.wholeMillionths) }

    private static let wholeMillionths: Int32 = 1_000_000
    package static let none = QuotaPart(millionths: 0)
    /// A smaller difference is not worth an early request.
    static let slight = QuotaPart(millionths: 10_000)
    package static let whole = QuotaPart(millionths: wholeMillionths)

    package static func < (left: QuotaPart, right: QuotaPart) -> Bool { left.millionths < right.millionths }

    static func - (left: QuotaPart, right: QuotaPart) -> QuotaPart {
        QuotaPart(millionths: left.millionths - right.millionths)
    }

    /// The part as a fraction.
    var fraction: Double { Double(millionths) / Double(Self.wholeMillionths) }
}

/// A process's request for its part.
package struct QuotaRequest: Equatable, Sendable {
    /// Rises with each request of the process: a request that a later one overtook changes nothing.
    package let number: Int64
    /// The part that the process would use.
    package let wants: QuotaPart
    /// The part that it may use until the answer arrives.
    package let holds: QuotaPart

    package init(number: Int64, wants: QuotaPart, holds: QuotaPart) {
        self.number = number
        self.wants = wants
        self.holds = holds
    }
}

package struct QuotaGrant: Equatable, Sendable {
    package let part: QuotaPart
    /// Others hold much of what is due to this process, and learn so with their next requests.
    package let isShort: Bool
    /// How long the project has been sent to, by all processes.
    package let rampAge: Duration
    /// No process sent to the project for a while: the ramp begins with this process.
    package let begins: Bool
}

/// The parts of a project's quota that its processes may use. Each process asks once a second while it sends (decision
/// 0033).
///
/// The parts never exceed the whole. A part is given to another process only after its holder reported using less, or
/// was silent for `retention`. A clock that is set forward breaks this once.
package struct QuotaLedger: Equatable, Sendable {
    package struct Entry: Equatable, Sendable {
        package let process: ProcessID
        package let number: Int64
        package let wants: QuotaPart
        /// The most that the process may be using before it asks again.
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

    /// Longer than a process uses a part without asking again, by more than the error of its clock.
    package static let retention: Duration = .seconds(3)
    /// More processes than anyone runs at once; further ones get no part.
    package static let entriesMax = 1_000

    /// nil: no process has asked yet.
    package private(set) var rampSince: WallInstant?
    package private(set) var askedAt: WallInstant?
    /// In the order of their last requests.
    package private(set) var entries: [Entry]

    package init(rampSince: WallInstant? = nil, askedAt: WallInstant? = nil, entries: [Entry] = []) {
        self.rampSince = rampSince
        self.askedAt = askedAt
        self.entries = entries
    }

    /// - Returns: nil if the same process's later request came first, or if the ledger is full: then nothing has
    ///   changed.
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

    /// Moves times that lie ahead back to `now`: after a clock step back, ended processes must not keep their parts.
    private mutating func applyClock(_ now: WallInstant) {
        for place in entries.indices { entries[place].askedAt = min(entries[place].askedAt, now) }
        askedAt = askedAt.map { min($0, now) }
        rampSince = rampSince.map { min($0, now) }
    }

    /// Max-min fairness: each process gets what it wants as far as the quota reaches, and no less than one that wants
    /// more. The surplus goes to all equally.
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
