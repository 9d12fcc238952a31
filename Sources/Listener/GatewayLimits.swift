package struct GatewayLimits: Sendable {
    /// The most bytes of one request's body, except an import's. Ten thousand installations of usual length fit.
    package var bodyBytesMax: Int
    /// The most bytes of all bodies that are held at once, imports included: a quick refusal beats memory without end.
    /// Each app may hold as many as it leaves free.
    package var bodiesInFlightBytesMax = 64 << 20
    /// The bytes that one import counts as, however long it is. They cover its waiting chunks, its unfinished line, the
    /// current batch's registrations and answers, and the registrations read meanwhile.
    package var importBytes = 1 << 20
    /// The part of the bodies in flight that imports may hold: they last long, and must leave room for others (P7).
    package var importsInFlightBytesMax = 32 << 20
    /// The most bytes of large answers that are written at once and that clients have not read. Each app may hold as many
    /// as it leaves free.
    package var answersInFlightBytesMax = 64 << 20
    /// The same for the answers to callers without an API key, of all apps.
    package var strangersAnswersInFlightBytesMax = 16 << 20
    /// The bytes of large answers that an app may hold while there is room: the largest that a usual read gets.
    package var answerBytesUsual = 8 << 20
    /// The most lists, and queries of messages and pushes, under way at once: each may take the database a second. An
    /// app may have as many as it leaves free, which is two while no other app has any (`ReadAdmission`).
    package var costlyReadsMax = 4
    package var costlyReadsWaitingPerAppMax = 64
    package var readAdmissionTimeout: Duration = .seconds(10)
    /// The most reads of large nodes that callers without an API key have under way. They have their own queue, as long as
    /// the keys' one. Fewer than `PoolSettings.strangerConnectionsMax`: a session stays free for small nodes.
    package var strangersReadsMax = 1
    /// The longest time that such a read takes the database: half of `readAdmissionTimeout`, for which others wait. The
    /// largest node takes a fraction of a second.
    package var strangersReadTimeMax: Duration = .seconds(5)
    /// The most requests of callers without a valid API key, under way or waiting. Those of one app may have half: so
    /// many phones may be notified at once to read one node.
    package var strangersMax = 1_024
    /// The most of these under way: enough to keep their sessions with the database busy. More would be work that the
    /// requests of keys wait for.
    package var strangersUnderWayMax = 16
    /// The most of these that are refused at once in a second. Other refusals wait as long as they tell the client to.
    package var strangersRefusedPerSecond = 500
    /// The most bytes of one line of an import.
    package var lineBytesMax = 64 << 10
    /// The most registrations that an import hands over at once.
    package var batchLinesMax = 500
    /// The most bytes of the lines that an import hands over at once.
    package var batchBytesMax = 128 << 10
    package var headerBytesMax = 32 << 10
    package var headerFieldsMax = 100
    package var connectionsMax = 4_096
    /// While fewer places are free, each new connection closes the one that has been silent longest. So many may come
    /// at once, before the first ones are closed.
    package var connectionsSpare = 512
    /// The most requests of one connection that are parsed and not answered. A client that pipelines more gets all its
    /// answers. The later requests wait as raw bytes, which take a tenth of a parsed request's memory.
    package var unansweredRequestsMax = 8
    /// The most bytes of requests after the one that is answered next. Two heads of the largest size fit.
    package var unansweredBytesMax = 64 << 10
    /// The most bytes that one read from a socket brings: a few dozen registrations.
    package var readBytesMax = 16 << 10
    /// The most bytes that a connection's first read brings. Few requests are longer, and most connections are idle.
    package var firstReadBytes = 2 << 10
    /// Above so many written bytes that the socket has not taken, a connection is written no further answer. Under TLS
    /// 64 kB of small answers took more than a megabyte.
    package var unsentBytesMax = 16 << 10
    /// The bytes that the kernel buffers for a connection in each direction; Linux doubles the value. Without a limit
    /// they are megabytes. This allows an import a megabyte a second at 100 ms.
    package var socketBufferBytes = 128 << 10
    package var idleTimeout: Duration = .seconds(75)
    /// The longest time for a request's head, first byte to last. A phone's network may lose a packet or two.
    package var headTimeout: Duration = .seconds(30)
    /// The longest time for one body, except an import's. A slow client holds memory that others need.
    package var bodyTimeout: Duration = .seconds(60)
    /// The longest pause between two pieces of a body, an import's too. Also the longest time in which a client may
    /// read nothing of a written answer. Shorter than the idle timeout, which closes without an answer.
    package var bodyPauseMax: Duration = .seconds(60)
    /// The time for which a connection stays open after its last answer while the client still sends. Closing at once
    /// would reset it, and the client could lose the answer that it is reading.
    package var lingerTime: Duration = .seconds(5)
    /// The most clients that follow messages on this process. Each holds a connection for hours.
    package var streamsMax = 1_024
    package var streamsPerAppMax = 128
    /// The time between two queries of a followed message.
    package var eventPause: Duration = .seconds(1)
    /// A follower that got nothing new for so long gets a line without meaning. Shorter than the timeouts of proxies.
    package var heartbeatEvery: Duration = .seconds(15)
    /// The greatest age of the check that a follower's key opens its message.
    package var eventKeyCheck: Duration = .zero

    package init(bodyBytesMax: Int) { self.bodyBytesMax = bodyBytesMax }

    /// The descriptors that clients leave to the rest of the process: lanes, the database and files.
    private static let descriptorsOfOthers = 512

    /// Accepts fewer clients where the process may open few descriptors. Without any left, the listener would fail, and
    /// no provider and no database could be reached.
    package mutating func fit(descriptors: Int) {
        let leftOver = max(descriptors - Self.descriptorsOfOthers, descriptors / 4)
        guard leftOver < connectionsMax else { return }
        connectionsMax = leftOver
        connectionsSpare = min(connectionsSpare, connectionsMax / 8)
    }
}
