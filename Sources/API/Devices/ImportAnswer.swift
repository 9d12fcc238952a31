import JSON
import Model

/// The answer to an import: one line for each refused line, one for each committed batch, one at the end.
///
/// Every line up to `resumeAfter` is committed or refused: a client whose connection breaks goes on after it.
package struct ImportAnswer {
    package private(set) var resumeAfter = 0
    private(set) var refused = 0
    private var changes = RegistrationChangeTotals()

    package init() {}

    package mutating func count(_ change: RegistrationChange) { changes.count(change) }

    package mutating func refuse(_ line: Int, _ problem: Problem) -> [UInt8] {
        refused += 1
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("line", line)
        problem.writeMembers(to: &writer)
        writer.endObject()
        return writer.bytes + Self.lineEnd
    }

    /// Reports that every line up to this one is committed or refused.
    package mutating func progress(through line: Int) -> [UInt8] {
        resumeAfter = line
        var writer = JSONWriter()
        writer.beginObject()
        writeTotals(to: &writer)
        writer.endObject()
        return writer.bytes + Self.lineEnd
    }

    /// The answer's last line: the whole body was read. `lines` counts empty ones too.
    package mutating func end(lines: Int) -> [UInt8] {
        resumeAfter = lines
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("done", true)
        writeTotals(to: &writer)
        changes.write(to: &writer)
        writer.endObject()
        return writer.bytes + Self.lineEnd
    }

    /// The answer's last line: the import can't go on. The client has to send the lines after `resumeAfter` again.
    /// `importEnd` replaces the problem's own detail, which is about a request of which nothing was carried out.
    package func interrupt(_ problem: Problem) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("done", false)
        writeTotals(to: &writer)
        problem.importEnd.writeMembers(to: &writer)
        writer.endObject()
        return writer.bytes + Self.lineEnd
    }

    private func writeTotals(to writer: inout JSONWriter) {
        writer.member("resume_after", resumeAfter)
        writer.member("accepted", changes.total)
        writer.member("refused", refused)
    }

    private static let lineEnd = [UInt8(ascii: "\n")]
}

extension Problem {
    /// The problem of an import that may go on unchanged: why it ended, what is kept, and where to go on.
    fileprivate var importEnd: Problem {
        let cause: String
        switch code {
        case .requestTimeout: cause = "No more of the import arrived in time."
        case .databaseUnavailable: cause = "The database can't be reached."
        case .databaseBusy:
            cause = "The database did not answer in time, or another request held a lock for too long."
        case .outcomeUnknown:
            cause = "The connection to the database broke before it confirmed; sending a line twice is harmless."
        case .malformedRequest: cause = detail
        default: return self
        }
        return Problem(code, cause + " The lines up to `resume_after` are imported; continue after that line.")
    }
}

/// The numbers of registrations by their change.
struct RegistrationChangeTotals: Equatable {
    private var created = 0
    private var refreshed = 0
    private var replaced = 0
    private var moved = 0
    private var unchanged = 0
    private var stale = 0

    var total: Int { created + refreshed + replaced + moved + unchanged + stale }

    mutating func count(_ change: RegistrationChange) {
        switch change {
        case .created: created += 1
        case .refreshed: refreshed += 1
        case .replaced: replaced += 1
        case .moved: moved += 1
        case .unchanged: unchanged += 1
        case .stale: stale += 1
        }
    }

    func write(to writer: inout JSONWriter) {
        writer.member(RegistrationChange.created.name, created)
        writer.member(RegistrationChange.refreshed.name, refreshed)
        writer.member(RegistrationChange.replaced.name, replaced)
        writer.member(RegistrationChange.moved.name, moved)
        writer.member(RegistrationChange.unchanged.name, unchanged)
        writer.member(RegistrationChange.stale.name, stale)
    }
}

extension RegistrationChange {
    /// The name of the change in the API.
    var name: String {
        switch self {
        case .created: "created"
        case .refreshed: "refreshed"
        case .replaced: "replaced"
        case .moved: "moved"
        case .unchanged: "unchanged"
        case .stale: "stale"
        }
    }
}
