import JSON
import Signing
import Simulator
import Testing

@Suite("An assertion shown to the simulator of Google's OAuth", .serialized)
struct OAuthTests {
    private func error(_ answer: Provider.Answer) throws -> String {
        try JSONReader.read(Array(answer.body.utf8)).object?["error"]?.string ?? ""
    }

    @Test("earns an access token for an hour, or for the configured time", arguments: [3_599, 1])
    func granted(seconds: Int) async throws {
        let standIn = try await GoogleStandIn { $0.accessTokenSeconds = seconds }
        let client = try standIn.connect()
        let form = GoogleStandIn.form(try standIn.assertion())
        let answer = try client.post("/token", host: standIn.host, body: form)
        #expect(answer.status == 200)
        let object = try #require(try JSONReader.read(Array(answer.body.utf8)).object)
        #expect(object["expires_in"]?.integer == Int64(seconds))
        #expect(object["token_type"] == "Bearer")
        let authorization = "Bearer " + (object["access_token"]?.string ?? "")
        let message = #"{"message":{"token":"phone"}}"#
        #expect(try client.send(message, authorization: authorization).status == 200)
        await standIn.simulator.follow(SimulatorScript(clockOffset: .seconds(seconds)))
        #expect(try client.send(message, authorization: authorization).status == 401, "the access token has expired")
        let summary = await standIn.simulator.summary()
        #expect(summary.accessTokensAsked == 1)
        #expect(summary.accessTokensIssued == 1)
        #expect(summary.requests == 2, "only pushes count as requests")
    }

    @Test("fails with a wrong form, signature, audience, scope or time")
    func refused() async throws {
        let standIn = try await GoogleStandIn()
        let client = try standIn.connect()
        let stranger = try RS256Key.generate()
        let assertions: [(String, String, Int)] = [
            (try standIn.assertion(key: stranger), "invalid_grant", 400),
            (
                try standIn.assertion(header: #"{"alg":"HS256","kid":"\#(standIn.account.privateKeyID)"}"#),
                "invalid_grant", 400
            ),
            (try standIn.assertion(header: #"{"alg":"RS256","kid":"another"}"#), "invalid_grant", 400),
            (try standIn.assertion(claims: standIn.claims(issuer: "nobody@example.com")), "invalid_grant", 400),
            (
                try standIn.assertion(claims: standIn.claims(audience: "https://localhost/token")),
                "invalid_grant", 400
            ),
            (try standIn.assertion(claims: standIn.claims(seconds: 3_601)), "invalid_grant", 400),
            (try standIn.assertion(claims: standIn.claims(seconds: 0)), "invalid_grant", 400),
            (try standIn.assertion(claims: standIn.claims(issuedAgo: 4_000)), "invalid_grant", 400),
            (try standIn.assertion(claims: standIn.claims(issuedAgo: -400)), "invalid_grant", 400),
            (try standIn.assertion(claims: standIn.claims(scope: "")), "invalid_scope", 400),
            (try standIn.assertion(claims: standIn.claims(scope: "messaging")), "invalid_scope", 400),
            (try standIn.assertion(claims: "{}"), "invalid_grant", 400), ("a.b", "invalid_grant", 400),
            ("", "invalid_grant", 400),
        ]
        for (place, (assertion, error, status)) in assertions.enumerated() {
            let answer = try client.post("/token", host: standIn.host, body: GoogleStandIn.form(assertion))
            #expect(answer.status == status, "\(place)")
            #expect(try self.error(answer) == error, "\(place)")
        }
        for (form, error) in [
            ("", "unsupported_grant_type"), ("grant_type=password", "unsupported_grant_type"),
            ("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer", "invalid_request"),
        ] {
            let answer = try client.post("/token", host: standIn.host, body: Array(form.utf8))
            #expect(try self.error(answer) == error)
        }
        #expect(try client.post("/token", host: standIn.host, method: "GET", body: []).status == 404)
        #expect(await standIn.simulator.summary().accessTokensIssued == 0)
    }

    @Test("passes without a key id, slightly ahead of time, with more scopes or Google's audience")
    func lenient() async throws {
        let standIn = try await GoogleStandIn()
        let client = try standIn.connect()
        let scopes = "https://www.googleapis.com/auth/cloud-platform https://www.googleapis.com/auth/firebase"
        let assertions = [
            try standIn.assertion(header: #"{"alg":"RS256"}"#),
            try standIn.assertion(claims: standIn.claims(issuedAgo: -200)),
            try standIn.assertion(claims: standIn.claims(scope: scopes)),
            try standIn.assertion(claims: standIn.claims(audience: "https://oauth2.googleapis.com/token")),
        ]
        for assertion in assertions {
            let answer = try client.post("/token", host: standIn.host, body: GoogleStandIn.form(assertion))
            #expect(answer.status == 200)
        }
    }

    @Test("meets the faults that the script has for it, while pushes do not")
    func scripted() async throws {
        let standIn = try await GoogleStandIn()
        let client = try standIn.connect()
        let form = GoogleStandIn.form(try standIn.assertion())
        let faults = [
            ScriptedFault(.answer(ScriptedAnswer(status: 503)), endpoint: .accessToken, at: 1, times: 1),
            ScriptedFault(
                .answer(ScriptedAnswer(status: 400, reason: "invalid_grant")), endpoint: .accessToken, at: 2, times: 1),
        ]
        let authorization = try standIn.authorization(client)
        await standIn.simulator.follow(SimulatorScript(faults: faults))
        #expect(try client.send(#"{"message":{"token":"phone"}}"#, authorization: authorization).status == 200)
        #expect(try client.post("/token", host: standIn.host, body: form).status == 503)
        #expect(try error(client.post("/token", host: standIn.host, body: form)) == "invalid_grant")
        #expect(try client.post("/token", host: standIn.host, body: form).status == 200)
    }
}
