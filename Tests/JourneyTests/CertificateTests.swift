import Encodings
import Foundation
import Model
import Reactor
import Simulator
import TLS
import TestSupport
import Testing

extension Journeys {
    @Suite("A gateway with APNs certificates")
    struct CertificateTests {
        enum Form: CaseIterable, Sendable { case pem, pkcs12 }

        @Test("authenticates to APNs with its certificate and delivers", arguments: Form.allCases)
        func delivers(_ form: Form) async throws {
            let live = [Device](.live, 500)
            try await World.within { world in
                let gateway = try await world.gateway()
                try await gateway.api.expect(201, "POST", "/v1/apps", #"{"slug": "garden", "name": "Garden"}"#)
                try await gateway.register(live, of: .garden)
                try await gateway.submit(try world.certificate(), as: form, in: world.folder)
                let account = try await gateway.finished(try await gateway.broadcast(.garden), of: .garden)

                #expect(account.addsUp && account.terminalCounts == ["accepted": live.count])
                #expect(try await world.production.receipts(of: live) == .onceEach(live.count))
                let push = try #require(await world.production.simulator.received(live[0].deviceToken).first)
                #expect(push.header("apns-topic") == App.garden.topic)
                try await gateway.stopGently()
            }
        }

        @Test("holds pushes while its certificate is refused, serves other apps, and sends with a new one")
        func refused() async throws {
            let live = [Device](.live, 500)
            let neighbours = [Device](.live, 5, family: 1)
            let authority = try CertificateAuthority(validity: .days(2, from: Clocks.wallNow()))
            let revoked = try World.certificate(of: authority)
            try await World.within(production: .init(revokedCertificates: [revoked.certificate.sha256])) { world in
                let gateway = try await world.gateway()
                try await gateway.api.expect(201, "POST", "/v1/apps", #"{"slug": "garden", "name": "Garden"}"#)
                try await gateway.register(live, of: .garden)
                try await world.fill(.forest, neighbours, through: gateway)
                try await gateway.submit(revoked, as: .pem, in: world.folder)
                let message = try await gateway.broadcast(.garden)
                try await eventually("the peer's GOAWAY") { await world.production.simulator.summary().goAways > 0 }
                try await eventually("the lane's block") {
                    try await world.database { try await $0.number("SELECT count(*) FROM lane_blocks") == 1 }
                }
                let neighbour = try await gateway.finished(try await gateway.broadcast(.forest), of: .forest)
                #expect(neighbour.terminalCounts == ["accepted": neighbours.count])
                let waiting = try await gateway.account(message, of: .garden)
                #expect(waiting.state != "finished" && waiting.terminalCounts == [:])
                #expect(try await gateway.isReady())

                try await gateway.submit(try world.certificate(), as: .pem, in: world.folder)
                let account = try await gateway.finished(message, of: .garden)
                #expect(account.addsUp && account.terminalCounts == ["accepted": live.count])
                #expect(try await world.production.receipts(of: live) == .onceEach(live.count))
                try await gateway.stopGently()
            }
        }

        @Test("sends each push with the certificate that covers its topic")
        func callsByTheirOwn() async throws {
            try await World.within { world in
                let gateway = try await world.gateway()
                let (app, calls) = (try world.certificate(), try world.certificate(topic: App.garden.topic + ".voip"))
                try await gateway.api.expect(201, "POST", "/v1/apps", #"{"slug": "garden", "name": "Garden"}"#)
                try await gateway.submit(app, as: .pem, in: world.folder)
                let phone = try await Phone(at: gateway)
                // The app's certificate does not cover calls, so this one waits, and alerts do not.
                let call = try await phone.send(.voip, through: gateway)
                #expect(try await phone.get(.alert, through: gateway) == ["accepted": 1])
                #expect(try await gateway.account(call, of: .garden).terminalCounts == [:])
                try await gateway.submit(calls, as: .pem, in: world.folder)
                #expect(try await gateway.finished(call, of: .garden).terminalCounts == ["accepted": 1])
                for type in [PushType.alert, .voip, .alert] {
                    #expect(try await phone.get(type, through: gateway) == ["accepted": 1], "\(type)")
                }
                #expect(try await phone.senders(.alert, at: world.production) == [app.name, app.name, app.name])
                #expect(try await phone.senders(.voip, at: world.production) == [calls.name, calls.name])

                // A renewed certificate replaces the first one. The gateway learns of the change a moment later.
                let next = try world.certificate(topic: App.garden.topic + ".voip")
                try await gateway.submit(next, as: .pem, in: world.folder)
                try await eventually("a call to leave with the new certificate") {
                    #expect(try await phone.get(.voip, through: gateway) == ["accepted": 1])
                    return try await phone.senders(.voip, at: world.production).last == next.name
                }
                #expect(try await phone.get(.alert, through: gateway) == ["accepted": 1])
                try await gateway.stopGently()
            }
        }
    }
}

/// An installation with a token for alerts and one for calls.
struct Phone {
    private let alert = [Device](.live, 1)[0]
    private let voip = [Device](.live, 1, family: 1)[0]

    init(at gateway: Gateway) async throws {
        for (kind, device) in [("alert", alert), ("voip", voip)] {
            try await gateway.api.expect(
                201, "PUT", "/v1/apps/garden/devices/phone",
                #"{"provider": "apns", "kind": "\#(kind)", "topic": "\#(App.garden.topic)", "token": "\#(device.token)"}"#
            )
        }
    }

    /// Sends a message to this phone alone; returns how it ended.
    func get(_ type: PushType, through gateway: Gateway) async throws -> [String: Int] {
        let account = try await gateway.finished(try await send(type, through: gateway), of: .garden)
        #expect(account.addsUp)
        return account.terminalCounts
    }

    /// Sends a message to this phone alone; returns its id.
    func send(_ type: PushType, through gateway: Gateway) async throws -> String {
        let content = type == .voip ? #""data": {"call": "1"}"# : #""notification": {"body": "Twelve o'clock"}"#
        return try await gateway.send(
            .garden,
            #"{"audience": {"installations": ["phone"]}, "options": {"push_type": "\#(type.name)"}, \#(content)}"#)[0]
    }

    /// The certificates with which its pushes arrived.
    func senders(_ type: PushType, at standIn: StandIn) async throws -> [String] {
        let pushes = await standIn.simulator.received((type == .voip ? voip : alert).deviceToken)
        #expect(pushes.allSatisfy { $0.header("apns-topic") == App.garden.topic + type.service.suffix })
        return pushes.map { $0.certificate ?? "none" }
    }
}

extension TLSIdentity {
    /// The certificate's name in the API and in the stand-in.
    fileprivate var name: String { Hexadecimal.text(certificate.sha256) }
}

extension World {
    fileprivate func certificate(topic: String = App.garden.topic) throws -> TLSIdentity {
        try Self.certificate(of: authority, topic: topic)
    }

    /// A certificate like Apple's for the app "garden", or for one of its services.
    static func certificate(
        of authority: CertificateAuthority, topic: String = App.garden.topic, isDevelopment: Bool = true,
        isProduction: Bool = true
    ) throws -> TLSIdentity {
        let subject = CertificateSubject(
            commonName: "Apple Push Services: \(topic)", userID: topic, organizationalUnit: "TEAMID1234")
        let apple = AppleExtensions(isDevelopment: isDevelopment, isProduction: isProduction, topics: [topic])
        return try authority.issue(subject, validity: .days(2, from: Clocks.wallNow()), apple: apple)
    }
}

extension Gateway {
    /// Submits the certificate and activates it at once.
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

    /// - Parameter sha256: the digest of its certificate, in hexadecimal.
    func retireCredential(_ sha256: String) async throws {
        struct Listed: Decodable {
            struct Item: Decodable {
                let id: String
                let sha256: String
            }
            let items: [Item]
        }
        let listed = try await api.expect(200, "GET", "/v1/apps/garden/credentials").decoded(Listed.self)
        let id = try #require(listed.items.first { $0.sha256 == sha256 }).id
        try await api.expect(204, "POST", "/v1/apps/garden/credentials/\(id)/retire")
    }

    /// An archive like a keychain's export.
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
