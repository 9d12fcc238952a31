import Encodings
import Foundation
import Reactor
import Simulator
import TLS
import Testing

extension Journeys {
    @Suite("A gateway with certificates")
    struct CertificateTests {
        enum Form: CaseIterable, Sendable { case pem, pkcs12 }

        @Test("is known by them to an APNs that asks for them", arguments: Form.allCases)
        func delivers(_ form: Form) async throws {
            let live = [Device](.live, 500)
            try await World.within { world in
                let gateway = try await world.gateway()
                try await gateway.api.expect(201, "POST", "/v1/apps", #"{"slug": "garden", "name": "Garden"}"#)
                try await gateway.register(live, of: .garden)
                try await gateway.submit(try world.certificate(), as: form, in: world.folder)
                let account = try await gateway.finished(try await gateway.broadcast(.garden), of: .garden)

                #expect(account.addsUp && account.endings == ["accepted": live.count])
                #expect(try await world.production.receipts(of: live) == .onceEach(live.count))
                let push = try #require(await world.production.simulator.received(live[0].deviceToken).first)
                #expect(push.header("apns-topic") == App.garden.topic)
                try await gateway.stopGently()
            }
        }

        @Test("waits where one is refused, beside a neighbour that is served, until another one is in use")
        func refused() async throws {
            let live = [Device](.live, 500)
            let neighbours = [Device](.live, 5, family: 1)
            let authority = try CertificateAuthority(validity: .days(2, from: Clocks.wallNow()))
            let revoked = try World.certificate(of: authority)
            try await World.within(production: .init(revokedCertificates: [revoked.certificate.sha256])) { world in
                let gateway = try await world.gateway()
                try await gateway.api.expect(201, "POST", "/v1/apps", #"{"slug": "garden", "name": "Garden"}"#)
                try await gateway.register(live, of: .garden)
                try await world.furnish(.forest, neighbours, through: gateway)
                try await gateway.submit(revoked, as: .pem, in: world.folder)
                let message = try await gateway.broadcast(.garden)
                try await eventually("the refusal") { await world.production.simulator.summary().goAways > 0 }
                try await eventually("the lane's block") {
                    try await world.database { try await $0.number("SELECT count(*) FROM lane_blocks") == 1 }
                }
                let neighbour = try await gateway.finished(try await gateway.broadcast(.forest), of: .forest)
                #expect(neighbour.endings == ["accepted": neighbours.count])
                let waiting = try await gateway.account(message, of: .garden)
                #expect(waiting.state != "finished" && waiting.endings == [:])
                #expect(try await gateway.isReady())

                try await gateway.submit(try world.certificate(), as: .pem, in: world.folder)
                let account = try await gateway.finished(message, of: .garden)
                #expect(account.addsUp && account.endings == ["accepted": live.count])
                #expect(try await world.production.receipts(of: live) == .onceEach(live.count))
                try await gateway.stopGently()
            }
        }
    }
}

extension World {
    fileprivate func certificate() throws -> TLSIdentity { try Self.certificate(of: authority) }

    /// As Apple writes one for the app in the garden.
    static func certificate(
        of authority: CertificateAuthority, isDevelopment: Bool = true, isProduction: Bool = true
    ) throws -> TLSIdentity {
        let subject = CertificateSubject(
            commonName: "Apple Push Services: \(App.garden.topic)", userID: App.garden.topic,
            organizationalUnit: "TEAMID1234")
        let apple = AppleExtensions(
            isDevelopment: isDevelopment, isProduction: isProduction, topics: [App.garden.topic])
        return try authority.issue(subject, validity: .days(2, from: Clocks.wallNow()), apple: apple)
    }
}

extension Gateway {
    /// Takes the certificate into use at once.
    func submit(
        _ identity: TLSIdentity, as form: Journeys.CertificateTests.Form, environment: String = "production",
        in folder: URL
    ) async throws {
        let pem = try identity.pem()
        let secret: String
        switch form {
        case .pem:
            let text = String(decoding: pem, as: UTF8.self).replacing("\n", with: "\\n")
            secret = #""pem": "\#(text)""#
        case .pkcs12:
            let archive = try Self.pkcs12(pem, password: "twelve", in: folder)
            secret = #""pkcs12": "\#(Base64.encode(archive))", "password": "twelve""#
        }
        try await api.expect(
            201, "POST", "/v1/apps/garden/credentials",
            """
            {"provider": "apns", "kind": "certificate", "environment": "\(environment)", "activate": true,
             \(secret)}
            """)
    }

    /// As a keychain exports it.
    private static func pkcs12(_ pem: [UInt8], password: String, in folder: URL) throws -> [UInt8] {
        let source = folder.appending(path: "identity.pem")
        let archive = folder.appending(path: "identity.p12")
        try Data(pem).write(to: source)
        let openssl = try Process.run(
            URL(filePath: "/usr/bin/env"),
            arguments: [
                "openssl", "pkcs12", "-export", "-in", source.path(percentEncoded: false), "-out",
                archive.path(percentEncoded: false), "-passout", "pass:\(password)",
            ])
        openssl.waitUntilExit()
        try #require(openssl.terminationStatus == 0)
        return Array(try Data(contentsOf: archive))
    }
}
