import Listener
import Logging
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@Suite("A listener with few free places")
struct CrowdedListenerTests {
    @Test("closes for each new connection the one that has been silent longest")
    func longestSilent() throws {
        let crowd = Crowd(placesMax: 4, spare: 1)
        try crowd.connect("a", "b", "c")
        #expect(crowd.closed == [])
        try crowd.connect("d")
        #expect(crowd.closed == ["a"])
        try crowd.connect("e")
        #expect(crowd.closed == ["a", "b"])
    }

    @Test("keeps a connection with a request under way, and counts its silence from the answer")
    func busy() throws {
        let crowd = Crowd(placesMax: 4, spare: 1)
        try crowd.connect("a", "b", "c")
        try crowd.ask("a")
        try crowd.connect("d")
        #expect(crowd.closed == ["b"])
        try crowd.answer("a")
        try crowd.connect("e", "f")
        #expect(crowd.closed == ["b", "c", "d"])
        try crowd.connect("g")
        #expect(crowd.closed == ["a", "b", "c", "d"])
    }

    @Test("closes connections that showed a key after all that did not")
    func keysLast() throws {
        let crowd = Crowd(placesMax: 4, spare: 1)
        try crowd.connect("a", "b", "c")
        try crowd.showKey("a")
        try crowd.connect("d", "e", "f")
        #expect(crowd.closed == ["b", "c", "d"])
        try crowd.showKey("e")
        try crowd.showKey("f")
        try crowd.connect("g")
        #expect(crowd.closed == ["a", "b", "c", "d"])
    }

    @Test("closes a connection whose refusal waits, however much it asks")
    func refusals() throws {
        let crowd = Crowd(placesMax: 4, spare: 1)
        try crowd.connect("a", "b", "c")
        try crowd.showKey("a")
        try crowd.ask("b")
        let place = try crowd.refuse("b")
        try crowd.ask("b")
        try crowd.ask("c")
        try crowd.connect("d")
        #expect(crowd.closed == ["b"])
        place?.refusalEnded()
        let other = try crowd.refuse("c")
        other?.refusalEnded()
        try crowd.connect("e")
        #expect(crowd.closed == ["b", "d"])
    }

    @Test("has fewer places where the process may open few descriptors")
    func fewDescriptors() {
        func places(_ descriptors: Int) -> [Int] {
            var limits = GatewayLimits()
            limits.fit(descriptors: descriptors)
            return [limits.connectionsMax, limits.connectionsSpare]
        }
        #expect(places(65_536) == [4_096, 512])
        #expect(places(4_608) == [4_096, 512])
        #expect(places(1_024) == [512, 64])
        #expect(places(256) == [64, 8])
    }

    @Test("closes none once others have gone")
    func roomAgain() throws {
        let crowd = Crowd(placesMax: 4, spare: 1)
        try crowd.connect("a", "b", "c")
        try crowd.leave("b")
        try crowd.connect("d")
        #expect(crowd.closed == ["b"])
    }
}

/// Connections on one clock, which begin a second apart.
private final class Crowd {
    private let loop = EmbeddedEventLoop()
    private let places: ConnectionPlaces
    private let limits: GatewayLimits
    private let log: Logger
    private var channels: [(name: String, channel: EmbeddedChannel)] = []

    init(placesMax: Int, spare: Int) {
        var limits = GatewayLimits()
        (limits.connectionsMax, limits.connectionsSpare) = (placesMax, spare)
        var log = Logger(label: "crowd-test")
        log.logLevel = .critical
        (self.limits, self.log) = (limits, log)
        places = ConnectionPlaces(limits, log: log)
    }

    /// The names of closed connections, in the order in which they began.
    var closed: [String] { channels.filter { !$0.channel.isActive }.map(\.name) }

    func connect(_ names: String...) throws {
        for name in names {
            loop.advanceTime(by: .seconds(1))
            let channel = EmbeddedChannel(loop: loop)
            try channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
            channels.append((name, channel))
            let placeHandler = ConnectionPlaceHandler(places, channel)
            try channel.pipeline.syncOperations.addHandlers([
                placeHandler, RequestStallHandler(limits: limits, log: log, place: placeHandler.place),
            ])
            loop.run()
        }
    }

    func ask(_ name: String) throws {
        let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/healthz", headers: ["Host": "gateway"])
        try channel(name).writeInbound(HTTPServerRequestPart.head(head))
        try channel(name).writeInbound(HTTPServerRequestPart.end(nil))
    }

    func answer(_ name: String) throws {
        loop.advanceTime(by: .seconds(1))
        try channel(name).writeOutbound(HTTPServerResponsePart.head(HTTPResponseHead(version: .http1_1, status: .ok)))
        try channel(name).writeOutbound(HTTPServerResponsePart.end(nil))
    }

    func showKey(_ name: String) throws { places.keyWasShown(on: try channel(name)) }

    func refuse(_ name: String) throws -> ConnectionPlace? { places.refusalWaits(on: try channel(name)) }

    func leave(_ name: String) throws {
        try channel(name).close().wait()
        loop.run()
    }

    private func channel(_ name: String) throws -> EmbeddedChannel {
        try #require(channels.first { $0.name == name }?.channel)
    }
}
