import Foundation

/// What a person at a terminal reads. The only place that writes to standard output.
package enum Console {
    /// A line of the answer that was asked for.
    package static func say(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }

    /// Why the program can't go on, in one line.
    package static func complain(_ line: String) {
        FileHandle.standardError.write(Data(("carillon: " + line + "\n").utf8))
    }
}
