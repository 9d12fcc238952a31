import API
import JSON
import Requests
import Store
import Testing

@Suite("The line splitter of an import")
struct LineSplitterTests {
    private static func split(_ text: String, chunk: Int = .max, lineBytesMax: Int = 10) -> [LineSplitter.Line] {
        var splitter = LineSplitter(lineBytesMax: lineBytesMax)
        var lines: [LineSplitter.Line] = []
        var remaining = Array(text.utf8)[...]
        while !remaining.isEmpty {
            lines += splitter.take(Array(remaining.prefix(chunk)))
            remaining = remaining.dropFirst(chunk)
        }
        if let last = splitter.finish() { lines.append(last) }
        return lines
    }

    private static func line(_ number: Int, _ text: String?) -> LineSplitter.Line {
        var splitter = LineSplitter(lineBytesMax: 1_000)
        for _ in 1..<number { _ = splitter.take([UInt8(ascii: "\n")]) }
        guard let text else {
            return LineSplitter(lineBytesMax: 1).tooLong(number)
        }
        return splitter.take(Array((text + "\n").utf8)).first ?? line(0, nil)
    }

    private static let pushHistory = "one\ntwo\r\n\n  \t\nfive\nexactly 10\nmore than10\nexactly 10\r\n\r\nlast"
    private static let reported: [LineSplitter.Line] = [
        line(1, "one"), line(2, "two"), line(5, "five"), line(6, "exactly 10"), line(7, nil), line(8, "exactly 10"),
        line(10, "last"),
    ]

    @Test("finds the same lines, however the stream is cut into chunks", arguments: [1, 2, 3, 5, 7, 11, 1_000])
    func chunks(chunk: Int) {
        #expect(Self.split(Self.pushHistory, chunk: chunk) == Self.reported)
    }

    @Test("leaves out a byte order mark before the first line, and keeps any other", arguments: [1, 2, 4, 1_000])
    func byteOrderMark(chunk: Int) {
        let lines = Self.split("\u{feff}one\n\u{feff}two\n", chunk: chunk)
        #expect(lines == [Self.line(1, "one"), Self.line(2, "\u{feff}two")])
        #expect(Self.split("\u{feff}").isEmpty)
    }

    @Test("counts every line that ended, blank ones included")
    func count() {
        var splitter = LineSplitter(lineBytesMax: 10)
        _ = splitter.take(Array(Self.pushHistory.utf8))
        #expect(splitter.lines == 9)
        _ = splitter.finish()
        #expect(splitter.lines == 10)
        #expect(splitter.finish() == nil)
    }

    @Test("drops a line that exceeds the limit, and reports its number when it ends")
    func endless() {
        var splitter = LineSplitter(lineBytesMax: 64)
        for _ in 0..<1_000 { #expect(splitter.take(Array(repeating: UInt8(ascii: "x"), count: 65_536)).isEmpty) }
        #expect(splitter.take(Array("x\ny\n".utf8)) == [Self.line(1, nil), Self.line(2, "y")])
    }

    @Test("finds no lines in empty or blank input", arguments: ["", "\n\n\n", "\r\n", " "])
    func nothing(text: String) {
        #expect(Self.split(text).isEmpty)
    }
}

extension LineSplitter {
    /// A line of that number that exceeds the limit.
    fileprivate func tooLong(_ number: Int) -> Line {
        var splitter = self
        for _ in 1..<number { _ = splitter.take([UInt8(ascii: "\n")]) }
        return splitter.take(Array("xx\n".utf8))[0]
    }
}

@Suite("The answer to an import")
struct ImportAnswerTests {
    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test("reports refusals by line, progress, and the totals at the end")
    func pushHistory() {
        var answer = ImportAnswer()
        answer.count(.created)
        answer.count(.stale)
        let refusal = answer.refuse(2, Problem(.invalidToken, "No.", at: .root / "token"))
        #expect(
            Self.text(refusal)
                == #"{"line":2,"status":422,"code":"invalid_token","detail":"No.","pointer":"/token"}"# + "\n")
        #expect(Self.text(answer.progress(through: 3)) == #"{"resume_after":3,"accepted":2,"refused":1}"# + "\n")
        answer.count(.moved)
        #expect(
            Self.text(answer.end(lines: 5))
                == #"{"done":true,"resume_after":5,"accepted":3,"refused":1,"created":1,"refreshed":0,"replaced":0,"#
                + #""moved":1,"unchanged":0,"stale":1}"# + "\n")
    }

    @Test("reports where to resume when the import is interrupted")
    func interrupted() {
        var answer = ImportAnswer()
        answer.count(.created)
        _ = answer.progress(through: 1)
        #expect(
            Self.text(answer.interrupt(Problem(.unknownApp, "Gone.")))
                == #"{"done":false,"resume_after":1,"accepted":1,"refused":0,"status":404,"#
                + #""code":"unknown_app","detail":"Gone."}"# + "\n")
    }

    /// Problems that interrupt an import, which can be resumed after each of them.
    private static let lineEnds: [Problem] =
        [StoreFault.unavailable, .contended, .cancelled, .commitUnknown].map { Problem($0, .isIdempotent) } + [
            Problem(.requestTimeout, "Too slow. Nothing was changed; send it again."),
            Problem(.malformedRequest, "A chunk of the body has no size."),
        ]

    @Test("says what was imported and where to resume, whatever interrupted the import", arguments: lineEnds)
    func terminalStatus(problem: Problem) throws {
        var answer = ImportAnswer()
        _ = answer.progress(through: 7)
        let last = try JSONReader.read(answer.interrupt(problem)).object
        let detail = try #require(last?["detail"]?.string)
        #expect(detail.hasSuffix("The lines up to `resume_after` are imported; continue after that line."))
        #expect(!detail.lowercased().contains("nothing was changed"))
        #expect(!detail.contains("same request"))
        #expect(last?["code"] == .string(problem.code.rawValue))
    }
}
