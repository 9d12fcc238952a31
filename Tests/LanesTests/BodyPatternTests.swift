import Basis
import ProviderInterface
import Reactor
import Synchronization
import TestSupport
import Testing

@Suite("Bodies that are assembled from pieces", .timeLimit(.minutes(5)))
struct BodyPatternTests {
    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    /// `<0>: first piece, second piece, first piece again`, around fixed text; the second piece may be left out.
    private static func pattern() -> BodyPattern {
        let bytes = Array("one two three nobody".utf8)
        return BodyPattern(
            bytes: bytes,
            steps: [
                .init(fixed: ByteRange(start: 0, count: 4), piece: 0),
                .init(fixed: ByteRange(start: 4, count: 4), piece: 1),
                .init(fixed: ByteRange(start: 8, count: 6), piece: 0), .init(fixed: .empty, piece: 1),
            ], standIns: [.empty, ByteRange(start: 14, count: 6)])
    }

    private static func append(_ pieces: [String?], to bytes: inout [UInt8]) {
        for piece in pieces {
            let start = BodyPattern.beginPiece(in: &bytes)
            if let piece {
                bytes += piece.utf8
                #expect(BodyPattern.endPiece(from: start, in: &bytes) == piece.utf8.count)
            } else {
                BodyPattern.leaveOut(from: start, in: &bytes)
            }
        }
    }

    static func batch(_ tags: Range<Int32>) -> PushBatch {
        let plain = Bench.batch(tags, noStreamAfter: Clocks.monotonicNow() + .seconds(60))
        var bytes = plain.bytes
        let requests = plain.requests.map { request in
            let start = bytes.count
            append(["<\(request.tag)>", request.tag % 2 == 0 ? nil : "{\(request.tag)}"], to: &bytes)
            return PushBatch.Request(
                tag: request.tag, path: request.path, id: request.id,
                body: ByteRange(start: start, count: bytes.count - start))
        }
        let frame = PushBatch.BodyFrame(prefix: Array("[".utf8), suffix: Array("]".utf8), pattern: pattern())
        return PushBatch(
            idHeader: plain.idHeader, sharedFields: plain.sharedFields, bytes: bytes, frames: [frame],
            requests: requests, noStreamAfter: plain.noStreamAfter)
    }

    @Test("arrive complete, with each piece in its place")
    func arrive() async throws {
        let bodies = Mutex<[String: String]>([:])
        var script = PeerScript()
        script.onRequest = { request in
            bodies.withLock { $0[request.path] = Self.text(request.body) }
            return [.respond(status: 200)]
        }
        let peer = try await Peer(script)
        let bench = try Bench(peer)
        bench.lane.submit(Self.batch(0..<1_000), ticket: BatchTicket(1), sink: bench.sink)
        #expect(await bench.sink.answers(1_000).count(of: .accepted) == 1_000)
        let expected = (0..<1_000).map { tag in
            let second = tag % 2 == 0 ? "nobody" : "{\(tag)}"
            return ("/3/device/\(tag)", "[one <\(tag)>two \(second)three <\(tag)>\(second)]")
        }
        #expect(bodies.withLock { $0 } == Dictionary(uniqueKeysWithValues: expected))
        await bench.finish()
        peer.stop()
    }

    @Test("tolerate missing pieces, and reject a piece that is too long")
    func damaged() {
        var body: [UInt8] = []
        var starts: [Int] = []
        var bytes: [UInt8] = []
        Self.append(["a"], to: &bytes)
        Self.pattern().fill(bytes.span, into: &body, starts: &starts)
        #expect(Self.text(body) == "one atwo three a")
        var long = [UInt8](repeating: 0, count: 2)
        let start = BodyPattern.beginPiece(in: &long)
        long += [UInt8](repeating: 1, count: 65_535)
        #expect(BodyPattern.endPiece(from: start, in: &long) == nil)
    }
}
