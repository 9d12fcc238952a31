import JSON
import Listener
import Requests
import Store
import TestSupport
import Testing
import WakeUp
import WakeUpRules

@Suite("The routes of a data tree")
struct ServedNodeTests {
    private struct Step {
        let method: String
        let path: String
        let body: String?
        let status: Int
        let answer: String

        init(_ method: String, _ path: String, _ body: String? = nil, _ status: Int = 204, _ answer: String = "") {
            (self.method, self.path, self.body) = (method, path, body)
            (self.status, self.answer) = (status, answer)
        }
    }

    private static let story: [Step] = [
        Step("GET", ".json", nil, 200, "null"),
        Step("PUT", "contacts/bob.json", #"{"phone": "1", "tags": ["a", {}], "none": null, "empty": {}}"#),
        Step("GET", "contacts/bob.json", nil, 200, #"{"phone":"1","tags":["a",{}]}"#),
        Step("GET", "contacts/bob/phone.json", nil, 200, #""1""#),
        Step("GET", ".json", nil, 200, #"{"contacts":{"bob":{"phone":"1","tags":["a",{}]}}}"#),
        Step("PATCH", "contacts.json", #"{"ann": {"age": 1.50}, "bob": {"phone": "2"}}"#),
        Step("PATCH", "contacts/bob.json", #"{"mail": "b\/@\u0065xample", "phone": null}"#),
        Step("GET", "contacts.json", nil, 200, #"{"ann":{"age":1.50},"bob":{"mail":"b/@example"}}"#),
        Step("GET", "contacts.json?shallow=true", nil, 200, #"{"ann":true,"bob":true}"#),
        Step("GET", "contacts/ann/age.json?shallow=true", nil, 200, "1.50"),
        Step("GET", "nobody.json?shallow=true", nil, 200, "null"),
        // A value gives way to what is written below it, and an object to a value.
        Step("PUT", "contacts/ann/age/years.json", "3"),
        Step("GET", "contacts/ann.json", nil, 200, #"{"age":{"years":3}}"#),
        Step("PUT", "contacts/ann.json", "false"),
        Step("GET", "contacts.json", nil, 200, #"{"ann":false,"bob":{"mail":"b/@example"}}"#),
        // Children whose names sort around the slash.
        Step("PATCH", "sort.json", #"{"a": {"x": 1}, "a-b": 2, "a0": {"y": 3}, "a!": 4}"#),
        Step("GET", "sort.json?shallow=true", nil, 200, #"{"a!":true,"a-b":true,"a":true,"a0":true}"#),
        Step("GET", "sort/a.json", nil, 200, #"{"x":1}"#),
        Step("DELETE", "sort/a.json"), Step("DELETE", "sort/a.json"),
        Step("GET", "sort.json", nil, 200, #"{"a!":4,"a-b":2,"a0":{"y":3}}"#),
        Step("PUT", "contacts.json", "null"), Step("PUT", "sort.json", "{}"),
        Step("GET", ".json", nil, 200, "null"),
        Step("PUT", ".json", #"{"a%2Fb is no key": {"\u00fcber": 1}}"#),
        Step("GET", "a%252Fb%20is%20no%20key/%C3%BCber.json", nil, 200, "1"),
    ]

    @Test("write, read and remove nodes as a tree does")
    func tree() async throws {
        try await withGateway { world in
            try await world.makeApp()
            for step in Self.story {
                let reply = try await world.call(step.method, "/base/tower/\(step.path)", step.body)
                #expect(reply.status == step.status, "\(step.method) \(step.path): \(reply.text)")
                #expect(String(decoding: reply.body, as: UTF8.self) == step.answer, "\(step.method) \(step.path)")
            }
        }
    }

    private static let refusals: [(method: String, path: String, body: String?, code: ProblemCode, pointer: String?)] =
        [
            ("PUT", "a//b.json", "1", .malformedPath, nil), ("PUT", "/a.json", "1", .malformedPath, nil),
            ("PUT", "a%2Fb.json", "1", .malformedPath, nil), ("PUT", "a%01.json", "1", .malformedPath, nil),
            ("PUT", ".wakeups/a.json", "1", .malformedPath, nil), ("PUT", "$any.json", "1", .malformedPath, nil),
            ("PUT", "a%.json", "1", .malformedPath, nil), ("PUT", "a", "1", .notFound, nil),
            ("PUT", String(repeating: "k", count: 769) + ".json", "1", .malformedPath, nil),
            ("PUT", "a.json", "", .malformedJSON, nil), ("PUT", "a.json", "{", .malformedJSON, nil),
            ("PUT", "a.json", #"{"a": 1, "a": 2}"#, .duplicateMember, nil),
            ("PUT", "a.json", #"{"b/c": 1}"#, .invalidValue, nil), ("PUT", "a.json", #"{"": 1}"#, .invalidValue, nil),
            ("PUT", "a.json", #"{".b": 1}"#, .invalidValue, nil),
            ("PUT", "a.json", "\"" + String(repeating: "x", count: 65_535) + "\"", .valueTooLong, nil),
            ("PATCH", "a.json", "1", .wrongType, ""), ("PATCH", "a.json", "null", .wrongType, ""),
            ("GET", "a.json?shallow=yes", nil, .invalidQuery, nil),
            ("GET", "a.json?deep=true", nil, .invalidQuery, nil),
            ("POST", "a.json", "{}", .methodNotAllowed, nil),
        ]

    @Test("refuse malformed paths, keys and values, and change nothing")
    func malformed() async throws {
        try await withGateway { world in
            try await world.makeApp()
            for (method, path, body, code, pointer) in Self.refusals {
                try await world.refuse(code, method, "/base/tower/\(path)", body, pointer: pointer)
            }
            try await world.refuse(.unknownApp, "PUT", "/base/nowhere/a.json", "1")
            #expect(try await world.expect(200, "GET", "/base/tower/.json").text.hasSuffix("null"))
        }
    }

    @Test("answer a node that is too large by its children alone")
    func large() async throws {
        try await withGateway { world in
            try await world.makeApp()
            let members = (0..<NodeLeaves.countMax).map { #""\#($0)":1"# }.joined(separator: ",")
            try await world.expect(204, "PUT", "/base/tower/a.json", "{\(members)}")
            try await world.expect(200, "GET", "/base/tower/.json")
            try await world.expect(204, "PUT", "/base/tower/b.json", "1")
            try await world.refuse(.subtreeTooLarge, "GET", "/base/tower/.json")
            try await world.refuse(.subtreeTooLarge, "PUT", "/base/tower/b.json", #"{"more":1,\#(members)}"#)
            let replacing = try await world.refuse(.subtreeTooLarge, "PUT", "/base/tower/.json", #"{"a":1}"#)
            #expect(replacing.text.contains("remove it first"))
            let surface = try await world.expect(200, "GET", "/base/tower/.json?shallow=true")
            #expect(String(decoding: surface.body, as: UTF8.self) == #"{"a":true,"b":true}"#)
        }
    }

    @Test("list the children of a node of any size in pages, by rising bytes")
    func pages() async throws {
        try await withGateway { world in
            try await world.makeApp()
            try await world.expect(
                204, "PUT", "/base/tower/a.json", #"{"b": {"x": 1}, "b!": 2, "b-c": {"y": 1}, "ü": 4}"#)
            var (pages, next) = ([String](), "")
            repeat {
                let page = try await world.expect(200, "GET", "/base/tower/a.json?shallow=true&limit=2&after=\(next)")
                pages.append(String(decoding: page.body, as: UTF8.self))
                next = try page.json()["next"]?.string ?? ""
            } while next != "" && pages.count < 9
            #expect(
                pages == [
                    #"{"items":{"b":true,"b!":true},"next":"b!"}"#, #"{"items":{"b-c":true,"ü":true},"next":null}"#,
                ])
            let empty = #"{"items":{},"next":null}"#
            for path in ["a/b!.json?", "nobody.json?"] {
                let page = try await world.expect(200, "GET", "/base/tower/\(path)shallow=true&limit=1000")
                #expect(String(decoding: page.body, as: UTF8.self) == empty, "\(path)")
            }
            for query in [
                "limit=5", "shallow=true&after=b", "shallow=true&limit=0", "shallow=true&limit=1001",
                "shallow=true&limit=5&after=a%2Fb", "shallow=true&limit=5&after=%24any", "shallow=false&limit=5",
            ] { try await world.refuse(.invalidQuery, "GET", "/base/tower/a.json?\(query)") }
        }
    }

    @Test("remove a node of any size, by DELETE and by null")
    func largeRemovals() async throws {
        try await withGateway { world in
            try await world.makeApp()
            let remover = NodeRemover(store: world.services.wakeUpStores.nodes, raised: {})
            let members = (0..<6_000).map { #""k\#($0)":1"# }.joined(separator: ",")
            let removals: [(method: String, path: String, body: String?)] = [
                ("DELETE", "users.json", nil), ("PUT", "users.json", "null"), ("PUT", "users.json", "{}"),
                ("PATCH", ".json", #"{"users": null, "name": "new"}"#), ("DELETE", ".json", nil),
            ]
            for (method, path, body) in removals {
                try await world.expect(204, "PUT", "/base/tower/name.json", "\"old\"")
                for user in ["ann", "bob"] {
                    try await world.expect(204, "PUT", "/base/tower/users/\(user).json", "{\(members)}")
                }
                try await world.refuse(.subtreeTooLarge, "GET", "/base/tower/users.json")
                let reply = try await world.expect(202, method, "/base/tower/\(path)", body)
                #expect(String(decoding: reply.body, as: UTF8.self) == #"{"removing":true}"#)
                while try await remover.removeNext() {}
                let left = try await world.expect(200, "GET", "/base/tower/.json")
                let expected = method == "PATCH" ? #"{"name":"new"}"# : path == ".json" ? "null" : #"{"name":"old"}"#
                #expect(String(decoding: left.body, as: UTF8.self) == expected, "\(method) \(path)")
            }
        }
    }

    @Test(
        "ask to try again later while a node that is too large to be replaced is being removed",
        arguments: [("users.json", #"{"eve": 1}"#), ("users/ann.json", "1")])
    func writesDuringRemovals(path: String, body: String) async throws {
        try await withGateway { world in
            try await world.makeApp()
            let remover = NodeRemover(store: world.services.wakeUpStores.nodes, raised: {})
            let members = (0..<6_000).map { #""k\#($0)":1"# }.joined(separator: ",")
            for user in ["ann/a", "ann/b"] {
                try await world.expect(204, "PUT", "/base/tower/users/\(user).json", "{\(members)}")
            }
            let early = try await world.refuse(.subtreeTooLarge, "PUT", "/base/tower/\(path)", body)
            #expect(early.header("retry-after") == nil && early.text.contains("remove it first"))
            try await world.expect(202, "DELETE", "/base/tower/users.json")
            let refused = try await world.refuse(.subtreeTooLarge, "PUT", "/base/tower/\(path)", body)
            #expect(refused.header("retry-after") == "2" && refused.text.contains("is being removed"))
            while try await remover.removeNext() {}
            try await world.expect(204, "PUT", "/base/tower/\(path)", body)
        }
    }

    @Test("hold large answers that nobody reads within a budget, and have another one for keys")
    func unreadAnswers() async throws {
        var limits = GatewayLimits()
        limits.strangersAnswersInFlightBytesMax = 2 << 20
        (limits.answersInFlightBytesMax, limits.answerBytesUsual) = (1 << 20, 1 << 20)
        try await withGateway(limits: limits) { world in
            let value = String(repeating: "x", count: 60_000)
            let members = (0..<15).map { #""\#($0)":"\#(value)""# }.joined(separator: ",")
            var stuck: [(wire: Wire, head: WireReply)] = []
            for slug in ["tower", "bridge"] {
                try await world.makeApp(slug)
                try await world.expect(204, "PUT", "/v1/apps/\(slug)/rules", #"{"rules": {".read": true}}"#)
                try await world.expect(204, "PUT", "/base/\(slug)/a.json", "{\(members)}")
                let wire = try Wire(port: world.port, buffersLittle: true)
                try await wire.send(GatewayWorld.request("GET", "/base/\(slug)/a.json", key: nil))
                stuck.append((wire, try await wire.head()))
                #expect(stuck.last?.head.status == 200)
                let refused = try await world.call("GET", "/base/\(slug)/a.json", key: nil)
                #expect(try refused.member("code")?.string == (slug == "tower" ? "share_used_up" : "overloaded"))
            }
            #expect(try await world.call("GET", "/base/tower/a.json?shallow=true", key: nil).status == 200)
            try await world.expect(200, "GET", "/base/tower/a.json")
            for (wire, head) in stuck { #expect(try await wire.reply(after: head).body.count > 900_000) }
            try await eventually("room for another answer") {
                try await world.call("GET", "/base/tower/a.json", key: nil).status == 200
            }
        }
    }

    @Test("need a key with the scope nodes, or for reading the consent of the rules")
    func scope() async throws {
        try await withGateway { world in
            try await world.makeApp()
            func key(_ scope: String) async throws -> String? {
                let made = try await world.expect(
                    201, "POST", "/v1/apps/tower/keys", #"{"name": "\#(scope)", "scopes": ["\#(scope)"]}"#)
                return try made.json()["key"]?.string
            }
            let (nodes, devices) = (try await key("nodes"), try await key("devices"))
            #expect(try await world.call("PUT", "/base/tower/a.json", "1", key: nodes).status == 204)
            #expect(try await world.call("PUT", "/base/tower/a.json", "2", key: devices).status == 403)
            #expect(try await world.call("DELETE", "/base/tower/a.json", key: nil).status == 401)
            #expect(try await world.call("GET", "/base/tower/a.json", key: nil).status == 403)
            #expect(try await world.call("GET", "/base/tower/a.json", key: "a.b.c").status == 401)
            #expect(try await world.call("PUT", "/base/tower/a.json", "1", key: "a.b.c").status == 401)
            try await world.expect(204, "PUT", "/v1/apps/tower/rules", #"{"rules": {"a": {".read": "data == 1"}}}"#)
            #expect(try await world.call("GET", "/base/tower/a.json", key: nil).status == 200)
            #expect(try await world.call("GET", "/base/tower/.json", key: nil).status == 403)
            #expect(try await world.call("GET", "/base/tower/a.json", key: nodes).text.hasSuffix("1"))
        }
    }
}
