/// The server's side of one HTTP/1.1 connection: bytes in, whole requests out, one at a time. No socket, no clock.
///
/// Small and strict. A body is framed by `content-length` or by `chunked`, never by both. Folded lines and bare line
/// feeds are refused. A broken rule is answered once, and the connection ends. A pipelined request waits in the buffer
/// until the one before it is answered.
/// Source: RFC 9112.
final class HTTP1Session {
    /// Request line and header fields together.
    static let headBytesMax = 16_384
    static let fieldsMax = 100
    /// The limit of one line of chunked framing; extensions are ignored.
    private static let chunkLineBytesMax = 256
    /// The limit of pipelined bytes while a request is being answered.
    static let pipelinedBytesMax = 65_536

    /// The reason why a request is refused; the raw value is the status of the answer.
    enum Fault: Int, Error, Equatable, Sendable {
        case malformed = 400
        case bodyTooLarge = 413
        case headTooLarge = 431
        case encodingUnknown = 501
        case versionUnknown = 505
    }

    private enum Reading: Equatable {
        /// Request line and fields, up to the empty line. → body, chunkSize, whole
        case head
        /// So many bytes are missing. → whole
        case body(Int)
        /// The line with the next chunk's size. → chunk, trailer
        case chunkSize
        /// So many bytes are missing, and the line end after them. → chunkSize
        case chunk(Int)
        /// Fields after the last chunk, which are ignored. → whole
        case trailer
        case whole
    }

    private let bodyBytesMax: Int
    private var reading = Reading.head
    private var input: [UInt8] = []
    /// The bytes of `input` that are read already.
    private var start = 0
    private var head = HTTP1Head()
    private var body: [UInt8] = []
    private var trailerBytes = 0
    private var isAwaitingAnswer = false
    private var output: [UInt8] = []

    /// The last returned request's number: 1, 3, 5, ... as HTTP/2 would number it.
    private(set) var streamID: Int32 = -1
    private(set) var fault: Fault?
    /// No further request is read: the client or a fault ended the connection.
    private(set) var isLast = false

    init(bodyBytesMax: Int) { self.bodyBytesMax = bodyBytesMax }

    /// A request has begun, and is not complete.
    var isMidway: Bool { !isAwaitingAnswer && fault == nil && (reading != .head || start < input.count) }
    var wantsWrite: Bool { !output.isEmpty }
    var openStreams: Int { isAwaitingAnswer ? 1 : 0 }
    var isFinished: Bool { isLast && !isAwaitingAnswer && output.isEmpty }

    func receive(_ bytes: Span<UInt8>) {
        guard !isLast, fault == nil else { return }
        guard input.count - start + bytes.count <= HTTP1Session.pipelinedBytesMax + bodyBytesMax else {
            refuse(.bodyTooLarge)
            return
        }
        if start == input.count {
            input.removeAll(keepingCapacity: input.count <= HTTP1Session.pipelinedBytesMax)
            start = 0
        }
        for index in bytes.indices { input.append(bytes[index]) }
        advance()
    }

    /// nil: no request is complete, or one is still being answered.
    func nextRequest() -> PushRequest? {
        guard !isAwaitingAnswer, fault == nil, reading == .whole else { return nil }
        isAwaitingAnswer = true
        streamID &+= 2
        let request = PushRequest(
            method: head.method, path: head.path, headers: head.fields, body: body, isHTTP2: false,
            authority: head.value("host") ?? "")
        body = []
        return request
    }

    func awaits(_ streamID: Int32) -> Bool { isAwaitingAnswer && streamID == self.streamID }

    /// Answers the last returned request; the next may follow.
    func respond(status: Int, _ headers: [HeaderLine], body: [UInt8]) {
        guard isAwaitingAnswer else { return }
        isAwaitingAnswer = false
        isLast = isLast || !head.keepsAlive
        write(status: status, headers, body: body)
        reading = .head
        if !isLast { advance() }
    }

    /// Makes the present answer, if any, the last one.
    func end() { isLast = true }

    func takeOutput(into bytes: inout [UInt8]) {
        bytes.append(contentsOf: output)
        output.removeAll(keepingCapacity: true)
    }

    private func write(status: Int, _ headers: [HeaderLine], body: [UInt8]) {
        var text = "HTTP/1.1 \(status) \(HTTP1Session.phrase(status))\r\n"
        for line in headers { text += "\(line.name): \(line.value)\r\n" }
        if isLast { text += "connection: close\r\n" }
        text += "content-length: \(body.count)\r\n\r\n"
        output.append(contentsOf: text.utf8)
        if head.method != "HEAD" { output.append(contentsOf: body) }
    }

    private static func phrase(_ status: Int) -> String {
        switch status {
        case 200: "OK"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 413: "Content Too Large"
        case 429: "Too Many Requests"
        case 500: "Internal Server Error"
        case 503: "Service Unavailable"
        default: "Answer"
        }
    }

    /// Returns false, as a step that read nothing.
    @discardableResult
    private func refuse(_ fault: Fault) -> Bool {
        self.fault = fault
        isLast = true
        input.removeAll()
        start = 0
        head = HTTP1Head()
        write(status: fault.rawValue, [], body: [])
        return false
    }
}

extension HTTP1Session {
    private func advance() {
        while !isAwaitingAnswer && fault == nil && step() {}
    }

    /// - Returns: whether something was read.
    private func step() -> Bool {
        switch reading {
        case .whole: return false
        case .head: return readHead()
        case .body(let missing): return readBody(missing) { $0 == 0 ? .whole : .body($0) }
        case .chunkSize: return readChunkSize()
        case .chunk(let missing):
            if missing > 0 { return readBody(missing) { .chunk($0) } }
            guard let line = takeLine(bytesMax: 0) else { return false }
            reading = .chunkSize
            return line.isEmpty
        case .trailer: return readTrailer()
        }
    }

    private func readHead() -> Bool {
        guard let end = endOfHead() else {
            if input.count - start > HTTP1Session.headBytesMax { refuse(.headTooLarge) }
            return false
        }
        guard end - start <= HTTP1Session.headBytesMax else { return refuse(.headTooLarge) }
        do throws(Fault) {
            head = try HTTP1Head(input[start..<end])
            reading = try opening(head)
        } catch {
            refuse(error)
            return false
        }
        start = end
        trailerBytes = 0
        if head.expectsContinue && reading != .whole { output.append(contentsOf: "HTTP/1.1 100 Continue\r\n\r\n".utf8) }
        return true
    }

    private func opening(_ head: HTTP1Head) throws(Fault) -> Reading {
        switch head.framing {
        case .none, .length(0): return .whole
        case .length(let count):
            guard count <= bodyBytesMax else { throw .bodyTooLarge }
            return .body(count)
        case .chunked: return .chunkSize
        }
    }

    /// The index after the empty line; nil: not here yet.
    private func endOfHead() -> Int? {
        input[start...].prefix(HTTP1Session.headBytesMax + 4).firstRange(of: "\r\n\r\n".utf8)?.upperBound
    }

    private func readBody(_ missing: Int, _ next: (Int) -> Reading) -> Bool {
        let count = min(missing, input.count - start)
        guard count > 0 else { return false }
        body.append(contentsOf: input[start..<(start + count)])
        start += count
        reading = next(missing - count)
        return true
    }

    private func readChunkSize() -> Bool {
        guard let line = takeLine(bytesMax: HTTP1Session.chunkLineBytesMax) else { return false }
        let digits = line.prefix { $0 != UInt8(ascii: ";") }
        guard let text = String(validating: digits, as: UTF8.self), !text.isEmpty, text.utf8.count <= 8,
            text.utf8.allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") }),
            let count = Int(text, radix: 16)
        else { return refuse(.malformed) }
        guard count <= bodyBytesMax - body.count else { return refuse(.bodyTooLarge) }
        reading = count == 0 ? .trailer : .chunk(count)
        return true
    }

    private func readTrailer() -> Bool {
        guard let line = takeLine(bytesMax: HTTP1Session.headBytesMax) else { return false }
        trailerBytes += line.count
        guard trailerBytes <= HTTP1Session.headBytesMax else { return refuse(.headTooLarge) }
        if line.isEmpty { reading = .whole }
        return true
    }

    /// Takes a line without its end. nil: not here yet, or refused.
    private func takeLine(bytesMax: Int) -> ArraySlice<UInt8>? {
        guard let end = input[start...].firstIndex(of: 0x0a) else {
            if input.count - start > bytesMax + 1 { refuse(.malformed) }
            return nil
        }
        guard end > start, input[end - 1] == 0x0d, end - 1 - start <= bytesMax else {
            refuse(.malformed)
            return nil
        }
        defer { start = end + 1 }
        return input[start..<(end - 1)]
    }
}
