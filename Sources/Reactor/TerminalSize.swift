import Glibc

package enum TerminalSize {
    /// The height in lines; nil if the descriptor is no terminal, or one that doesn't know. It may change at any time.
    package static func rows(of descriptor: Int32) -> Int? {
        var size = winsize()
        guard unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0 else { return nil }
        return Int(size.ws_row)
    }
}
