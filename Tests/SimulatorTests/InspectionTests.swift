import Encodings
import Foundation
import JSON
import Signing
import Simulator
import Testing

@Suite("The simulator's record of requests", .serialized)
struct InspectionTests {
    private func list(_ provider: Provider, _ query: String) throws -> JSONObject {
        let answer = try provider.get("/simulator/requests" + query)
        #expect(answer.status == 200)
        return try #require(try JSONReader.read(Array(answer.body.utf8)).object)
    }

    private func numbers(_ object: JSONObject) -> [Int64] {
        (object["requests"]?.array ?? []).compactMap { $0.object?["number"]?.integer }
    }

    @Test(
        "lists each request byte for byte with headers and answer, by token and page"
    )
    func requests() async throws {
        let standIn = try await StandIn()
        let provider = try standIn.connect()
        let authorization = try standIn.authorization()
        var spaced = Push(token: "0a", authorization: authorization, [("apns-collapse-id", "room-42")])
        spaced.body = Array(#"{ "aps" : {"alert":"é"} }"#.utf8)
        let id = try provider.ask(spaced).apnsID
        var odd = Push(token: "0B", authorization: authorization)
        odd.body = [0xff, 0x00]
        #expect(try provider.ask(odd).status == 400)
        #expect(try provider.ask(Push(token: "zz", authorization: authorization)).status == 400)
        #expect(try provider.ask(Push(token: "0a", authorization: authorization)).status == 200)

        let all = try list(provider, "")
        #expect(numbers(all) == [1, 2, 3, 4])
        #expect(all["after"] == 4)
        #expect(all["forgotten"] == 0)
        let first = try #require(all["requests"]?.array?.first?.object)
        #expect(first["body"] == #"{ "aps" : {"alert":"é"} }"#)
        #expect(first["token"] == "0a")
        #expect(first["path"] == "/3/device/0a")
        #expect(first["headers"]?.object?["apns-collapse-id"] == "room-42")
        #expect(first["headers"]?.object?["authorization"] == nil, "the authorization is a secret")
        let shown = Hashes.sha256(Array(authorization.utf8)).prefix(8)
        #expect(first["provider_token"]?.string == Hexadecimal.text(Array(shown)))
        #expect(first["certificate"] == nil)
        #expect(first["answer"]?.object?["status"] == 200)
        #expect(first["answer"]?.object?["id"] == .string(id))
        let second = all["requests"]?.array?[1].object
        #expect(second?["body_base64"] == "/wA=")
        #expect(second?["answer"]?.object?["reason"] == "BadRequestPayload")
        #expect(all["requests"]?.array?[2].object?["token"] == "", "an unreadable token is shown as empty")
        #expect(await standIn.simulator.summary().tokens == 2)

        #expect(try numbers(list(provider, "?token=0A")) == [1, 4])
        #expect(try numbers(list(provider, "?token=0a&after=1")) == [4])
        #expect(try numbers(list(provider, "?limit=2")) == [1, 2])
        #expect(try numbers(list(provider, "?after=2&limit=1")) == [3])
        #expect(try numbers(list(provider, "?after=4")).isEmpty)
        #expect(try numbers(list(provider, "?token=0c")).isEmpty)
        for query in ["?token=zz", "?after=-1", "?limit=0", "?limit=1001", "?limit=x", "?page=2"] {
            #expect(try provider.get("/simulator/requests" + query).status == 400, "\(query)")
        }
        #expect(try provider.ask(Push(method: "DELETE", path: "/simulator/requests")).status == 200)
        #expect(try numbers(list(provider, "")).isEmpty)
    }

    @Test("discards the oldest requests beyond its limit, and reports how many")
    func forgotten() async throws {
        let standIn = try await StandIn { settings, _ in settings.common.keptBytesMax = 3_000 }
        let provider = try standIn.connect()
        let authorization = try standIn.authorization()
        for _ in 0..<100 {
            #expect(try provider.ask(Push(token: "0a", authorization: authorization)).status == 200)
        }
        let all = try list(provider, "?limit=1000")
        let forgotten = try #require(all["forgotten"]?.integer)
        #expect(forgotten > 50)
        #expect(numbers(all) == Array((forgotten + 1)...100))
        #expect(try numbers(list(provider, "?token=0a&after=99")) == [100])
    }

    @Test("finds requests to FCM by registration token, dry runs included")
    func google() async throws {
        let standIn = try await GoogleStandIn()
        let client = try standIn.connect()
        let authorization = try standIn.authorization(client)
        let token = "cAbC:APA91b-1_2"
        let body = #"{"validate_only":true,"message":{"token":"\#(token)"}}"#
        #expect(try client.send(body, authorization: authorization).status == 200)
        #expect(
            try client.send(#"{"message":{"topic":"news"}}"#, authorization: authorization).status == 200)
        #expect(try client.send("{}", authorization: authorization).status == 400)
        let own = try list(client, "?token=cAbC%3AAPA91b-1_2")
        let first = try #require(own["requests"]?.array?.first?.object)
        #expect(first["body"] == .string(body))
        #expect(first["dry_run"] == true)
        #expect(first["answer"]?.object?["id"] == "projects/carillon-demo/messages/fake_message_id")
        #expect(try numbers(list(client, "?token=/topics/news")) == [2])
        #expect(try numbers(list(client, "")) == [1, 2, 3])
        #expect(try client.get("/simulator/received/" + token).body.contains(#""dry_run":true"#))
    }

    @Test("counts neither dry runs nor topic calls as repeated pushes")
    func repeated() async throws {
        let standIn = try await GoogleStandIn()
        let client = try standIn.connect()
        let authorization = try standIn.authorization(client)
        let call = [("authorization", authorization), ("access_token_auth", "true")]
        for _ in 0..<2 {
            let message = #"{"validate_only":true,"message":{"token":"phone"}}"#
            #expect(try client.send(message, authorization: authorization).status == 200)
            let tokens = Array(#"{"to":"/topics/news","registration_tokens":["phone"]}"#.utf8)
            #expect(try client.post("/iid/v1:batchAdd", call, body: tokens).status == 200)
        }
        #expect(await standIn.simulator.summary().repeated == 0)
    }

    @Test(
        "lists every token that chooses its answer, as docs/simulator.md does",
        arguments: [false, true])
    func tokens(isGoogle: Bool) async throws {
        let answer: String
        if isGoogle {
            answer = try await GoogleStandIn().connect().get("/simulator/tokens").body
        } else {
            answer = try await StandIn().connect().get("/simulator/tokens").body
        }
        let object = try #require(try JSONReader.read(Array(answer.utf8)).object)
        #expect(object["form"]?.string?.isEmpty == false)
        let fates = object["fates"]?.array ?? []
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let page = try String(contentsOf: root.appending(path: "docs/simulator.md"), encoding: .utf8)
        for fate in fates {
            let name = try #require(fate.object?["fate"]?.string)
            let meaning = try #require(fate.object?["meaning"]?.string)
            #expect(page.contains("| `\(name)` | \(meaning) |"), "\(name)")
        }
        #expect(
            fates.count
                == page.split(separator: "\n").count { $0.hasPrefix("| `") && Self.isFate($0, isGoogle) })
    }

    /// APNs' codes have two digits, and FCM's names are in capitals.
    private static func isFate(_ line: Substring, _ isGoogle: Bool) -> Bool {
        let name = line.dropFirst(3).prefix { $0 != "`" }
        if isGoogle {
            return name.allSatisfy { $0.isUppercase || $0.isNumber || $0 == "_" } && name.count > 2
        }
        return name.count == 2 && name.allSatisfy(\.isHexDigit)
    }
}
