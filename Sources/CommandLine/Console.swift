import Foundation
import JSON
import Reactor

/// The command's output. No other type writes to standard output and standard error.
package enum Console {
    /// Writes a line of the answer. Control characters in it are made visible, so that they move no cursor.
    package static func write(_ line: String) { write(Array((TerminalText.clean(line) + "\n").utf8)) }

    /// Ends the program if the answer can't be written: quietly if nobody reads it any more (`| head`), with the exit
    /// code that shells give a program that SIGPIPE ended.
    package static func write(_ bytes: [UInt8]) {
        do { try FileHandle.standardOutput.write(contentsOf: Data(bytes)) } catch {
            let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
            if cause?.code == Int(EPIPE) { exit(128 + SIGPIPE) }
            complain("the answer can't be written: \(error.localizedDescription)")
            exit(exitCodeOfOutput)
        }
    }

    /// EX_IOERR in sysexits.h
    private static let exitCodeOfOutput: Int32 = 74

    /// Writes beside the answer. Nobody can be told if that fails.
    private static func writeBeside(_ text: String) { try? FileHandle.standardError.write(contentsOf: Data(text.utf8)) }

    /// Writes one line that says why the program can't go on.
    package static func complain(_ line: String) { remark("carillon: " + line) }

    /// Writes a line beside the answer: progress, or a hint.
    package static func remark(_ line: String) { writeBeside(TerminalText.clean(line) + "\n") }

    /// Writes JSON on one line beside the answer, for scripts.
    static func remark(json: JSONValue) { writeBeside(String(decoding: json.bytes, as: UTF8.self) + "\n") }

    /// Whether standard error is a terminal that can overwrite lines.
    package static var isTerminal: Bool { canOverwrite(.standardError) }

    /// Whether standard output is a terminal that can overwrite lines.
    static var drawsAnswers: Bool { canOverwrite(.standardOutput) }

    static var isColoured: Bool { drawsAnswers && ProcessInfo.processInfo.environment["NO_COLOR"] == nil }

    static var isInteractive: Bool { isatty(FileHandle.standardInput.fileDescriptor) == 1 && isTerminal }

    private static func canOverwrite(_ output: FileHandle) -> Bool {
        isatty(output.fileDescriptor) == 1 && ProcessInfo.processInfo.environment["TERM"].map { $0 != "dumb" } ?? false
    }

    /// Writes a question without a line end, to be answered behind it.
    static func ask(_ question: String) { writeBeside(TerminalText.clean(question)) }

    /// The rows of the terminal on standard output; nil: it is no terminal, or reports no size.
    static var rows: Int? { TerminalSize.rows(of: FileHandle.standardOutput.fileDescriptor) }

    /// The columns of the terminal on standard output; nil: it is no terminal, or reports no size.
    static var columns: Int? { TerminalSize.columns(of: FileHandle.standardOutput.fileDescriptor) }

    /// Draws a line of progress over the previous one; an empty line removes it.
    fileprivate static func draw(_ line: String) { writeBeside("\r\u{1b}[2K" + line) }
}

/// The progress of long work: a bar if standard error is a terminal, else a line now and then.
package struct Progress {
    private let subject: String
    private let isTerminal = Console.isTerminal
    private var lastTenth = -1
    private static let width = 30

    package init(_ subject: String) { self.subject = subject }

    /// - Parameter whole: nil: not known yet.
    package mutating func show(_ done: Int64, of whole: Int64?, _ text: String) {
        guard let whole, whole > 0 else {
            if isTerminal { Console.draw("\(subject)  " + (done > 0 ? "\(done) " : "") + text) }
            return
        }
        let share = min(1, Double(done) / Double(whole))
        if isTerminal {
            return Console.draw("\(subject)  \(Self.bar(share)) \(Int(share * 100)) %  \(done) of \(whole), \(text)")
        }
        let tenth = Int(share * 10)
        guard tenth > lastTenth else { return }
        lastTenth = tenth
        Console.remark("\(subject)  \(done) of \(whole), \(text)")
    }

    static func bar(_ share: Double) -> String {
        let filled = Int(share * Double(width))
        return "[" + String(repeating: "#", count: filled) + String(repeating: "-", count: width - filled) + "]"
    }

    /// Writes a line above the bar, which is drawn again below it.
    package func write(_ line: String) {
        end()
        Console.remark(line)
    }

    package func end() {
        if isTerminal { Console.draw("") }
    }
}

package struct TextTable {
    private var rows: [[String]]

    package init(_ titles: String...) { rows = [titles] }

    package mutating func add(_ cells: String...) { rows.append(cells.map { TerminalText.clean($0) }) }

    package var isEmpty: Bool { rows.count == 1 }

    package var lines: [String] { lines(fitting: nil) }

    /// Returns the lines with their widest cells cut off where the window is too narrow. The first column stays whole:
    /// other commands take its cells.
    ///
    /// - Parameter columnsMax: the width of the window; nil: any.
    package func lines(fitting columnsMax: Int?) -> [String] {
        let widths = widths(fitting: columnsMax ?? .max)
        return rows.map { row in
            var line = ""
            for (column, cell) in row.enumerated() {
                let shown = TerminalText.cut(cell, columns: widths[column])
                line += shown
                guard column < row.count - 1 else { continue }
                line += String(repeating: " ", count: widths[column] - TerminalText.columns(shown) + Self.gap)
            }
            return line
        }
    }

    private static let gap = 2
    /// A shorter cell tells nothing.
    private static let cutWidthMin = 8

    private func widths(fitting columnsMax: Int) -> [Int] {
        var widths = (0..<rows[0].count).map { column in rows.map { TerminalText.columns($0[column]) }.max() ?? 0 }
        let gaps = Self.gap * (widths.count - 1)
        while widths.reduce(gaps, +) > columnsMax {
            let widest = widths.indices.dropFirst().max { widths[$0] < widths[$1] }
            guard let widest, widths[widest] > Self.cutWidthMin else { break }
            widths[widest] -= 1
        }
        return widths
    }

    package func write() {
        for line in lines(fitting: Console.columns) { Console.write(line) }
    }

    /// Writes a table of items, or a remark if there are none.
    ///
    /// - Parameter columns: titles and members. A list is shown with commas, and a dot leads into an object.
    static func write(_ items: [JSONValue], _ columns: KeyValuePairs<String, String>, ifEmpty remark: String) {
        guard !items.isEmpty else { return Console.remark(remark) }
        var table = TextTable()
        table.rows = [columns.map(\.key)]
        for item in items { table.rows.append(columns.map { TerminalText.clean(item.cell($0.value)) }) }
        table.write()
    }
}

extension JSONValue {
    fileprivate func cell(_ path: String) -> String {
        let names = path.split(separator: ".").map(String.init)
        let holder = names.dropLast().reduce(self) { $0.object?[$1] ?? .null }
        let texts = holder.strings(names[names.count - 1])
        return texts.isEmpty ? holder.shown(names[names.count - 1]) : texts.joined(separator: ",")
    }
}
