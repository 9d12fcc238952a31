import HTTP2
import JSON

/// One request, as the stand-in's validators read it.
struct PushRequest {
    let method: String
    let path: String
    let isHTTP2: Bool
    /// The host that the client calls: `:authority`, or `host` without one.
    let authority: String
    /// "" if the request has none, until the stand-in makes one.
    var apnsID: String
    /// All fields except pseudo-header fields, in order.
    let headers: [HeaderLine]
    let body: [UInt8]
    /// The bytes of the body as sent, even if less of it was kept.
    let bodyBytes: Int

    /// - Parameter unkeptMethod: the method of requests for which the session keeps none.
    init(_ request: HTTP2Request, of session: HTTP2ServerSession, unkeptMethod: String = "") {
        var method = unkeptMethod
        var path = ""
        var authority: String?
        var headers: [HeaderLine] = []
        headers.reserveCapacity(request.fieldCount)
        for field in session.fields(of: request) {
            let name = String(decoding: session.bytes(field.name), as: UTF8.self)
            let value = String(decoding: session.bytes(field.value), as: UTF8.self)
            switch name {
            case ":method": method = value
            case ":path": path = value
            case ":authority": authority = value
            case _ where name.hasPrefix(":"): break
            default: headers.append(HeaderLine(name: name, value: value))
            }
        }
        self.init(
            method: method, path: path, headers: headers, body: session.bytes(request.body),
            bodyBytes: request.bodyBytes, isHTTP2: true,
            authority: authority ?? headers.first { $0.name == "host" }?.value ?? "")
    }

    init(
        method: String, path: String, headers: [HeaderLine], body: [UInt8], bodyBytes: Int? = nil,
        isHTTP2: Bool, authority: String
    ) {
        (self.method, self.path, self.isHTTP2) = (method, path, isHTTP2)
        (self.authority, self.headers) = (authority, headers)
        apnsID = headers.first { $0.name == "apns-id" }?.value ?? ""
        self.body = body
        self.bodyBytes = bodyBytes ?? body.count
    }

    func value(_ name: String) -> String? { headers.first { $0.name == name }?.value }

    /// Whether a header field is repeated that may not be, as `cookie` may.
    var repeatsAHeader: Bool {
        for (place, line) in headers.enumerated() where line.name != "cookie" {
            if headers[..<place].contains(where: { $0.name == line.name }) { return true }
        }
        return false
    }

    static let devicePath = "/3/device"

    /// The path after `/3/device/`. nil: another path.
    var tokenText: Substring? {
        guard path.hasPrefix(PushRequest.devicePath) else { return nil }
        let remaining = path.dropFirst(PushRequest.devicePath.count)
        if remaining.isEmpty { return remaining }
        return remaining.first == "/" ? remaining.dropFirst() : nil
    }

    var isObject: Bool {
        // Apple limits only the size, so our stricter limits for text, such as no NUL, don't apply.
        (try? JSONReader.read(body, limits: .trusted))?.object != nil
    }
}

package struct HeaderLine: Equatable, Sendable {
    package let name: String
    package let value: String
    package init(name: String, value: String) { (self.name, self.value) = (name, value) }
}
