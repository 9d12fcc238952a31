import Foundation
import JSON
import Reactor

/// What a person at a terminal reads. The only place that writes to standard output and standard error.
package enum Console {
    /// A line of the answer that was asked for. What others wrote into it moves no cursor.
    package static func write(_ line: String) {
        write(Array((TerminalText.clean(line) + "\n").utf8))
    }

    /// Bytes of the answer, as they are.
    package static func write(_ bytes: [UInt8]) {
        FileHandle.standardOutput.write(Data(bytes))
    }

    /// Why the program can't go on, in one line.
    package static func complain(_ line: String) {
        let clean = TerminalText.clean(line)
        FileHandle.standardError.write(Data(("carillon: " + clean + "\n").utf8))
    }

    /// What is said beside the answer: progress, and hints.
    package static func remark(_ line: String) {
        FileHandle.standardError.write(Data((TerminalText.clean(line) + "\n").utf8))
    }

    /// The same for scripts, on one line.
    static func remark(json: JSONValue) {
        FileHandle.standardError.write(Data(json.bytes + [UInt8(ascii: "\n")]))
    }

    /// Whether remarks are read on a terminal, which can draw over what was drawn.
    package static var isTerminal: Bool {
        isatty(FileHandle.standardError.fileDescriptor) == 1
            && ProcessInfo.processInfo.environment["TERM"].map { $0 != "dumb" } ?? false
    }

    /// Whether answers are read on a terminal, which can draw over what was drawn.
    static var drawsAnswers: Bool {
        isatty(FileHandle.standardOutput.fileDescriptor) == 1
            && ProcessInfo.processInfo.environment["TERM"].map { $0 != "dumb" } ?? false
    }

    /// Of the terminal that answers are read on; nil where they are not, or it doesn't know.
    static var rows: Int? { TerminalSize.rows(of: FileHandle.standardOutput.fileDescriptor) }

    /// Draws a line of progress over the one before; an empty one takes it away.
    fileprivate static func draw(_ line: String) {
        FileHandle.standardError.write(Data(("\r\u{1b}[2K" + line).utf8))
    }
}

/// Where long work stands: a bar where remarks are read on a terminal, a line now and then elsewhere.
package struct Progress {
    private let subject: String
    private let isTerminal = Console.isTerminal
    private var lastTenth = -1
    private static let width = 30

    package init(_ subject: String) { self.subject = subject }

    /// - Parameter whole: nil where it is not known yet.
    package mutating func show(_ done: Int64, of whole: Int64?, _ text: String) {
        guard let whole, whole > 0 else {
            if isTerminal { Console.draw("\(subject)  " + (done > 0 ? "\(done) " : "") + text) }
            return
        }
        let share = min(1, Double(done) / Double(whole))
        if isTerminal {
            let filled = Int(share * Double(Self.width))
            let bar = String(repeating: "#", count: filled) + String(repeating: "-", count: Self.width - filled)
            Console.draw("\(subject)  [\(bar)] \(Int(share * 100)) %  \(done) of \(whole), \(text)")
            return
        }
        let tenth = Int(share * 10)
        guard tenth > lastTenth else { return }
        lastTenth = tenth
        Console.remark("\(subject)  \(done) of \(whole), \(text)")
    }

    /// A line beside the bar, which is drawn again below it.
    package func write(_ line: String) {
        end()
        Console.remark(line)
    }

    package func end() {
        if isTerminal { Console.draw("") }
    }
}

/// Columns as wide as what stands in them.
package struct TextTable {
    private var rows: [[String]]

    package init(_ titles: String...) { rows = [titles] }

    package mutating func add(_ cells: String...) { rows.append(cells.map { TerminalText.clean($0) }) }

    package var isEmpty: Bool { rows.count == 1 }

    package var lines: [String] {
        let widths = (0..<rows[0].count).map { column in rows.map { TerminalText.columns($0[column]) }.max() ?? 0 }
        return rows.map { row in
            var line = ""
            for (column, cell) in row.enumerated() {
                line += cell
                guard column < row.count - 1 else { continue }
                line += String(repeating: " ", count: widths[column] - TerminalText.columns(cell) + 2)
            }
            return line
        }
    }

    package func write() {
        for line in lines { Console.write(line) }
    }
}

extension Console {
    /// Whether a person can answer.
    static var isInteractive: Bool { isatty(FileHandle.standardInput.fileDescriptor) == 1 && isTerminal }

    static func ask(_ question: String) {
        FileHandle.standardError.write(Data(question.utf8))
    }
}

extension Console {
    /// Whether answers are read on a terminal, where some may stand out.
    static var isColoured: Bool {
        let environment = ProcessInfo.processInfo.environment
        return isatty(FileHandle.standardOutput.fileDescriptor) == 1 && environment["NO_COLOR"] == nil
            && environment["TERM"].map { $0 != "dumb" } ?? false
    }
}
