import Basis
import JSON
import Model

package struct ImportOutcome {
    private let file: String
    private let app: String
    private let isJSON: Bool
    private var progress = Progress("Importing")
    private var refused = 0
    private var last: JSONValue = .null
    private static let refusalsShown = 20

    /// - Parameter file: the path as given to the command; "-" is standard input.
    package init(file: String, app: String, isJSON: Bool) { (self.file, self.app, self.isJSON) = (file, app, isJSON) }

    /// Completes the sentence about a broken connection: how far the import came, and the command that continues it.
    package func wayOn() -> String {
        progress.end()
        let lines = last.count("resume_after")
        guard lines > 0 else { return "before any line was acknowledged. Send the file again" }
        let came = "after \(lines) acknowledged \(lines == 1 ? "line" : "lines")"
        let tail = "tail -n +\(lines.addingReportingOverflow(1).partialValue)"
        guard file != "-" else { return "\(came). Send the lines after them; \(tail) leaves them out" }
        return "\(came). To continue after them: \(tail) \(Self.quoted(file)) | carillon devices import - --app \(app)"
    }

    /// Quotes a path as one word of a shell.
    private static func quoted(_ path: String) -> String {
        let isPlain = path.utf8.allSatisfy { $0.isLetter || $0.isDigit || "-./_".utf8.contains($0) }
        return isPlain ? path : "'" + path.replacing("'", with: #"'\''"#) + "'"
    }

    package mutating func take(_ line: JSONValue) {
        if isJSON { writeJSON(line) }
        guard line.object?["line"] == nil else { return note(refusal: line) }
        last = line
        if !isJSON { progress.show(line.count("resume_after"), of: nil, "lines read") }
    }

    private mutating func note(refusal: JSONValue) {
        refused += 1
        guard !isJSON, refused <= Self.refusalsShown else { return }
        progress.end()
        let detail = refusal.object.flatMap(ProblemText.sentence) ?? "-"
        Console.write("line \(refusal.shown("line")): \(detail) [\(refusal.shown("code"))]")
        if refused == Self.refusalsShown { Console.remark("Further refusals are only counted (--json has them all).") }
    }

    func conclude() throws(CommandFault) {
        progress.end()
        guard last.object?["done"]?.bool == true else {
            let why = last.object.flatMap(ProblemText.sentence).map { ": \($0)" } ?? ""
            throw CommandFault(
                .tryAgain,
                "the import ended after line \(last.count("resume_after"))\(why). Send the file again: lines that are "
                    + "already imported change nothing")
        }
        if !isJSON {
            let changes = RegistrationChange.allCases.map(\.rawValue).compactMap { name in
                last.count(name) > 0 ? "\(last.count(name)) \(name)" : nil
            }
            let kinds = changes.isEmpty ? "" : ": " + changes.joined(separator: ", ")
            Console.write("\(last.count("accepted")) accepted" + kinds)
        }
        guard refused == 0 else {
            throw CommandFault(
                .failed, "\(refused == 1 ? "1 line was" : "\(refused) lines were") refused; the others are registered")
        }
    }
}
