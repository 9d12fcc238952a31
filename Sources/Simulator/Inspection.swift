import Encodings
import JSON
import Model

/// The stand-in's own endpoints, which report its state and take scripts on its own port. docs/simulator.md is the
/// contract.
enum Inspection {
    static let path = "/simulator/"
    private static let receivedPath = "/simulator/received/"
    /// The most requests in one answer of `GET /simulator/requests`. The answer ends earlier if they exceed
    /// `listedBytesMax`.
    private static let listedMax = 1_000
    private static let listedDefault = 100
    private static let listedBytesMax = 8 << 20

    struct Answer {
        let status: Int
        let body: [UInt8]
    }

    static func answer(_ request: PushRequest, from asker: SimulatorConnection) -> Answer {
        let world = asker.world
        let path = String(request.path.prefix { $0 != "?" })
        switch (request.method, path) {
        case ("GET", "/simulator/summary"): return Answer(status: 200, body: world.fullSummary.json)
        case ("POST", "/simulator/reset"), ("DELETE", "/simulator/requests"):
            world.reset()
            return Answer(status: 200, body: Array("{}".utf8))
        case ("GET", "/simulator/requests"):
            return world.settings.isSink ? nothingKept : requests(request.path.dropFirst(path.count), world)
        case ("GET", "/simulator/tokens"): return Answer(status: 200, body: tokens(world.service))
        case ("GET", "/simulator/script"): return Answer(status: 200, body: world.scriptState)
        case ("POST", "/simulator/script"): return follow(request, asker)
        case ("DELETE", "/simulator/script"):
            world.follow(SimulatorScript())
            return Answer(status: 200, body: world.scriptState)
        case ("GET", let path) where path.hasPrefix(receivedPath):
            return world.settings.isSink ? nothingKept : received(String(path.dropFirst(receivedPath.count)), world)
        default: return refusal(404, "BadPath")
        }
    }

    private static func refusal(_ status: Int, _ reason: String, _ detail: String? = nil) -> Answer {
        var body = JSONObject([JSONMember("reason", .string(reason))])
        body["detail"] = detail.map { .string($0) }
        return Answer(status: status, body: JSONValue.object(body).bytes)
    }

    private static let nothingKept = refusal(
        404, "SinkKeepsNothing", "A sink counts pushes and keeps none: start it without --sink.")

    private static func received(_ text: String, _ world: SimulatorWorld) -> Answer {
        guard let token = world.service.key(ofToken: text) else { return refusal(400, "BadDeviceToken") }
        let pushes = world.received.pushes(to: token).map { $0.shown(token: nil) }
        let body: JSONValue = ["token": .string(world.service.text(ofKey: token)), "pushes": .array(pushes)]
        return Answer(status: 200, body: body.bytes)
    }

    private static func follow(_ request: PushRequest, _ asker: SimulatorConnection) -> Answer {
        guard request.bodyBytes == request.body.count else {
            return refusal(
                413, "ScriptTooLarge",
                "A script has at most 64 KiB; a sink reads no bodies over HTTP/2, so tell it by HTTP/1.1.")
        }
        do throws(ScriptReader.Fault) {
            let reader = try ScriptReader(request.body)
            asker.world.follow(reader, reportedBy: asker)
            return Answer(status: 200, body: asker.world.scriptState)
        } catch {
            return refusal(400, "BadScript", error.place.isEmpty ? error.detail : error.place + ": " + error.detail)
        }
    }

    /// - Parameter query: with its question mark, or empty.
    private static func requests(_ query: Substring, _ world: SimulatorWorld) -> Answer {
        var token: DeviceToken?
        var after = 0
        var limit = listedDefault
        for pair in query.dropFirst().split(separator: "&") {
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let value = halves.count == 2 ? String(halves[1]) : ""
            switch halves[0] {
            case "token":
                guard let key = world.service.key(ofToken: value) else { return refusal(400, "BadDeviceToken") }
                token = key
            case "after":
                guard let number = Int(value), number >= 0 else { return refusal(400, "BadQuery", "after: a number") }
                after = number
            case "limit":
                guard let number = Int(value), (1...listedMax).contains(number) else {
                    return refusal(400, "BadQuery", "limit: a number from 1 to \(listedMax)")
                }
                limit = number
            default: return refusal(400, "BadQuery", "token, after and limit are known here")
            }
        }
        return Answer(status: 200, body: list(token, after, limit, world))
    }

    private static func list(_ token: DeviceToken?, _ after: Int, _ limit: Int, _ world: SimulatorWorld) -> [UInt8] {
        var writer = JSONWriter()
        var last = after
        writer.beginObject()
        writer.name("requests")
        writer.beginArray()
        for kept in world.received.list(to: token, after: after, limit: limit) {
            writer.value(kept.push.shownWhole(number: kept.number, token: world.service.text(ofKey: kept.token)))
            last = kept.number
            if writer.bytes.count > listedBytesMax { break }
        }
        writer.endArray()
        writer.member("after", last)
        writer.member("forgotten", world.received.forgottenCount)
        writer.endObject()
        return writer.bytes
    }

    private static func tokens(_ service: any ProviderService) -> [UInt8] {
        let fates = service.grammar.map { ["fate": .string($0.name), "meaning": .string($0.meaning)] as JSONValue }
        return (["form": .string(service.grammarSentence), "fates": .array(fates)] as JSONValue).bytes
    }
}
