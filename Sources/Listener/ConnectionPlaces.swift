import Logging
import NIOCore
import Synchronization

/// The open connections of a server. While few places are left, each new connection takes the place of the one that has
/// been silent longest. So clients that connect and ask nothing keep nobody out (P8).
///
/// A connection is silent until its first request, between two requests, and while a refusal waits (`StrangerAdmission`).
/// Others keep their place. Connections that showed a valid API key go last: however many strangers come, callers with a
/// key keep theirs (P7). There is no limit per address, because all clients of a proxy have the same one.
package final class ConnectionPlaces: Sendable {
    fileprivate struct State {
        /// By channel.
        var open: [ObjectIdentifier: ConnectionPlace] = [:]
        var reportedAt: NIODeadline?
    }

    private let limits: GatewayLimits
    private let log: Logger
    private let state = Mutex(State())

    package init(_ limits: GatewayLimits, log: Logger) {
        precondition(limits.connectionsSpare < limits.connectionsMax)
        (self.limits, self.log) = (limits, log)
    }

    fileprivate func enter(_ place: ConnectionPlace, at now: NIODeadline) {
        let (silent, isReported) = state.withLock { state -> (ConnectionPlace?, Bool) in
            let silent = state.open.count < limits.connectionsMax - limits.connectionsSpare ? nil : state.longestSilent
            state.open[place.id] = place
            // It counts as gone, so that the next connection takes another one's place.
            if let silent { state.open[silent.id] = nil }
            let isReported = silent != nil && (state.reportedAt.map { now - $0 >= Self.reportPause } ?? true)
            if isReported { state.reportedAt = now }
            return (silent, isReported)
        }
        silent?.makeWay()
        guard isReported else { return }
        log.warning(
            "Silent connections are closed: nearly all places for connections are taken",
            metadata: ["limit": "\(limits.connectionsMax)"])
    }

    fileprivate func enterAgain(_ place: ConnectionPlace) { state.withLock { $0.open[place.id] = place } }

    fileprivate func leave(_ place: ConnectionPlace) { state.withLock { $0.open[place.id] = nil } }

    private func place(of channel: any Channel) -> ConnectionPlace? {
        state.withLock { $0.open[ObjectIdentifier(channel)] }
    }

    package func keyWasShown(on channel: any Channel) { place(of: channel)?.keyWasShown() }

    /// Lets the connection give way until `refusalEnded`, although it has a request under way.
    package func refusalWaits(on channel: any Channel) -> ConnectionPlace? {
        let place = place(of: channel)
        place?.refusalWaits(since: channel.eventLoop.now)
        return place
    }

    private static let reportPause: TimeAmount = .minutes(1)
}

extension ConnectionPlaces.State {
    // A walk over all places: only connections that come while few are left pay for it, and requests pay nothing.
    fileprivate var longestSilent: ConnectionPlace? {
        var found: (place: ConnectionPlace, hasKey: Bool, since: UInt64)?
        for place in open.values {
            guard let since = place.silentSince else { continue }
            let hasKey = place.hasShownKey
            let isSooner = found.map { hasKey == $0.hasKey ? since < $0.since : !hasKey } ?? true
            if isSooner { found = (place, hasKey, since) }
        }
        return found?.place
    }
}

/// One connection's place.
package final class ConnectionPlace: Sendable {
    private static let busy = UInt64.max

    private let channel: any Channel
    /// The time since when the connection is silent, in nanoseconds; `busy` while a request is under way.
    private let silence: Atomic<UInt64>
    /// The time since when a refusal waits; `busy` while none does.
    private let refusal = Atomic(ConnectionPlace.busy)
    private let key = Atomic(false)

    fileprivate init(_ channel: any Channel, silentSince now: NIODeadline) {
        self.channel = channel
        silence = Atomic(now.uptimeNanoseconds)
    }

    fileprivate var silentSince: UInt64? {
        let since = min(silence.load(ordering: .relaxed), refusal.load(ordering: .relaxed))
        return since == Self.busy ? nil : since
    }

    fileprivate var id: ObjectIdentifier { ObjectIdentifier(channel) }

    fileprivate var hasShownKey: Bool { key.load(ordering: .relaxed) }

    fileprivate func keyWasShown() { key.store(true, ordering: .relaxed) }

    fileprivate func refusalWaits(since now: NIODeadline) { refusal.store(now.uptimeNanoseconds, ordering: .relaxed) }

    package func refusalEnded() { refusal.store(Self.busy, ordering: .relaxed) }

    func requestCame() { silence.store(Self.busy, ordering: .relaxed) }

    func requestsEnded(at now: NIODeadline) { silence.store(now.uptimeNanoseconds, ordering: .relaxed) }

    fileprivate func makeWay() {
        channel.pipeline.fireUserInboundEventTriggered(ConnectionPlaceHandler.PlaceIsNeeded())
    }
}

/// Takes a connection's place, and closes the connection if another one needs the place.
///
/// The handler stands next to the socket, because closing must not wait for the client: TLS would say goodbye first.
/// The handler lives on the connection's event loop.
package final class ConnectionPlaceHandler: ChannelInboundHandler {
    package typealias InboundIn = NIOAny

    fileprivate struct PlaceIsNeeded: Sendable {}

    package let place: ConnectionPlace
    private let places: ConnectionPlaces

    package init(_ places: ConnectionPlaces, _ channel: any Channel) {
        self.places = places
        place = ConnectionPlace(channel, silentSince: channel.eventLoop.now)
    }

    package func handlerAdded(context: ChannelHandlerContext) { places.enter(place, at: context.eventLoop.now) }

    package func handlerRemoved(context: ChannelHandlerContext) { places.leave(place) }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is PlaceIsNeeded else { return context.fireUserInboundEventTriggered(event) }
        // A request may have come meanwhile.
        if place.silentSince == nil { places.enterAgain(place) } else { context.close(promise: nil) }
    }
}
