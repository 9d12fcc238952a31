import HTTP2
import JSON

/// A script from the body of `POST /simulator/script`.
///
/// Strict: an ignored unknown member could let a test pass for the wrong reason.
struct ScriptReader {
    /// nil: the running script stays.
    private(set) var script: SimulatorScript?
    let actions: [ScriptedAction]

    struct Fault: Error, Equatable {
        /// A path such as `faults[0].kind`.
        let place: String
        let detail: String
    }

    private static let faultsMax = 100
    private static let millisecondsMax: Int64 = 86_400_000

    init(_ body: [UInt8]) throws(Fault) {
        let value: JSONValue
        do throws(JSONError) { value = try JSONReader.read(body) } catch {
            throw Fault(place: "", detail: error.sentence)
        }
        var members = try Members(value, at: "")
        let hasScript = ["latency_ms", "clock_offset_s", "faults"].contains { members.has($0) }
        let delay = try members.integer("latency_ms", 0...Self.millisecondsMax) ?? 0
        let offset = try members.integer("clock_offset_s", -Self.millisecondsMax...Self.millisecondsMax) ?? 0
        let faults = try members.objects("faults", Self.faultsMax, Self.fault)
        actions = try members.objects("now", Self.faultsMax, Self.action)
        try members.end()
        guard hasScript else { return }
        script = SimulatorScript(answerDelay: .milliseconds(delay), clockOffset: .seconds(offset), faults: faults)
    }

    private static func fault(_ members: inout Members) throws(Fault) -> ScriptedFault {
        let endpoint: ScriptedEndpoint =
            switch try members.text("endpoint") ?? "push" {
            case "push": .push
            case "access_token": .accessToken
            case "topics": .topics
            default: throw members.fault("endpoint", "push, access_token or topics")
            }
        let isOfCertificate = members.peek("kind") == "refuse_certificate"
        let kind = try kind(&members)
        if isOfCertificate { return ScriptedFault(kind, at: 0, times: try members.count("times")) }
        if let next = try members.count("next") {
            return ScriptedFault(kind, endpoint: endpoint, at: 1, every: 1, times: next)
        }
        let first = try members.integer("at", 0...1_000_000_000).map { Int($0) }
        let every = try members.count("every")
        let times = try members.count("times")
        // Without any of these, the fault hits the next request only.
        guard first != nil || every != nil || times != nil else {
            return ScriptedFault(kind, endpoint: endpoint, at: 1, every: 1, times: 1)
        }
        return ScriptedFault(kind, endpoint: endpoint, at: first ?? 1, every: every, times: times)
    }

    private static func kind(_ members: inout Members) throws(Fault) -> ScriptedFault.Kind {
        switch try members.text("kind") {
        case "answer": .answer(try answer(&members))
        case "goaway": .goAway(try goAway(&members))
        case "refuse_certificate": .goAway(ScriptedGoAway(reason: try members.text("reason") ?? "BadCertificate"))
        case "reset": .reset(try code(&members) ?? .internalError)
        case "stream_limit":
            .streamLimit(UInt32(try members.required("limit", 0...Int64(Int32.max), "a number of streams")))
        case "slow": .slow(.milliseconds(try members.required("ms", 1...millisecondsMax, "a number of milliseconds")))
        case "silence": .silence
        case "stall": .stall
        case "close": .close
        case "drop": .drop
        case "garbage": .garbage
        case "half_frame": .halfFrame
        case "huge_header": .hugeHeader
        default:
            throw members.fault(
                "kind",
                "answer, goaway, refuse_certificate, reset, stream_limit, slow, silence, stall, close, drop, "
                    + "garbage, half_frame or huge_header")
        }
    }

    private static func action(_ members: inout Members) throws(Fault) -> ScriptedAction {
        switch members.peek("kind")?.string {
        case "goaway", "stream_limit", "stall", "close", "drop", "garbage": return .fault(try kind(&members))
        case "revoke_access_tokens":
            _ = try members.text("kind")
            return .revokeAccessTokens
        default:
            throw members.fault("kind", "goaway, stream_limit, stall, close, drop, garbage or revoke_access_tokens")
        }
    }

    private static func answer(_ members: inout Members) throws(Fault) -> ScriptedAnswer {
        let status = try members.required("status", 200...599, "a number from 200 to 599")
        var answer = ScriptedAnswer(status: Int(status), reason: try members.text("reason") ?? "")
        answer.body = try members.text("body").map { Array($0.utf8) }
        answer.headers = try members.headers()
        return answer
    }

    private static func goAway(_ members: inout Members) throws(Fault) -> ScriptedGoAway {
        var goAway = ScriptedGoAway(reason: try members.text("reason"), code: try code(&members) ?? .noError)
        goAway.noticeBefore = try members.integer("notice_ms", 0...millisecondsMax).map { .milliseconds($0) }
        switch try members.text("close") ?? "when_answered" {
        case "never": goAway.closing = .never
        case "when_answered": goAway.closing = .whenAnswered
        case "at_once": goAway.closing = .atOnce
        default: throw members.fault("close", "never, when_answered or at_once")
        }
        return goAway
    }

    private static func code(_ members: inout Members) throws(Fault) -> HTTP2ErrorCode? {
        guard let name = try members.text("code") else { return nil }
        guard let code = HTTP2ErrorCode(name: name) else {
            throw members.fault("code", "a code of RFC 9113, as INTERNAL_ERROR")
        }
        return code
    }
}

/// The members of one object. Members that were not read count as mistakes.
private struct Members {
    private let place: String
    private var members: [JSONMember]

    init(_ value: JSONValue, at place: String) throws(ScriptReader.Fault) {
        guard let object = value.object else {
            throw ScriptReader.Fault(place: place, detail: "an object is expected here")
        }
        self.place = place
        members = object.members
    }

    func has(_ name: String) -> Bool { members.contains { $0.name == name } }
    func peek(_ name: String) -> JSONValue? { members.first { $0.name == name }?.value }

    func fault(_ name: String, _ expected: String) -> ScriptReader.Fault {
        ScriptReader.Fault(place: place.isEmpty ? name : place + "." + name, detail: "expected here: " + expected)
    }

    private mutating func take(_ name: String) -> JSONValue? {
        guard let index = members.firstIndex(where: { $0.name == name }) else { return nil }
        let value = members.remove(at: index).value
        return value.isNull ? nil : value
    }

    mutating func text(_ name: String) throws(ScriptReader.Fault) -> String? {
        guard let value = take(name) else { return nil }
        guard let text = value.string else { throw fault(name, "a text") }
        return text
    }

    mutating func integer(_ name: String, _ range: ClosedRange<Int64>) throws(ScriptReader.Fault) -> Int64? {
        guard let value = take(name) else { return nil }
        guard let number = value.integer, range.contains(number) else {
            throw fault(name, "a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    mutating func required(
        _ name: String, _ range: ClosedRange<Int64>, _ expected: String
    ) throws(ScriptReader.Fault) -> Int64 {
        guard let number = try integer(name, range) else { throw fault(name, expected) }
        return number
    }

    mutating func count(_ name: String) throws(ScriptReader.Fault) -> Int? {
        try integer(name, 1...1_000_000_000).map { Int($0) }
    }

    mutating func objects<Value>(
        _ name: String, _ countMax: Int, _ read: (inout Members) throws(ScriptReader.Fault) -> Value
    ) throws(ScriptReader.Fault) -> [Value] {
        guard let value = take(name) else { return [] }
        guard let list = value.array, list.count <= countMax else { throw fault(name, "a list of at most \(countMax)") }
        var values: [Value] = []
        for (place, one) in list.enumerated() {
            var members = try Members(one, at: "\(name)[\(place)]")
            values.append(try read(&members))
            try members.end()
        }
        return values
    }

    mutating func headers() throws(ScriptReader.Fault) -> [HeaderLine] {
        guard let value = take("headers") else { return [] }
        var lines: [HeaderLine] = []
        for member in value.object?.members ?? [JSONMember("", .null)] {
            guard let text = member.value.string, HTTP1Head.isName(member.name), HTTP1Head.isValue(text) else {
                throw fault("headers", "names and values of HTTP header fields")
            }
            lines.append(HeaderLine(name: member.name.lowercased(), value: text))
        }
        return lines
    }

    func end() throws(ScriptReader.Fault) {
        if let unknown = members.first { throw fault(unknown.name, "no such member") }
    }
}
