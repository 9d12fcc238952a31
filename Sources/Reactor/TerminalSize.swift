import Glibc

package enum TerminalSize {
    /// The height in lines; nil if the descriptor is no terminal, or one that doesn't know. It may change at any time.
    package static func rows(of descriptor: Int32) -> Int? {
        size(of: descriptor).flatMap { $0.ws_row > 0 ? Int($0.ws_row) : nil }
    }

    /// The width in columns; nil in the same cases.
    package static func columns(of descriptor: Int32) -> Int? {
        size(of: descriptor).flatMap { $0.ws_col > 0 ? Int($0.ws_col) : nil }
    }

    private static func size(of descriptor: Int32) -> winsize? {
        var size = winsize()
        return unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 ? size : nil
    }
}
