import JSON
import Model
import Requests

/// The answer to an import: one line for each refused line, one for each committed batch, one at the end.
///
/// Every line up to `resumeAfter` is committed or refused: a client whose connection breaks goes on after it.
package struct ImportAnswer {
    package private(set) var resumeAfter = 0
    private(set) var refused = 0
    private var changes: [RegistrationChange: Int] = [:]

    package init() {}

    package mutating func count(_ change: RegistrationChange) { changes[change, default: 0] += 1 }

    package mutating func refuse(_ line: Int, _ problem: Problem) -> [UInt8] {
        refused += 1
        return Self.line {
            $0.member("line", line)
            problem.writeMembers(to: &$0)
        }
    }

    /// Reports that every line up to this one is committed or refused.
    package mutating func progress(through line: Int) -> [UInt8] {
        resumeAfter = line
        return Self.line { writeTotals(to: &$0) }
    }

    /// The answer's last line: the whole body was read. `lines` counts empty ones too.
    package mutating func end(lines: Int) -> [UInt8] {
        resumeAfter = lines
        return Self.line { writer in
            writer.member("done", true)
            writeTotals(to: &writer)
            for change in RegistrationChange.allCases { writer.member(change.rawValue, changes[change] ?? 0) }
        }
    }

    /// The answer's last line: the import can't go on. The client has to send the lines after `resumeAfter` again.
    package func interrupt(_ problem: Problem) -> [UInt8] {
        Self.line {
            $0.member("done", false)
            writeTotals(to: &$0)
            problem.ofStream(keeping: Self.kept).writeMembers(to: &$0)
        }
    }

    private static let kept = "The lines up to `resume_after` are imported; continue after that line."

    private func writeTotals(to writer: inout JSONWriter) {
        writer.member("resume_after", resumeAfter)
        writer.member("accepted", changes.values.reduce(0, +))
        writer.member("refused", refused)
    }

    private static func line(_ write: (inout JSONWriter) -> Void) -> [UInt8] {
        JSONWriter.body(write) + [UInt8(ascii: "\n")]
    }
}
