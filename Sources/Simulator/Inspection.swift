import JSON
import PushModel

/// What a stand-in tells about itself, on its own port.
enum Inspection {
    static let path = "/simulator/"
    private static let receivedPath = "/simulator/received/"

    static func answer(_ request: PushRequest, _ world: SimulatorWorld) -> (status: Int, body: [UInt8]) {
        switch (request.method, request.path) {
        case ("GET", "/simulator/summary"): return (200, world.fullSummary.json)
        case ("POST", "/simulator/reset"):
            world.reset()
            return (200, Array("{}".utf8))
        case ("GET", let path) where path.hasPrefix(receivedPath):
            guard !world.desk.isSink else { return (404, nothingKept) }
            let text = String(path.dropFirst(receivedPath.count))
            guard let token = world.desk.key(ofToken: text) else {
                return (400, APNsRefusal.badDeviceToken.body(now: world.now))
            }
            return (200, received(token, world))
        default: return (404, APNsRefusal.badPath.body(now: world.now))
        }
    }

    private static let nothingKept = Array(
        #"{"reason":"SinkKeepsNothing","detail":"A sink counts pushes and keeps none: start it without --sink."}"#.utf8)

    private static func received(_ token: DeviceToken, _ world: SimulatorWorld) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("token", world.desk.text(ofKey: token))
        writer.name("pushes")
        writer.beginArray()
        for push in world.received.pushes(to: token) { push.append(to: &writer, token: nil) }
        writer.endArray()
        writer.endObject()
        return writer.bytes
    }
}
