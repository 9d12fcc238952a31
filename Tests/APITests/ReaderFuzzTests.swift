import API
import Requests
import TestSupport
import Testing
import TriggerRules

@Suite("Random garbage in a request")
struct ReaderFuzzTests {
    private static let rounds = 4_000
    private static let samples: [[UInt8]] = [
        #"{"provider":"apns","token":"00ff","kind":"alert","tags":["a","b"],"attributes":{"n":1.5e3},"badge":3}"#,
        #"{"installation":"i1","provider":"apns","token":"00","as_of":"2026-12-01T12:00:00Z","user":null}"#,
        #"{"audience":{"installations":["a","é"]},"notification":{"title":"T","body":"\ud83d\udd14"},"badge":"increment"}"#,
        #"{"audience":{"all":true},"data":{"a":[1,{"b":null}]},"options":{"ttl_seconds":0},"apns":{"aps":{"x":[]}}}"#,
        #"{"audience":{"tags":{"any":["a"],"none":["b"]},"providers":["fcm"],"kind":"alert"},"options":{"dry_run":true}}"#,
        #"{"audience":{"tokens":[{"provider":"apns","token":"00","topic":"a.b"},{"provider":"fcm","token":"x"}]}}"#,
        #"{"audience":{"users":["u"]},"notification":{"localizations":{"fr-CA":{"title":"T"}}},"fcm":{"data":{}}}"#,
        #"{"provider":"apns","kind":"token","environment":"both","key_id":"A","team_id":"B","p8":"C","topics":["x"]}"#,
        #"{"provider":"apns","kind":"certificate","environment":"sandbox","pkcs12":"AQID","password":"p"}"#,
        #"{"slug":"a","name":"A"}"#, #"{"badge":3}"#, #"{"count":1}"#,
        #"{"items":["i"],"fields":["é"],"trigger":"Double.parseDouble(${é}) > -1.5e3 && !($[1].equals(\"a\"))","mode":"MERGE"}"#,
        #"{"items":["i"],"fields":["a"],"notification":{"title":"${a} $[1]"},"badge":"AUTO","data":{"a":["${a}"]}}"#,
        #"{"items":["i"],"fields":["a"],"collapse_key":"k","delay_while_idle":"true","time_to_live":"300","fcm":{"android":{}}}"#,
        #"{"line":1,"item":"i","fields":{"last_price":2.90,"name":"Anduct","note":null,"halted":false}}"#,
        #"{"triggers":{"enabled":true,"allow":["a(b)\\d"],"hooks":{"device":"auth.sub == device.installation","token":null}}}"#,
    ].map { Array($0.utf8) }

    private static let marks = Array(#"{}[]",:\0\u00\n -+.eE123tfn"#.utf8) + [0, 0x7f, 0x80, 0xc3, 0xed, 0xff]

    /// A sample with a few bytes changed, dropped or inserted, or with another sample inside.
    private static func mangled(_ random: inout SeededGenerator) -> [UInt8] {
        var bytes = samples[Int.random(in: 0..<samples.count, using: &random)]
        for _ in 0..<Int.random(in: 1...6, using: &random) where !bytes.isEmpty {
            let place = Int.random(in: 0..<bytes.count, using: &random)
            switch Int.random(in: 0..<6, using: &random) {
            case 0: bytes[place] = UInt8.random(in: .min ... .max, using: &random)
            case 1: bytes[place] = marks[Int.random(in: 0..<marks.count, using: &random)]
            case 2: bytes.remove(at: place)
            case 3: bytes.insert(marks[Int.random(in: 0..<marks.count, using: &random)], at: place)
            case 4: bytes.removeSubrange(place...)
            default: bytes.insert(contentsOf: samples[Int.random(in: 0..<samples.count, using: &random)], at: place)
            }
        }
        return bytes
    }

    @Test("yields a parsed body or a 400 or 422, and never a trap", arguments: 1...4)
    func bodies(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<Self.rounds {
            let bytes = Self.mangled(&random)
            let problems = [
                refusal { () throws(Problem) in try RegistrationRequest.read(bytes, installation: "i", now: noon) },
                refusal { () throws(Problem) in try RegistrationRequest.readLine(bytes, now: noon) },
                refusal { () throws(Problem) in try MessageRequest.read(bytes) },
                refusal { () throws(Problem) in try CredentialRequest.read(bytes) },
                refusal { () throws(Problem) in try AppRequest.read(bytes) },
                refusal { () throws(Problem) in try BadgeRequest.readBadge(bytes) },
                refusal { () throws(Problem) in try BadgeRequest.readCount(bytes) },
            ]
            for problem in problems.compactMap({ $0 }) where problem.code.status != 400 && problem.code.status != 422 {
                Issue.record("a body was refused with \(problem.code)")
            }
        }
    }

    private static let terms = SubscriptionTerms(
        items: ["i"], fields: ["a"], template: TemplateSource(given: Array("{}".utf8), content: []))

    @Test("yields a subscription, an update or settings, or a 400 or 422, and never a trap", arguments: 1...4)
    func items(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<Self.rounds {
            let bytes = Self.mangled(&random)
            let problems = [
                refusal { () throws(Problem) in
                    try ActivationRequest.read(bytes, installation: "i", now: noon)
                },
                refusal { () throws(Problem) in try ModificationRequest.read(bytes, of: Self.terms, now: noon) },
                refusal { () throws(Problem) in try ItemUpdateRequest.read(bytes, item: "i") },
                refusal { () throws(Problem) in try ItemUpdateRequest.readLine(bytes).update.get() },
                refusal { () throws(Problem) in try AppChangeRequest.read(bytes) },
            ]
            for problem in problems.compactMap({ $0 }) where problem.code.status != 400 && problem.code.status != 422 {
                Issue.record("a body was refused with \(problem.code)")
            }
            guard let request = try? ActivationRequest.read(bytes, installation: "i", now: noon) else { continue }
            let again = try? ModificationRequest.read(Array(#"{"sound": null}"#.utf8), of: request.terms, now: noon)
            #expect(again != nil, "what was activated can be modified")
        }
    }

    @Test("yields a matched path or a refusal, and never a trap", arguments: 1...4)
    func targets(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let parts = Array("/%2e.?#&=azA0é+ *\u{0}%ZZ%00%ff".utf8)
        for _ in 0..<Self.rounds {
            let count = Int.random(in: 0..<40, using: &random)
            let bytes = (0..<count).map { _ in parts[Int.random(in: 0..<parts.count, using: &random)] }
            let text = "/" + String(decoding: bytes, as: UTF8.self)
            guard let target = try? RequestTarget(text), target.fault == nil else { continue }
            #expect(!target.segments.contains("..") && !target.segments.contains("."))
            #expect(!target.segments.contains { $0.utf8.contains(0) } || text.utf8.contains(0))
            _ = try? EndpointTable.match(.get, target.segments)
            _ = try? QueryReader(target.query, known: ["a"])
        }
    }

    @Test("splits into the same import lines, whatever the chunks", arguments: 1...4)
    func lines(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<400 {
            let text = (0..<200).map { _ in Array("a\n\r \n".utf8)[Int.random(in: 0..<5, using: &random)] }
            var whole = LineSplitter(lineBytesMax: 5)
            var expected = whole.take(text)
            if let last = whole.finish() { expected.append(last) }
            var cut = LineSplitter(lineBytesMax: 5)
            var found: [LineSplitter.Line] = []
            var remaining = text[...]
            while !remaining.isEmpty {
                let size = Int.random(in: 1...9, using: &random)
                found += cut.take(Array(remaining.prefix(size)))
                remaining = remaining.dropFirst(size)
            }
            if let last = cut.finish() { found.append(last) }
            #expect(found == expected)
            #expect(found.allSatisfy { ($0.bytes?.count ?? 0) <= 5 })
        }
    }
}
