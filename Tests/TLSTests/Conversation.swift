import Basis
import TLS

/// 2026-11-01T00:00:00Z, give or take: certificates of the tests hold around the real clock, which OpenSSL reads.
let longAgo = WallInstant(secondsSince1970: 1_700_000_000)
let century = CertificateValidity(from: longAgo, until: longAgo + .seconds(100 * 365 * 86_400))

/// Two sessions with a wire between them, in memory.
struct Conversation {
    let client: TLSSession
    let server: TLSSession
    /// The number of bytes that cross at once. Small numbers split every record.
    var chunk = Int.max

    init(_ client: TLSContext, _ server: TLSContext, serverName: String = "api.push.apple.com") throws {
        self.client = try TLSSession(client, serverName: serverName)
        self.server = try TLSSession(server)
    }

    /// Carries bytes until neither session has any to send.
    func settle() throws {
        try client.advance()
        while client.ciphertextCount > 0 || server.ciphertextCount > 0 {
            try carry(from: client, to: server)
            try carry(from: server, to: client)
        }
    }

    func carry(from: TLSSession, to: TLSSession) throws {
        var wire: [UInt8] = []
        from.takeCiphertext(into: &wire)
        var remaining = wire[...]
        while !remaining.isEmpty {
            let part = remaining.prefix(chunk)
            try to.feed(part.span)
            remaining = remaining.dropFirst(chunk)
        }
    }

    /// Returns the client's error after a handshake that may fail on either side.
    func clientFailure() -> TLSError? {
        do {
            try client.advance()
            for _ in 0..<10 {
                // The server's alert counts, not the error that the server throws.
                try? carry(from: client, to: server)
                try carry(from: server, to: client)
                // With TLS 1.3 a client learns of its refusal on its first read only.
                var buffer = [UInt8](repeating: 0, count: 64)
                _ = try client.read(into: &buffer)
            }
            return nil
        } catch { return error as? TLSError }
    }
}

/// Reads all plaintext that has arrived.
func readAll(_ session: TLSSession) throws -> [UInt8] {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    var all: [UInt8] = []
    while case .bytes(let count) = try session.read(into: &buffer) { all += buffer[..<count] }
    return all
}

/// An authority, a server with Apple's name, and a client that trusts the authority.
struct TLSFixture {
    let authority: CertificateAuthority
    let server: TLSIdentity

    init() throws {
        authority = try CertificateAuthority(validity: century)
        server = try authority.issue(
            CertificateSubject(commonName: "api.push.apple.com"),
            names: ["api.push.apple.com", "127.0.0.1", "::1"], validity: century)
    }

    func clientContext(alpn: [String] = ["h2"], identity: TLSIdentity? = nil) throws -> TLSContext {
        try TLSContext.client(trust: .only(pem: authority.pem), alpn: alpn, identity: identity)
    }
}
