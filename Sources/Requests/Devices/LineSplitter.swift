/// Cuts a stream of bytes into lines, holding no more than one line of bounded length.
///
/// Lines end with LF or CRLF; the last one needs no end. Empty lines are counted and left out. A byte order mark before
/// the first line, which spreadsheets and Windows write, is left out too.
package struct LineSplitter {
    package struct Line: Equatable {
        /// The line's number, from 1.
        package let number: Int
        /// The line's content; nil if it was longer than the limit and was dropped.
        package let bytes: [UInt8]?
    }

    /// U+FEFF in UTF-8.
    private static let byteOrderMark: [UInt8] = [0xef, 0xbb, 0xbf]

    private let lineBytesMax: Int
    private var buffered: [UInt8] = []
    private var isTooLong = false
    package private(set) var lines = 0

    package init(lineBytesMax: Int) {
        precondition(lineBytesMax > 0)
        self.lineBytesMax = lineBytesMax
    }

    package mutating func take(_ chunk: [UInt8]) -> [Line] {
        var ended: [Line] = []
        var start = 0
        while let end = chunk[start...].firstIndex(of: UInt8(ascii: "\n")) {
            hold(chunk[start..<end])
            if let line = endLine() { ended.append(line) }
            start = end + 1
        }
        hold(chunk[start...])
        return ended
    }

    /// Returns the text after the last line end; nil if there is none.
    package mutating func finish() -> Line? { buffered.isEmpty && !isTooLong ? nil : endLine() }

    private mutating func hold(_ part: ArraySlice<UInt8>) {
        // One byte more, for the CR before the LF.
        guard !isTooLong, buffered.count + part.count <= lineBytesMax + 1 else {
            isTooLong = true
            buffered.removeAll(keepingCapacity: true)
            return
        }
        buffered.append(contentsOf: part)
    }

    private mutating func endLine() -> Line? {
        defer {
            buffered.removeAll(keepingCapacity: true)
            isTooLong = false
        }
        lines += 1
        if buffered.last == UInt8(ascii: "\r") { buffered.removeLast() }
        if lines == 1, buffered.starts(with: Self.byteOrderMark) { buffered.removeFirst(Self.byteOrderMark.count) }
        if isTooLong || buffered.count > lineBytesMax { return Line(number: lines, bytes: nil) }
        let isBlank = buffered.allSatisfy { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        return isBlank ? nil : Line(number: lines, bytes: buffered)
    }
}
