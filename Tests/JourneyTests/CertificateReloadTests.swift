import Basis
import Foundation
import Glibc
import Reactor
import TLS
import TestSupport
import Testing

extension Journeys {
    @Suite("A gateway that gets SIGHUP")
    struct CertificateReloadTests {
        @Test("serves the renewed certificate to new connections, and goes on with those that are open")
        func renewed() async throws {
            try await World.within(isEncrypted: true) { world in
                let gateway = try await world.gateway()
                let old = try EncryptedClient(to: gateway, trusting: world.authority.pem)
                #expect(try old.status(of: "/healthz") == 200)
                let renewed = try world.renewServerCertificate()
                let kept = try EncryptedClient(to: gateway, trusting: world.authority.pem)
                #expect(kept.certificate == old.certificate, "without a signal the old certificate is served")

                try await Self.hangUp(gateway, until: "TLS certificate read again: new connections get it")
                let new = try EncryptedClient(to: gateway, trusting: world.authority.pem)
                #expect(new.certificate == renewed && new.certificate != old.certificate)
                for client in [old, kept, new] { #expect(try client.status(of: "/healthz") == 200) }
                try await gateway.stopGently()
            }
        }

        @Test("keeps its certificate and logs why if the new one can't be used")
        func unusable() async throws {
            try await World.within(isEncrypted: true) { world in
                let gateway = try await world.gateway()
                let before = try EncryptedClient(to: gateway, trusting: world.authority.pem).certificate
                _ = try world.renewServerCertificate(from: Clocks.wallNow() + .seconds(-10 * 86_400))
                try await Self.hangUp(gateway, until: "the certificate has expired")
                try Data("no certificate".utf8).write(to: world.folder.appending(path: "server.pem"))
                try await Self.hangUp(gateway, until: "holds no certificate in PEM")
                #expect(gateway.program.logged.contains("TLS certificate can't be used: the old one stays in use"))
                let after = try EncryptedClient(to: gateway, trusting: world.authority.pem)
                #expect(after.certificate == before)
                #expect(try after.status(of: "/healthz") == 200)
                try await gateway.stopGently()
            }
        }

        @Test("ignores the signal if it speaks no TLS, and logs that")
        func plain() async throws {
            try await World.within { world in
                let gateway = try await world.gateway()
                try await Self.hangUp(gateway, until: "SIGHUP ignored: the API's port has no TLS certificate")
                try await gateway.api.expect(200, "GET", "/healthz")
                try await gateway.stopGently()
            }
        }

        private static func hangUp(_ gateway: Gateway, until line: String) async throws {
            gateway.program.kill(SIGHUP)
            try await eventually("the log to contain \"\(line)\"") { gateway.program.logged.contains(line) }
        }
    }
}

extension World {
    /// Writes another certificate and key into the gateway's file, as certbot does; returns the certificate's SHA-256.
    fileprivate func renewServerCertificate(from start: WallInstant = Clocks.wallNow()) throws -> [UInt8] {
        let identity = try authority.issue(
            CertificateSubject(commonName: "localhost"), names: ["127.0.0.1"],
            validity: .days(3, from: start))
        try Data(try identity.pem()).write(to: folder.appending(path: "server.pem"))
        return identity.certificate.sha256
    }
}

/// A client with one connection over TLS, which stays open, and on which it waits on the test's own thread.
private final class EncryptedClient {
    private let socket: StreamSocket
    private let tls: TLSSession
    private static let timeout: Duration = .seconds(20)

    init(to gateway: Gateway, trusting authority: [UInt8]) throws {
        let port = try #require(gateway.api.base.port)
        socket = try StreamSocket.connect(to: SocketAddress(loopbackPort: UInt16(port)))
        tls = try TLSSession(
            TLSContext.client(trust: .only(pem: authority), alpn: ["http/1.1"]), serverName: "127.0.0.1")
        try tls.advance()
        try pump { _ in self.tls.state == .open }
    }

    var certificate: [UInt8]? { tls.peerCertificate?.sha256 }

    /// nil: the connection ended.
    func status(of path: String) throws -> Int? {
        let request = Array("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".utf8)
        try tls.write(request.span)
        var answer = ""
        // The answer's body has no line end, and ends the object.
        try pump {
            answer += String(decoding: $0, as: UTF8.self)
            return answer.hasSuffix("}") || answer.hasSuffix("}\n")
        }
        return answer.split(separator: " ").dropFirst().first.flatMap { Int($0) }
    }

    /// Reads and writes until the plaintext that came satisfies the condition.
    private func pump(until isDone: (_ plaintext: [UInt8]) -> Bool) throws {
        let deadline = Clocks.monotonicNow() + Self.timeout
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            try writeOut()
            var plaintext: [UInt8] = []
            if tls.state == .open {
                while case .bytes(let count) = try tls.read(into: &buffer) { plaintext += buffer[..<count] }
            }
            if isDone(plaintext) { return }
            guard Clocks.monotonicNow() < deadline else { throw TookTooLong(description: "no answer came over TLS") }
            var event = pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0)
            guard unsafe poll(&event, 1, 100) > 0 else { continue }
            guard case .bytes(let count) = try socket.read(into: &buffer) else {
                throw TookTooLong(description: "the gateway closed the connection")
            }
            try tls.feed(buffer.span.extracting(0..<count))
        }
    }

    private func writeOut() throws {
        var ciphertext: [UInt8] = []
        tls.takeCiphertext(into: &ciphertext)
        var start = 0
        while start < ciphertext.count {
            start += try socket.write(ciphertext.span.extracting(start..<ciphertext.count))
        }
    }
}
