import HTTP2
import ProviderInterface

/// The buffers of a lane, shared by its connections. Each is lent for one call at a time. An idle lane returns all of
/// them to the system, so that thousands of quiet lanes cost nothing.
struct LaneBuffers {
    /// The most that is read from a socket, or decrypted, at once.
    static let readBytes = 65_536
    /// The most that is encrypted at once: many records a write.
    static let framesBytes = 131_072

    private var ciphertext: [UInt8] = []
    private var plaintext: [UInt8] = []
    private var frames: [UInt8] = []
    private var body: [UInt8] = []
    private var pieceStarts: [Int] = []

    /// Lends a buffer of `readBytes`.
    mutating func takeCiphertext() -> [UInt8] { Self.take(&ciphertext) }
    mutating func giveBack(ciphertext: consuming [UInt8]) { self.ciphertext = ciphertext }

    /// Lends a buffer of `readBytes`.
    mutating func takePlaintext() -> [UInt8] { Self.take(&plaintext) }
    mutating func giveBack(plaintext: consuming [UInt8]) { self.plaintext = plaintext }

    /// Lends an empty buffer that keeps its capacity.
    mutating func takeFrames() -> [UInt8] {
        var borrowed: [UInt8] = []
        swap(&borrowed, &frames)
        return borrowed
    }
    mutating func giveBack(frames: consuming [UInt8]) { self.frames = frames }

    /// Assembles a push's body for the time of the call.
    mutating func withBody(
        _ pattern: BodyPattern, _ pieces: Span<UInt8>, _ use: (Span<UInt8>) throws(HTTP2Fault) -> Int32
    ) throws(HTTP2Fault) -> Int32 {
        body.removeAll(keepingCapacity: true)
        pattern.fill(pieces, into: &body, starts: &pieceStarts)
        return try use(body.span)
    }

    mutating func release() { self = LaneBuffers() }

    private static func take(_ idle: inout [UInt8]) -> [UInt8] {
        if idle.isEmpty { return [UInt8](repeating: 0, count: LaneBuffers.readBytes) }
        var borrowed: [UInt8] = []
        swap(&borrowed, &idle)
        return borrowed
    }
}
